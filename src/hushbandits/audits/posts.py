"""The noise of every report, released mean or coin of an agent on a graph, held against its law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from hushbandits.audits.beats import Around
from hushbandits.audits.cases import Budget, Case
from hushbandits.audits.drawn import BETWEEN
from hushbandits.audits.draws import Draws
from hushbandits.audits.laws import Continuous, OnGrid, PlannedLaw
from hushbandits.audits.network import Shown, shown, stage
from hushbandits.audits.verdict import Verdict
from hushbandits.audits.white import composed_delta
from hushbandits.core.ground.types import Array
from hushbandits.privacy.releases import release_counts
from hushbandits.privacy.samplers import DiscreteLaplace
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans

__all__ = ["by_law"]

_AGENTS, _STRETCH = 5, 100
_SHORT = 6
_HORIZONS = 3, 16, 100
_LOST = 0.3
_Laws = Callable[[float], list[tuple[Array, PlannedLaw]]]


def _coins(case: Case) -> Iterator[Verdict]:
    """Largest ratio of the chances that the mechanism gives any two rewards, either side of the coin."""
    promise = case.promises[0]
    sides = [f(case.owner.chance(np.linspace(0.0, 1.0, 1001))) for f in (lambda p: p, lambda p: 1.0 - p)]
    with np.errstate(divide="ignore"):
        measured = max(float(np.log(p.max()) - np.log(p.min())) for p in sides)
    yield Verdict(
        case.subject, "white box: the coins of any two rewards", promise.epsilon, measured, "ε", promise=promise,
        least=promise.epsilon,
    )  # fmt: skip


def _all_releases(case: Case) -> Iterator[Verdict]:
    """All releases of a run, of which an arm's first reward differs, by their exact laws; over several horizons."""
    for horizon in _HORIZONS:
        made = case.within(stage(case.env, horizon, 2))
        counts = release_counts(case.owner.epsilon, case.owner.v, horizon).astype(float)
        costs = counts ** (-case.owner.v / 2)  # a shift of 1/n, in units of n^(v/2 − 1)
        for promise in made.promises:
            spent = costs[:1] if promise.alone else costs
            check = f"white box, {horizon} rounds: {'a release' if promise.alone else f'{len(spent)} releases'}"
            claimed, found, unit = promise.epsilon, float(spent.sum()), "ε"
            if promise.delta:
                step = max(2e-4, promise.epsilon / 20_000)
                over = composed_delta([_shifted(cost) for cost in spent], promise.epsilon * (1 + 1e-9), step)
                claimed, found, unit = promise.delta, max(over - 1e-9, 0.0), f"δ at ε = {promise.epsilon:.4g}"
            yield Verdict(case.subject, check, claimed, found, unit, promise=promise, least=promise.epsilon)


def _shifted(cost: float) -> tuple[Array, Array]:
    """Logarithms of the laws of Laplace(1) and of the same a little further, in cells, which can only hide more."""
    edges = np.unique(np.concatenate([np.arange(-30.0, 31.0, 0.05), np.linspace(0.0, cost, 21)]))
    sides = []
    for at in (0.0, cost):  # every cell by the tail that it lies in
        low, high = stats.laplace.cdf(edges - at), stats.laplace.sf(edges - at)
        inner = np.where(edges[:-1] >= at, high[:-1] - high[1:], low[1:] - low[:-1])
        sides.append(np.log(np.concatenate([low[:1], inner, high[-1:]])))
    return sides[0], sides[1]


