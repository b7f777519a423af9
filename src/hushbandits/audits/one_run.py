"""One run: many canaries at once, each with a fair bit for its reward, and an observer who guesses as many as it likes.

Steinke, Nasr & Jagielski 2023.  What a part declares says what may be a canary (`_apart`): nothing else of it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from hushbandits.audits.cases import Case, Verdict
from hushbandits.audits.events import ABOVE, fair, features, judged, neighbours, ratios, telling
from hushbandits.audits.play import around, seen, shown, stage
from hushbandits.core import Array
from hushbandits.privacy.audit import one_run_bound, one_run_least

#: Canaries for each run a side of a black box; half of them teach the observer, and half are guessed.
_EACH = 4
#: Canaries of a game, at most, and runs in which blocks are played; agents and rounds on a graph.
_MOST, _RUNS, _AGENTS, _ROUNDS = 4000, 100, 10, 16
_BINS, _CUTS = 16, 64


#: Name of what no observer sees: which of the two rewards each canary had.
_BITS = "bits"


def guessed(bits: Array, features: dict[str, Array], level: float) -> tuple[int, int, int]:
    """Guess half of the canaries, by what the other half has taught: how many there are, are guessed, and right.

    Learned are the likelihood ratios of every feature by itself and of all together, which of them to go by, and from
    which ratio on to guess at all.  The bits of the other half are given away for it: (ε, δ)-privacy of the rest does
    not know them.
    """
    values, n = np.array(list(telling(features).values())), len(bits)
    rank = np.random.default_rng(n).permutation(n)  # not by time or agent, which may matter
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
    """The largest bound (Hoeffding's) on the share of right guesses, and from which ratio on they are made for it."""
    size = np.abs(score)
    if not size.any():
        return -math.inf, math.inf
    at = np.unique(np.quantile(size[size > 0], np.linspace(0, 1, _CUTS)))
    guesses = np.array([(size >= x).sum() for x in at])
    right = np.array([(((score > 0) == bits) & (size >= x)).sum() for x in at])
    bound = right / guesses - np.sqrt(math.log(1 / level) / (2 * guesses))
    return float(bound.max()), float(at[bound.argmax()])


def one_run(case: Case) -> Iterator[Verdict]:
    """Bound ε from below by right guesses about many canaries, wherever what is declared makes many independent ones.

    Of a wrapper in the feedback setting a user of each block is one; on a graph each reward of each agent.  Where a
    promise is about a message by itself, and nothing says that messages have luck of their own, each has a run of its
    own.
    """
    for made in case.over(*case.budget.full):
        # integers only, user by user: slow
        n = case.budget.samples // (20 if getattr(made.owner, "noise", "") == "exact" else 1)
        why = _unfit(made)
        if made.watched == "agents" and not why:  # a graph's promise may depend on how long games are
            made = stage(made, *_game(made))
        promise, level = made.promise, case.budget.level
        for i, change in enumerate(neighbours(promise)):
            most = _EACH * n // (1 + i)  # half as many on what lies beyond [0, 1]
            least = one_run_least(promise.epsilon, promise.delta, most - most // 2, level)
            play = partial(_played, made, most, change.values, case.budget.seed + i)
            measure = partial(_bound, level=level, delta=promise.delta)
            check = f"one run, {change.words}, {most:,} canaries"
            yield judged(made, check, least, play, measure, why, change.words == ABOVE)


def _bound(features: dict[str, Array], level: float, delta: float) -> tuple[float, str]:
    bits = features.pop(_BITS) > 0
    canaries, guesses, correct = guessed(bits, features, level)
    return one_run_bound(correct, guesses, delta, level, canaries), f"{guesses:,} guesses, {correct:,} right"


def _unfit(case: Case) -> str:
    """Why nothing of it can be a canary among others; ``""``: something can."""
    promise = case.promise
    if case.watched == "actions":
        return "an agent's actions tell of all rewards so far together, and of none by itself"
    if promise.adjacency.replaced == "none":
        return "neighbours differ in nothing that is to be hidden"
    every = case.watched == "users" and next(neighbours(promise)).every
    return "all rewards of a user in many blocks are no canary of a block" if every else ""


def _apart(case: Case) -> bool:
    """Whether every canary needs a run of its own: a promise of one message by itself lets others share its luck.

    Who declares `preserves_guarantees` says that each message goes by luck of its own.
    """
    return case.promise.alone and not case.owner.declares


def _game(case: Case) -> tuple[int, int]:
    """Rounds and agents of a game on a graph."""
    return (1, 2) if _apart(case) else (_ROUNDS, _AGENTS)


def _played(case: Case, n: int, values: tuple[float, float], seed: int) -> dict[str, Array]:
    """As many canaries, in as few games as there may be."""
    play = _posts if case.watched == "agents" else _users
    sizes = [_MOST] * (n // _MOST) + [n % _MOST] * bool(n % _MOST)
    games = [play(case, size, values, seed + 1000 * i) for i, size in enumerate(sizes)]
    return {k: np.concatenate([game[k] for game in games]) for k in games[0]}


def _users(case: Case, n: int, values: tuple[float, float], seed: int) -> dict[str, Array]:
    """One user of each block, the last of as few as are opened; the others earn nothing."""
    size = 1 if getattr(case.owner, "hidden_by", "noise") == "noise" else case.owner.smallest
    runs = n if _apart(case) else min(n, _RUNS)
    bits = fair((n // runs, runs, 1), seed, 8)
    told = np.where(np.arange(size) == size - 1, np.where(bits, *values[::-1])[..., None], 0.0)
    it = seen(case.env, list(told), runs, seed)
    views = {**it.fields, "the user's message": np.array([x[..., -1] for x in it.users])} if it.users else it.fields
    return _windows(bits, views)


def _posts(case: Case, n: int, values: tuple[float, float], seed: int) -> dict[str, Array]:
    """Each reward of each agent."""
    (rounds, agents), mine = _game(case), slice(1 if _apart(case) else None)
    bits = fair((rounds, n if _apart(case) else -(-n // (agents * rounds)), agents), seed, 8)
    staged = stage(case, rounds, agents, runs=bits.shape[1])
    it = shown(staged, case.team or around(), seed, list(np.where(bits, *values[::-1])))
    hidden = ("heard ", "told ") if case.promise.alone else ("heard ",)
    views = {k: x[:, :, mine] for k, x in it.fields.items() if len(x) == rounds and not k.startswith(hidden)}
    return {k: x[:n] for k, x in _windows(bits[..., mine], views).items()}


def _windows(bits: Array, views: dict[str, Array]) -> dict[str, Array]:
    """What is seen of each, ``(T, R, A, …)``: with what came before it and what is beside it."""
    found = {}
    for name, value in views.items():
        x = value.reshape(*value.shape[:3], -1)
        x = np.concatenate([x, np.roll(x, 1, 2)], 3) if x.shape[2] > 1 else x
        rows = np.array([np.concatenate([np.full_like(x[:1], np.nan), x[:-1]]), x])
        found[name] = rows.reshape(2, -1, x.shape[3])
    return {**features(found), _BITS: bits.ravel()}
