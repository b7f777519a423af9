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
from hushbandits.audits.events import bounded
from hushbandits.audits.laws import Continuous, OnGrid, PlannedLaw
from hushbandits.audits.network import Shown, shown, stage
from hushbandits.audits.uniforms import Draws, against_law
from hushbandits.audits.verdict import Verdict
from hushbandits.audits.white import composed_delta
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.privacy.audit import epsilon_lower_bound, smallest_refuted
from hushbandits.privacy.releases import release_counts
from hushbandits.privacy.samplers import DiscreteLaplace
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans

__all__ = ["by_law"]

_AGENTS, _STRETCH = 5, 100
_SHORT = 12
_HORIZONS = 3, 16, 100
_LOST = 0.3
_Draw = Callable[[Any, Shown, Array], Draws]


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
            about: dict[str, Any] = {"promise": promise, "least": promise.epsilon}
            if promise.delta == 0:
                yield Verdict(case.subject, check, promise.epsilon, float(spent.sum()), "ε", **about)
                continue
            step = max(2e-4, promise.epsilon / 20_000)
            found = composed_delta([_shifted(cost) for cost in spent], promise.epsilon * (1 + 1e-9), step)
            unit = f"δ at ε = {promise.epsilon:.4g}"
            yield Verdict(case.subject, check, promise.delta, max(found - 1e-9, 0.0), unit, **about)


def _shifted(cost: float) -> tuple[Array, Array]:
    """Logarithms of the laws of Laplace(1) and of the same a little further, in cells, which can only hide more."""
    edges = np.unique(np.concatenate([np.arange(-30.0, 31.0, 0.05), np.linspace(0.0, cost, 21)]))
    sides = []
    for at in (0.0, cost):  # every cell by the tail that it lies in
        low, high = stats.laplace.cdf(edges - at), stats.laplace.sf(edges - at)
        inner = np.where(edges[:-1] >= at, high[:-1] - high[1:], low[1:] - low[:-1])
        sides.append(np.log(np.concatenate([low[:1], inner, high[-1:]])))
    return sides[0], sides[1]


