"""The noise of every report, released mean or coin of an agent on a graph, held against its law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from hushbandits.audits.beats import Around
from hushbandits.audits.events import power
from hushbandits.audits.laws import Continuous, OnGrid
from hushbandits.audits.network import Shown, shown, stage
from hushbandits.audits.uniforms import MODULI, Draws, against_law
from hushbandits.audits.verdict import Verdict
from hushbandits.audits.white import composed_delta
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.audit import epsilon_lower_bound, smallest_refuted
from hushbandits.privacy.releases import release_counts
from hushbandits.privacy.samplers import DiscreteLaplace
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans

__all__ = ["coins", "drawn_posts", "has_law", "releases"]

_AGENTS, _STRETCH = 5, 100
_SHORT = 12
_HORIZONS = 3, 16, 100
_LOST = 0.3


def _finite(wrapper: Wrapper, env: Env) -> Guarantee:
    return next(g for g in wrapper.promises(env) if math.isfinite(g.epsilon))


def coins(wrapper: LocalBernoulli, env: Env, subject: str) -> Iterator[Verdict]:
    """Largest ratio of the chances that the mechanism gives any two rewards, either side of the coin."""
    promise = _finite(wrapper, env)
    sides = [f(wrapper.chance(np.linspace(0.0, 1.0, 1001))) for f in (lambda p: p, lambda p: 1.0 - p)]
    with np.errstate(divide="ignore"):
        measured = max(float(np.log(p.max()) - np.log(p.min())) for p in sides)
    yield Verdict(
        subject, "white box: the coins of any two rewards", promise.epsilon, measured, "ε", promise=promise,
        least=promise.epsilon,
    )  # fmt: skip


def releases(owner: PrivateMeans, env: Env, subject: str) -> Iterator[Verdict]:
    """All releases of a run, of which an arm's first reward differs, by their exact laws; over several horizons."""
    for horizon in _HORIZONS:
        made = stage(env, horizon, 2)
        wrapper = next(w for w in made.wrappers if w.name == owner.name)
        counts = release_counts(owner.epsilon, owner.v, horizon).astype(float)
        costs = counts ** (-owner.v / 2)  # a shift of 1/n, in units of n^(v/2 − 1)
        for promise in (g for g in wrapper.promises(made) if math.isfinite(g.epsilon)):
            spent = costs[:1] if promise.alone else costs
            check = f"white box, {horizon} rounds: {'a release' if promise.alone else f'{len(spent)} releases'}"
            about: dict[str, Any] = {"promise": promise, "least": promise.epsilon}
            if promise.delta == 0:
                yield Verdict(subject, check, promise.epsilon, float(spent.sum()), "ε", **about)
                continue
            step = max(2e-4, promise.epsilon / 20_000)
            found = composed_delta([_shifted(cost) for cost in spent], promise.epsilon * (1 + 1e-9), step)
            unit = f"δ at ε = {promise.epsilon:.4g}"
            yield Verdict(subject, check, promise.delta, max(found - 1e-9, 0.0), unit, **about)


def _shifted(cost: float) -> tuple[Array, Array]:
    """Logarithms of the laws of Laplace(1) and of the same a little further, in cells, which can only hide more."""
    edges = np.unique(np.concatenate([np.arange(-30.0, 31.0, 0.05), np.linspace(0.0, cost, 21)]))
    sides = []
    for at in (0.0, cost):  # every cell by the tail that it lies in
        low, high = stats.laplace.cdf(edges - at), stats.laplace.sf(edges - at)
        inner = np.where(edges[:-1] >= at, high[:-1] - high[1:], low[1:] - low[:-1])
        sides.append(np.log(np.concatenate([low[:1], inner, high[-1:]])))
    return sides[0], sides[1]


