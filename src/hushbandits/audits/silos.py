"""Checks of trees of feature sums: their exact law, drawn noise, and messages of two worlds that differ in one user.

In d = 2 the first of two agents has the user that differs.  All others bring the same contexts and rewards, so that
whatever else differs in the messages is the policy's doing.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from scipy import stats

from hushbandits.agents.zhou2024 import tree_of
from hushbandits.audits.cases import Case, Verdict
from hushbandits.audits.events import apart, fair, features
from hushbandits.audits.planned import composed_delta
from hushbandits.audits.play import Prescribed, Tap, rounds
from hushbandits.core import Array, Seeds, Team, spawn_seeds
from hushbandits.envs.linear.contexts import ContextLaw
from hushbandits.envs.linear.env import Linear
from hushbandits.privacy.binomial import COIN
from hushbandits.privacy.divergence import delta_at, gaussian_profile
from hushbandits.privacy.tree import frobenius, packed
from hushbandits.registry import make_team
from hushbandits.wrappers.tree import Tree, TreeGaussian
from hushbandits.wrappers.vector_sum import ShuffledVectorSum

_E1, _E2, _FAR = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([-0.5, math.sqrt(0.75)])


class World(NamedTuple):
    """Two neighbours: the user of round `when` brings features `x` and reward `r`, in one world or the other.

    Everybody else brings the features `others` of two arms, and the reward 1.
    """

    words: str
    when: int
    x: tuple[Array, Array]
    r: tuple[float, float]
    others: tuple[Array, Array]


#: A reward that steers later choices between two arms; features that move a determinant; features and a reward that
#: move a sum most, ``Δ² = 4.5``, in the fourth round.
WORLDS = (
    World("one reward, and two arms for later users", 0, (_E1, _E1), (1.0, 0.0), (_E1, _E2)),
    World("one user's features, and one arm for others", 1, (_E1, _E2), (1.0, 1.0), (_E1, _E1)),
    World("one user's features, and a choice for others", 3, (_E1, _FAR), (1.0, 1.0), (_E1, _E2)),
)


class Scripted(ContextLaw):
    """Contexts of a `World`, round by round; `bits` say which of its two users a run has."""

    means = (0.0, 1.0)

    def __init__(self, world: World, bits: Array) -> None:
        self._world, self._bits, self._t = world, bits, 0

    def samples(self, n_arms: int, n_features: int) -> int:
        return 1

    def draw(self, u: Array, pool: Array, x: Array) -> None:
        world, x[:] = self._world, np.array(self._world.others)
        if self._t == world.when:
            x[:, 0] = np.where(self._bits[:, None, None], world.x[1], world.x[0])
        self._t += 1


def player(case: Case) -> Team:
    """Return the team that claims the guarantee, or one that sees all that the tree's wrapper lets it see."""
    if case.team is not None:
        return case.team
    tree = tree_of(case.env)
    if tree.batch is None:
        return make_team("FedUCB")
    return make_team("Private-FedLinUCB", acts="within" if tree.own_feedback == "true" else "frozen")


class Sent(NamedTuple):
    """What was sent: exact sums, sums as released, and who sent, each by round ``(T, R, M, …)``."""

    data: Array
    blocks: Array
    sent: Array


def transcript(case: Case, world: World, bits: Array, seed: int | Seeds, length: int) -> tuple[Tree, Sent]:
    """Play `length` rounds of a world in runs with `bits`; return the tree and all that its agents send."""
    first, last, core = Tap(name="audit: earned"), Tap(name="audit: left"), case.env
    own = [w for w in core.configured if not isinstance(w, Tap)]
    env = Linear(
        n_agents=2, n_arms=2, n_features=2, contexts=Scripted(world, bits), rewards=Prescribed(), runs=len(bits),
        wrappers=(first, *own, last), horizon=core.horizon, server=core.server, activity="all",
    )  # fmt: skip
    given = np.ones((length, len(bits), 2))
    given[world.when, :, 0] = np.where(bits, world.r[1], world.r[0])
    rows = []
    for _ in rounds(env, player(case), seed, list(given)):
        taps = [cast(Tap, env.wrappers[i]).message for i in (0, -1)]
        sums = [np.concatenate([x["gram"], x["moment"][..., None]], 3) for x in taps]
        sent = [x["sent"].astype(bool) for x in taps]
        rows.append([np.where(who[..., None, None], x, 0.0) for who, x in zip(sent, sums, strict=True)] + sent[1:])
    return tree_of(env), Sent(*map(np.array, zip(*rows, strict=True)))


def _length(case: Case, batches: int) -> int:
    least = max(world.when for world in WORLDS) + 1
    return min(max(batches * (tree_of(case.env).batch or 4), least), int(case.env.horizon))


def unit(block: Array, tree: TreeGaussian) -> Array:
    """Return sums ``(…, d, d + 1)`` in coordinates in which the noise of a p-sum is iid N(0, 1)."""
    return packed(block) / frobenius(block.shape[-2], tree.spread) / tree.scale


# -- by law -----------------------------------------------------------------------------------------------------------


