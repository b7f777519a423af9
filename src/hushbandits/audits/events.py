"""Tests that bound ε from below, by an event of released features that distinguishes neighbouring inputs.

The bounds come from many runs, or from one run with many canaries, each with a fair bit for its reward; an observer
guesses as many of the bits as it likes (Steinke, Nasr & Jagielski 2023).  `_apart` decides from the declarations of a
part what may be a canary.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import stats

from hushbandits.audits.cases import Case, Verdict
from hushbandits.audits.play import around, seen, shown, stage
from hushbandits.core import Array, Guarantee
from hushbandits.privacy.audit import epsilon_lower_bound, one_run_bound, one_run_least, smallest_refuted

#: Rewards outside [0, 1], which a user-defined message or a scaling wrapper can produce, and a description.
_BEYOND, ABOVE = (-2.0, 3.0), "a reward beyond [0, 1]"
#: Value that replaces a missing one.
_NOTHING = -1e9
#: Normal quantile at which an event is chosen, as if there were as many draws as those that test it.
_CHOICE = float(stats.norm.isf(1e-3 / 4))
_FEW, _TAILS = 64, 2.0 ** -np.arange(5, 16)
#: Quantiles of the thresholds, denser towards both ends.
_QUANTILES = np.unique([*np.linspace(0, 1, _FEW // 2), *_TAILS, *(1 - _TAILS)])

Views = dict[str, Array]
#: Parts of the draws, in words.
Parts = Sequence[tuple[str, Array | bool]]


class Event(NamedTuple):
    """Event that a feature is ≤, ≥ or = a value.

    `promised` is the bound on ε by which events are compared; `turn` is 1 if the event is more likely on the first of
    the two inputs, −1 if on the second.
    """

    promised: float
    feature: int
    kind: str
    value: float
    turn: int


def best_events(innocent: Array, guilty: Array, delta: float) -> Iterator[Event]:
    """Yield, for each feature, kind and direction, the event with the largest lower bound on ε by Wilson's intervals.

    Kinds are ``≤ t``, ``≥ t`` and, for features with few values, ``= t``.  `innocent` and `guilty` are F features of
    the runs on the two neighbouring inputs, (F, N) and (F, N′).
    """
    samples = innocent.shape[1], guilty.shape[1]
    for f, (a, b) in enumerate(zip(innocent, guilty, strict=True)):
        at = np.unique(np.concatenate([a, b]))
        few = len(at) <= _FEW
        at = at if few else np.unique(np.quantile(at, _QUANTILES))
        for kind in "≤≥=" if few else "≤≥":
            counts = [_hits(x, kind, at) for x in (a, b)]
            for turn in (1, -1):
                bounds = _quick_bounds(counts[::turn], samples[::turn], delta)
                best = bounds.argmax()
                yield Event(float(bounds[best]), f, kind, float(at[best]), turn)


def _quick_bounds(counts: Sequence[Array], samples: Sequence[int], delta: float) -> Array:
    """Return `epsilon_lower_bound` with Wilson's intervals, which may select an event but prove no bound."""

    def bound(count: Array, n: int, sign: int) -> Array:
        p, z = count / n, _CHOICE
        middle, width = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n**2))
        return (middle + sign * width) / (1 + z * z / n)

    with np.errstate(divide="ignore", invalid="ignore"):
        low = bound(counts[0], samples[0], -1) - delta
        return np.where(low > 0, np.maximum(np.log(low / bound(counts[1], samples[1], 1)), 0.0), 0.0)


def _hits(x: Array, kind: str, at: Array) -> Array:
    # count the x that are ≤, ≥ or = each value
    x = np.sort(x)
    below, upto = np.searchsorted(x, at, "left"), np.searchsorted(x, at, "right")
    return {"≤": upto, "≥": len(x) - below, "=": upto - below}[kind]