def _drawn(case: Case, budget: Budget) -> Iterator[Verdict]:
    """Long runs on rewards that are told, short ones to their end on rewards of the env's own, and runs with losses."""
    rounds, runs = (5000, 21) if budget.thorough else (1500, 9)
    every: dict[str, Any] = {"n_agents": _AGENTS, "means": [0.5] * 3}
    rng = np.random.default_rng([budget.seed, 9])
    exact = not isinstance(case.owner, LocalBernoulli) and getattr(case.owner, "grid", None) is None
    full = np.where(exact & (rng.random((rounds, 1, 1)) < 0.25), BETWEEN, 1.0)
    told = list(full * (rng.random((rounds, runs, _AGENTS)) < 0.5))
    yield from _held(case.within(stage(case.env, rounds, runs=runs, **every)), budget, "long runs", 0, full, told)
    own = {**every, "rewards": "bernoulli"}
    short = stage(case.env, _SHORT, runs=80 * runs, **own)
    yield from _held(case.within(short), budget, "own rewards", 1, np.ones((1, 1, 1)))
    lossy = stage(case.env, rounds // 8, runs=runs, before=(Loss(_LOST, name="audit: loss"),), **own)
    yield from _held(case.within(lossy), budget, "messages lost", 2, np.ones((1, 1, 1)))


def _held(
    case: Case, budget: Budget, what: str, turn: int, full: Array, told: list[Array] | None = None
) -> Iterator[Verdict]:
    seed, wrapper = budget.seed + turn, case.owner
    it = shown(case.env, Around(), seed, told)
    rng = np.random.default_rng([seed, 6])
    x = np.clip(it.earned, 0.0, 1.0)
    noise, laws, unit, around = next(read for kind, (read, _) in _KNOWN.items() if isinstance(wrapper, kind))(
        wrapper, it, x
    )
    coins = isinstance(wrapper, LocalBernoulli)
    draws = Draws(
        noise,
        laws,
        rng.random(x.shape),
        bits=x > 0,
        moved=0.0 * x if coins else x * unit,
        full=full * unit,
        truth=around,
        groups=_groups(it),
        rewards=(x + rng.random(x.shape)) / 2 if told is None else None,
        coins=coins,
    )
    yield from draws.verdicts(budget.level, case.subject, f"drawn, {what}", case.promises[0])


def _groups(it: Shown) -> dict[str, Array]:
    shape = it.earned.shape
    groups = {"agent": np.broadcast_to(np.arange(shape[2]), shape), "arm": it.arms, "reward": it.earned}
    if shape[0] > 2 * _STRETCH:
        groups["stretch of the run"] = np.arange(shape[0]) // _STRETCH
    elif shape[0] <= 2 * _SHORT:
        groups["round"] = np.arange(shape[0])
    return groups


def _reports(wrapper: LocalLaplace, it: Shown, x: Array) -> tuple[Array, _Laws, Array, Array]:
    grid, epsilon = wrapper.grid, wrapper.epsilon
    noise = it.posts["reward"] - (x if grid is None else np.rint(x * grid) / grid)
    there = ~np.isnan(noise)

    def laws(times: float) -> list[tuple[Array, PlannedLaw]]:
        if grid is None:
            return [(there, Continuous(stats.laplace(scale=1 / (times * epsilon)).cdf, 1 / epsilon))]
        b = grid / (times * epsilon)
        far = np.arange(-math.ceil(36 * b), math.ceil(36 * b) + 1)
        return [(there, OnGrid(DiscreteLaplace(b).pmf(far), int(far[0]), 0, grid))]

    return noise, laws, np.ones(x.shape), x


def _releases(wrapper: PrivateMeans, it: Shown, x: Array) -> tuple[Array, _Laws, Array, Array]:
    """In units of the noise's scale, where a count is due."""
    mine = it.arms[..., None] == np.arange(it.posts["mean"].shape[-1])
    n, sums = np.cumsum(mine, 0), np.cumsum(mine * x[..., None], 0)
    count, total, mean = (np.take_along_axis(v, it.arms[..., None], 3)[..., 0] for v in (n, sums, it.posts["mean"]))
    due = np.isin(count, release_counts(wrapper.epsilon, wrapper.v, len(x)))
    noise = np.where(due, (mean - total / count) * count ** (1 - wrapper.v / 2), np.nan)
    there = ~np.isnan(noise)
    unit = count ** (1 - wrapper.v / 2)

    def laws(times: float) -> list[tuple[Array, PlannedLaw]]:
        return [(there, Continuous(stats.laplace(scale=1 / times).cdf))]

    return noise, laws, unit / count, total / count * unit


def _bits(wrapper: LocalBernoulli, it: Shown, x: Array) -> tuple[Array, _Laws, Array, Array]:
    """Bits, by the chances at the ε that is promised."""
    bits, lean = it.posts["reward"], math.exp(-wrapper.epsilon)
    chances = {value: (value * (1.0 - lean) + lean) / (1.0 + lean) for value in (0.0, 1.0)}
    parts: list[tuple[Array, PlannedLaw]] = [
        (~np.isnan(bits) & (x == v), OnGrid(np.array([1 - p, p]), 0, 0, 1)) for v, p in chances.items()
    ]
    return bits, lambda times: parts, np.ones(x.shape), x


#: Per wrapper whose law is known here: its draws, their laws and units, and what its law says beside them.
_KNOWN: dict[type, tuple[Callable[..., Any], Callable[[Case], Iterator[Verdict]] | None]] = {
    LocalBernoulli: (_bits, _coins), LocalLaplace: (_reports, None), PrivateMeans: (_releases, _all_releases),
}  # fmt: skip


def by_law(case: Case, budget: Budget) -> dict[str, Callable[[], Iterator[Verdict]]]:
    """Checks of a wrapper on a graph by the law of its draws, by their kind; none where that is not known."""
    for kind, (_, exact) in _KNOWN.items():
        if isinstance(case.owner, kind):
            drawn = partial(_drawn, case, budget)
            return {"drawn law": drawn, "white box": partial(exact, case)} if exact else {"drawn law": drawn}
    return {}
