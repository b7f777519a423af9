"""The noise that a mechanism really draws, held against the law that it plans.

Every block's noise becomes a uniform through the planned law of those who are left (`laws.planned_law`), so that blocks
of all sizes can be looked at together (`uniforms`): long runs over all sizes, runs with losses, many short runs on
rewards of the env's own, users pooled, and single messages where nobody hides them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hushbandits.audits.blocks import LOSSES, Seen, background, seen
from hushbandits.audits.cases import GRID, Budget, Case
from hushbandits.audits.laws import planned_law
from hushbandits.audits.uniforms import Draws, against_law
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["drawn", "drawn_law", "long_run"]

_AGAIN = 8  # blocks of one size, half of them in a row, then the other half
_STRETCH = 100
_POOLED = (2, 19, 64, 100, 1000)
_LARGE = (10_000, 100_000)
_KINDS = (("zeros", None), ("ones", None), ("mixed", None), ("zeros", "first"), ("zeros", "middle"), ("zeros", "last"))
_LOST = 0.3
_SHORT, _FIRST = (2, 2, 3, 5, 2, 8, 2, 2), 4


def drawn_law(case: Case, budget: Budget) -> Iterator[Verdict]:
    """In full at ε = 1 (or its own ε), and shorter at the others of the grid and at one that the seed draws."""
    full = case.epsilons if budget.thorough or case.make is None else (1.0,)
    other = [e for e in case.epsilons if e not in full]
    if case.make is not None:
        rng = np.random.default_rng([budget.seed, 7])
        other.append(float(f"{math.exp(rng.uniform(math.log(GRID[0]), math.log(GRID[-1]))):.3g}"))
    largest, runs = (budget.largest, budget.runs) if not budget.thorough else (512, 48)
    for epsilon in (*full, *other):
        made = case.at(epsilon)
        if planned_law(made.owner, 64, 64) is None:
            yield Verdict(made.subject, "drawn law", 1, 0, "× critical", untested="its noise has no law that is known")
        elif made.owner.sampler == "exact":  # integers only, user by user: slow
            if epsilon in full:
                yield from long_run(made, budget, 24, 2)
        elif epsilon in other:
            yield from long_run(made, budget, 64, max(2, runs // 4), every=3)
        else:
            yield from long_run(made, budget, largest, max(1, runs // 2))
            yield from _losing(made, budget, largest, 2 * runs)
            yield from _short_runs(made, budget, 20 * runs)
            yield from _other_sizes(made, budget, runs)
            if made.owner.hidden_by == "noise":
                yield from _single_messages(made, budget, max(2, runs // 2))


def drawn(
    case: Case,
    budget: Budget,
    where: str,
    sizes: Sequence[int],
    runs: int,
    turn: int = 0,
    own: bool = False,
    users: str = "each",
    loss: tuple[str, float] | None = None,
) -> Iterator[Verdict]:
    """Play blocks of the given sizes in this order; hold their noise against its law.

    `turn`: which of several such runs it is, each with its own luck.  `own`: whether users draw 0 or 1 by the env's own
    luck; else backgrounds change from block to block.
    """
    seed, pooled = budget.seed + turn, users == "pooled"
    rng = np.random.default_rng([seed, 2])
    kinds = rng.integers(2 if pooled else len(_KINDS), size=len(sizes))
    told = [background(_KINDS[k][0], n, _KINDS[k][1], 1.0) for n, k in zip(sizes, kinds, strict=True)]
    found = seen(case.env.wrappers, list(sizes) if own else told, runs, seed, users, 1 if pooled else 2, loss)
    mechanism = _played(found)
    noise = found.fields["reward"] - found.sums
    there, planned = ~np.isnan(noise), np.broadcast_to(np.array(sizes)[:, None, None], noise.shape)
    kept = np.unique(np.array([planned[there], found.left[there]]), axis=1).T.tolist()
    laws = [planned_law(mechanism, n, left) for n, left in kept]
    if None in laws:
        yield Verdict(
            case.subject, f"{where}: the noise's law", 1, 0, "× critical", untested="its noise has no law known"
        )
        return
    parts = [(there & (planned == n) & (found.left == k), law) for (n, k), law in zip(kept, laws, strict=True) if law]
    groups = _labels(found, sizes, own) | ({} if own else {"background": kinds})
    draws = Draws.of(parts, noise, rng.random(noise.shape), groups=groups, again=("size",), beside=found.tape)
    yield from against_law(draws, budget.level, case.subject, where, case.promises[0])
    if mechanism.planned(sizes[0]).wraps and "modulus" in found.env.sent_fields:
        yield _decoded(found, mechanism, sizes, case.subject, where)


def _played(found: Seen) -> Mechanism:
    """The mechanism as it was in these runs: it knows their horizon."""
    mechanism = found.env.mechanism
    assert isinstance(mechanism, Mechanism)
    return mechanism


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


def long_run(case: Case, budget: Budget, largest: int, runs: int, every: int = 1) -> Iterator[Verdict]:
    """Every block size up to `largest` (or each `every`-th), eight blocks each, in random orders."""
    rng = np.random.default_rng([budget.seed, 1])
    of = rng.permutation(np.arange(case.owner.smallest, largest + 1))[::every]
    sizes = np.concatenate([np.repeat(rng.permutation(of), _AGAIN // 2) for _ in range(2)]).tolist()
    yield from drawn(case, budget, f"drawn, {len(sizes):,} blocks", sizes, runs)


def _losing(case: Case, budget: Budget, largest: int, runs: int) -> Iterator[Verdict]:
    """Blocks of a few sizes, of which users get lost before their noise, and behind it."""
    rng, smallest = np.random.default_rng([budget.seed, 3]), case.owner.smallest
    some = [n for n in (2, 3, 5, 8, 19, 32, 64, 128) if smallest <= n <= max(largest, smallest)]
    if smallest > 2:
        some = [int(n) for n in (1.6 * smallest, 2.5 * smallest, 4 * smallest)]
    for i, position in enumerate(LOSSES):
        sizes = rng.permutation(np.repeat(some, 4)).tolist()
        where = f"drawn, users lost {position} the mechanism"
        yield from drawn(case, budget, where, sizes, runs, i, loss=(position, _LOST))


def _short_runs(case: Case, budget: Budget, runs: int) -> Iterator[Verdict]:
    """Many short runs to the end of their horizon, in which users draw 0 or 1 by the env's own luck.

    Most runs are of a few blocks alone: what a first noise has to do with the luck of the rewards is blurred later,
    since draws take as many numbers of a generator as they need.
    """
    smallest = case.owner.smallest
    yield from drawn(case, budget, "drawn, own rewards", [max(n, smallest) for n in _SHORT], runs, own=True)
    yield from drawn(case, budget, "drawn, first blocks", [smallest] * _FIRST, 8 * runs, 1, own=True)


def _other_sizes(case: Case, budget: Budget, runs: int) -> Iterator[Verdict]:
    """Pooled users: a few sizes up to 1000 and three odd ones in many runs, then blocks of up to 100,000."""
    rng = np.random.default_rng([budget.seed, 4])
    for sizes, many in (((*_POOLED, *rng.integers(2, 400, 3).tolist()), 12 * runs), (_LARGE, runs)):
        known = [n for n in sizes if n >= case.owner.smallest and planned_law(case.owner, n, n) is not None]
        if known:
            where = f"drawn, pooled, up to n = {max(known)}"
            yield from drawn(case, budget, where, np.repeat(known, 4).tolist(), many, users="pooled")


def _single_messages(case: Case, budget: Budget, runs: int, blocks: int = 150) -> Iterator[Verdict]:
    """Messages of single users where nobody hides them, of some places in a block."""
    rng = np.random.default_rng([budget.seed, 5])
    sizes = rng.integers(8, 65, blocks)
    told = [background("mixed", n) for n in sizes.tolist()]
    found = seen(case.env.wrappers, told, runs, budget.seed)
    mechanism, noise, parts = _played(found), np.empty((blocks, runs, 6)), []
    for b, (n, x) in enumerate(zip(sizes.tolist(), told, strict=True)):
        places = [0, 1, 2, n // 2, n - 2, n - 1]
        noise[b] = found.users[b][:, 0, places] / mechanism.planned(n).g - x[places]
    for n in np.unique(sizes).tolist():
        law = planned_law(mechanism, n, 1)
        assert law is not None
        parts.append((sizes == n, law))
    groups = {"user": np.broadcast_to(np.arange(6), noise.shape), "stretch of the run": np.arange(blocks) // 50}
    draws = replace(Draws.of(parts, noise, rng.random(noise.shape), groups=groups), residues={})
    yield from against_law(draws, budget.level, case.subject, "drawn, single messages", case.promises[0])