def refuted(
    features: Views, bits: Array, learning: Array, delta: float, level: float, parts: Parts, together: bool = False
) -> tuple[float, str]:
    """Return a lower bound on ε from an event of the features, and the event as text (``""`` if no feature varies).

    All arrays have one shape.  Events are thresholds and values of single features, in all draws or in a part.  The
    draws with `learning` choose the event; all others test it once.

    Parameters
    ----------
    features : dict of array
    bits : bool array
        Which of the two inputs each draw had.
    parts : sequence of (str, mask)
        Conditions that are the same for both inputs, in words.
    together : bool
        Whether to add the likelihood ratio of all features, as if they were independent.
    """
    known = telling(features)
    names, values = list(known), np.array(list(known.values()))
    if together and len(names) > 1:
        first = learning & (np.cumsum(learning) % 2 == 0)
        score = np.zeros(bits.shape)
        for learn, use in ((first, learning & ~first), (learning & ~first, first), (learning, ~learning)):
            score[use] = ratios(values, bits, learn, use)[-1]
        names, values = [*names, "all together"], np.vstack([values, score[None]])
    found: list[tuple[Event, str, Array | bool]] = []
    for words, part in parts if names else ():
        low, high = (values[:, part & learning & (bits == bit)] for bit in (False, True))
        if low.size and high.size:
            found += [(event, words, part) for event in best_events(low, high, delta) if event.promised > 0]
    if not found:
        return 0.0, "no event" if names else ""
    best, words, part = max(found, key=lambda it: it[0].promised)
    sides = [values[best.feature][part & ~learning & (bits == bit)] for bit in (False, True)][:: best.turn]
    hits, others = (int(_hits(x, best.kind, np.array([best.value]))[0]) for x in sides)
    bound = epsilon_lower_bound(hits, others, len(sides[0]), delta, level, len(sides[1]))
    return bound, f"{names[best.feature]} {best.kind} {best.value:.4g}{words}"


def telling(features: Views) -> Views:
    """Return the features that vary, without duplicates; missing values are replaced by a number."""
    known = {k: np.where(np.isnan(v), _NOTHING, v) for k, v in features.items()}
    once = {v.tobytes(): k for k, v in reversed(known.items()) if v.size and np.ptp(v)}
    return {k: known[k] for k in reversed(once.values())}


def ratios(values: Array, bits: Array, learn: Array, use: Array, bins: int = 8) -> Array:
    """Return log-likelihood ratios ``(F + 1, ·)`` of the draws `use`: a row per feature, and last the sum of the rows.

    Other draws give the ratios, in so many bins; a ratio within chance counts as 1.
    """
    found = []
    for x in values:
        one, other = (x[learn & (bits == bit)] for bit in (False, True))
        edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, bins + 1)))
        cuts = edges[:-1] if len(edges) <= bins else edges[1:-1]  # few values: a bin for each
        counts = [np.bincount(np.searchsorted(cuts, x, "left"), minlength=len(cuts) + 1) + 2.0 for x in (one, other)]
        ratio = np.log(counts[1] / counts[0] * (sum(counts[0]) / sum(counts[1])))
        ratio[np.abs(ratio) < 2 * np.sqrt(1 / counts[0] + 1 / counts[1])] = 0.0  # within chance
        found.append(ratio[np.searchsorted(cuts, x[use], "left")])
    return np.array([*found, np.sum(found, 0)])


_Play = Callable[[], Views]
_Measure = Callable[[Views], tuple[float, str]]


class Change(NamedTuple):
    """Difference between two neighbouring inputs: one changed reward or, if `every`, all rewards of a participant."""

    words: str
    values: tuple[float, float] = (0.0, 1.0)
    every: bool = False


def neighbours(promise: Guarantee) -> Iterator[Change]:
    """Yield two changes to play: one within the guarantee's adjacency, and one to rewards outside [0, 1].

    A participant with one reward per run appears once; participants come back unless a guarantee excludes it.
    """
    run, whole = promise.run, promise.adjacency.replaced == "participant"
    every = whole and (run is None or run.times > 1)
    ends = promise.adjacency.low, promise.adjacency.high
    yield Change("all rewards of a user" if every else "a reward", ends, every)
    yield Change(ABOVE, _BEYOND, every)


def features(views: Views, differences: bool = True) -> Views:
    """Return features ``(N,)`` of releases ``(T, N, …)``: coordinates and, if `differences`, their differences.

    Differences are those of successive rounds and of adjacent coordinates.
    """
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


def judged(case: Case, check: str, least: float, play: _Play, measure: _Measure, why: str, refusing: bool) -> Verdict:
    """Return a verdict with the ε that `measure` finds in the features from `play`.

    If `why` gives a reason not to test, nothing is played.

    `least`: the smallest true ε that is refuted.  `refusing`: whether the part may reject the rewards.
    """
    found, given, power = 0.0, "", f"a true ε of {least:.3g}"
    try:
        features = {} if why or math.isinf(least) else play()
    except ValueError as error:
        if not refusing:
            raise
        features, why = {}, f"refused: {error}"
    if features:
        found, given = measure(features)
        why = "" if telling(features) else "nothing that is seen varies"
    check, epsilon, level = f"{check} ({given})" if given else check, case.promise.epsilon, case.budget.level
    return Verdict(case.subject, check, epsilon, found, "ε", power, level, case.promise, least=least, untested=why)


