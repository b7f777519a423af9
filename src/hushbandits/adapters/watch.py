"""A team at play, round by round, with the picture that its env has for learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hushbandits.core import Env, EnvView, Message, Seeds, Task, Team
from hushbandits.core.play import meet


def watched(env: Env, team: Team, seed: int | Seeds = 0) -> Iterator[Task]:
    """Play one run by the beats; yield what observes it, the same task each time, at the start and after every round.

    The task only looks on: the run is the one that `hushbandits.play` plays.  The core has one run, and fits the team.
    """
    if env.runs != 1:
        raise ValueError(f"runs={env.runs}: one run can be watched, so runs must be 1")
    meet(env, team)
    task = env.task()
    which = list(env.actions).index("arm") if "arm" in env.actions else None
    obs = env.reset(seed)
    team.reset(EnvView(env), env.seeds)
    task.begin(obs)
    yield task
    speak: Callable[..., Message | None] = team.speak  # it is handed None where rewards are withheld
    while obs.live.any():
        action = team.act(obs)
        if which is not None:
            arm = action[which] if isinstance(action, tuple) else action
            task.arm = np.array(arm, np.int64)
        task.obs = obs = env.pull(action)
        task.pulled(obs)
        task.obs = obs = env.talk(speak(obs.reward))
        assert obs.inbox is not None
        team.hear(obs.inbox)
        task.heard(obs)
        yield task


def moments(rounds: int, frames: int) -> list[int]:
    """Up to `frames` of the rounds 0 … `rounds`, both ends among them, the first ones denser: most is learnt there."""
    if rounds < frames:
        return list(range(rounds + 1))
    return np.unique(np.rint(rounds * np.linspace(0, 1, frames) ** 1.5).astype(int)).tolist()
