"""Actions: what an observer of every arm that is pulled can tell of one reward, of a server's user or a learner's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hushbandits.audits.beats import Told, rounds
from hushbandits.audits.black import neighbours
from hushbandits.audits.cases import GRID, Budget, Case, stage
from hushbandits.audits.events import bounded, hopeless, judged
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array, Message
from hushbandits.core.play import meet
from hushbandits.core.team import Team
from hushbandits.envs.feedback.cohort import Individuals, blocks
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.audit import smallest_refuted
from hushbandits.registry import assemble, list_agents, make_team

__all__ = ["USERS", "acted", "actions", "chosen", "places"]

#: Users of a run, or its rounds; four times as many where the audit is thorough.
USERS = 64
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


def places(horizon: int) -> list[int]:
    """Where a reward is changed: once in every phase of an agent whose phases double."""
    return [0, 1, *(5 * 2**k // 2 for k in range(16) if 5 * 2**k // 2 < 0.75 * horizon)]


def acted(team: Team, told: Array, runs: int, seed: int, at: int = 0) -> dict[str, Array]:
    """Arm and length of every block of a server whose users earn `told`, ``(runs,)`` each; NaN after the end.

    `at`: the user whose block's arm all later ones are compared with.
    """
    settings = {"users": "each", "means": [0.5] * _ARMS, "rewards": "bernoulli", "horizon": len(told)}
    env = assemble(_ByUser, team, runs=runs, env={**settings, "permute_arms": False})
    assert isinstance(env, _ByUser)
    env.planted = told
    meet(env, team)
    found: dict[str, Array] = {}
    arms, served = [], np.zeros(runs)
    for played in rounds(env, team, seed):
        there = played.inbox.total("n")[:, 0]
        arms.append(np.where(there > 0, played.action[0][:, 0], np.nan))
        found[f"users of block {played.t + 1}"] = np.where(there > 0, there, np.nan)
        holds = (served <= at) & (at < served + there)
        served = served + there
        found[f"block {played.t + 1} has it"] = holds * 1.0
    has = np.array([found.pop(f"block {t + 1} has it") for t in range(len(arms))])
    return found | _compared("block", arms, has > 0)


def chosen(team: Team, told: Array, runs: int, seed: int, at: int = 0) -> dict[str, Array]:
    """Arm and votes of every round of a learner that earns `told`, ``(runs,)`` each; NaN where it pulls nothing.

    `at`: the round whose arm all later ones are compared with.
    """
    settings = {"means": [0.5] * _RIVALS, "rewards": Told(), "horizon": len(told)}
    env = assemble("DPMASE-v0", team, runs=runs, env=settings)
    meet(env, team)
    found: dict[str, Array] = {}
    arms = []
    for played in rounds(env, team, seed, [np.full(_RIVALS, x) for x in told]):
        pulled = np.asarray(played.action)[:, 0]
        vote = np.zeros((runs, _RIVALS)) if played.said is None else np.asarray(played.said["vote"])[:, 0]
        arms.append(np.where(pulled.any(1), pulled.argmax(1), np.nan))
        found[f"vote of round {played.t + 1}"] = vote @ 2.0 ** np.arange(_RIVALS)
    has = np.arange(len(arms))[:, None] == np.full(runs, at)
    return found | _compared("round", arms, has)


def _compared(name: str, arms: list[Array], has: Array) -> dict[str, Array]:
    """Arms one by one, the first ones together, and which are that of the changed reward (`has` says where it was)."""
    all_of = np.array(arms)
    found = {f"arm of {name} {t + 1}": x for t, x in enumerate(arms)}
    first = np.nan_to_num(all_of[:_TOGETHER] + 1)
    found[f"arms of the first {_TOGETHER} {name}s"] = (_RIVALS + 1.0) ** np.arange(len(first)) @ first
    mine = np.where(has, np.nan_to_num(all_of), 0).sum(0)
    later = np.cumsum(has, 0) - has > 0
    same = np.where(later & ~np.isnan(all_of), all_of == mine, np.nan)
    found |= {f"same arm as that of the reward in {name} {t + 1}": x for t, x in enumerate(same)}
    found["how often the same arm as that of the reward"] = np.nansum(same, 0)
    return found


def actions(case: Case, budget: Budget) -> Iterator[Verdict]:
    """An agent's actions; of a registered one at every ε of the grid, where the audit is thorough."""
    registered = budget.thorough and case.subject in list_agents()
    for epsilon in GRID if registered else (case.promises[0].epsilon,):
        team = make_team(case.subject, epsilon=epsilon) if registered else case.owner
        yield from _judged(replace(case, subject=f"{case.subject} ε={epsilon:g}", owner=team, env=stage(team)), budget)


def _judged(case: Case, budget: Budget) -> Iterator[Verdict]:
    """Bound ε of an agent's actions from below: a reward is changed in one phase after the other, in two backgrounds.

    The observer sees which arm is pulled whenever, how long a block is, the votes, the first arms together, and which
    later arms are that of the changed reward.  What plays rewards in [0, 1] itself is given no other.
    """
    promise, runs, level = case.promises[0], budget.samples, budget.level
    server = case.owner.setting == "feedback"
    watch = acted if server else chosen
    horizon = USERS * (4 if budget.thorough else 1)
    within, *beyond = neighbours(promise)
    changes = [*((within, place) for place in places(horizon)), *((change, 0) for change in beyond if server)]
    for k, (change, place) in enumerate(changes):
        for rest in (0.0, 1.0):
            check = f"black box, actions, {change.words}, user {place} among rewards {rest:g}, {runs:,} runs a side"
            if hopeless(promise.epsilon, promise.delta, runs, level):
                yield Verdict(case.subject, check, promise.epsilon, 0, promise=promise, least=np.inf, level=level)
                continue
            sides = []
            for i, value in enumerate(change.values):
                told = np.full(horizon, rest)
                told[place] = value
                sides.append(watch(case.owner, told, runs, budget.seed + 100 * (4 * k + 2 * int(rest) + i), place))
            nothing = np.full(runs, np.nan)  # one side's runs may all be over sooner
            one, other = ({name: it.get(name, nothing) for name in {**sides[0], **sides[1]}} for it in sides)
            found, event = judged(one, other, promise.delta, level)
            least = smallest_refuted(promise.epsilon, promise.delta, runs // 2, level)
            check += f" ({event or 'nothing varies'})"
            yield bounded(case.subject, check, promise.epsilon, found, least, level, promise, event)