def _drawn(case: Case, budget: Budget, draw: _Draw) -> Iterator[Verdict]:
    """Long runs on rewards of 0, ½ and 1, short ones to their end on rewards of the env's own, and runs with losses."""
    rounds, runs = (5000, 20) if budget.thorough else (1500, 8)
    every: dict[str, Any] = {"n_agents": _AGENTS, "means": [0.5] * 3}
    turns = np.arange(_AGENTS)
    told = [(turns + t) % 4 % 3 / 2 for t in range(rounds)]
    yield from _held(case.within(stage(case.env, rounds, runs=runs, **every)), budget, draw, "long runs", 0, told)
    own = {**every, "rewards": "clipped-gaussian"}
    short = stage(case.env, _SHORT, runs=40 * runs, **own)
    yield from _held(case.within(short), budget, draw, "own rewards", 1)
    lossy = stage(case.env, rounds // 8, runs=runs, before=(Loss(_LOST, name="audit: loss"),), **own)
    yield from _held(case.within(lossy), budget, draw, "messages lost", 2)


def _held(
    case: Case, budget: Budget, draw: _Draw, what: str, turn: int, told: list[Array] | None = None
) -> Iterator[Verdict]:
    seed, promise, wrapper = budget.seed + turn, case.promises[0], case.owner
    it = shown(case.env, Around(), seed, told)
    luck = np.random.default_rng([seed, 6]).random(it.earned.shape)
    where = f"drawn, {what}"
    is_coin = isinstance(wrapper, LocalBernoulli)
    if is_coin:
        bits = it.posts["reward"]
        wrong = int(((bits != 0) & (bits != 1) & ~np.isnan(bits)).sum())
        yield Verdict(case.subject, f"{where}: reports that are no bits", 0, wrong, "reports")
    draws = draw(wrapper, it, luck)
    draws.groups.update(_groups(it, told is not None))
    yield from against_law(draws, budget.level, case.subject, where, promise, coins=is_coin)
    if is_coin and told is not None:
        yield from _tossed(promise, it, where, case.subject, budget.level)


def _groups(it: Shown, told: bool) -> dict[str, Array]:
    shape = it.earned.shape
    groups = {"agent": np.broadcast_to(np.arange(shape[2]), shape), "arm": it.arms}
    groups["reward"] = it.earned if told else np.floor(4 * it.earned)
    if len(it.earned) > 2 * _STRETCH:
        groups["stretch of the run"] = np.arange(len(it.earned)) // _STRETCH
    elif len(it.earned) <= 2 * _SHORT:
        groups["round"] = np.arange(len(it.earned))
    return groups


def _reports(wrapper: LocalLaplace, it: Shown, luck: Array) -> Draws:
    x = np.clip(it.earned, 0.0, 1.0)
    law: PlannedLaw
    if wrapper.grid is None:
        law = Continuous(stats.laplace(scale=1 / wrapper.epsilon).cdf, 1 / wrapper.epsilon)
        noise = it.posts["reward"] - x
    else:
        b = wrapper.grid / wrapper.epsilon
        far = np.arange(-math.ceil(36 * b), math.ceil(36 * b) + 1)
        law = OnGrid(DiscreteLaplace(b).pmf(far), int(far[0]), 0, wrapper.grid)
        noise = it.posts["reward"] - np.rint(x * wrapper.grid) / wrapper.grid
    return Draws.of([(~np.isnan(noise), law)], noise, luck)


def _releases(wrapper: PrivateMeans, it: Shown, luck: Array) -> Draws:
    """In units of its scale, where a count is due."""
    mine = it.arms[..., None] == np.arange(it.posts["mean"].shape[-1])
    n = np.cumsum(mine, 0)
    sums = np.cumsum(mine * np.clip(it.earned, 0.0, 1.0)[..., None], 0)
    count, total, mean = (np.take_along_axis(x, it.arms[..., None], 3)[..., 0] for x in (n, sums, it.posts["mean"]))
    due = np.isin(count, release_counts(wrapper.epsilon, wrapper.v, len(it.earned)))
    noise = np.where(due, (mean - total / count) * count ** (1 - wrapper.v / 2), np.nan)
    return Draws.of([(~np.isnan(noise), Continuous(stats.laplace.cdf))], noise, luck)


def _bits(wrapper: LocalBernoulli, it: Shown, luck: Array) -> Draws:
    """By the chances at the ε that is promised."""
    lean = math.exp(-wrapper.epsilon)
    chance = (np.clip(it.earned, 0.0, 1.0) * (1.0 - lean) + lean) / (1.0 + lean)
    bits = it.posts["reward"]
    u = np.where(bits > 0, 1.0 - chance + luck * chance, luck * (1.0 - chance))
    nothing = np.zeros(u.shape)
    return Draws(np.where(np.isnan(bits), np.nan, u), nothing > 0, nothing)


def _tossed(promise: Guarantee, it: Shown, where: str, subject: str, level: float) -> Iterator[Verdict]:
    for m in range(it.earned.shape[2]):
        sides = [it.posts["reward"][..., m][it.earned[..., m] == x] for x in (0.0, 1.0)]
        tosses = min(map(len, sides))
        ones = [int(side[:tosses].sum()) for side in sides]
        pairs = [(ones[1], ones[0]), (tosses - ones[0], tosses - ones[1])]
        measured = max(epsilon_lower_bound(a, b, tosses, 0.0, level / 2) for a, b in pairs)
        check = f"{where}: ε that agent {m}'s coins refute, {tosses:,} of either reward"
        smallest = smallest_refuted(promise.epsilon, 0.0, tosses, level / 2)
        yield bounded(subject, check, promise.epsilon, measured, smallest, level, promise)


#: Per wrapper whose law is known here: its draws as uniforms, and what its law says beside them.
_KNOWN: dict[type, tuple[_Draw, Callable[[Case], Iterator[Verdict]] | None]] = {
    LocalBernoulli: (_bits, _coins), LocalLaplace: (_reports, None), PrivateMeans: (_releases, _all_releases),
}  # fmt: skip


def by_law(case: Case, budget: Budget) -> dict[str, Callable[[], Iterator[Verdict]]]:
    """Checks of a wrapper on a graph by the law of its draws, by their kind; none where that is not known."""
    for kind, (draw, exact) in _KNOWN.items():
        if isinstance(case.owner, kind):
            drawn = partial(_drawn, case, budget, draw)
            return {"drawn law": drawn, "white box": partial(exact, case)} if exact else {"drawn law": drawn}
    return {}
