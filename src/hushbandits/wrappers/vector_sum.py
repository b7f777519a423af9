"""The shuffled vector-sum protocol in a tree of feature sums (Zhou & Chowdhury 2024; Cheu, Joseph, Mao & Peng 2021)."""

import math
from typing import Any

import numpy as np

from hushbandits.core import Array, Guarantee, Streams, Uniforms, World, choice, set_rows
from hushbandits.envs.linear.payload import served
from hushbandits.privacy.binomial import COIN, least_coins, released_coins
from hushbandits.privacy.tree import packed, unpacked
from hushbandits.wrappers.tree import Tree


class ShuffledVectorSum(Tree):
    """Wrapper with one tree over all agents, whose p-sums are sums of shuffled messages of users.

    For a p-sum of n users, a user sends for each entry v ∈ [−1, 1] of (x xᵀ above and on the diagonal, r x) the integer
    ``⌊w⌋ + Ber(w − ⌊w⌋) + Bin(b, ¼)`` with ``w = (v + 1)g`` and ``g = ⌈max(2√n, d, 4)⌉``.  Entries are shuffled one by
    one, so the server learns their sums alone, and subtracts ``nb/4`` and n.

    Parameters
    ----------
    *args, **rest
        As in `Tree`: ε, δ, B and `own_feedback`.
    budget : str
        What a p-sum may spend: ``"split"``, ε/κ at δ/κ, with the least b for which theorem 1 of Agarwal et al. 2018
        bears it out; ``"whole"``, as in the authors' code, all of ε at δ by its own constant
        ``b = ⌈g² ln²(d²/δ)/(ε²n)⌉``, which promises nothing for κ p-sums.

    Examples
    --------
    >>> import hushbandits as hb
    >>> for budget in ("split", "whole"):
    ...     (claim,) = hb.make_batched("ShuffleFedLinear-v0", budget=budget).guarantees()
    ...     print(claim.epsilon, claim.invalid_reason or 'holds')
    1.0 holds
    inf no theorem bears out budget='whole': each of 9 p-sums spends all of ε and δ
    """

    vetted = ("proof", "audit")
    _rounded: Array  # (R, κ, entries) integers of the users in the open p-sum of each level
    _noisy: Array  # (R, κ, d, d + 1) released p-sums
    _stream: Uniforms
    _rngs: list[np.random.Generator]

    def __init__(self, *args: Any, budget: str = "split", **rest: Any):
        super().__init__(*args, **rest)
        self.budget = choice("budget", budget, ("split", "whole"))

    def _plan(self, env: World) -> None:
        served(self.name, env)
        if env.activity != "all" or self.own_feedback == "true":
            given = f"activity={env.activity!r} of the env and own_feedback={self.own_feedback!r}"
            raise ValueError(f"{given} must be 'all' and 'private': every user sends for itself to {self.name}")
        d, kappa, whole = int(env.n_features), self.depth, self.budget == "whole"
        self.entries, share = d * (d + 3) // 2, 1 if whole else kappa
        #: Users, g and b of a p-sum, by its level 0 … κ − 1.
        self.users = [env.n_agents * int(self.batch or 1) << level for level in range(kappa)]
        self.steps = [math.ceil(max(2 * math.sqrt(n), d, 4)) for n in self.users]
        spend = self.epsilon / share, self.delta / share
        self.costs = tuple((c * spend[0], min(1.0, c * spend[1])) for c in range(kappa + 1))
        least = released_coins if whole else least_coins
        self.coins = [least(n, *spend, g, d) for n, g in zip(self.users, self.steps, strict=True)]
        parts = zip(self.users, self.steps, self.coins, strict=True)
        self.total = math.sqrt(kappa) * max(math.sqrt(n * b * COIN * (1 - COIN)) / g for n, g, b in parts)
        before = env.wrappers[: [w.name for w in env.wrappers].index(self.name)]
        losing = [w.name for w in before if w.max_drop_fraction > 0]
        self.flaw = f"{' and '.join(losing)} may lose users, and with them noise that it counts on" if losing else ""
        if whole:
            far = math.log(kappa * d * d / self.delta)  # `total` as released code has it
            self.total = kappa * math.sqrt(math.log(1 / self.delta)) * far / self.epsilon
            self.flaw = f"no theorem bears out budget='whole': each of {kappa} p-sums spends all of ε and δ"

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        super().reset(env, rng, rows)
        d, runs, levels = env.n_features, len(rng), self.depth
        set_rows(
            self, rows, _rounded=np.zeros((runs, levels, self.entries), np.int64), _rngs=rng.generators(),
            _noisy=np.zeros((runs, levels, d, d + 1)), _stream=rng.reader((levels, env.n_agents, self.entries)),
        )  # fmt: skip

    def _gather(self, blocks: Array, there: Array, at: tuple[Array, Array]) -> None:
        """Add each user's integers, rounded anew for the p-sum of every level."""
        w = (packed(blocks)[:, None] + 1.0) * np.array(self.steps)[:, None, None]  # (R, κ, A, entries)
        self._rounded += ((w + self._stream.next()).astype(np.int64) * there[:, None, :, None]).sum(2)

    def _release(self, r: Array, m: Array, k: Array, sent: Array) -> Array:
        found = np.zeros((len(r), *self._noisy.shape[2:]))
        for at in np.flatnonzero(m == 0).tolist():  # the sum of all agents' users stands at the first
            run, level = int(r[at]), int(k[at] & -k[at]).bit_length() - 1
            n, g, coins = self.users[level], self.steps[level], self.users[level] * self.coins[level]
            sums = self._rounded[run, level] + self._rngs[run].binomial(coins, COIN, self.entries)
            self._noisy[run, level] = unpacked((sums - coins * COIN) / g - n, found.shape[1])
            self._rounded[run, : level + 1] = 0
            found[at] = self._noisy[run, level] - self._noisy[run, :level].sum(0)
        return found

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = f"p-sums of a tree over {self.batches:,} batches, of shuffled messages with Bin(b, ¼) noise"
        source = "Agarwal et al. 2018, theorem 1, for each p-sum" if self.budget == "split" else "Zhou & Chowdhury 2024"
        words = ("an honest shuffler, and users who all take part",)
        return (self._claim(text, "the server, behind the shuffler: sums of messages", source, words),)
