"""From what was seen on two neighbouring inputs to a lower bound on ε."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.privacy.audit import epsilon_lower_bound, learned_epsilon

__all__ = ["ABOVE", "BEYOND", "bounded", "hopeless", "judged"]

_BINS = 8
#: A reward beyond [0, 1], such as a sender's own report or a wrapper that scales may bring about; and its words.
BEYOND, ABOVE = (-2.0, 3.0), "a reward beyond [0, 1]"
#: What stands for a value that was not there.
NOTHING = -1e9


def hopeless(epsilon: float, delta: float, samples: int, level: float) -> bool:
    """Whether not even an event that always happens on one side, and never on the other, would refute ε."""
    half = samples // 2
    return epsilon_lower_bound(half, 0, half, delta, level) <= epsilon


def bounded(
    subject: str,
    check: str,
    epsilon: float,
    found: float,
    smallest: float,
    level: float,
    promise: Guarantee | None = None,
    varies: object = True,
) -> Verdict:
    """Return the verdict on a lower bound on ε, of runs that refute `smallest` at least, where anything varies."""
    power = "nothing: too few runs for so large an ε" if math.isinf(smallest) else f"a true ε of {smallest:.3g}"
    return Verdict(
        subject, check, epsilon, found, "ε", power, level, promise, least=smallest,
        untested="" if varies else "nothing that is seen varies",
    )  # fmt: skip


def judged(
    innocent: dict[str, Array], guilty: dict[str, Array], delta: float, level: float, groups: Array | None = None
) -> tuple[float, str]:
    """Return the ε that features ``(N,)`` of runs on two neighbours refute, by an event that half of the runs choose.

    Events are thresholds and values of single features, and thresholds of all of them together (`_together`).
    `groups` ``(N,)``: the runs' circumstances, the same on both sides; each feature is looked at in each group as well.
    Where no feature varies there is no event, ``""``.
    """
    sides = tuple({k: np.where(np.isnan(v), NOTHING, v) for k, v in side.items()} for side in (innocent, guilty))
    a, b = sides
    # a feature that is one constant on both sides tells nothing
    telling = [k for k in a if np.ptp(a[k]) or np.ptp(b[k]) or a[k][0] != b[k][0]]
    names = list({(a[k].tobytes(), b[k].tobytes()): k for k in reversed(telling)}.values())[::-1]  # each once
    if not names:
        return 0.0, ""
    low, high = (np.array([side[k] for k in names]) for side in sides)
    if len(names) > 1:
        both = _together(low, high)
        low, high = np.vstack([low, both[0]]), np.vstack([high, both[1]])
        names = [*names, "all together"]
    best = 0.0, "no event"
    kinds = np.unique(groups) if groups is not None else np.empty(0)
    parts: list[tuple[str, slice | Array]] = [("", slice(None))]
    parts += [(f" in background {kind}", groups == kind) for kind in kinds] if len(kinds) > 1 else []
    for where, part in parts:
        bound, event = learned_epsilon(low[:, part], high[:, part], delta, level / len(parts))
        if bound > best[0]:
            f, _, rest = event.partition(" ")
            best = bound, f"{names[int(f)]} {rest}{where}"
    return best


def _together(low: Array, high: Array) -> Array:
    """A likelihood ratio of all features as if they were independent, ``(2, N)``.

    It is learned on runs of the first half alone, each quarter's from the other, so that neither the choice of an event
    nor its test sees what it was learned from.
    """
    n = low.shape[1]
    quarters = np.arange(n) < n // 4, (np.arange(n) >= n // 4) & (np.arange(n) < n // 2)
    score = np.zeros((2, n))
    half = np.arange(n) < n // 2
    for learn, use in ((quarters[0], quarters[1]), (quarters[1], quarters[0]), (half, ~half)):
        for one, other in zip(low, high, strict=True):
            edges = np.unique(np.quantile(np.concatenate([one[learn], other[learn]]), np.linspace(0, 1, _BINS + 1)))
            cuts = edges[1:] if len(edges) <= _BINS else edges[1:-1]  # few values: each its own bin
            places = [np.searchsorted(cuts, x, "left") for x in (one, other)]
            counts = [np.bincount(at[learn], minlength=len(cuts) + 1) + 2.0 for at in places]
            ratio = np.log(counts[1] / counts[0])
            ratio[np.abs(ratio) < 2 * np.sqrt(1 / counts[0] + 1 / counts[1])] = 0.0  # as chance has it
            for side in (0, 1):
                score[side, use] += ratio[places[side][use]]
    return score
