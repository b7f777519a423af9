"""The noise that is really drawn, on blocks of users and on graphs, held against its law.

Every block has a canary among its users, and on a graph every reward is one.  Noise is held against the planned law of
those who are left (`laws.planned_law`), so that blocks of all sizes are looked at together (`Draws`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from hushbandits.audits.cases import Case, Verdict
from hushbandits.audits.draws import Draws
from hushbandits.audits.laws import Continuous, OnGrid, planned_law
from hushbandits.audits.play import BACKGROUNDS, Seen, around, block, place, seen, shown, stage
from hushbandits.core import Array
from hushbandits.privacy.laplace import release_counts
from hushbandits.privacy.samplers import DiscreteLaplace
from hushbandits.wrappers.local_noise import LocalBernoulli, LocalLaplace
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.private_means import PrivateMeans

_AGAIN = 8  # blocks of one size, half of them in a row, then the other half
_STRETCH = 100
_POOLED, _LARGE = (2, 19, 64, 100, 1000), (10_000, 100_000)
_SHORT = (2, 2, 2, 2, 3, 5, 8, 2)
#: A reward between the ends, which lies on no grid.
_BETWEEN = (math.sqrt(5) - 1) / 2
_AGENTS, _ROUNDS, _RUNS, _LONG = 5, 6, 9, 1500


# -- blocks of users --------------------------------------------------------------------------------------------------


def drawn_on_blocks(case: Case) -> Iterator[Verdict]:
    """In full at ε = 1 (or its own ε), and shorter at the others of the grid."""
    grid, full, largest, runs = case.budget.grid, case.budget.full, case.budget.largest, max(3, case.budget.runs)
    for made in case.over(*full):
        if made.owner.noise == "exact":  # integers only, user by user: slow
            yield from long_run(made, 24, 3)
            return
        yield from long_run(made, largest, runs)
        yield from _more_runs(made, largest, runs)
    for made in case.over(*(epsilon for epsilon in grid if epsilon not in full)) if case.make else ():
        yield from long_run(made, 64, max(3, runs // 4), every=3)


def long_run(case: Case, largest: int, runs: int, every: int = 1) -> Iterator[Verdict]:
    """Every block size up to `largest` (or each `every`-th), eight blocks each, in random orders."""
    rng = np.random.default_rng([case.budget.seed, 1])
    of = rng.permutation(np.arange(case.owner.smallest, largest + 1))[::every]
    sizes = np.concatenate([np.repeat(rng.permutation(of), _AGAIN // 2) for _ in range(2)]).tolist()
    yield from drawn(case, f"{len(sizes):,} blocks", sizes, runs)


def _more_runs(case: Case, largest: int, runs: int) -> Iterator[Verdict]:
    """Runs in which users get lost, many short ones on the env's own rewards to their end, and pools of users.

    Short runs begin with like blocks: what a first noise has to do with the luck of the rewards is blurred later, since
    draws take as many numbers of a generator as they need.
    """
    rng, smallest = np.random.default_rng([case.budget.seed, 3]), case.owner.smallest
    some = [int(x * smallest) for x in (1, 1.5, 2.5, 4, 10, 16, 32) if x * smallest <= max(largest, 4 * smallest)]
    for i, where in enumerate(("before", "behind")):
        sizes = rng.permutation(np.repeat(some, 4)).tolist()
        yield from drawn(case, f"users lost {where} the mechanism", sizes, 2 * runs, i, where)
    yield from drawn(case, "own rewards", [max(n, smallest) for n in _SHORT], 100 * runs, how="own")
    for sizes, many in (((*_POOLED, *rng.integers(2, 400, 3).tolist()), 12 * runs), (_LARGE, 4 * runs)):
        known = [n for n in sizes if n >= smallest and planned_law(case.owner, n, n) is not None]
        if known:
            yield from drawn(case, f"pooled, up to n = {max(known)}", np.repeat(known, 4).tolist(), many, how="pooled")


def drawn(case: Case, what: str, sizes: Sequence[int], runs: int, turn: int = 0, how: str = "") -> Iterator[Verdict]:
    """Play blocks of the given sizes in this order; hold their noise against its law, and the canaries' views.

    A canary earns nothing or something, among a background.  Where the noise is no integer, that of every fourth block
    may earn what is on no grid.  `turn`: which of several such runs it is, each with its own luck.  `how`: as `seen`
    has it; or users draw 0 or 1 by the env's ``"own"`` luck, and the first of a block is its canary.
    """
    own, pooled = how == "own", how == "pooled"
    seed, shape = case.budget.seed + turn, (len(sizes), runs, 1 if pooled else 2)
    rng, release = np.random.default_rng([seed, 2]), case.owner.release(sizes[0], sizes[0])
    kinds = rng.integers(len(BACKGROUNDS), size=shape[0])
    fine = release is not None and not release.law.integer and not own
    full = np.where(fine & (rng.random(shape[0]) < 0.25), _BETWEEN, 1.0)[:, None, None]
    bits = rng.random(shape) < 0.5
    at = [0 if own else place(k, n) for k, n in zip(kinds.tolist(), sizes, strict=True)]
    told: list[Any] = list(sizes)
    if not own and not pooled:
        told = [block(k, n, x) for k, n, x in zip(kinds.tolist(), sizes, full * bits, strict=True)]
    it = seen(case.env, told, runs, seed, how, shape[2])
    canary = np.zeros(shape) if pooled else np.array([x[..., i] for x, i in zip(it.earned, at, strict=True)])
    # the mechanism as it was in these runs: it knows their horizon
    mechanism, planned = it.env.mechanism, np.broadcast_to(np.array(sizes)[:, None, None], shape)
    noise = it.fields["reward"] - it.sums
    kept = np.unique(np.array([planned, it.left])[:, ~np.isnan(noise)], axis=1).T.tolist()
    parts = []
    for n, k in kept:
        where = (planned == n) & (it.left == k) & ~np.isnan(noise)
        if planned_law(mechanism, n, k) is None:
            noise[where] = np.nan
        else:
            parts.append((where, partial(planned_law, mechanism, n, k)))
    cost = max(case.promise.epsilon, *(mechanism.price(n, k).epsilon for n, k in kept if k < mechanism.sure(n)), 0.0)
    third = np.floor(3 * (it.sums - canary) / np.maximum(it.left, 1)).clip(0, 2)
    draws = Draws(
        case,
        f"drawn, {what}",
        noise,
        parts,
        rng,
        bits=canary > 0 if own or pooled else bits,
        truth=it.sums,
        epsilon=cost,
        sides=2 * third + (canary > 0),
        moved=canary,
        full=full,
        groups=_groups(it, np.array(sizes), own, third) | ({} if own else {"background": kinds, "most": full}),
        rewards=it.luck if own else None,
    )
    yield from draws.verdicts()
    if mechanism.planned(sizes[0]).wraps and "modulus" in it.env.sent_fields:
        yield _decoded(it, mechanism, sizes, case.subject, f"drawn, {what}")


def _groups(it: Seen, sizes: Array, own: bool, third: Array) -> dict[str, Array]:
    number, shape, all_of = np.arange(len(sizes)), it.sums.shape, sizes[:, None, None]
    groups = {"size": sizes, "arm": number % 2, "third of what others may earn": third}
    groups["server"] = np.broadcast_to(np.arange(shape[2]), shape)
    groups["share of users left"] = np.floor(4 * it.left / all_of)
    few = len(sizes) <= 32
    groups["place in the run" if few else "stretch of the run"] = number if few else number // _STRETCH
    if own:
        groups["luck of its rewards"] = 4 * number[:, None, None] + np.floor(4 * it.luck)
    return groups


def _decoded(it: Seen, mechanism: Mechanism, sizes: Sequence[int], subject: str, where: str) -> Verdict:
    """A decoded sum lies where the analyzer puts one: no more than τ above all rewards, and less than m below that."""
    wrong = 0
    for b, n in enumerate(sizes):
        plan = mechanism.planned(n)
        steps = np.rint(it.fields["reward"][b] * plan.g)
        top = it.left[b] * plan.g + plan.tau  # and up to a reward beyond, if it is rounded
        wrong += int(((steps > top + plan.g) | (steps <= top - plan.modulus - plan.g)).sum())  # NaN is neither
    return Verdict(subject, f"{where}: sums decoded out of range", 0, wrong, "sums")


# -- agents on a graph ------------------------------------------------------------------------------------------------


def drawn_on_graph(case: Case) -> Iterator[Verdict]:
    """Long runs on rewards that are told, and short ones to their end on rewards of the env's own."""
    rng, means = np.random.default_rng([case.budget.seed, 9]), [0.5] * 3
    fine = not isinstance(case.owner, LocalBernoulli) and getattr(case.owner, "grid", None) is None
    full = np.where(fine & (rng.random((_LONG, 1, 1)) < 0.25), _BETWEEN, 1.0)
    told = list(full * (rng.random((_LONG, _RUNS, _AGENTS)) < 0.5))
    yield from _graph(stage(case, _LONG, _AGENTS, runs=_RUNS, means=means), "long runs", 0, full, told)
    own = stage(case, _ROUNDS, _AGENTS, runs=80 * _RUNS, rewards="bernoulli", means=means)
    yield from _graph(own, "own rewards", 1, np.ones(1))


