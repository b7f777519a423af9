"""From what was seen on two neighbouring inputs to a lower bound on ε."""

from __future__ import annotations

import math

import numpy as np

from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.privacy.audit import epsilon_lower_bound, learned_epsilon

__all__ = ["ABOVE", "BEYOND", "bounded", "hopeless", "judged", "log_ratios", "telling"]

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
    known = telling({k: np.concatenate([innocent[k], guilty[k]]) for k in innocent})
    if not known:
        return 0.0, ""
    names, (low, high) = list(known), np.split(np.array(list(known.values())), 2, 1)
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


def telling(features: dict[str, Array]) -> dict[str, Array]:
    """Features that vary, each once; what was not there is a number too."""
    known = {k: np.where(np.isnan(v), NOTHING, v) for k, v in features.items()}
    once = {v.tobytes(): k for k, v in reversed(known.items()) if np.ptp(v)}
    return {k: known[k] for k in reversed(once.values())}


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
        for side, x in enumerate((low, high)):
            score[side, use] = log_ratios(low[:, learn], high[:, learn], x[:, use], _BINS).sum(0)
    return score


def log_ratios(low: Array, high: Array, seen: Array, bins: int) -> Array:
    """Logarithms of the likelihood ratios of what is `seen` ``(F, N)``, feature by feature: ``(F, N)``.

    Learned from features ``(F, ·)`` of either side, in so many bins; a ratio that chance may bring about counts as 1.
    """
    found = np.zeros(seen.shape)
    for f, (one, other) in enumerate(zip(low, high, strict=True)):
        edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, bins + 1)))
        cuts = edges[:-1] if len(edges) <= bins else edges[1:-1]  # few values: each its own bin
        counts = [np.bincount(np.searchsorted(cuts, x, "left"), minlength=len(cuts) + 1) + 2.0 for x in (one, other)]
        ratio = np.log(counts[1] / counts[0] * (sum(counts[0]) / sum(counts[1])))
        ratio[np.abs(ratio) < 2 * np.sqrt(1 / counts[0] + 1 / counts[1])] = 0.0  # as chance has it
        found[f] = ratio[np.searchsorted(cuts, seen[f], "left")]
    return found
