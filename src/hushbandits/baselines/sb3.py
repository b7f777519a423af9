"""A policy that was trained with Stable-Baselines3, as an agent: played in NumPy, without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hushbandits.baselines.sb3_file import Policy, heads_of, parts_of, read
from hushbandits.baselines.sb3_network import Player
from hushbandits.core.face import face
from hushbandits.core.measure import Measure
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.task import Task
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Message, Seeds
from hushbandits.core.validate import flag, integer
from hushbandits.core.world import World

__all__ = ["Trained"]


class Trained(Team):
    """Plays what ``hushbandits train`` has made; the name ``sb3:FOLDER`` stands for it wherever an agent's may.

    All agents play one policy.  It sees what the learner saw (the env's task over what the wrappers let through), and
    an env that shows something else, or has other actions, is refused; other numbers of agents are welcome where the
    observation does not name them.

    Parameters
    ----------
    folder : str or Path
        With ``policy.json``.
    deterministic : bool, optional
        Take the likeliest action instead of drawing one; default: as it was trained to be played.
    beats : int, optional
        1: arms and message of a round are chosen at once; 2: the message after the own reward was seen.  Default: as
        it was trained.  The metric ``beats`` says which.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_team("sb3:nowhere")
    Traceback (most recent call last):
        ...
    ValueError: there is no policy in nowhere: policy.json: no such file or directory
    """

    measures: Mapping[str, Measure] = {"beats": Measure("beats of a step of the policy", "count")}

    def __init__(self, folder: str | Path, *, deterministic: bool | None = None, beats: int | None = None):
        self.policy: Policy = read(folder)
        self._player = Player(self.policy, None if deterministic is None else flag("deterministic", deterministic))
        self.beats = self.policy.beats if beats is None else integer("beats", beats, 1, 2)
        self.setting = self.policy.setting

    told = ()  # its task sees what there is

    @property
    def name(self) -> str:
        """What trained it, and where."""
        return f"{self.policy.algorithm} of {self.policy.env['use']}"

    #: Its task writes the message; `meets` holds that against the env.
    improvises = True

    def meets(self, env: World) -> None:
        """Raise ``ValueError`` where `env` shows something else than was seen in training, or has other actions."""
        task, policy = self._task(env), self.policy
        shown = dict((part[0], part[1:]) for part in parts_of(task))
        known = dict((part[0], part[1:]) for part in policy.parts)
        for name in [*known, *(name for name in shown if name not in known)]:
            there, here = (_said(parts.get(name)) for parts in (known, shown))
            if there != here:
                raise ValueError(f"{self.name} was trained with {there} as {name!r}, and here are {here}{self._home()}")
        kind, heads = heads_of(task.action_space)
        if [part[0] for part in parts_of(task)] != [part[0] for part in policy.parts]:
            raise ValueError(f"{self.name} was trained with the parts of an observation in another order{self._home()}")
        if (kind, heads) != (policy.kind, policy.heads):
            raise ValueError(
                f"{self.name} was trained to act in {policy.kind}({_brief(policy.heads)}), and here actions are "
                f"{kind}({_brief(heads)}){self._home()}"
            )

    def _home(self) -> str:
        given = ", ".join(f"{k}={v}" for k, v in self.policy.env.items() if k != "use")
        return f"; it knows {self.policy.env['use']}{f' with {given}' if given else ''}"[:300]

    def _task(self, env: World) -> Task:
        its = face(env)
        if its.horizon is None:
            raise ValueError(f"{self.name} needs to know how long a run may last: give the env a horizon")
        if its.learner is None:
            raise ValueError(f"{self.name} needs an env with a task for learners, and this one declares no learner")
        try:
            task: Task = its.learner(its, **self.policy.options)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} cannot see this env as it was trained to: {error}") from None
        return task

    def metrics(self, env: World) -> dict[str, Array]:
        """Which game it played."""
        return {"beats": np.full(env.runs, self.beats)}

    def reset(self, env: World, seeds: Seeds) -> None:
        """Forget everything, and open one tape per run."""
        self._face = face(env)
        self._task_now = self._task(env)
        self._begun = False
        self._player.reset(seeds, f"agent/{self.name}")

    def act(self, obs: Obs) -> Any:
        """Choose arms, and with one beat also the message."""
        task = self._task_now
        if not self._begun:
            task.begin(obs)
            self._begun = True
        task.obs = obs
        self._action = self._chosen(True, self.beats == 1)
        return task.arms(self._action)

    def speak(self, reward: Array) -> Message | None:
        """Say what was chosen."""
        task = self._task_now
        task.obs = Obs(self._face.t, self._face.live, task.obs.who, reward)
        task.pulled(task.obs)
        return task.words(self._action if self.beats == 1 else self._chosen(False, True))

    def hear(self, inbox: Inbox) -> None:
        """Take in what arrived."""
        task = self._task_now
        task.heard(Obs(self._face.t, self._face.live, task.obs.who, inbox=inbox))

    def _chosen(self, pull: bool, talk: bool) -> Any:
        """The task's own form of an action of everyone."""
        task = self._task_now
        written = self.policy.options.get("actions") or next(iter(task.codings))
        return task.codings[written].decode(self._player.act(task, pull, talk))


def _said(part: tuple[int, float | None, float | None] | None) -> str:
    if part is None:
        return "nothing"
    width, low, high = part
    return f"{width} numbers" if low is None else f"{width} numbers in [{low:g}, {high:g}]"


def _brief(heads: tuple[int, ...]) -> str:
    return ", ".join(map(str, heads[:8])) + (", …" if len(heads) > 8 else "")
