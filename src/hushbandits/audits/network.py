"""Messages on a graph: can two neighbouring reward sequences be told apart from what an agent shows?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hushbandits.audits.beats import Around, Mirror, Tap, Told, rounds
from hushbandits.audits.cases import Budget, Case
from hushbandits.audits.events import ABOVE, BEYOND, bounded, hopeless, judged
from hushbandits.audits.verdict import Verdict
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.play import meet
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.audit import smallest_refuted
from hushbandits.registry import assemble

__all__ = ["Shown", "messages", "neighbours", "promised", "shown", "stage"]

#: Rounds of a short run, and of a long one.
ROUNDS = 3, 16
_AGENTS = 2


@dataclass(frozen=True)
class Shown:
    """What was seen of agents, each array ``(rounds, R, M, …)``.

    `posts` are all fields that leave, NaN where nothing was sent, ``sent``, and what agents are told in place of their
    rewards; `heard` the fields of their inboxes in the first rounds, slot by slot.
    """

    posts: dict[str, Array]
    heard: dict[str, Array]
    earned: Array
    arms: Array


def stage(
    env: Env,
    horizon: int,
    n_agents: int,
    runs: int = 1,
    before: Sequence[Wrapper] = (),
    team: Team | None = None,
    **more: Any,
) -> Env:
    """The env again, small, with its own wrappers between two taps; or as the team that promises asks for it."""
    first, last = Tap(name="audit: earned"), Tap(name="audit: sent")
    settings: dict[str, Any] = {"n_agents": n_agents, "horizon": horizon, "means": [0.5, 0.5], "rewards": Told()}
    settings |= more
    if team is not None:
        made = assemble(type(env), team, runs=runs, env=settings, wrappers=(first, last))
        meet(made, team)
        return made
    build: Callable[..., Env] = type(env)
    return build(wrappers=(first, *before, *env.configured, last), runs=runs, **settings)


def shown(env: Env, team: Team, seed: int, told: Sequence[Array] | None = None) -> Shown:
    """Play an env that `stage` has built."""
    found: dict[str, list[Array]] = {}
    heard: dict[str, list[Array]] = {}
    earned, arms = [], []
    for played in rounds(env, team, seed, told):
        first, *_, last = (w for w in env.wrappers if isinstance(w, Tap))
        sent = np.asarray(last.message["sent"], bool)
        for name, value in last.message.items():
            x = np.asarray(value, float)
            lost = ~sent.reshape(sent.shape + (1,) * (x.ndim - 2))
            found.setdefault(name, []).append(x if name == "sent" else np.where(lost, np.nan, x))
        if played.t < ROUNDS[0]:  # whatever is done on the way in
            for name in played.inbox.fields:
                heard.setdefault(name, []).append(np.asarray(played.inbox[name], float))
        if played.told is not None and not np.array_equal(played.told, first.earned):
            found.setdefault("told reward", []).append(np.array(played.told, float))
        for name, value in played.inbox.own.items():
            found.setdefault(f"told {name}", []).append(np.array(value, float))
        earned.append(first.earned)
        arms.append(np.asarray(played.action))
    posts, inboxes = ({k: np.array(rows) for k, rows in part.items()} for part in (found, heard))
    return Shown(posts, inboxes, np.array(earned), np.array(arms))


def promised(case: Case) -> tuple[Guarantee, ...]:
    """Finite claims of a wrapper: of one reward, and of all of a participant's over the run."""
    runs = [
        replace(
            g, epsilon=g.run.times * g.epsilon, delta=min(1.0, g.run.times * g.delta), run=None,
            adjacency=replace(g.adjacency, words=g.run.words, replaced="participant"),
        )
        for g in case.promises
        if g.run is not None and not g.alone and g.adjacency.replaced != "participant"
    ]  # fmt: skip
    return (*case.promises, *runs)


