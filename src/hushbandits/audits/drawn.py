"""The noise that a mechanism really draws, held against the law that it plans.

Every block's noise becomes a uniform through the planned law of those who are left (`laws.planned_law`), so that blocks
of all sizes can be looked at together (`uniforms`): long runs over all sizes, runs with losses, many short runs on
rewards of the env's own, users pooled, and single messages where nobody hides them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hushbandits.audits.blocks import LOSSES, Seen, background, seen
from hushbandits.audits.laws import OnGrid, planned_law
from hushbandits.audits.uniforms import MODULI, Draws, against_law
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.wrapper import Wrapper
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["drawn", "long_run", "losing", "other_sizes", "short_runs", "single_messages"]

_AGAIN = 8  # blocks of one size, half of them in a row, then the other half
_STRETCH = 100
_POOLED = (2, 19, 64, 100, 1000)
_LARGE = (10_000, 100_000)
_KINDS = (("zeros", None), ("ones", None), ("mixed", None), ("zeros", "first"), ("zeros", "middle"), ("zeros", "last"))
_LOST = 0.3
_SHORT, _FIRST = (2, 2, 3, 5, 2, 8, 2, 2), 4


def drawn(
    wrappers: Sequence[Wrapper],
    subject: str,
    sizes: Sequence[int],
    runs: int,
    level: float = 1e-6,
    seed: int = 0,
    where: str = "drawn",
    own: bool = False,
    promise: Guarantee | None = None,
    **play: Any,
) -> Iterator[Verdict]:
    """Play blocks of the given sizes in this order; hold their noise against its law.

    Parameters
    ----------
    own : bool
        Whether users draw 0 or 1 by the env's own luck; else backgrounds change from block to block.
    promise : Guarantee, optional
        What the noise is for.
    **play
        As `blocks.seen`.
    """
    rng = np.random.default_rng([seed, 2])
    pooled = play.get("users") == "pooled"
    kinds = rng.integers(2 if pooled else len(_KINDS), size=len(sizes))
    told = [background(_KINDS[k][0], n, _KINDS[k][1], 1.0) for n, k in zip(sizes, kinds, strict=True)]
    found = seen(wrappers, list(sizes) if own else told, runs, seed, **play)
    draws = _uniforms(found, sizes, rng)
    if draws is None:
        yield Verdict(subject, f"{where}: the noise's law", 1, 0, "× critical", untested="its noise has no law known")
        return
    draws.groups.update(_labels(found, sizes, own))
    if not own:
        draws.groups["background"] = kinds
    mechanism = found.env.mechanism
    assert isinstance(mechanism, Mechanism)
    yield from against_law(draws, level, subject, where, promise)
    if hasattr(mechanism.planned(sizes[0]), "tau") and "modulus" in found.env.sent_fields:
        yield _decoded(found, mechanism, sizes, subject, where)


def _uniforms(found: Seen, sizes: Sequence[int], rng: np.random.Generator) -> Draws | None:
    mechanism = found.env.mechanism
    assert isinstance(mechanism, Mechanism)
    reward = found.fields["reward"]
    noise, luck = reward - found.sums, rng.random(reward.shape)
    u, at_zero = np.full(reward.shape, np.nan), np.zeros(reward.shape)
    silent, code = np.zeros(reward.shape, bool), np.zeros(reward.shape)
    residues = {m: np.zeros(reward.shape) for m in MODULI}
    alike, laws = 0.0, {}
    for b, n in enumerate(sizes):
        for left in np.unique(found.left[b][~np.isnan(reward[b])]).tolist():
            if (n, left) not in laws:
                laws[n, left] = planned_law(mechanism, n, left)
            law = laws[n, left]
            if law is None:
                return None
            at = (found.left[b] == left) & ~np.isnan(reward[b])
            u[b][at] = law.uniform(noise[b][at], luck[b][at])
            silent[b][at], at_zero[b][at] = law.silent(noise[b][at]), law.at_zero
            alike = max(alike, law.alike)
            if isinstance(law, OnGrid):
                code[b][at] = np.nan_to_num(law.code(noise[b][at]))
                for m in MODULI:
                    residues[m][b][at] = law.multiples(m)
    draws = Draws(u, silent, at_zero, alike=alike, again=("size",), beside=found.tape)
    return draws if alike else replace(draws, code=code, residues=residues)


def _labels(found: Seen, sizes: Sequence[int], own: bool) -> dict[str, Array]:
    shape = found.sums.shape
    place = np.arange(len(sizes))
    groups = {"size": np.array(sizes), "arm": place % 2}
    if shape[2] > 1:
        groups["server"] = np.broadcast_to(np.arange(shape[2]), shape)
    if len(sizes) > 2 * _STRETCH:
        groups["stretch of the run"] = place // _STRETCH
    elif len(sizes) <= 32:
        groups["place in the run"] = place
    if (found.left < np.array(sizes)[:, None, None]).any():
        groups["share of users left"] = np.floor(4 * found.left / np.array(sizes)[:, None, None])
    if found.rewards:
        first = np.array([x[..., 0] for x in found.rewards])
        last = np.array([x[..., -1] for x in found.rewards])
        groups["rewards of the first and the last user"] = 2 * first + last
    if own:
        total = np.array([np.nansum(x, 2) for x in found.rewards])
        groups["rewards' sum"] = np.where(
            np.array(sizes)[:, None, None] < 4, total + 100 * np.array(sizes)[:, None, None], 0
        )
        groups["luck of its rewards"] = 4 * place[:, None, None] + np.floor(4 * found.tape)
    return groups


def _decoded(found: Seen, mechanism: Mechanism, sizes: Sequence[int], subject: str, where: str) -> Verdict:
    """A decoded sum lies where the analyzer puts one: no more than τ above all rewards, and less than m below that."""
    wrong = 0
    for b, n in enumerate(sizes):
        plan = mechanism.planned(n)
        steps = np.rint(found.fields["reward"][b] * plan.g)
        top = found.left[b] * plan.g + plan.tau
        wrong += int(((steps > top) | (steps <= top - plan.modulus)).sum())  # NaN is neither
    return Verdict(subject, f"{where}: sums decoded out of range", 0, wrong, "sums")


def long_run(
    wrappers: Sequence[Wrapper],
    subject: str,
    largest: int,
    runs: int,
    level: float = 1e-6,
    seed: int = 0,
    smallest: int = 2,
    every: int = 1,
    promise: Guarantee | None = None,
) -> Iterator[Verdict]:
    """Every block size from `smallest` to `largest` (or each `every`-th), eight blocks each, in random orders."""
    rng = np.random.default_rng([seed, 1])
    of = rng.permutation(np.arange(smallest, largest + 1))[::every]
    sizes = np.concatenate([np.repeat(rng.permutation(of), _AGAIN // 2) for _ in range(2)]).tolist()
    where = f"drawn, {len(sizes):,} blocks"
    yield from drawn(wrappers, subject, sizes, runs, level, seed, where, promise=promise, servers=2)


def losing(
    wrappers: Sequence[Wrapper],
    subject: str,
    largest: int,
    runs: int,
    level: float,
    seed: int,
    smallest: int = 2,
    promise: Guarantee | None = None,
) -> Iterator[Verdict]:
    """Blocks of a few sizes, of which users get lost before their noise, and behind it."""
    rng = np.random.default_rng([seed, 3])
    some = [n for n in (2, 3, 5, 8, 19, 32, 64, 128) if smallest <= n <= max(largest, smallest)]
    if smallest > 2:
        some = [int(n) for n in (1.6 * smallest, 2.5 * smallest, 4 * smallest)]
    for i, position in enumerate(LOSSES):
        sizes = rng.permutation(np.repeat(some, 4)).tolist()
        yield from drawn(
            wrappers, subject, sizes, runs, level, seed + i, f"drawn, users lost {position} the mechanism", servers=2,
            loss=(position, _LOST), promise=promise,
        )  # fmt: skip


def short_runs(
    wrappers: Sequence[Wrapper],
    subject: str,
    runs: int,
    level: float,
    seed: int,
    smallest: int = 2,
    promise: Guarantee | None = None,
) -> Iterator[Verdict]:
    """Many short runs to the end of their horizon, in which users draw 0 or 1 by the env's own luck.

    Most runs are of a few blocks alone: what a first noise has to do with the luck of the rewards is blurred later,
    since draws take as many numbers of a generator as they need.
    """
    sizes = [max(n, smallest) for n in _SHORT]
    yield from drawn(wrappers, subject, sizes, runs, level, seed, "drawn, own rewards", True, promise, servers=2)
    first = [smallest] * _FIRST
    where = "drawn, first blocks"
    yield from drawn(wrappers, subject, first, 8 * runs, level, seed + 1, where, True, promise, servers=2)


def other_sizes(
    wrappers: Sequence[Wrapper],
    subject: str,
    mechanism: Mechanism,
    runs: int,
    level: float,
    seed: int,
    promise: Guarantee | None = None,
) -> Iterator[Verdict]:
    """Pooled users: a few sizes up to 1000 and three odd ones in many runs, then blocks of up to 100,000."""
    rng = np.random.default_rng([seed, 4])
    for sizes, times, many in (((*_POOLED, *rng.integers(2, 400, 3).tolist()), 4, 12 * runs), (_LARGE, 4, runs)):
        known = [n for n in sizes if n >= mechanism.smallest and planned_law(mechanism, n, n) is not None]
        if known:
            where = f"drawn, pooled, up to n = {max(known)}"
            yield from drawn(
                wrappers,
                subject,
                np.repeat(known, times).tolist(),
                many,
                level,
                seed,
                where,
                promise=promise,
                users="pooled",
            )


def single_messages(
    wrappers: Sequence[Wrapper],
    subject: str,
    runs: int,
    level: float,
    seed: int,
    blocks: int = 150,
    promise: Guarantee | None = None,
) -> Iterator[Verdict]:
    """Messages of single users where nobody hides them, of some places in a block."""
    rng = np.random.default_rng([seed, 5])
    sizes = rng.integers(8, 65, blocks).tolist()
    told = [background("mixed", n) for n in sizes]
    found = seen(wrappers, told, runs, seed)
    mechanism = found.env.mechanism
    assert isinstance(mechanism, Mechanism)
    shape = (len(sizes), runs, 6)
    u, silent, at_zero = np.empty(shape), np.empty(shape, bool), np.empty(shape)
    for b, (n, x) in enumerate(zip(sizes, told, strict=True)):
        places = [0, 1, 2, n // 2, n - 2, n - 1]
        law = planned_law(mechanism, n, 1)
        assert law is not None
        noise = found.users[b][:, 0, places] / mechanism.planned(n).g - x[places]
        u[b] = law.uniform(noise, rng.random(noise.shape))
        silent[b], at_zero[b] = law.silent(noise), law.at_zero
    groups = {"user": np.broadcast_to(np.arange(6), shape), "stretch of the run": np.arange(len(sizes)) // 50}
    yield from against_law(Draws(u, silent, at_zero, groups=groups), level, subject, "drawn, single messages", promise)