def by_law(case: Case) -> Iterator[Verdict]:
    """Yield the δ of the noise's law at the claimed ε, and that of the first message in which two worlds differ."""
    for made in case.over(*(case.budget.grid if case.team is None else case.budget.full)):
        tree, promise = tree_of(made.env), made.promise
        epsilon, most = promise.epsilon, promise.delta
        deltas: dict[str, float] = {}  # at the claimed ε, by check
        if isinstance(tree, TreeGaussian):
            law = gaussian_profile(tree.mu * math.sqrt(tree.depth))
            deltas[f"one user in {tree.depth} p-sums"] = delta_at(law, epsilon)
            deltas |= {f"{world.words}: {check}": x for world in WORLDS for check, x in [_apart(made, world)]}
        elif isinstance(tree, ShuffledVectorSum) and epsilon in case.budget.full:
            deltas[f"features e₁ or e₂ in {tree.depth} p-sums"] = composed_delta(sum_pairs(tree), epsilon, 2e-3)
        for check, x in deltas.items():
            found = x if x > most * (1 + 1e-6) else min(x, most)
            about = f"white box, {check}", most, found, f"δ at ε = {epsilon:.4g}"
            yield Verdict(made.subject, *about, promise=promise, least=epsilon)


def _apart(case: Case, world: World) -> tuple[str, float]:
    """Return what first differs between two worlds of equal noise, in words, and the δ at the claimed ε that it gives.

    Before it, both have sent the same, so this is a lower bound: of a message sent in one world alone, or without
    noise, 1; of a message that moves by Δ, that of a Gaussian mechanism.
    """
    seeds = np.repeat(spawn_seeds(case.budget.seed, 1), 2, 0)
    tree, seen = transcript(case, world, np.array([False, True]), seeds, _length(case, 2))
    runs = [unit(seen.blocks[:, r], cast(TreeGaussian, tree)) for r in (0, 1)]
    for t in range(len(seen.sent)):
        if (seen.sent[t, 0] != seen.sent[t, 1]).any():
            return f"one world alone sends in round {t + 1}", 1.0
        moved = float(np.linalg.norm(runs[0][t] - runs[1][t]))
        if moved > 1e-9:
            k = int(seen.sent[: t + 1, 0, 0].sum())
            if cast(TreeGaussian, tree).nodes == "levels" and (k - 1) & (k - 2):
                return f"message {k} has no noise", 1.0
            size = moved * cast(TreeGaussian, tree).scale
            return f"message {k} moves by {size:.3g}", delta_at(gaussian_profile(moved), case.promise.epsilon)
    return "nothing differs", 0.0


def sum_pairs(tree: ShuffledVectorSum) -> list[tuple[Array, Array]]:
    """Return log laws of the sums of two neighbours with features e₁ or e₂ and reward 1: two entries up, two down."""
    pairs = []
    for n, g, b in zip(tree.users, tree.steps, tree.coins, strict=True):
        coins, far = n * b, 12 * math.sqrt(n * b * COIN * (1 - COIN))
        x = np.arange(max(g, int(coins * COIN - far)), min(coins, int(coins * COIN + far)) + 1)
        p, q = stats.binom.logpmf(x, coins, COIN), stats.binom.logpmf(x - g, coins, COIN)
        pairs += [(p, q), (p, q), (q, p), (q, p)]
    return pairs


# -- as drawn ---------------------------------------------------------------------------------------------------------


def as_drawn(case: Case, runs: int = 200, batches: int = 16) -> Iterator[Verdict]:
    """Yield verdicts on p-sums minus data: whether they are iid N(0, σ²), each with noise of its own."""
    for made in case.over(*case.budget.full):
        if not isinstance(tree_of(made.env), TreeGaussian):
            yield Verdict(made.subject, "drawn, p-sums", 0, 0, untested="its noise is compared with its law in tests")
            continue
        tree, seen = transcript(made, WORLDS[0], np.zeros(runs, bool), made.budget.seed, _length(made, batches))
        times = np.flatnonzero(seen.sent.all((1, 2)))
        data, server = seen.data.cumsum(0)[times], seen.blocks.cumsum(0)[times]
        noise = server - data
        found = [noise[k - 1] - (noise[k - (k & -k) - 1] if k & (k - 1) else 0.0) for k in range(1, len(times) + 1)]
        z, level = unit(np.array(found), cast(TreeGaussian, tree)), made.budget.level
        silent = int((np.abs(z).max(-1) < 1e-6).sum())
        yield Verdict(made.subject, "drawn, p-sums without noise", 0, silent, "p-sums", promise=made.promise)
        narrow, other = stats.chi2.cdf(float((z**2).sum()), z.size), stats.kstest(z.ravel(), "norm").pvalue
        power = f"σ {stats.chi2.ppf(level, z.size) / z.size:.3f}² off"
        for what, p, law in (("too little noise", narrow, False), ("another law", other, True)):
            size = math.log(max(float(p), 1e-300)) / math.log(level)
            check = f"drawn, {len(times) * runs * 2:,} p-sums minus data: {what}"
            yield Verdict(made.subject, check, 1.0, size, "× critical", power, level, made.promise, other=law)


# -- two worlds -------------------------------------------------------------------------------------------------------


def two_worlds(case: Case) -> Iterator[Verdict]:
    """Yield verdicts that bound ε from below by all that two agents send, in runs of two worlds."""
    for made in case.over(*case.budget.full):
        for i, world in enumerate(WORLDS):
            bits = fair(2 * case.budget.samples, case.budget.seed, i)
            yield apart(made, world.words, bits, partial(_seen, made, world, bits, case.budget.seed + i))


def _seen(case: Case, world: World, bits: Array, seed: int) -> dict[str, Array]:
    _, seen = transcript(case, world, bits, seed, _length(case, 1))
    entries = packed(seen.blocks)[seen.sent.any((1, 2))]
    move = (entries @ [1, 0, -1, 1, -1])[:, :, :1]
    return features({"sent": seen.sent, "sum": entries[:, :, 0], "move": move}, False)


#: Checks of trees.
SILOS = {"white box": by_law, "drawn law": as_drawn, "black box": two_worlds}