def apart(
    case: Case, check: str, bits: Array, play: _Play, groups: Array | None = None, refusing: bool = False
) -> Verdict:
    """Return a verdict with a lower bound on ε, from an event that distinguishes runs with different `bits`.

    `groups`: conditions of the runs.
    """
    delta, level, learning = case.promise.delta, case.budget.level, np.arange(len(bits)) % 3 == 0
    parts = [("", np.ones(len(bits), bool))]
    parts += [] if groups is None else [(f" in background {kind}", groups == kind) for kind in np.unique(groups)]
    tested = min(int((~learning & side).sum()) for side in (bits, ~bits))
    least = smallest_refuted(case.promise.epsilon, delta, tested, level)
    measure = partial(refuted, bits=bits, learning=learning, delta=delta, level=level, parts=parts, together=True)
    return judged(case, f"black box, {check}, {len(bits) // 2:,} runs a side", least, play, measure, "", refusing)


def fair(shape: int | tuple[int, ...], *seed: int) -> Array:
    """Return fair random bits of `shape`, drawn from `seed`."""
    return np.random.default_rng(seed).random(shape) < 0.5


#: Canaries per run of a black-box check on one input; half of them train the observer, and half are guessed.
_EACH = 4
#: Canaries of a run at most; runs for blocks; agents and rounds on a graph.
_MOST, _RUNS, _AGENTS, _ROUNDS = 4000, 100, 10, 16
_BINS, _CUTS = 16, 64


def guessed(bits: Array, features: Views, level: float) -> tuple[int, int, int]:
    """Return the numbers of tested canaries, of guesses and of correct guesses.

    One half of the canaries trains the guesser, and the other half is tested.

    Training gives the likelihood ratios of every feature and of all together, chooses one of them, and a threshold
    for guessing at all.  It reveals the bits of that half; (ε, δ)-privacy of the other half is independent of them.
    """
    values, n = np.array(list(telling(features).values())), len(bits)
    rank = np.random.default_rng(n).permutation(n)  # independent of time and agent, which may matter
    first, second, rest = rank < n // 4, (rank >= n // 4) & (rank < n // 2), rank >= n // 2
    if not len(values):
        return n - n // 2, 0, 0
    learned, known = partial(ratios, values, bits, bins=_BINS), np.concatenate([bits[second], bits[first]])
    tried = np.hstack([learned(first, second), learned(second, first)])
    (_, least), best = max((_cut(score, known, level), i) for i, score in enumerate(tried))
    found = learned(first | second, rest)[best]
    sure = np.abs(found) >= least
    return n - n // 2, int(sure.sum()), int(((found > 0) == bits[rest])[sure].sum())


def _cut(score: Array, bits: Array, level: float) -> tuple[float, float]:
    """Return the largest Hoeffding bound on the share of correct guesses over several thresholds, and its threshold."""
    size = np.abs(score)
    if not size.any():
        return -math.inf, math.inf
    at = np.unique(np.quantile(size[size > 0], np.linspace(0, 1, _CUTS)))
    guesses = np.array([(size >= x).sum() for x in at])
    right = np.array([(((score > 0) == bits) & (size >= x)).sum() for x in at])
    bound = right / guesses - np.sqrt(math.log(1 / level) / (2 * guesses))
    return float(bound.max()), float(at[bound.argmax()])


