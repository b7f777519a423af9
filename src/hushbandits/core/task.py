"""What a learner sees, does and earns in an env, on arrays ``(R, M, …)``.

A task stands between a core env and a view: it checks actions, splits them over the two beats, keeps each agent's
own statistics and what its inbox added up to, and writes them into one flat observation per agent.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium import spaces

from hushbandits.core.jit import jit
from hushbandits.core.obs import Obs
from hushbandits.core.types import Array, Seeds
from hushbandits.core.world import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["WIDE", "Part", "Space", "Task", "count"]

#: Bounds of what has none: an observation space should be finite.
WIDE = float(np.finfo(np.float32).max)

#: Width, low and high of a part of an observation.
Part = tuple[int, float, float]
Space = spaces.Space[Any]


class Task(ABC):
    """Base of the settings' tasks.

    Parts of an observation that all of them share: per arm ``own_mean`` (0 where unpulled) and ``own_width``,
    ``1/√(1 + pulls)``; ``time``, the share of the horizon that is over; ``acts`` and ``speaks``: in the next
    step this agent's arm counts, its message counts.

    Parameters
    ----------
    core : Env
        The array core.
    **options
        See the subclasses.
    """

    #: Whether a merged step carries the round's messages at once, because the agents have none of their own.
    prompt: ClassVar[bool] = False
    #: (R, M) arms pulled or prescribed last, where an agent pulls one; ``None`` before the first.
    arm: Array | None = None
    #: Whether a learner may say more than the standard report.
    speaks: ClassVar[bool] = False
    #: What every info says, because it is no ordinary episode.
    labels: Mapping[str, str] = {}

    def __init__(self, core: World):
        self.core = core
        if not self.speaks and (beside := [name for name in core.fields if name not in core.report]):
            raise ValueError(
                f"speech={beside[0]!r}: a learner of the {core.setting} setting says its standard report only"
            )
        k = core.n_arms
        own = (0.0, 1.0) if self._plain else (-WIDE, WIDE)
        shared: dict[str, Part] = {"own_mean": (k, *own), "own_width": (k, 0.0, 1.0)}
        flags: dict[str, Part] = {"time": (1, 0.0, 1.0), "acts": (1, 0.0, 1.0), "speaks": (1, 0.0, 1.0)}
        parts = shared | self._parts() | flags
        ends = np.cumsum([width for width, _, _ in parts.values()]).tolist()
        #: Where each part of an observation lies.
        self.layout: Mapping[str, slice] = {
            name: slice(end - width, end) for (name, (width, _, _)), end in zip(parts.items(), ends, strict=True)
        }
        low, high = (np.concatenate([np.full(p[0], p[i], np.float32) for p in parts.values()]) for i in (1, 2))
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = self._action_space()

    # -- what a setting is ------------------------------------------------------------------------------------

    @abstractmethod
    def _parts(self) -> dict[str, Part]:
        """Parts of an observation besides the shared ones."""

    @abstractmethod
    def _action_space(self) -> Space: ...

    @abstractmethod
    def fits(self, action: Array) -> bool:
        """Whether stacked actions all lie in the action space."""

    @abstractmethod
    def pull(self, action: Any) -> Array:
        """Beat 1: arms in; return what it earns, ``(R, M)``."""

    @abstractmethod
    def talk(self, action: Any | None) -> Array:
        """Beat 2: messages in (``None``: the last talk of a merged episode); return what it earns, ``(R, M)``."""

    @abstractmethod
    def closing(self) -> Array:
        """``(R,)`` after a pull: this round is the last one, whatever is said."""

    def final_reward(self) -> Array:
        """``(R,)`` what all agents earn at the joint end."""
        return np.zeros(self.core.runs)

    def say(self) -> list[str]:
        """Lines of a picture in text."""
        best = int(self.core.means[0].argmax())
        return [
            f"pulls per arm {' '.join(f'{k}:{n:.0f}' for k, n in enumerate(self.pulls[0].sum(0)))}, best arm {best}"
        ]

    def draw(self, figure: Figure) -> None:
        """Draw a picture into a Matplotlib figure."""
        axes = figure.add_subplot()
        axes.bar(np.arange(self.core.n_arms), self.pulls[0].sum(0))
        axes.set_xlabel("arm")
        axes.set_ylabel("pulls")

    def solved(self) -> Array:
        """``(R,)`` finished runs that ended by themselves (termination), not at the horizon (truncation)."""
        return np.zeros(self.core.runs, bool)

    # -- the round --------------------------------------------------------------------------------------------

    def reset(self, seeds: int | Seeds) -> None:
        """Start R new runs."""
        core = self.core
        #: What the core answered last.
        self.obs: Obs = core.reset(seeds)
        shape = (core.runs, core.n_agents)
        self._idle = np.zeros(shape)
        #: (R, M, K) each agent's own pulls and reward sums (feedback: users, and what was decoded).
        self.pulls, self.sums = np.zeros((2, *shape, core.n_arms))
        self._seats = np.array(core.who)
        self._obs = np.zeros((*shape, *self.observation_space.shape), np.float32)
        self._obs[..., self.layout["own_width"]] = 1.0

    def read(self, values: Sequence[object], names: Sequence[str]) -> Any:
        """Stack the actions of R·M agents to ``(R, M, …)``.

        Raises
        ------
        ValueError
            One of them lies outside its space; `names` says whose.
        """
        action = self._stack(values)
        if action is not None:
            return action
        space = self.action_space
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Gymnasium warns about lists before it judges them
            for name, value in zip(names, values, strict=True):
                if not space.contains(value) or _complex(value):
                    raise ValueError(f"action {_brief(value)} of {name} lies outside its space {space}")
        # Each is inside, only spelled differently (lists, bits as floats).
        return self._stack([_spell(space, value) for value in values])

    def _stack(self, values: Sequence[Any]) -> Any | None:
        """Stack them in one go, if they plainly lie in the action space."""
        try:
            action = np.array(values)
        except ValueError:  # ragged
            return None
        return self._shape(action) if self.fits(action) else None

    def _shape(self, action: Array) -> Array:
        return action.reshape(self.core.runs, self.core.n_agents, *action.shape[1:])

    def observe(self, pull: bool, talk: bool) -> Array:
        """``(R, M, D)`` observations, a copy; `pull`, `talk`: whether the next step contains that beat."""
        self._obs[..., self.layout["acts"]] = pull
        self._obs[..., self.layout["speaks"]] = talk
        return self._obs.copy()

    def state(self) -> Array:
        """``(R, M·D)`` what `observe` returned last, all agents in a row."""
        return self._obs.reshape(self.core.runs, -1).copy()

    # -- for subclasses ---------------------------------------------------------------------------------------

    @property
    def _plain(self) -> bool:
        """Whether own rewards lie in [0, 1]."""
        return self.core.law.unit_interval

    def _tick(self, clock: Array) -> None:
        self._obs[..., self.layout["time"]] = np.minimum(clock / self.core.horizon, 1.0)[:, None, None]

    def _show(self, whose: str, who: Array, pulls: Array, sums: Array) -> None:
        """Write the means and widths of the agents `who`, ``(R, A)``."""
        show(who, pulls, sums, self._obs, self.layout[f"{whose}_mean"].start, self.layout[f"{whose}_width"].start)


@jit
def count(arm, n, total, pulls, sums):
    """Add every agent's `n` pulls of one arm."""
    for r in range(arm.shape[0]):
        for m in range(arm.shape[1]):
            pulls[r, m, arm[r, m]] += n[r, m]
            sums[r, m, arm[r, m]] += total[r, m]


@jit
def show(who, pulls, sums, obs, mean, width):
    """Write ``sums/pulls`` from column `mean` on and ``1/√(1 + pulls)`` from column `width` on."""
    for r in range(who.shape[0]):
        for m in who[r]:
            for k in range(pulls.shape[2]):
                n = max(pulls[r, m, k], 0.0)
                obs[r, m, mean + k] = min(max(sums[r, m, k] / max(n, 1.0), -WIDE), WIDE)
                obs[r, m, width + k] = 1.0 / math.sqrt(1.0 + n)


def _brief(value: object) -> str:
    text = textwrap.shorten(repr(value), 60, placeholder=" …")
    return f"{text} ({value.dtype}, shape {value.shape})" if isinstance(value, np.ndarray) else text


def _complex(value: object) -> bool:
    # a MultiBinary takes 1 + 0j for a bit
    return any(map(np.iscomplexobj, value.values() if isinstance(value, dict) else [value]))


def _spell(space: Space, value: Any) -> object:
    if isinstance(space, spaces.Dict):
        return {name: np.asarray(value[name], part.dtype) for name, part in space.items()}
    return np.asarray(value, space.dtype)
