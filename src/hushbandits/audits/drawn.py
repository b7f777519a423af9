"""The noise that a mechanism really draws: in long runs over all sizes, with losses, in many short runs, and in pools.

Every block has a canary among its users, and its noise is held against the planned law of those who are left
(`laws.planned_law`), so that blocks of all sizes are looked at together (`Draws`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hushbandits.audits.blocks import BACKGROUNDS, LOSSES, POSITIONS, Seen, seen
from hushbandits.audits.cases import GRID, Budget, Case
from hushbandits.audits.draws import Draws
from hushbandits.audits.laws import planned_law
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["BETWEEN", "drawn", "drawn_law", "long_run"]

_AGAIN = 8  # blocks of one size, half of them in a row, then the other half
_STRETCH = 100
_POOLED, _LARGE = (2, 19, 64, 100, 1000), (10_000, 100_000)
_LOST = 0.3
_SHORT, _FIRST = (2, 2, 3, 5, 2, 8, 2, 2), 4
#: A reward between the ends, which lies on no grid.
BETWEEN = (math.sqrt(5) - 1) / 2
_NO_LAW = "its noise has no law that is known"


def drawn_law(case: Case, budget: Budget) -> Iterator[Verdict]:
    """In full at ε = 1 (or its own ε), and shorter at the others of the grid and at one that the seed draws."""
    full = case.epsilons if budget.thorough or case.make is None else (1.0,)
    other = [e for e in case.epsilons if e not in full]
    if case.make is not None:
        rng = np.random.default_rng([budget.seed, 7])
        other.append(float(f"{math.exp(rng.uniform(math.log(GRID[0]), math.log(GRID[-1]))):.3g}"))
    largest, runs = (512, 48) if budget.thorough else (budget.largest, budget.runs)
    for epsilon in (*full, *other):
        made = case.at(epsilon)
        if planned_law(made.owner, 64, 64) is None:
            yield Verdict(made.subject, "drawn law", 1, 0, "× critical", untested=_NO_LAW)
        elif made.owner.sampler == "exact":  # integers only, user by user: slow
            if epsilon in full:
                yield from long_run(made, budget, 24, 3)
        elif epsilon in other:
            yield from long_run(made, budget, 64, max(3, runs // 4), every=3)
        else:
            yield from long_run(made, budget, largest, max(3, runs))
            yield from _more_runs(made, budget, largest, runs)
            if made.owner.hidden_by == "noise":
                yield from _single_messages(made, budget, max(3, runs // 2))


def _more_runs(case: Case, budget: Budget, largest: int, runs: int) -> Iterator[Verdict]:
    """Runs in which users get lost, many short ones on the env's own rewards to their end, and pools of users.

    Most short runs are of a few blocks alone: what a first noise has to do with the luck of the rewards is blurred
    later, since draws take as many numbers of a generator as they need.
    """
    rng, smallest = np.random.default_rng([budget.seed, 3]), case.owner.smallest
    some = [n for n in (2, 3, 5, 8, 19, 32, 64, 128) if smallest <= n <= max(largest, smallest)]
    some = [int(x * smallest) for x in (1.6, 2.5, 4)] if smallest > 2 else some
    for i, position in enumerate(LOSSES):
        sizes = rng.permutation(np.repeat(some, 4)).tolist()
        yield from drawn(case, budget, f"users lost {position} the mechanism", sizes, 2 * runs, i, loss=position)
    short = [max(n, smallest) for n in _SHORT]
    yield from drawn(case, budget, "own rewards", short, 40 * runs, own=True)
    yield from drawn(case, budget, "first blocks", [smallest] * _FIRST, 160 * runs, 1, own=True)
    rng = np.random.default_rng([budget.seed, 4])
    for sizes, many in (((*_POOLED, *rng.integers(2, 400, 3).tolist()), 12 * runs), (_LARGE, 4 * runs)):
        known = [n for n in sizes if n >= smallest and planned_law(case.owner, n, n) is not None]
        if known:
            where = f"pooled, up to n = {max(known)}"
            yield from drawn(case, budget, where, np.repeat(known, 4).tolist(), many, users="pooled")


def long_run(case: Case, budget: Budget, largest: int, runs: int, every: int = 1) -> Iterator[Verdict]:
    """Every block size up to `largest` (or each `every`-th), eight blocks each, in random orders."""
    rng = np.random.default_rng([budget.seed, 1])
    of = rng.permutation(np.arange(case.owner.smallest, largest + 1))[::every]
    sizes = np.concatenate([np.repeat(rng.permutation(of), _AGAIN // 2) for _ in range(2)]).tolist()
    yield from drawn(case, budget, f"{len(sizes):,} blocks", sizes, runs)


def _told(sizes: Sequence[int], shape: tuple[int, int], rng: np.random.Generator, exact: bool) -> dict[str, Any]:
    """Rewards of each block, ``(R, M, n)``: a canary that earns nothing, or what is said, among a background.

    Where the noise is no integer, the canary of every fourth block may earn what is on no grid.
    """
    places = [*POSITIONS.values()]
    kinds = rng.integers(len(BACKGROUNDS) * len(places), size=len(sizes))
    at = np.array([places[k % len(places)](n) for k, n in zip(kinds.tolist(), sizes, strict=True)])
    full = np.where(exact & (rng.random(len(sizes)) < 0.25), BETWEEN, 1.0)
    bits = rng.random((len(sizes), *shape)) < 0.5
    told = []
    for b, (n, k) in enumerate(zip(sizes, kinds.tolist(), strict=True)):
        x = np.broadcast_to([*BACKGROUNDS.values()][k // len(places)](n), (*shape, n)).copy()
        x[..., at[b]] = full[b] * bits[b]
        told.append(x)
    return {"told": told, "at": at, "bits": bits, "full": full, "kinds": kinds}


def drawn(
    case: Case,
    budget: Budget,
    what: str,
    sizes: Sequence[int],
    runs: int,
    turn: int = 0,
    own: bool = False,
    users: str = "each",
    loss: str = "",
) -> Iterator[Verdict]:
    """Play blocks of the given sizes in this order; hold their noise against its law, and the canaries' views.

    `turn`: which of several such runs it is, each with its own luck.  `own`: whether users draw 0 or 1 by the env's own
    luck, and the first of a block is its canary; pooled users are alike, and have none.
    """
    seed, pooled = budget.seed + turn, users == "pooled"
    rng, shape = np.random.default_rng([seed, 2]), (runs, 1 if pooled else 2)
    exact = case.owner.release(sizes[0], sizes[0])
    given = _told(sizes, shape, rng, exact is not None and not exact.law.integer)
    if pooled:
        given["told"] = [np.full(n, float(k % 2)) for n, k in zip(sizes, given["kinds"].tolist(), strict=True)]
    lost, kind = (loss, _LOST) if loss else None, type(case.env)
    found = seen(case.env.wrappers, list(sizes) if own else given["told"], runs, seed, users, shape[1], lost, kind)
    mechanism = found.env.mechanism  # as it was in these runs: it knows their horizon
    assert isinstance(mechanism, Mechanism)
    noise, all_of = found.fields["reward"] - found.sums, np.array(sizes)[:, None, None]
    there, planned = ~np.isnan(noise), np.broadcast_to(all_of, noise.shape)
    kept = np.unique(np.array([planned[there], found.left[there]]), axis=1).T.tolist()
    if any(planned_law(mechanism, n, left) is None for n, left in kept):
        yield Verdict(case.subject, f"drawn, {what}", 1, 0, "× critical", untested=_NO_LAW)
        return
    at = np.zeros(len(sizes), int) if own else given["at"]
    canary = np.zeros(noise.shape) if pooled else np.array([x[..., i] for x, i in zip(found.rewards, at, strict=True)])
    groups = _groups(found, sizes, own, given, canary)
    draws = Draws(
        noise,
        lambda times: [
            (there & (planned == n) & (found.left == k), law)
            for n, k in kept if (law := planned_law(mechanism, n, k, times)) is not None
        ],
        rng.random(noise.shape),
        bits=None if pooled else canary > 0 if own else given["bits"],
        sides=None if pooled else 2 * groups["third of what others may earn"] + (canary > 0),
        moved=canary,
        full=1.0 if own else given["full"][:, None, None],
        truth=found.sums,
        groups=groups,
        again=("size",),
        rewards=found.tape if own else None,
    )  # fmt: skip
    yield from draws.verdicts(budget.level, case.subject, f"drawn, {what}", case.promises[0], _cost(mechanism, kept))
    if mechanism.planned(sizes[0]).wraps and "modulus" in found.env.sent_fields:
        yield _decoded(found, mechanism, sizes, case.subject, f"drawn, {what}")


def _cost(mechanism: Mechanism, kept: Sequence[tuple[int, int]]) -> float | None:
    """ε of a block of which so many are left, at most; ``None``: that of the promise."""
    if all(left >= mechanism.sure(n) for n, left in kept):
        return None
    return max(mechanism.price(n, left).epsilon for n, left in kept)


def _groups(found: Seen, sizes: Sequence[int], own: bool, given: dict[str, Any], canary: Array) -> dict[str, Array]:
    place, all_of = np.arange(len(sizes)), np.array(sizes)[:, None, None]
    groups = {"size": np.array(sizes), "arm": place % 2}
    groups["third of what others may earn"] = np.minimum(
        np.floor(3 * (found.sums - canary) / np.maximum(found.left, 1)), 2
    )
    if found.sums.shape[2] > 1:
        groups["server"] = np.broadcast_to(np.arange(found.sums.shape[2]), found.sums.shape)
    if len(sizes) > 2 * _STRETCH:
        groups["stretch of the run"] = place // _STRETCH
    elif len(sizes) <= 32:
        groups["place in the run"] = place
    if (found.left < all_of).any():
        groups["users left, of a thousand times as many"] = found.left + 1000 * all_of
        groups["share of users left"] = np.floor(4 * found.left / all_of)
    if own:
        total = np.array([x[..., 1:].sum(2) for x in found.rewards])
        groups["other rewards' sum"] = np.where(all_of < 4, total + 100 * all_of, 0)
        ends = [np.array([x[..., i] for x in found.rewards]) for i in (0, -1)]
        groups["last user's reward"], groups["first and last user's rewards"] = ends[1], 2 * ends[0] + ends[1]
        groups["luck of its rewards"] = 4 * place[:, None, None] + np.floor(4 * found.tape)
    else:
        groups["background"] = given["kinds"]
        groups["canary's other reward"] = given["full"]
        groups["canary's reward"] = np.where(given["bits"], given["full"][:, None, None], 0.0)
    return groups


def _decoded(found: Seen, mechanism: Mechanism, sizes: Sequence[int], subject: str, where: str) -> Verdict:
    """A decoded sum lies where the analyzer puts one: no more than τ above all rewards, and less than m below that."""
    wrong = 0
    for b, n in enumerate(sizes):
        plan = mechanism.planned(n)
        steps = np.rint(found.fields["reward"][b] * plan.g)
        top = found.left[b] * plan.g + plan.tau  # and up to a reward beyond, if it is rounded
        wrong += int(((steps > top + plan.g) | (steps <= top - plan.modulus - plan.g)).sum())  # NaN is neither
    return Verdict(subject, f"{where}: sums decoded out of range", 0, wrong, "sums")


def _single_messages(case: Case, budget: Budget, runs: int, blocks: int = 150) -> Iterator[Verdict]:
    """Messages of single users where nobody hides them, of some places in a block, each a canary."""
    rng = np.random.default_rng([budget.seed, 5])
    sizes = rng.integers(8, 65, blocks)
    told = [(rng.random((runs, 1, n)) < 0.5) * 1.0 for n in sizes.tolist()]
    found = seen(case.env.wrappers, told, runs, budget.seed, kind=type(case.env))
    mechanism = found.env.mechanism
    assert isinstance(mechanism, Mechanism)
    posts = np.empty((blocks, runs, 6))
    rewards, g = np.empty(posts.shape), np.empty((blocks, 1, 1))
    for b, (n, x) in enumerate(zip(sizes.tolist(), told, strict=True)):
        places = [0, 1, 2, n // 2, n - 2, n - 1]
        g[b] = mechanism.planned(n).g
        posts[b], rewards[b] = found.users[b][:, 0, places] / g[b], x[:, 0, places]
    draws = Draws(
        posts - rewards,
        lambda times: [
            (np.broadcast_to((sizes == n)[:, None, None], posts.shape), law)
            for n in np.unique(sizes).tolist() if (law := planned_law(mechanism, n, 1, times)) is not None
        ],
        rng.random(posts.shape),
        bits=rewards > 0,
        moved=rewards,
        truth=rewards,
        groups={"user": np.broadcast_to(np.arange(6), posts.shape), "stretch of the run": np.arange(blocks) // 50},
    )  # fmt: skip
    yield from draws.verdicts(budget.level, case.subject, "drawn, single messages", case.promises[0])