def one_run(case: Case) -> Iterator[Verdict]:
    """Yield verdicts that bound ε from below by guesses of canaries; with independent noise, a run has many canaries.

    For a wrapper in the feedback setting a user of each block is a canary; on a graph each reward of each agent.  If
    a guarantee is about a single message, and no declaration says that messages have separate random numbers, each
    canary has a separate run.
    """
    for made in case.over(*case.budget.full):
        # integer arithmetic only, user by user: slow
        n = case.budget.samples // (20 if getattr(made.owner, "noise", "") == "exact" else 1)
        why = _unfit(made)
        if made.watched == "agents" and not why:  # a guarantee on a graph may depend on the length of runs
            made = stage(made, *_game(made))
        promise, level = made.promise, case.budget.level
        for i, change in enumerate(neighbours(promise)):
            most = _EACH * n // (1 + i)  # half as many for rewards outside [0, 1]
            least = one_run_least(promise.epsilon, promise.delta, most - most // 2, level)
            play = partial(_played, made, most, change.values, case.budget.seed + i)
            measure = partial(_bound, level=level, delta=promise.delta)
            check = f"one run, {change.words}, {most:,} canaries"
            yield judged(made, check, least, play, measure, why, change.words == ABOVE)


def _bound(features: Views, level: float, delta: float) -> tuple[float, str]:
    bits = features.pop("bits") > 0  # no observer sees them
    canaries, guesses, correct = guessed(bits, features, level)
    return one_run_bound(correct, guesses, delta, level, canaries), f"{guesses:,} guesses, {correct:,} right"


def _unfit(case: Case) -> str:
    """Return the reason why single rewards cannot be canaries; ``""`` if they can."""
    promise = case.promise
    if case.watched == "actions":
        return "an agent's actions depend on all rewards so far together, so no single reward can be guessed"
    if promise.adjacency.replaced == "none":
        return "neighbours differ in nothing that is to be hidden"
    every = case.watched == "users" and next(neighbours(promise)).every
    return "all rewards of a user in many blocks are no canary of a block" if every else ""


def _apart(case: Case) -> bool:
    """Return whether each canary needs a separate run, because messages may share random numbers.

    A part that declares `preserves_guarantees` draws separate random numbers for each message.
    """
    return case.promise.single_release and not case.owner.declares


def _game(case: Case) -> tuple[int, int]:
    """Return the numbers of rounds and of agents of a run on a graph with canaries."""
    return (1, 2) if _apart(case) else (_ROUNDS, _AGENTS)


def _played(case: Case, n: int, values: tuple[float, float], seed: int) -> Views:
    """Play runs with `n` canaries that take one of two `values`; return the canaries' features and bits."""
    play = _posts if case.watched == "agents" else _users
    sizes = [_MOST] * (n // _MOST) + [n % _MOST] * bool(n % _MOST)
    games = [play(case, size, values, seed + 1000 * i) for i, size in enumerate(sizes)]
    return {k: np.concatenate([game[k] for game in games]) for k in games[0]}


def _users(case: Case, n: int, values: tuple[float, float], seed: int) -> Views:
    """Play blocks with a canary as last user and reward 0 for all others; return the canaries' features and bits."""
    size = 1 if getattr(case.owner, "hidden_by", "noise") == "noise" else case.owner.smallest
    runs = n if _apart(case) else min(n, _RUNS)
    bits = fair((n // runs, runs, 1), seed, 8)
    given = np.where(np.arange(size) == size - 1, np.where(bits, *values[::-1])[..., None], 0.0)
    it = seen(case.env, list(given), runs, seed)
    views = {**it.fields, "the user's message": np.array([x[..., -1] for x in it.users])} if it.users else it.fields
    return _windows(bits, views)


def _posts(case: Case, n: int, values: tuple[float, float], seed: int) -> Views:
    """Play runs on a graph whose rewards are canaries; return the canaries' features and bits."""
    (rounds, agents), mine = _game(case), slice(1 if _apart(case) else None)
    bits = fair((rounds, n if _apart(case) else -(-n // (agents * rounds)), agents), seed, 8)
    staged = stage(case, rounds, agents, runs=bits.shape[1])
    it = shown(staged, case.team or around(), seed, list(np.where(bits, *values[::-1])))
    hidden = ("heard ", "published ") if case.promise.single_release else ("heard ",)
    views = {k: x[:, :, mine] for k, x in it.fields.items() if len(x) == rounds and not k.startswith(hidden)}
    return {k: x[:n] for k, x in _windows(bits[..., mine], views).items()}


def _windows(bits: Array, views: Views) -> Views:
    """Return the features and the bits of canaries.

    The features are the values of the canary's agent and the preceding agent, in its round and the one before.
    """
    found = {}
    for name, value in views.items():
        x = value.reshape(*value.shape[:3], -1)
        x = np.concatenate([x, np.roll(x, 1, 2)], 3) if x.shape[2] > 1 else x
        rows = np.array([np.concatenate([np.full_like(x[:1], np.nan), x[:-1]]), x])
        found[name] = rows.reshape(2, -1, x.shape[3])
    return {**features(found), "bits": bits.ravel()}