def neighbours(promise: Guarantee, horizon: int) -> Iterator[tuple[str, list[Array], list[Array]]]:
    """Pairs of reward sequences that the adjacency makes neighbours; what differs, in words.

    Of words alone one reward is tried, as of ``"reward"``.
    """
    low, high = promise.adjacency.low, promise.adjacency.high

    def pair(who: int, when: range, values: tuple[float, float], rest: float) -> tuple[list[Array], list[Array]]:
        sides = []
        for value in values:
            told = [np.full(_AGENTS, rest) for _ in range(horizon)]
            for t in when:
                told[t][who] = value
            sides.append(told)
        return sides[0], sides[1]

    whole = promise.adjacency.replaced == "participant"
    for who in range(_AGENTS):
        if whole:
            yield f"all rewards of agent {who}", *pair(who, range(horizon), (low, high), 0.5)
        else:
            yield f"agent {who}'s first reward", *pair(who, range(1), (low, high), 0.5)
    if not whole and horizon > 2:
        yield "a reward in the middle", *pair(0, range(horizon // 2, horizon // 2 + 1), (low, high), 1.0)
    beyond = range(horizon) if whole else range(1)
    yield ABOVE, *pair(0, beyond, BEYOND, 0.5)


def _features(it: Shown, alone: bool) -> dict[str, Array]:
    """All coordinates of all that is posted and heard, their changes and how agents differ.

    `alone`: what is posted in the first round.
    """
    found = {}
    runs = it.earned.shape[1]
    seen = {name: value for name, value in it.posts.items() if not (alone and name.startswith("told "))}
    if not alone:
        seen |= {f"heard {k}": v for k, v in it.heard.items()}
    for name, value in seen.items():
        flat = value.reshape(len(value), runs, -1)
        for t in range(1 if alone else len(flat)):
            for i in range(flat.shape[2]):
                found[f"{name} {i} of round {t + 1}"] = flat[t, :, i]
                if not alone and t:
                    found[f"change of {name} {i} in round {t + 1}"] = flat[t, :, i] - flat[t - 1, :, i]
                if not alone and i:
                    found[f"{name} {i} less {i - 1} of round {t + 1}"] = flat[t, :, i] - flat[t, :, i - 1]
    return found


def messages(case: Case, budget: Budget, horizon: int = ROUNDS[0]) -> Iterator[Verdict]:
    """Play neighbours of every promise in runs of `horizon` rounds, and judge all that is posted and heard.

    A promise about a run must bear agents that show what they are told (`Mirror`).  Where a wrapper tells them
    something else than their rewards, all of that counts as seen: whatever they do is made of it.  A promise about a
    message `alone` is played with arms that follow nothing, and judged by that message.  An agent that promises plays
    itself.
    """
    runs, level, subject = budget.samples // 2, budget.level, case.subject
    cache: dict[bytes, Shown] = {}

    def features(promise: Guarantee, side: int, told: list[Array]) -> dict[str, Array]:
        key = repr((promise.alone, side)).encode() + np.array(told).tobytes()
        if key not in cache:
            team = case.team or (Around() if promise.alone else Mirror())
            env = stage(case.env, horizon, _AGENTS, runs, team=case.team)
            cache[key] = shown(env, team, budget.seed + 1000 * len(cache), told)
        return _features(cache[key], promise.alone)

    for promise in promised(case.within(stage(case.env, horizon, _AGENTS, team=case.team))):
        if horizon != ROUNDS[0] and promise.alone:
            continue
        if promise.adjacency.replaced == "none":
            yield Verdict(subject, "black box", 0, 0, untested="neighbours differ in nothing that is to be hidden")
            continue
        for words, *sides in neighbours(promise, horizon):
            if promise.alone and "agent 0's" not in words and words != ABOVE:
                continue
            check = f"black box, {words}, {horizon} rounds, {runs:,} runs a side"
            if hopeless(promise.epsilon, promise.delta, runs, level):
                yield Verdict(subject, check, promise.epsilon, 0, "ε", level=level, promise=promise, least=math.inf)
                continue
            try:
                one, other = (features(promise, side, told) for side, told in enumerate(sides))
            except ValueError as error:
                if words != ABOVE:
                    raise
                yield Verdict(subject, f"black box, {words}", 0, 0, promise=promise, untested=f"refused: {error}")
                continue
            found, event = judged(one, other, promise.delta, level)
            smallest = smallest_refuted(promise.epsilon, promise.delta, runs // 2, level)
            check += f" ({event or 'nothing varies'})"
            yield bounded(subject, check, promise.epsilon, found, smallest, level, promise, event)
