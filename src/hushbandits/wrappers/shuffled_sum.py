"""Sums that a server computes from shuffled messages of a block."""

import numpy as np

from hushbandits.core import Fields, Payload, Privatizer, SecureFunction, Streams, World, require, set_rows
from hushbandits.core.random.names import SHARES
from hushbandits.core.utils import Array, choice, integer
from hushbandits.envs.feedback.payload import one_by_one
from hushbandits.envs.feedback.users import Cohort, Individuals, blocks
from hushbandits.secure.arithmetic import secret_shares
from hushbandits.secure.split_and_mix import SMALLEST, shares_needed, split_and_mix
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.shuffle import Mixed

PROTOCOLS = ("split-and-mix", "pure", "binary-sum")


class ShuffledSum(Mixed, SecureFunction):
    """Secure function in which a server sums shuffled messages, which hide their senders.

    ``split-and-mix``: k uniform shares per message, ``k = ⌈2 + (2σ + log₂ m)/(log₂ n − log₂ e)⌉`` for the n users that
    the mechanism is sure of (`min_participants`), each counted in ``bits``; where fewer than 19 are left the block is
    refused: nothing of it arrives.  So it is, of every protocol, where the mechanism is sure of a part of the users
    alone, and fewer are left.  ``pure``: an ideal (ε̂, q̂)-relaxed secure aggregation; with probability ``q̂ = 1/(2T)``
    a block's sum is a uniform number.  ``binary-sum``: the bits' sum.  Source: Balle et al. 2020; Chowdhury & Zhou
    2023, theorem 3; Tenenbaum et al. 2021, in the order of `PROTOCOLS`.

    The shuffler is ideal, and adds up messages that nobody cuts; or with ``protocol="mixnet"`` it is a cascade of mixes
    through which every share of ``split-and-mix`` goes, with ``simulate_users="individual"``; the sums are the same to
    the bit.

    Parameters
    ----------
    shuffle : str
        One of `PROTOCOLS`.
    security : int
        σ of ``split-and-mix``, the mechanism's.
    min_cohort : int
        Fewest users whose sum is opened.
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.
    n_mixes : int
        Mixes that every share passes.
    insecure_seed : bool
        Whether shares, keys and orders follow from the run's seed: a simulation.  Otherwise they are the operating
        system's; sums are the same, and the noise in them is the mechanism's own.

    Raises
    ------
    ValueError
        A number out of its range, a parameter of the protocol without it, or the protocol with another `shuffle`.
    """

    operations = ("seal",)
    _rngs: list[np.random.Generator]

    def __init__(
        self,
        shuffle: str = "split-and-mix",
        security: int = 40,
        min_cohort: int = 2,
        protocol: str | None = None,
        n_mixes: int = 3,
        insecure_seed: bool = True,
        *,
        name: str | None = None,
    ):
        super().__init__(protocol, n_mixes, insecure_seed, name=name)
        self.shuffle = choice("shuffle", shuffle, PROTOCOLS)
        self.security = integer("security", security, 1, 128)
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        if protocol is not None and shuffle != "split-and-mix":
            raise ValueError(f"shuffle={shuffle!r} must be 'split-and-mix' with protocol={protocol!r}")

    def message_fields(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("reward", "n", "modulus"), fields)
        one_by_one(self.name, self.protocol, env)
        before = next((w for w in env.wrappers if isinstance(w, Privatizer)), None)
        if not isinstance(before, Mechanism) or getattr(before, "shuffle", None) != self.shuffle:
            raise ValueError(
                f"shuffle={self.shuffle!r} of {self.name} needs a mechanism with that shuffle, not {before}"
            )
        if self.shuffle == "split-and-mix" and getattr(before, "security", None) != self.security:
            raise ValueError(f"security={self.security} of {self.name} must equal security of {before!r}")
        self._mechanism = before
        self._wrong = 1 / (2 * env.horizon) if self.shuffle == "pure" else 0.0
        return {k: f for k, f in fields.items() if k != "users"}

    @property
    def in_one_pass(self) -> bool:
        """Return whether it releases the sum of a block of at least `fewest` pooled users, and nothing else."""
        return self.protocol is None and self.shuffle == "split-and-mix" and self.keeps(ShuffledSum)

    def fewest(self, n: int, env: World) -> int:
        return max(self.min_cohort, SMALLEST if self.shuffle == "split-and-mix" else 2)

    def shares(self, n: int, modulus: int) -> int:
        if self.shuffle != "split-and-mix" or n < SMALLEST:
            return 1
        # cut before it is known who drops out: enough for the fewest that may be opened
        return shares_needed(max(SMALLEST, self._mechanism.sure(n)), modulus, self.security)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        super().reset(env, rng, rows)
        set_rows(self, rows, _rngs=rng.generators(SHARES))

    def send(self, message: Payload, env: World) -> Payload:
        crowd: Cohort = message["reward"]
        modulus, bits = message["modulus"], message["bits"].copy()
        keep = message["sent"] & (crowd.n >= self.fewest(0, env))
        sums, total = crowd.total(), np.zeros(crowd.n.shape, np.int64)
        for r, i, n in blocks(crowd.planned):
            m, rng, sure = int(modulus[r, i]), self._rngs[r], self._mechanism.sure(n)
            keep[r, i] &= sure == n or crowd.n[r, i] >= sure  # its noise is that of so many
            k = self.shares(n, m)
            bits[r, i] *= k
            total[r, i] = sums[r, i] % m
            if self.protocol is not None and keep[r, i]:
                assert isinstance(crowd, Individuals)
                total[r, i] = sum(self._mixed(r, crowd.messages(r, i), k, m).tolist()) % m
            if self._wrong and rng.random() < self._wrong:
                total[r, i] = rng.integers(m)
        return message.with_fields(reward=crowd.seal(total, keep, self.name), sent=keep, bits=bits)

    def _mixed(self, run: int, messages: Array, k: int, m: int) -> Array:
        """Return k shares of each message, in the order in which they leave the mixes."""
        shares = split_and_mix(messages, k, m, self._rngs[run]) if self.insecure_seed else secret_shares(messages, k, m)
        return np.frombuffer(b"".join(self._play.shuffle(run, [share.tobytes() for share in shares])), np.int64)