def _graph(case: Case, what: str, turn: int, full: Array, told: list[Array] | None = None) -> Iterator[Verdict]:
    seed = case.budget.seed + turn
    it, rng = shown(case, around(), seed, told), np.random.default_rng([seed, 6])
    x = np.clip(it.earned, 0.0, 1.0)
    number, short = np.arange(len(x)), len(x) == _ROUNDS
    groups = {"agent": np.broadcast_to(np.arange(x.shape[2]), x.shape), "arm": it.arms, "reward": it.earned}
    groups["round" if short else "stretch of the run"] = number if short else number // _STRETCH
    read = next(read for kind, read in KNOWN.items() if isinstance(case.owner, kind))(case.owner, it, x, full)
    rewards = (x + rng.random(x.shape)) / 2 if short else None
    draws = Draws(case, f"drawn, {what}", bits=x > 0, groups=groups, rewards=rewards, rng=rng, **read)
    yield from draws.verdicts()


def _reports(wrapper: LocalLaplace, it: Seen, x: Array, full: Array) -> dict[str, Any]:
    grid, epsilon = wrapper.grid, wrapper.epsilon
    noise = it.fields["reward"] - (x if grid is None else np.rint(x * grid) / grid)

    def law(times: float) -> Continuous | OnGrid:
        if grid is None:
            return Continuous(stats.laplace(scale=1 / (times * epsilon)).cdf, 1 / epsilon)
        b = grid / (times * epsilon)
        far = np.arange(-math.ceil(36 * b), math.ceil(36 * b) + 1)
        return OnGrid(DiscreteLaplace(b).pmf(far), int(far[0]), 0, grid)

    return {"noise": noise, "parts": [(~np.isnan(noise), law)], "moved": x, "full": full, "truth": x}


