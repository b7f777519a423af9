"""One run: many canaries at once, each with a fair bit for its reward, and an observer who guesses as many as it likes.

Steinke, Nasr & Jagielski 2023.  What a part declares says what may be a canary (`_apart`): nothing else of it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from hushbandits.audits.beats import Around
from hushbandits.audits.black import neighbours
from hushbandits.audits.blocks import seen
from hushbandits.audits.cases import GRID, Budget, Case
from hushbandits.audits.events import ABOVE, log_ratios, telling
from hushbandits.audits.network import shown, stage
from hushbandits.audits.verdict import TOO_LARGE, Verdict
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.team import Team
from hushbandits.privacy.audit import one_run_bound, one_run_least

__all__ = ["Canaries", "Guesses", "guessed", "one_run"]

#: Canaries for each run a side of a black box; half of them teach the observer, and half are guessed.
_EACH = 4
#: Canaries of a game, at most, and runs in which blocks are played; agents and rounds on a graph.
_MOST, _RUNS, _AGENTS, _ROUNDS = 4000, 100, 10, 16
_BINS, _CUTS = 16, 64


@dataclass(frozen=True)
class Canaries:
    """What was put in and what was seen.

    Parameters
    ----------
    bits : (N,) bool
        Which of the two rewards each canary had.
    features : dict of (N,) array
        What an observer sees of each; NaN: nothing.
    """

    bits: Array
    features: dict[str, Array]


@dataclass(frozen=True)
class Guesses:
    """How many of the canaries that were kept for the test were guessed, and how many of the guesses were right."""

    canaries: int
    guesses: int
    correct: int


def guessed(canaries: Canaries, level: float) -> Guesses:
    """Guess half of the canaries, by what the other half has taught.

    Learned are the likelihood ratios of every feature by itself and of all together, which of them to go by, and from
    which ratio on to guess at all.  The bits of the other half are given away for it: (ε, δ)-privacy of the rest does
    not know them.
    """
    known = telling(canaries.features)
    bits, n = canaries.bits, len(canaries.bits)
    order = np.random.default_rng(n).permutation(n)  # not by time or agent, which may matter
    first, second, rest = np.split(order, [n // 4, n // 2])
    if not known:
        return Guesses(len(rest), 0, 0)
    values = np.array(list(known.values()))

    def scores(learn: Array, use: Array) -> Array:
        low, high = (values[:, learn[bits[learn] == bit]] for bit in (False, True))
        found = log_ratios(low, high, values[:, use], _BINS)
        return np.vstack([found, found.sum(0)])

    tried = np.hstack([scores(first, second), scores(second, first)])
    of = bits[np.concatenate([second, first])]
    (_, least), best = max((_cut(score, of, level), i) for i, score in enumerate(tried))
    found = scores(order[: n // 2], rest)[best]
    sure = np.abs(found) >= least
    return Guesses(len(rest), int(sure.sum()), int(((found > 0) == bits[rest])[sure].sum()))


def _cut(score: Array, bits: Array, level: float) -> tuple[float, float]:
    """The largest bound (Hoeffding's) on the share of right guesses, and from which ratio on they are made for it."""
    size = np.abs(score)
    if not size.any():
        return -math.inf, math.inf
    at = np.unique(np.quantile(size[size > 0], np.linspace(0, 1, _CUTS)))
    guesses = np.array([(size >= x).sum() for x in at])
    right = np.array([(((score > 0) == bits) & (size >= x)).sum() for x in at])
    bound = right / guesses - np.sqrt(math.log(1 / level) / (2 * guesses))
    return float(bound.max()), float(at[bound.argmax()])


def one_run(case: Case, budget: Budget) -> Iterator[Verdict]:
    """Bound ε from below by right guesses about many canaries, wherever what is declared makes many independent ones.

    Of a wrapper in the feedback setting a user of each block is one; on a graph each reward of each agent.  Where a
    promise is about a message by itself, and nothing says that messages have luck of their own, each has a run of its
    own.  At every ε of the grid where the audit is thorough.
    """
    grid = GRID if budget.thorough and case.make is not None else ()
    for made in [case.at(epsilon) for epsilon in grid] or [case]:
        # integers only, user by user: slow
        runs = budget.samples // 20 if getattr(made.owner, "sampler", "fast") == "exact" else budget.samples
        yield from _judged(made, _EACH * runs, budget)


def _judged(case: Case, n: int, budget: Budget) -> Iterator[Verdict]:
    promise, level = _promise(case), budget.level
    verdict = partial(Verdict, case.subject, unit="ε", level=level, promise=promise)
    epsilon, delta = promise.epsilon, promise.delta
    for i, change in enumerate(neighbours(promise)):
        most = n // (1 + bool(i))  # half as many on what lies beyond [0, 1]
        check = f"one run, {change.words}, {most:,} canaries"
        tested = most - most // 2
        least = one_run_least(epsilon, delta, tested, level)
        if why := _unfit(case, promise) or _hopeless(promise, tested, least, level):
            yield verdict(check, epsilon, 0.0, least=least, untested=why)
            continue
        try:
            canaries = _played(case, most, change.values, budget.seed + i)
        except ValueError as error:
            if change.words != ABOVE:
                raise
            yield verdict(check, epsilon, 0.0, least=least, untested=f"refused: {error}")
            continue
        found = guessed(canaries, level)
        bound = one_run_bound(found.correct, found.guesses, delta, level, found.canaries)
        power = f"a true ε of {least:.3g}"
        told = f"{found.guesses:,} guesses, {found.correct:,} right; {power} would have shown"
        why = "" if telling(canaries.features) else "nothing that is seen varies"
        yield verdict(f"{check} ({told})", epsilon, bound, power=power, least=least, untested=why)


def _hopeless(promise: Guarantee, canaries: int, least: float, level: float) -> str:
    """Why so many canaries cannot refute any ε of it; ``""``: they can."""
    if math.isfinite(least):
        return ""
    pure = one_run_least(promise.epsilon, 0.0, canaries, level)
    return f"δ = {promise.delta:g} is too large for so many canaries" if math.isfinite(pure) else TOO_LARGE


def _unfit(case: Case, promise: Guarantee) -> str:
    """Why nothing of it can be a canary among others; ``""``: something can."""
    if isinstance(case.owner, Team) and case.owner.setting != "network":
        return "an agent's actions tell of all rewards so far together, and of none by itself"
    if promise.adjacency.replaced == "none":
        return "neighbours differ in nothing that is to be hidden"
    if not case.env.payload.named and next(neighbours(promise)).every:
        return "all rewards of a user in many blocks are no canary of a block"
    return ""


def _apart(case: Case) -> bool:
    """Whether every canary needs a run of its own: a promise of one message by itself lets others share its luck.

    Who declares `keeps_promises` says that each message goes by luck of its own.
    """
    return case.promises[0].alone and not vars(type(case.owner)).get("keeps_promises", False)


def _game(case: Case) -> tuple[int, int]:
    """Rounds and agents of a game on a graph."""
    return (1, 2) if _apart(case) else (_ROUNDS, _AGENTS)


def _promise(case: Case) -> Guarantee:
    """What it promises in the games that are played: a graph's may depend on how long they are."""
    if case.env.payload.named and not _unfit(case, case.promises[0]):
        case = case.within(stage(case.env, *_game(case), team=case.team))
    return case.promises[0]


def _played(case: Case, n: int, values: tuple[float, float], seed: int) -> Canaries:
    """As many canaries, in as few games as there may be."""
    play = _posts if case.env.payload.named else _users
    games: list[Canaries] = []
    while (missing := n - sum(len(game.bits) for game in games)) > 0:
        games.append(play(case, min(missing, _MOST), values, seed + 1000 * len(games)))
    features = {k: np.concatenate([game.features[k] for game in games])[:n] for k in games[0].features}
    return Canaries(np.concatenate([game.bits for game in games])[:n], features)


def _users(case: Case, n: int, values: tuple[float, float], seed: int) -> Canaries:
    """One user of each block, the last of as few as are opened; the others earn nothing."""
    owner = case.owner
    size = 1 if getattr(owner, "hidden_by", "noise") == "noise" else owner.smallest
    runs = n if _apart(case) else min(n, _RUNS)
    bits = np.random.default_rng([seed, 8]).random((n // runs, runs)) < 0.5
    told = np.zeros((*bits.shape, 1, size))
    told[..., 0, -1] = np.where(bits, values[1], values[0])
    it = seen(case.env.wrappers, list(told), runs, seed, kind=type(case.env))
    features = {name: x[..., 0].astype(float) for name, x in it.fields.items()}
    if it.users:
        features["the user's message"] = np.array([x[:, 0, -1] for x in it.users])
    return Canaries(bits.ravel(), {k: x.ravel() for k, x in _changes(features).items()})


def _changes(features: dict[str, Array]) -> dict[str, Array]:
    """Features ``(T, …)``, and what they have become since the last one."""
    return features | {f"change of {k}": np.diff(x, axis=0, prepend=np.nan) for k, x in features.items() if len(x) > 1}


def _posts(case: Case, n: int, values: tuple[float, float], seed: int) -> Canaries:
    """Each reward of each agent, or all of an agent's, as the promise counts neighbours."""
    (promise, *_), apart, (rounds, agents) = case.promises, _apart(case), _game(case)
    whole = promise.adjacency.replaced == "participant"
    runs = n if apart else -(-n // (agents * (1 if whole else rounds)))
    bits = np.random.default_rng([seed, 8]).random((1 if whole else rounds, runs, agents)) < 0.5
    told = np.broadcast_to(np.where(bits, values[1], values[0]), (rounds, runs, agents))
    it = shown(stage(case.env, rounds, agents, runs, team=case.team), case.team or Around(), seed, list(told))
    features: dict[str, Array] = {}
    for name, x in it.posts.items():
        if len(x) == rounds and not (promise.alone and name.startswith("told ")):
            features |= _coordinates(name, x, it.arms)
    if not promise.alone:
        features = _changes(features)
        features |= {f"{k} less another agent's": x - np.roll(x, 1, 2) for k, x in features.items()}
    if whole:  # an agent's features are those of all its rounds
        rounds_of = {f"{k} of round {t + 1}": row[None] for k, x in features.items() for t, row in enumerate(x)}
        features = {f"{k} of all rounds": x.sum(0, keepdims=True) for k, x in features.items()} | rounds_of
    mine = slice(0, 1) if apart else slice(None)
    return Canaries(bits[..., mine].ravel(), {k: x[..., mine].ravel() for k, x in features.items()})


def _coordinates(name: str, x: Array, arms: Array) -> dict[str, Array]:
    """What is posted ``(T, R, M, …)``, number by number; of what is told per arm, the played arm comes first."""
    flat = x.reshape(*arms.shape, -1)
    turned = (arms[..., None] + np.arange(flat.shape[-1])) % flat.shape[-1]
    flat = np.take_along_axis(flat, turned, 3)
    return {f"{name} {i}": flat[..., i] for i in range(flat.shape[-1])}
