"""The noise that a mechanism really draws, held against the law that it plans.

Every block's noise becomes a uniform through the planned law (`laws.planned_law`), so that blocks of all sizes can be
looked at together: all of them, size by size, stretch by stretch of a long run, background by background; and side by
side, whether one block's noise says anything about another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hushbandits.audits.blocks import background, seen
from hushbandits.audits.laws import planned_law
from hushbandits.audits.verdict import Verdict
from hushbandits.core.types import Array
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.audit import critical_distance, critical_share, distance_from_uniform
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["against_law", "drawn", "long_run"]

_AGAIN = 8  # blocks of one size in a row
_STRETCH = 100
_LAGS = (1, 2, 3, 4)
_SIZES = (2, 19, 64, 100, 1000)
_KINDS = (("zeros", None), ("ones", None), ("mixed", None), ("zeros", "first"), ("zeros", "middle"), ("zeros", "last"))


def against_law(
    u: Array,
    groups: dict[str, Array],
    level: float,
    subject: str,
    where: str,
    pairs: Sequence[int] = _LAGS,
    coins: bool = False,
) -> Iterator[Verdict]:
    """Check that uniforms ``(blocks, …)`` are uniform and that those of different blocks, runs, … are independent.

    Parameters
    ----------
    u : (B, …) array
        Uniforms if the noise has its law.
    groups : dict
        Per name, labels of the blocks, ``(B,)`` or of u's shape: every group is looked at by itself.
    level : float
        Probability that honest noise fails, of each verdict.
    subject, where : str
    pairs : sequence of int
        Distances of blocks that are compared.
    coins : bool
        Whether the noise is that of coins: none can be missing, but their chances may be others.
    """
    crit = critical_distance(u.size, level)
    power = f"noise missing in {2.6 * crit:.1%} of blocks, a scale {_factor(u.size, level)}"
    if coins:
        power = f"chances {1.3 * crit:.3f} off"
    yield Verdict(
        subject, f"{where}: the noise's law", 1.0, distance_from_uniform(u) / crit, "× critical", power, level
    )
    for name, labels in groups.items():
        labels = (
            labels if labels.shape == u.shape else np.broadcast_to(labels.reshape(-1, *(1,) * (u.ndim - 1)), u.shape)
        )
        kinds = np.unique(labels)
        ratios = []
        for kind in kinds:
            part = u[labels == kind]
            ratios.append((distance_from_uniform(part) / critical_distance(part.size, level / len(kinds)), kind))
        worst, at = max(ratios)
        least = u.size // max(len(kinds), 1)
        crit = critical_distance(least, level / len(kinds))
        power = f"of {least} blocks: " + (
            f"chances {1.3 * crit:.3f} off" if coins else f"noise missing in {min(2.6 * crit, 1):.0%}"
        )
        yield Verdict(subject, f"{where}: its law by {name} (worst: {at})", 1.0, worst, "× critical", power, level)
    yield _together(u, level, subject, where, pairs)


def _factor(n: int, level: float) -> str:
    # Laplace laws of scales b and cb are c^(−1/(c−1))·(1 − 1/c)/2 apart
    t = 1.3 * critical_distance(n, level)
    for c in np.arange(1.01, 4, 0.01):
        if c ** (-1 / (c - 1)) * (1 - 1 / c) / 2 > t:
            return f"{c:.2f} times off"
    return "over 4 times off"


def _together(u: Array, level: float, subject: str, where: str, lags: Sequence[int]) -> Verdict:
    """Differences and sums mod 1 of two blocks' uniforms are uniform where the blocks have nothing in common."""
    rows = u.reshape(len(u), -1)
    views = {f"block {lag} later": (rows[:-lag], rows[lag:]) for lag in lags if lag < len(rows)}
    if rows.shape[1] > 1:
        views["the next run or seat"] = rows[:, :-1], rows[:, 1:]
    found = []
    for name, (one, other) in views.items():
        for both in ((other - one) % 1.0, (other + one) % 1.0):
            crit = critical_distance(both.size, level / (2 * len(views)))
            found.append((distance_from_uniform(both) / crit, name))
    worst, at = max(found)
    power = f"noise used again in {min(2.6 * critical_distance(rows.size, level / (2 * len(views))), 1):.1%} of pairs"
    return Verdict(subject, f"{where}: two views together (worst: {at})", 1.0, worst, "× critical", power, level)


def drawn(
    wrappers: Sequence[Wrapper],
    subject: str,
    sizes: Sequence[int],
    runs: int,
    level: float = 1e-6,
    seed: int = 0,
    users: str = "each",
    where: str = "drawn",
) -> Iterator[Verdict]:
    """Play blocks of the given sizes in this order, on changing backgrounds; hold their noise against its law."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(len(_KINDS), size=len(sizes)) if users == "each" else rng.integers(2, size=len(sizes))
    blocks = []
    for n, kind in zip(sizes, kinds, strict=True):
        name, position = _KINDS[kind]
        blocks.append(background(name, n, position, 1.0))
    env, fields = seen(wrappers, blocks, runs, seed, users)
    mechanism = env.mechanism
    assert isinstance(mechanism, Mechanism)
    laws = {}
    for n in sorted(set(sizes)):
        law = planned_law(mechanism, n, n)
        if law is None:
            return
        laws[n] = law
    luck = rng.random(fields["reward"].shape)
    u, silent, expected = np.empty(luck.shape), [], []
    rare = float(np.median([laws[n].at_zero for n in sizes]))
    for b, (n, x) in enumerate(zip(sizes, blocks, strict=True)):
        law = laws[n]
        noise = fields["reward"][b] - x.sum()
        u[b] = law.uniform(noise, luck[b])
        if law.at_zero <= rare:  # where noise that cancels by itself blurs the least
            silent.append(law.silent(noise).mean())
            expected.append(law.at_zero)
    groups = {"size": np.array(sizes), "background": kinds}
    if len(sizes) > 2 * _STRETCH:
        groups["stretch of the run"] = np.arange(len(sizes)) // _STRETCH
    yield from against_law(u, groups, level, subject, where)
    mean = max(float(np.mean(expected)), 1e-12)
    share = critical_share(mean, len(silent) * runs, level)
    power = f"noise missing in {1.3 * (share - mean) / (1 - mean):.2%} of blocks"
    yield Verdict(subject, f"{where}: blocks without noise", share, float(np.mean(silent)), "share", power, level)


def long_run(
    wrappers: Sequence[Wrapper],
    subject: str,
    largest: int,
    runs: int,
    level: float = 1e-6,
    seed: int = 0,
    smallest: int = 2,
) -> Iterator[Verdict]:
    """Every block size from `smallest` to `largest`, eight blocks each, in a random order; then users pooled."""
    rng = np.random.default_rng([seed, 1])
    sizes = np.repeat(rng.permutation(np.arange(smallest, largest + 1)), _AGAIN).tolist()
    yield from drawn(wrappers, subject, sizes, runs, level, seed, where=f"drawn, {len(sizes):,} blocks")
    some = [n for n in (*_SIZES, *rng.integers(2, 400, 3).tolist()) if n >= smallest]
    few = np.repeat(some, 4).tolist()
    yield from drawn(wrappers, subject, few, 12 * runs, level, seed + 1, "pooled", where="drawn, pooled")