def drawn_posts(
    env: Env, owner: Wrapper, subject: str, rounds: int, runs: int, level: float, seed: int
) -> Iterator[Verdict]:
    """Long runs on rewards of 0, ½ and 1, short ones to their end on rewards of the env's own, and runs with losses."""
    every: dict[str, Any] = {"n_agents": _AGENTS, "means": [0.5] * 3}
    turns = np.arange(_AGENTS)
    told = [(turns + t) % 4 % 3 / 2 for t in range(rounds)]
    yield from _held(stage(env, rounds, runs=runs, **every), owner, told, "long runs", subject, level, seed)
    own = {**every, "rewards": "clipped-gaussian"}
    short = stage(env, _SHORT, runs=40 * runs, **own)
    yield from _held(short, owner, None, "own rewards", subject, level, seed + 1)
    lossy = stage(env, rounds // 8, runs=runs, before=(Loss(_LOST, name="audit: loss"),), **own)
    yield from _held(lossy, owner, None, "messages lost", subject, level, seed + 2)


def _held(
    env: Env, owner: Wrapper, told: list[Array] | None, what: str, subject: str, level: float, seed: int
) -> Iterator[Verdict]:
    it = shown(env, Around(), seed, told)
    wrapper = next(w for w in env.wrappers if w.name == owner.name)
    luck = np.random.default_rng([seed, 6]).random(it.earned.shape)
    draw = next(draw for kind, draw in _DRAWN.items() if isinstance(wrapper, kind))
    where = f"drawn, {what}"
    is_coin = isinstance(wrapper, LocalBernoulli)
    if is_coin:
        bits = it.posts["reward"]
        wrong = int(((bits != 0) & (bits != 1) & ~np.isnan(bits)).sum())
        yield Verdict(subject, f"{where}: reports that are no bits", 0, wrong, "reports")
    draws = draw(wrapper, it, luck)
    draws.groups.update(_groups(it, told is not None))
    yield from against_law(draws, level, subject, where, _finite(wrapper, env), coins=is_coin)
    if is_coin and told is not None:
        yield from _tossed(_finite(wrapper, env), it, where, subject, level)


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
    law: OnGrid | Continuous
    if wrapper.grid is None:
        law = Continuous(stats.laplace(scale=1 / wrapper.epsilon).cdf, 1 / wrapper.epsilon)
        noise = it.posts["reward"] - x
    else:
        b = wrapper.grid / wrapper.epsilon
        far = np.arange(-math.ceil(36 * b), math.ceil(36 * b) + 1)
        law = OnGrid(DiscreteLaplace(b).pmf(far), int(far[0]), 0, wrapper.grid)
        noise = it.posts["reward"] - np.rint(x * wrapper.grid) / wrapper.grid
    return _as_draws(law, noise, luck)


def _as_draws(law: OnGrid | Continuous, noise: Array, luck: Array) -> Draws:
    u = np.where(np.isnan(noise), np.nan, law.uniform(np.nan_to_num(noise), luck))
    at_zero, none = np.full(u.shape, law.at_zero), np.nan_to_num(noise, nan=np.inf)
    if isinstance(law, Continuous):
        return Draws(u, law.silent(none), at_zero, alike=law.alike)
    code = law.code(np.nan_to_num(noise))
    residues = {m: np.full(u.shape, law.multiples(m)) for m in MODULI}
    return Draws(u, code == -law.first, at_zero, np.nan_to_num(code), residues)


def _releases(wrapper: PrivateMeans, it: Shown, luck: Array) -> Draws:
    """In units of its scale, where a count is due."""
    mine = it.arms[..., None] == np.arange(it.posts["mean"].shape[-1])
    n = np.cumsum(mine, 0)
    sums = np.cumsum(mine * np.clip(it.earned, 0.0, 1.0)[..., None], 0)
    count, total, mean = (np.take_along_axis(x, it.arms[..., None], 3)[..., 0] for x in (n, sums, it.posts["mean"]))
    due = np.isin(count, release_counts(wrapper.epsilon, wrapper.v, len(it.earned)))
    noise = np.where(due, (mean - total / count) * count ** (1 - wrapper.v / 2), np.nan)
    return _as_draws(Continuous(stats.laplace.cdf, 1.0), noise, luck)


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
        yield Verdict(subject, check, promise.epsilon, measured, "ε", power(smallest), level, promise, least=smallest)


_DRAWN: dict[type, Callable[[Any, Shown, Array], Draws]] = {
    LocalBernoulli: _bits, LocalLaplace: _reports, PrivateMeans: _releases,
}  # fmt: skip


def has_law(wrapper: Wrapper) -> bool:
    """Whether this audit knows the law of its draws on a graph."""
    return isinstance(wrapper, tuple(_DRAWN))
