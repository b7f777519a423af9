"""What an observer tells apart: neighbours, features of what was seen, and the ε that an event of these refutes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hushbandits.audits.cases import Case, Verdict
from hushbandits.core import Array, Guarantee
from hushbandits.privacy.audit import best_event, smallest_refuted

#: A reward beyond [0, 1], such as a sender's own report or a wrapper that scales may bring about; and its words.
_BEYOND, ABOVE = (-2.0, 3.0), "a reward beyond [0, 1]"
#: What stands for a value that was not there.
_NOTHING = -1e9
_CHOICE = 1e-3  # level by which an event is chosen: as if there were as many draws as those that test it


def refuted(
    features: dict[str, Array],
    bits: Array,
    learning: Array,
    delta: float,
    level: float,
    parts: Sequence[tuple[str, Any]] = (("", True),),
    together: bool = False,
) -> tuple[float, str]:
    """Return the ε that features refute by an event, and the event in words; ``""``: nothing varies.

    All arrays have one shape.  Events are thresholds and values of single features, in all of it or in a part.  Those
    that are `learning` choose the event; all others test it once.

    Parameters
    ----------
    features : dict of array
    bits : bool array
        Which of the two inputs each was.
    parts : sequence of (str, mask)
        Circumstances, the same on both sides, in words.
    together : bool
        Whether a likelihood ratio of all features, as if they were independent, is a feature as well.
    """
    known = telling(features)
    names, values = list(known), np.array(list(known.values()))
    if together and len(names) > 1:
        first = learning & (np.cumsum(learning) % 2 == 0)
        score = np.zeros(bits.shape)
        for learn, use in ((first, learning & ~first), (learning & ~first, first), (learning, ~learning)):
            score[use] = ratios(values, bits, learn, use)[-1]
        names, values = [*names, "all together"], np.vstack([values, score[None]])
    best, chosen = None, ("", bits)
    for words, part in parts if names else ():
        low, high = (values[:, part & learning & (bits == bit)] for bit in (False, True))
        event = best_event(low, high, delta, _CHOICE) if low.size and high.size else None
        if event is not None and (best is None or event.promised > best.promised):
            best, chosen = event, (words, part)
    if best is None:
        return 0.0, "no event" if names else ""
    words, part = chosen
    low, high = (values[:, part & ~learning & (bits == bit)] for bit in (False, True))
    found = best.refuted(low, high, delta, level)
    return found, f"{names[best.feature]} {best.kind} {best.value:.4g}{words}"


def telling(features: dict[str, Array]) -> dict[str, Array]:
    """Features that vary, each once; what was not there is a number too."""
    known = {k: np.where(np.isnan(v), _NOTHING, v) for k, v in features.items()}
    once = {v.tobytes(): k for k, v in reversed(known.items()) if v.size and np.ptp(v)}
    return {k: known[k] for k in reversed(once.values())}


def ratios(values: Array, bits: Array, learn: Array, use: Array, bins: int = 8) -> Array:
    """Logarithms of likelihood ratios of some, feature by feature, and last their sum: ``(F + 1, ·)``.

    They are learned from others, in so many bins; a ratio that chance may bring about counts as 1.
    """
    found = []
    for x in values:
        one, other = (x[learn & (bits == bit)] for bit in (False, True))
        edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, bins + 1)))
        cuts = edges[:-1] if len(edges) <= bins else edges[1:-1]  # few values: each its own bin
        counts = [np.bincount(np.searchsorted(cuts, x, "left"), minlength=len(cuts) + 1) + 2.0 for x in (one, other)]
        ratio = np.log(counts[1] / counts[0] * (sum(counts[0]) / sum(counts[1])))
        ratio[np.abs(ratio) < 2 * np.sqrt(1 / counts[0] + 1 / counts[1])] = 0.0  # as chance has it
        found.append(ratio[np.searchsorted(cuts, x[use], "left")])
    return np.array([*found, np.sum(found, 0)])


_Play = Callable[[], dict[str, Array]]
_Measure = Callable[[dict[str, Array]], tuple[float, str]]


@dataclass(frozen=True)
class Change:
    """What two neighbours differ in: a reward on either side, or `every` one of a participant."""

    words: str
    values: tuple[float, float] = (0.0, 1.0)
    every: bool = False


def neighbours(promise: Guarantee) -> Iterator[Change]:
    """What the adjacency makes neighbours.

    A participant whose run has one reward is met once; unless a promise says so, participants come back.
    """
    run, whole = promise.run, promise.adjacency.replaced == "participant"
    every = whole and (run is None or run.times > 1)
    ends = promise.adjacency.low, promise.adjacency.high
    yield Change("all rewards of a user" if every else "a reward", ends, every)
    yield Change(ABOVE, _BEYOND, every)


def features(views: dict[str, Array], differences: bool = True) -> dict[str, Array]:
    """All coordinates of what was seen ``(T, N, …)``, their changes in time, and how neighbours differ: ``(N,)``."""
    found = {}
    for name, value in views.items():
        x = value.reshape(*value.shape[:2], -1)
        for t, i in np.ndindex(len(x), x.shape[2]):
            found[f"{name} {i} of round {t + 1}"] = x[t, :, i]
            if differences and t:
                found[f"change of {name} {i} in round {t + 1}"] = x[t, :, i] - x[t - 1, :, i]
            if differences and i:
                found[f"{name} {i} less {i - 1} of round {t + 1}"] = x[t, :, i] - x[t, :, i - 1]
    return found


def judged(
    case: Case, check: str, least: float, play: _Play, measure: _Measure, why: str = "", refusing: bool = False
) -> Verdict:
    """Play, and measure by its features the ε that is refuted, unless nothing can be: it says `why`.

    `least`: the smallest true ε that is refuted.  `refusing`: whether rewards may be none that it takes.
    """
    found, told, power = 0.0, "", f"a true ε of {least:.3g}"
    try:
        features = {} if why or math.isinf(least) else play()
    except ValueError as error:
        if not refusing:
            raise
        features, why = {}, f"refused: {error}"
    if features:
        found, told = measure(features)
        why = "" if telling(features) else "nothing that is seen varies"
    check, epsilon, level = f"{check} ({told})" if told else check, case.promise.epsilon, case.budget.level
    return Verdict(case.subject, check, epsilon, found, "ε", power, level, case.promise, least=least, untested=why)


def apart(
    case: Case, check: str, bits: Array, play: _Play, groups: Array | None = None, refusing: bool = False
) -> Verdict:
    """Bound ε from below by an event: `bits` say which of two neighbours each run has played, as features show.

    `groups`: the runs' circumstances.
    """
    delta, level, learning = case.promise.delta, case.budget.level, np.arange(len(bits)) % 3 == 0
    parts = [("", np.ones(len(bits), bool))]
    parts += [] if groups is None else [(f" in background {kind}", groups == kind) for kind in np.unique(groups)]
    tested = min(int((~learning & side).sum()) for side in (bits, ~bits))
    least = smallest_refuted(case.promise.epsilon, delta, tested, level)
    measure = partial(refuted, bits=bits, learning=learning, delta=delta, level=level, parts=parts, together=True)
    return judged(case, f"black box, {check}, {len(bits) // 2:,} runs a side", least, play, measure, refusing=refusing)


def fair(shape: Any, *seed: int) -> Array:
    """Fair bits: which of the two rewards each canary has."""
    return np.random.default_rng(seed).random(shape) < 0.5
