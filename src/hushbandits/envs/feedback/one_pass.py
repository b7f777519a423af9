"""Blocks that a mechanism and an ideal secure sum handle in one compiled pass, without messages between the two."""

import math
from typing import Protocol, Self

import numpy as np

from hushbandits.core import Array, Bernoulli, Noise, Privatizer, SecureFunction, World, lean
from hushbandits.core.random.philox import PLACE
from hushbandits.core.random.samplers import binomial, difference
from hushbandits.core.random.streams import Draws
from hushbandits.envs.feedback.pooled_users import Pooled
from hushbandits.envs.feedback.users import BlockInbox
from hushbandits.privacy.ledger import Kinds, Ledger, joined, place
from hushbandits.privacy.noise import Half, halved

_EXACT = 1 << 53  # integers that a double holds


class Encoder(Protocol):
    """Mechanism whose effect on a block of pooled users depends on the block's size alone."""

    rngs: Draws
    ledger: Ledger
    #: Whose noise protects a user: ``"sum"``, of all users; ``"noise"``, the user's own; ``"server"``, the server's.
    hidden_by: str
    #: Whether some block is decoded in a way of its own.
    odd: bool

    def numbered(self, n: int) -> tuple[int, int, int, int]:
        """Return precision g, noise bound τ, modulus m, and bits per user of a block of `n` users."""

    def noise_of(self, n: int) -> Noise:
        """Return the noise on a block of `n` users: a trusted server's on the sum, or that which each user adds."""


class OnePass:
    """A mechanism, and the ideal secure sum that it needs, which play a round's blocks of pooled users in one pass.

    The server gets the same to the bit as from messages that pass through all wrappers.

    Parameters
    ----------
    mechanism : Encoder
    secure : SecureFunction or None
        It opens the sum of a block of at least `fewest` users, each of whom sends a number of `shares`.  ``None``: the
        server gets the messages, and adds the noise if it is trusted.
    env : World
    """

    def __init__(self, mechanism: Encoder, secure: SecureFunction | None, env: World):
        self._mechanism, self._secure, self._env = mechanism, secure, env
        self._kinds, self._trusted = Kinds(self._row, np.float64), mechanism.hidden_by == "server"

    def _row(self, n: int) -> tuple[float, ...]:
        """Return the numbers of a block of `n` users, of which the first is 0 if the block needs messages."""
        secure, mechanism = self._secure, self._mechanism
        half = halved(mechanism.noise_of(n)) if n else Half(0.0, 0.0)
        g, tau, modulus, bits = mechanism.numbered(n)
        if half is None or mechanism.odd or max(g, tau, modulus) > _EXACT:
            return (0.0,) * 11
        p = np.nan if half.p is None else half.p
        scale = math.log1p(-p) if p < 1.0 else -math.inf
        fewest, shares = (secure.fewest(n, self._env), secure.shares(n, modulus)) if secure else (1, 1)
        noise = 0.0 if self._trusted else float(joined(n, half.share))
        cost = mechanism.ledger.cost(n)
        return 1.0, noise, p, scale, g, tau, modulus, bits * shares, fewest, *cost

    @classmethod
    def of(cls, env: World) -> Self | None:
        """Return the pass of `env`; ``None`` if its users or wrappers need messages."""
        mechanism, secure, *more = [*list(env.wrappers), None, None]
        ready = env.simulate_users == "aggregate" and all(getattr(w, "in_one_pass", False) for w in env.wrappers)
        hidden = isinstance(secure, SecureFunction) if getattr(mechanism, "hidden_by", "") == "sum" else secure is None
        fits = ready and hidden and not any(more) and isinstance(mechanism, Privatizer)
        return cls(mechanism, secure, env) if fits else None

    def play(self, n: Array, location: Array, cursors: Array, bits: Array) -> BlockInbox | None:
        """Return the inbox of blocks of `n` users, ``(R, M)``; ``None`` if their messages are needed.

        Parameters
        ----------
        n : (R, M) int
        location : (R, M) array
            The means of the blocks' arms.
        cursors : (R, M, 10) words
            Where in the random stream each block's rewards start.
        bits : (R, M) int
            What was sent so far; the blocks' bits are added.
        """
        kinds, ledger, law = self._kinds, self._mechanism.ledger, self._env.law
        spent, sums = (ledger.worst, ledger.worst_delta), np.empty((0, 0), np.int64)
        if self._trusted or not isinstance(law, Bernoulli):
            ready, _, p, _, g, *_ = kinds.by_size(n)
            if np.count_nonzero(ready) < ready.size:
                return None
            sums = Pooled(n, law, location, cursors).encode(g.astype(np.int64), self._mechanism.rngs).total()
            if self._trusted:
                sums += self._mechanism.rngs.geometric_differences(p)
        left, total, arrived = np.empty(n.shape, np.int64), np.empty(n.shape), np.empty(n.shape, bool)
        given, out = (location, cursors, sums, self._mechanism.rngs.cursors), (left, total, arrived)
        while new := _play(n, *given, kinds.known, kinds.table, bits, *spent, *out):
            if new < 0:
                return None
            kinds.add(new)
        ledger.note(n, left)
        return BlockInbox(total, left, arrived)


@lean
def _play(n, location, cursors, sums, coins, known, table, bits, worst, worst_delta, left, total, arrived):  # type: ignore[no-untyped-def]
    """Write each block's users, decoded sum and whether it was opened to `left`, `total` and `arrived`; return 0.

    Without `sums` of encoded rewards, rewards are Bernoulli and are drawn here.

    If a block's size is unknown, nothing happens and the size is returned; −1 if a block needs messages.
    """
    for r in range(n.shape[0]):
        for m in range(n.shape[1]):
            size, left[r, m] = n[r, m], place(known, n[r, m])  # looked up before anything is drawn
            if size > 0 and (known[left[r, m]] < 0 or table[left[r, m], 0] == 0.0):
                return size if known[left[r, m]] < 0 else -1
    for r in range(n.shape[0]):
        for m in range(n.shape[1]):
            size, row = n[r, m], table[left[r, m]]
            left[r, m], total[r, m], arrived[r, m] = 0, 0.0, False
            if size > 0:
                g, tau, modulus = int(row[4]), int(row[5]), int(row[6])
                y = sums[r, m] if sums.size else binomial(cursors[r], m, size, location[r, m]) * g
                cursors[r, m, PLACE] = np.uint64(0)
                y += difference(coins, r, row[1], row[2], row[3])
                y = y if 0 <= y < modulus else y % modulus  # a division takes longer than the comparisons
                if size >= row[8]:
                    under = modulus if y > size * g + tau else 0
                    left[r, m], total[r, m], arrived[r, m] = size, (y - under) / g, True
                    bits[r, m] += size * int(row[7])
                    worst[r], worst_delta[r] = max(worst[r], row[9]), max(worst_delta[r], row[10])
    return 0
