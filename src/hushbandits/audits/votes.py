"""Votes: what an observer of one agent's ballots can tell of one of its rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushbandits.agents.rio2023 import DPMASE
from hushbandits.audits.beats import rounds
from hushbandits.audits.cases import Budget, Case
from hushbandits.audits.events import bounded, judged
from hushbandits.audits.told import Told
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.privacy.audit import epsilon_lower_bound, smallest_refuted
from hushbandits.registry import assemble
from hushbandits.routines.successive import epoch_length, radii

__all__ = ["ballots", "epoch_votes"]

ENV = "DPMASE-v0"
#: How many noise scales the sums of the neighbours stand short of the noiseless rule's threshold; 0: across it.
_SHORT = (0.0, 1.0, 3.0, -1.5)
_PLAYED = 8  # activations of the epoch that are played out
_BATCH = 200  # runs at once; more are further epochs of the same runs


def ballots(team: DPMASE, epsilon: float, short: float, more: int, runs: int, seed: int) -> dict[str, Array]:
    """Votes of an agent with two arms until the end of its first epoch, whose rewards are prescribed.

    One arm earns nothing, the other `more` rewards above where the noiseless rule is `short` noise scales short of
    voting.

    Returns
    -------
    dict
        Per arm: whether it was voted out, and in which activation (0: never), each ``(runs,)``.
    """
    again = -(-runs // _BATCH) if runs > _BATCH and _restarts(team) else 1
    env = assemble(ENV, team, runs=-(-runs // again), env={"n_agents": 1, "means": [0.5, 0.5], "rewards": Told()})
    due = int(epoch_length(2, 1, epsilon, team.beta))
    h, c = radii(2, 1, epsilon, team.beta, float(due))
    wins = min(max(math.floor(2 * (h + c) * due - short / epsilon), 0), due - 1) + more
    earned = [float(t >= due - wins) for t in range(due)]  # the reward that differs is one in the middle
    begin = due - _PLAYED if _restarts(team) else 0
    played = rounds(env, team, seed, [np.array([x, 0.0]) for x in earned[begin:]] * again)
    found = np.zeros((again, env.runs, 2))
    for epoch in found:
        _jump(team, earned[:begin])
        for t, turn in zip(range(begin, due), played, strict=False):
            if turn.said is not None:
                epoch += np.where((epoch == 0) & np.asarray(turn.said["vote"])[:, 0], t + 1, 0)
    at = found.reshape(-1, 2)[:runs]
    return {f"{what} arm {k}": x[:, k] for what, x in (("vote on", (at > 0) * 1.0), ("time of", at)) for k in (0, 1)}


def _restarts(team: DPMASE) -> bool:
    fields = getattr(team.routine(2).state(1, 1, 2), "_fields", ())
    return {"pulls", "sums"} <= set(fields)


def _jump(team: DPMASE, earned: list[float]) -> None:
    """Begin an epoch after these first activations, of which its sums are all that is left."""
    if not earned:
        return
    state: Any = team._state
    for array, fresh in zip(state, team.routine(2).state(1, 1, 2), strict=True):
        array[:] = fresh[0, 0]
    state.pulls[:] = len(earned)
    state.sums[:, :, 0] = sum(earned)


def epoch_votes(case: Case, budget: Budget) -> Verdict:
    """Bound ε of an agent's votes from below: one more reward, at several distances from the rule's threshold.

    Parameters
    ----------
    case : Case
        DP-MASE, or one that follows its schedule: R(1) activations, then a vote.
    budget : Budget
        Twice its runs a side are played at each distance.
    """
    promise, runs, level = case.promises[0], 2 * budget.samples, budget.level
    epsilon, delta = promise.epsilon, promise.delta
    worst, told = 0.0, ""
    for i, short in enumerate(_SHORT):
        low, high = (ballots(case.owner, epsilon, short, more, runs, budget.seed + 10 * i + more) for more in (0, 1))
        share = level / 2 / len(_SHORT)
        a, b = (int(side["vote on arm 1"].sum()) for side in (low, high))
        for x, y in ((a, b), (b, a), (runs - a, runs - b), (runs - b, runs - a)):
            bound = epsilon_lower_bound(x, y, runs, delta, share / 4)
            worst, told = max((worst, told), (bound, f"vote, {short:g} scales short"))
        bound, event = judged(low, high, delta, share)
        worst, told = max((worst, told), (bound, event))
    check = f"black box, votes, {runs:,} runs a side ({told})"
    smallest = smallest_refuted(epsilon, delta, runs, level / 32)
    return bounded(case.subject, check, epsilon, worst, smallest, level, promise, told)
