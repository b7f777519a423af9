"""A policy that was trained with Stable-Baselines3, as an agent: played in NumPy, without PyTorch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from hushbandits.baselines.sb3_choices import choices
from hushbandits.baselines.sb3_file import Learned, heads_of, parts_of, read
from hushbandits.baselines.sb3_model import policy_of
from hushbandits.baselines.sb3_network import Network
from hushbandits.baselines.sb3_zip import read_zip
from hushbandits.core.actions import Space
from hushbandits.core.acts import TaskTeam, given_options
from hushbandits.core.entries import Model
from hushbandits.core.face import Face, face
from hushbandits.core.ground.types import Array, Params, Seeds
from hushbandits.core.ground.validate import flag, shown
from hushbandits.core.task import Task
from hushbandits.core.world import World

__all__ = ["Trained"]


class Trained(TaskTeam):
    """Plays what was trained with Stable-Baselines3; an adapter of our own.

    All agents play one policy.  It sees what the learner saw (the env's task over what the wrappers let through), and
    an env that shows something else, or has other actions, is refused; other numbers of agents are welcome where the
    observation does not name them.  What evolution strategies trained plays with other numbers of arms as well.

    Parameters
    ----------
    source : str, Path or model
        A folder that ``hushbandits train`` has made, for which ``sb3:FOLDER`` stands wherever an agent's name may; a
        zip that a model's ``save`` has written (``sb3:my.zip``), of which nothing is run; or a model in memory.
    deterministic : bool, optional
        Take the likeliest action instead of drawing one; default: as it was trained to be played (a DQN takes the
        best one, all others draw).
    beats : int, optional
        1: arms and message of a round are chosen at once; 2: the message after the own reward was seen.  Default: as
        it was trained.  The metric ``beats`` says which.
    task : mapping, optional
        Options of the task, as for `hb.make`, under which a zip or a model was trained: ``{"agent_id": True}``.  A
        folder knows them; so does a model that still has its env from `hb.make_sb3`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_team("sb3:nowhere")
    Traceback (most recent call last):
        ...
    ValueError: there is no policy in nowhere: policy.json: no such file or directory
    """

    def __init__(
        self, source: str | Path | Model, *, deterministic: bool | None = None, beats: int | None = None,
        task: Params | None = None,
    ):  # fmt: skip
        self.policy: Learned = _policy(source)
        if task is not None and self.policy.bounds is None:
            raise ValueError(f"task={shown(task)} cannot change what {source} was trained with")
        self._options = {**self.policy.options, **given_options(task)}
        self._player = Network(self.policy, None if deterministic is None else flag("deterministic", deterministic))
        super().__init__(self.policy.beats if beats is None else beats)
        self.setting = self.policy.setting

    @property
    def name(self) -> str:
        where = self.policy.env.get("use")
        return f"{self.policy.algorithm} of {where}" if where else self.policy.algorithm

    def meets(self, env: World) -> None:
        task, policy = self.look(face(env)), self.policy
        if policy.parts:
            self._same_parts(task)
        else:
            self._same_bounds(task)
        kind, heads = heads_of(task.action_space)
        known = (choices(task),) if policy.features else policy.heads
        if (kind, heads) != (policy.kind, known):
            raise ValueError(
                f"{self.name} was trained to act in {policy.kind}({_brief(known)}), and here actions are "
                f"{kind}({_brief(heads)}){self._home()}"
            )

    def _same_parts(self, task: Task) -> None:
        found = dict((part[0], part[1:]) for part in parts_of(task))
        known = dict((part[0], part[1:]) for part in self.policy.parts)
        if self.policy.features:  # it plays with any number of arms and agents, and knows how bounds are shown
            found = {name: known.get(name, part) for name, part in found.items()}
        for name in [*known, *(name for name in found if name not in known)]:
            there, here = (_said(parts.get(name)) for parts in (known, found))
            if there != here:
                raise ValueError(f"{self.name} was trained with {there} as {name!r}, and here are {here}{self._home()}")
        if not self.policy.features and [part[0] for part in parts_of(task)] != [part[0] for part in self.policy.parts]:
            raise ValueError(f"{self.name} was trained with the parts of an observation in another order{self._home()}")

    def _same_bounds(self, task: Task) -> None:
        assert self.policy.bounds is not None
        here = task.observation_space
        (wide,) = here.shape
        if wide != self.policy.inputs:
            raise ValueError(
                f"{self.name} was trained with {self.policy.inputs} numbers as an observation, and here are {wide}: "
                f"{', '.join(task.layout)}{self._home()}"
            )
        ends = zip((here.low, here.high), self.policy.bounds, strict=True)
        off = ~np.logical_and(*(np.isclose(ours, theirs, rtol=1e-6, atol=0) for ours, theirs in ends))
        if off.any():
            name = next(name for name, at in task.layout.items() if off[at].any())
            raise ValueError(f"{self.name} was trained with other bounds of what is here {name!r}{self._home()}")

    def _home(self) -> str:
        use = self.policy.env.get("use")
        if use is None:
            return "; task={…} of its parameters says which options of the task it was trained with"
        given = ", ".join(f"{k}={v}" for k, v in self.policy.env.items() if k != "use")
        return f"; it knows {use}{f' with {given}' if given else ''}"[:300]

    def look(self, its: Face) -> Task:
        try:
            task = self.looking(its, self._options)
            if not self.policy.parts and "actions" not in self._options:
                spaces = {name: coding.space for name, coding in task.codings.items()}
                mine = [name for name, space in spaces.items() if self._acts_in(space)]
                if mine and not self._acts_in(task.action_space):
                    task = self.looking(its, {**self._options, "actions": mine[0]})
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} cannot see this env as it was trained to: {error}") from None
        return task

    def _acts_in(self, space: Space) -> bool:
        try:
            return heads_of(space) == (self.policy.kind, self.policy.heads)
        except ValueError:
            return False

    def begin(self, seeds: Seeds) -> None:
        """Open one tape per run; of a model and of the zip that it was saved to, the same."""
        self._player.reset(seeds, f"agent/{self.name}" if self.policy.bounds is None else "agent/sb3")

    def choose(self, task: Task, pull: bool, talk: bool) -> Array:
        return self._player.act(task, pull, talk)


def _policy(source: object) -> Learned:
    if isinstance(source, Model):
        return policy_of(source)
    if isinstance(source, str | Path) and os.path.isfile(path := Path(source).expanduser()):
        return read_zip(path)
    if str(source).endswith(".zip"):
        raise ValueError(f"source={shown(str(source))}: there is no such file")
    return read(source)  # type: ignore[arg-type]  # says what a path is


def _said(part: tuple[int, float | None, float | None] | None) -> str:
    if part is None:
        return "nothing"
    width, low, high = part
    return f"{width} numbers" if low is None else f"{width} numbers in [{low:g}, {high:g}]"


def _brief(heads: tuple[int, ...]) -> str:
    return ", ".join(map(str, heads[:8])) + (", …" if len(heads) > 8 else "")
