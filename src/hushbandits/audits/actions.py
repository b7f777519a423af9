"""Actions: what an observer of every arm that is pulled can tell of one reward, of a server's user or a learner's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from hushbandits.audits.beats import Told, rounds
from hushbandits.audits.black import neighbours
from hushbandits.audits.cases import Budget, Case
from hushbandits.audits.events import bounded, hopeless, judged
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array, Message
from hushbandits.core.play import meet
from hushbandits.core.team import Team
from hushbandits.envs.feedback.cohort import Individuals, blocks
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.audit import smallest_refuted
from hushbandits.registry import assemble

__all__ = ["USERS", "acted", "actions", "chosen"]

#: Users of a run, and which of them has another reward: in an arm's first pull, or in an episode.
USERS, _WHO = 16, (0, 1, 2)
#: Arms of a server, and of a learner, of whose two arms the better is pulled no more often than the other.
_ARMS, _RIVALS = 2, 3
#: Blocks whose arms are seen together, as one number.
_TOGETHER = 6


class _ByUser(Feedback):
    """User t earns ``planted[t]``, whichever arm it pulls."""

    planted: Array

    def _report(self) -> Message:
        x = np.zeros((*self._n.shape, int(self._n.max())))
        for r, m, n in blocks(self._n):
            x[r, m, :n] = self.planted[self.served[r, m] - n : self.served[r, m]]
        bits = np.full(self._n.shape, 64)
        return {"reward": Individuals(x, self._n), "n": self._n, "bits": bits, "sent": self._n > 0}


def acted(team: Team, told: Array, runs: int, seed: int) -> dict[str, Array]:
    """Arm and length of every block of a server whose users earn `told`, ``(runs,)`` each; NaN after the end."""
    settings = {"users": "each", "means": [0.5] * _ARMS, "rewards": "bernoulli", "horizon": len(told)}
    env = assemble(_ByUser, team, runs=runs, env={**settings, "permute_arms": False})
    assert isinstance(env, _ByUser)
    env.planted = told
    meet(env, team)
    found: dict[str, Array] = {}
    path = np.zeros(runs)
    for played in rounds(env, team, seed):
        arm, _ = played.action
        there = played.inbox.total("n")[:, 0]
        pulled = np.where(there > 0, arm[:, 0], np.nan)
        found[f"arm of block {played.t + 1}"] = pulled
        found[f"users of block {played.t + 1}"] = np.where(there > 0, there, np.nan)
        if played.t < _TOGETHER:
            path = path * (_ARMS + 1) + np.nan_to_num(pulled + 1)
    return {**found, f"arms of the first {_TOGETHER} blocks": path}


def chosen(team: Team, told: Array, runs: int, seed: int) -> dict[str, Array]:
    """Arm and votes of every round of a learner that earns `told`, ``(runs,)`` each; NaN where it pulls nothing."""
    settings = {"means": [0.5] * _RIVALS, "rewards": Told(), "horizon": len(told)}
    env = assemble("DPMASE-v0", team, runs=runs, env=settings)
    meet(env, team)
    found: dict[str, Array] = {}
    path, names = np.zeros(runs), np.arange(1.0, _RIVALS + 1)
    for played in rounds(env, team, seed, [np.full(_RIVALS, x) for x in told]):
        arms = np.asarray(played.action)[:, 0]
        vote = np.zeros((runs, _RIVALS)) if played.said is None else np.asarray(played.said["vote"])[:, 0]
        found[f"arm of round {played.t + 1}"] = np.where(arms.any(1), arms.argmax(1), np.nan)
        found[f"vote of round {played.t + 1}"] = vote @ 2.0 ** (names - 1)
        if played.t < _TOGETHER:
            path = path * (_RIVALS + 1) + arms @ names
    return {**found, f"arms of the first {_TOGETHER} rounds": path}


def actions(case: Case, budget: Budget) -> Iterator[Verdict]:
    """Bound ε of an agent's actions from below: one reward is changed, in two backgrounds, at three places.

    The observer sees which arm is pulled whenever, how long a block is, the votes, and the first arms together.  What
    assumes rewards in [0, 1], and plays them itself, is given no other.
    """
    promise, runs, level = case.promises[0], budget.samples, budget.level
    server = case.owner.setting == "feedback"
    watch = acted if server else chosen
    played: dict[bytes, dict[str, Array]] = {}

    def side(place: int, rest: float, value: float) -> dict[str, Array]:
        told = np.full(USERS, rest)
        told[place] = value
        key = told.tobytes()
        if key not in played:
            played[key] = watch(case.owner, told, runs, budget.seed + 100 * len(played))
        return played[key]

    within, *beyond = neighbours(promise)
    changes = [*((within, place) for place in _WHO), *((change, _WHO[0]) for change in beyond if server)]
    for (change, place), rest in itertools.product(changes, (0.0, 1.0)):
        check = f"black box, actions, {change.words}, user {place} among rewards {rest:g}, {runs:,} runs a side"
        if hopeless(promise.epsilon, promise.delta, runs, level):
            yield Verdict(case.subject, check, promise.epsilon, 0, promise=promise, least=np.inf, level=level)
            continue
        one, other = (side(place, rest, value) for value in change.values)
        nothing = np.full(runs, np.nan)  # one side's runs may all be over sooner
        one, other = ({name: it.get(name, nothing) for name in {**one, **other}} for it in (one, other))
        found, event = judged(one, other, promise.delta, level)
        least = smallest_refuted(promise.epsilon, promise.delta, runs // 2, level)
        check += f" ({event or 'nothing varies'})"
        yield bounded(case.subject, check, promise.epsilon, found, least, level, promise, event)
