"""Envs in which everyone pulls one arm in every round, as a learner meets them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core.messages import Field, Inbox
from hushbandits.core.task import WIDE, Part, Space, Task, count
from hushbandits.core.types import Array, Seeds
from hushbandits.core.world import World

__all__ = ["ArmTask", "speech_space"]

Spoken = Array | dict[str, Array]


class ArmTask(Task):
    """Everyone pulls one arm and reports it.

    Action: ``Discrete(K)``, or with the env's `speech` a ``Dict`` of ``arm`` and the declared fields, which travel
    beside the standard report.  Further parts, per arm, over everything heard so far: ``heard_mean``, ``heard_width``
    (as own); per declared field ``heard_<field>``, the sum over this round's arrivals divided by M − 1.
    An agent earns its own pull.

    Parameters
    ----------
    core : Rounds

    Examples
    --------
    >>> import hushbandits as hb
    >>> task = ArmTask(hb.make_core("CoopNetwork-v0", n_agents=4))
    >>> task.action_space, task.observation_space.shape
    (Discrete(10), (43,))
    """

    speaks = True

    def __init__(self, core: World):
        said = {name: field for name, field in core.fields.items() if name not in core.report}
        self._speech = {name: (field, speech_space(name, field)) for name, field in said.items()}
        self._reported = [name for name in core.report if name in core.fields]
        offered = {*core.inbox_fields, *core.reductions}
        #: Whether the inbox holds single rewards, counted once each (else states: the means and counts of everyone).
        self._events = "tally" in offered
        self._states = {"mean", "count"} <= offered
        super().__init__(core)

    def _parts(self) -> dict[str, Part]:
        core = self.core
        heard: dict[str, Part] = {}
        if self._events or self._states:
            bounds = (0.0, 1.0) if self._plain and not core.wrappers else (-WIDE, WIDE)
            heard = {"heard_mean": (core.n_arms, *bounds), "heard_width": (core.n_arms, 0.0, 1.0)}
        said: dict[str, Part] = {}
        for name, (field, space) in self._speech.items():
            low = -1.0 if isinstance(space, spaces.Box) else 0.0
            said[f"heard_{name}"] = (math.prod(field.shape), *((-WIDE, WIDE) if core.wrappers else (low, 1.0)))
        return heard | said

    def _action_space(self) -> Space:
        arm = spaces.Discrete(self.core.n_arms)
        return spaces.Dict({"arm": arm, **{name: s for name, (_, s) in self._speech.items()}}) if self._speech else arm

    def fits(self, action: Array) -> bool:
        """One arm each."""
        arms = action.ndim == 1 and action.dtype.kind in "iu"  # True is no arm
        return arms and bool(action.min() >= 0 and action.max() < self.core.n_arms)

    def _stack(self, values: Sequence[Any]) -> Spoken | None:
        if not self._speech:
            return super()._stack(values)
        try:
            parts = {name: np.array([value[name] for value in values]) for name in ("arm", *self._speech)}
        except (KeyError, TypeError, IndexError, ValueError):
            return None
        if not self.fits(parts["arm"]):
            return None
        for name, (field, space) in self._speech.items():
            low, high = (0, 1) if field.dtype == "?" else (-1, 1)
            said = parts[name]
            if said.shape[1:] != space.shape or said.dtype.kind not in ("biu" if field.dtype == "?" else "f"):
                return None
            if not (said >= low).all() or not (said <= high).all():
                return None
        return {name: self._shape(part) for name, part in parts.items()}

    def reset(self, seeds: int | Seeds) -> None:
        """Nobody has heard anything."""
        super().reset(seeds)
        self.arm = None
        self._heard_n, self._heard_s = np.zeros((2, *self.pulls.shape))
        if "heard_width" in self.layout:
            self._obs[..., self.layout["heard_width"]] = 1.0
        self._once = np.ones(self._idle.shape)

    def pull(self, action: Spoken) -> Array:
        """Everyone pulls."""
        self.arm = np.asarray(action["arm"] if self._speech else action, np.int64)
        self.obs = self.core.pull(self.arm)
        reward = self.obs.reward
        assert reward is not None
        count(self.arm, self._once, reward, self.pulls, self.sums)
        self._show("own", self._seats, self.pulls, self.sums)
        self._tick(self.obs.t + 1)  # the core counts a round when it is over
        return reward

    def talk(self, action: Spoken | None) -> Array:
        """Everyone reports, says what was declared, and hears."""
        core = self.core
        message = None
        if self._speech:
            shape = (core.runs, core.n_agents)
            said = {
                name: np.zeros((*shape, *field.shape), field.dtype)
                if action is None
                else action[name].reshape(*shape, *field.shape).astype(field.dtype)
                for name, (field, _) in self._speech.items()
            }
            report = core.standard_report()
            message = {**{name: report[name] for name in self._reported}, **said}
        self.obs = core.talk(message)
        assert self.obs.inbox is not None
        self._hear(self.obs.inbox)
        return self._idle

    def _hear(self, inbox: Inbox) -> None:
        if self._events:
            pulls, sums = inbox.tally()
            self._heard_n += pulls
            self._heard_s += sums
        elif self._states:
            self._heard_n, self._heard_s = inbox.total("count"), inbox.total("mean", "count")
        if self._events or self._states:
            self._show("heard", self._seats, self._heard_n, self._heard_s)
        for name in self._speech:
            total = inbox.total(name) / max(1, self.core.n_agents - 1)
            self._obs[..., self.layout[f"heard_{name}"]] = np.clip(total, -WIDE, WIDE).reshape(*self._idle.shape, -1)

    def closing(self) -> Array:
        """Round T."""
        late: Array = self.obs.t + 1 >= self.core.horizon
        return late


def speech_space(name: str, field: Field) -> Space:
    """Return the space of one declared field: bits, or floats in [−1, 1].

    Examples
    --------
    >>> speech_space("bit", Field(dtype="?")), speech_space("code", Field((3,), "f4")).shape
    (Discrete(2), (3,))
    """
    if field.dtype == "?":
        return spaces.MultiBinary(field.shape) if field.shape else spaces.Discrete(2)
    if np.dtype(field.dtype).kind == "f":
        return spaces.Box(-1.0, 1.0, field.shape, np.dtype(field.dtype))
    raise ValueError(
        f"speech field {name!r} has dtype {field.dtype!r}; a learned message is bits ('?') or floats ('f4')"
    )