def _releases(wrapper: PrivateMeans, it: Seen, x: Array, full: Array) -> dict[str, Any]:
    """In units of the noise's scale, where a count is due."""
    mine = it.arms[..., None] == np.arange(it.fields["mean"].shape[-1])
    n, sums = np.cumsum(mine, 0), np.cumsum(mine * x[..., None], 0)
    count, total, mean = (np.take_along_axis(v, it.arms[..., None], 3)[..., 0] for v in (n, sums, it.fields["mean"]))
    due, unit = np.isin(count, release_counts(wrapper.epsilon, wrapper.v, len(x))), count ** (1 - wrapper.v / 2)
    noise, one = np.where(due, (mean - total / count) * unit, np.nan), unit / count
    parts = [(~np.isnan(noise), lambda times: Continuous(stats.laplace(scale=1 / times).cdf))]
    return {"noise": noise, "parts": parts, "moved": x * one, "full": full * one, "truth": total * one}


def _coins(wrapper: LocalBernoulli, it: Seen, x: Array, full: Array) -> dict[str, Any]:
    """By the chances at the ε that is promised."""
    bits, lean = it.fields["reward"], math.exp(-wrapper.epsilon)
    chances = {0.0: lean / (1.0 + lean), 1.0: 1.0 / (1.0 + lean)}
    laws = {value: OnGrid(np.array([1 - p, p]), 0, 0, 1) for value, p in chances.items()}
    parts = [(~np.isnan(bits) & (x == value), lambda times, law=law: law) for value, law in laws.items()]
    return {"noise": bits, "parts": parts, "truth": x, "coins": True}


#: Wrappers on a graph whose law is known here, and how their draws are read.
KNOWN: dict[type, Callable[..., dict[str, Any]]] = {
    LocalBernoulli: _coins, LocalLaplace: _reports, PrivateMeans: _releases,
}  # fmt: skip
#: Parts whose draws are held against their law.
DRAWN = {Mechanism: drawn_on_blocks, **dict.fromkeys(KNOWN, drawn_on_graph)}
