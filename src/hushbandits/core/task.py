"""Observations, actions and rewards of learners in an env, on arrays ``(R, M, …)``.

A task stands between a core env and a view: it reads actions, splits them over the two phases, keeps each agent's
own statistics and what its inbox added up to, and writes them into one flat observation per agent.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces

from hushbandits.core.messages import Observation
from hushbandits.core.utils import Action, Array, Message, Params, Seeds, choice, flag, lean, parameters, real, shown
from hushbandits.core.validation import Space, Stacked, choices, sample_mask
from hushbandits.core.world import World
from hushbandits.core.wrapper import gathered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Options of a task that only change the learner's reward; they do not matter for play.
EARNED = ("cost_coefficients", "reward_source")

#: Largest number of an observation: what float32 holds.
WIDE = float(np.finfo(np.float32).max)
#: Width, low and high of a part of an observation; without bounds, they are infinite.
Part = tuple[int, float, float]


class Coding(NamedTuple):
    """An encoding of an agent's actions: space, decoder and mask.

    Parameters
    ----------
    space : gymnasium space
        Of one agent.
    decode : callable
        Stacked actions ``(R, M, …)`` of this space to the task's own.
    mask : callable
        Which choices count now, ``(R, M, C)`` bool: see `choices`.
    """

    space: Space
    decode: Callable[[Stacked], Stacked]
    mask: Callable[[], Array]


class RLTask(ABC):
    """Base class of the RL tasks of all settings.

    Parts of an observation that all of them share: per arm ``own_mean`` (0 where unpulled) and ``own_width``,
    ``1/√(1 + pulls)``; ``time``, the share of the horizon that is over; ``acts`` and ``speaks``: in the next
    step this agent's arm counts, its message counts.

    Parameters
    ----------
    core : Env or EnvView
        The array core.
    action_format : str, optional
        How an action is written: a setting's ``codings``, of ``"discrete"``, ``"multidiscrete"`` and ``"native"``.
        By default the first that it has.
    agent_id : bool
        Whether an observation ends with the agent's number, one bit each: else all are the same at the start, and a
        shared policy that does not draw lots makes all agents alike.
    squash_unbounded : bool
        Whether what has no bounds, ``x``, is shown as ``x/(1 + |x|)``; else as it is.
    cost_coefficients : mapping of str to float, optional
        What a unit of ``"messages"``, ``"bits"`` or ``"epsilon"`` takes off everyone's reward when it is spent.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make("CoopNetwork-v0", n_agents=4, agent_id=True)  # `rl_task` of its class describes observations
    >>> list(env.layout)
    ['own_mean', 'own_width', 'heard_mean', 'heard_width', 'time', 'acts', 'speaks', 'agent_id']
    """

    #: (R, M) arms pulled or prescribed last, where an agent pulls one; ``None`` before the first.
    arm: Array | None = None
    #: Whether a learner may say more than the standard report.
    speaks: ClassVar[bool] = False
    #: Labels in every info, where the episode is not an ordinary one.
    labels: Mapping[str, str] = {}
    #: The phases of the next step, where the observations show them already.
    _flagged: tuple[bool, bool] | None = None

    def __init__(
        self,
        core: World,
        *,
        action_format: str | None = None,
        agent_id: bool = False,
        squash_unbounded: bool = True,
        cost_coefficients: Mapping[str, float] | None = None,
    ):
        self.core = core
        if not self.speaks and (beside := [name for name in core.fields if name not in core.report]):
            raise ValueError(
                f"extra_fields={beside[0]!r}: learners of the {core.setting} setting send only the standard report"
            )
        self.codings = self._codings()
        coding = choice("action_format", action_format or next(iter(self.codings)), self.codings)
        #: Of an action its space, its form here, and ``(R, M, C)`` bool: which of its choices count in the next round.
        self.action_space, self.decode, self.mask = self.codings[coding]
        self._costs = _checked_costs(core, cost_coefficients)
        self._lay_out(flag("agent_id", agent_id), flag("squash_unbounded", squash_unbounded))

    @classmethod
    def asked(cls, core: World, options: Params) -> RLTask:
        """Return the task of `core` with `options`; raise ``ValueError`` for the first unknown option."""
        known = cls.takes()
        for name, value in options.items():
            if name not in known:
                where = f"for learners in the {core.setting} setting"
                raise ValueError(f"{name}={shown(value)} is not an option {where}; known: {', '.join(known)}")
        return cls(core, **options)

    @classmethod
    def takes(cls) -> list[str]:
        """Return the names of the options of the task and of its base classes."""
        return [name for name in parameters(cls) if name != "core"]

    def _lay_out(self, agent_id: bool, squash_unbounded: bool) -> None:
        core, k = self.core, self.core.n_arms
        own = (0.0, 1.0) if self._plain else (-math.inf, math.inf)
        shared: dict[str, Part] = {"own_mean": (k, *own), "own_width": (k, 0.0, 1.0)}
        flags: dict[str, Part] = {"time": (1, 0.0, 1.0), "acts": (1, 0.0, 1.0), "speaks": (1, 0.0, 1.0)}
        parts = shared | self._parts() | flags | ({"agent_id": (core.n_agents, 0.0, 1.0)} if agent_id else {})
        ends = np.cumsum([width for width, _, _ in parts.values()]).tolist()
        #: Where each part of an observation lies.
        self.layout: Mapping[str, slice] = {
            name: slice(end - width, end) for (name, (width, _, _)), end in zip(parts.items(), ends, strict=True)
        }
        low, high = (np.concatenate([np.full(p[0], p[i], np.float32) for p in parts.values()]) for i in (1, 2))
        self._squashed = np.flatnonzero(np.isinf(low)) if squash_unbounded else np.zeros(0, np.int64)
        low[self._squashed], high[self._squashed] = -1.0, 1.0
        self.observation_space = spaces.Box(low, high, dtype=np.float32)

    # -- what a setting is ------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Part]:
        """Return the components of an observation that only this setting has, by name."""
        return {}

    @abstractmethod
    def _codings(self) -> dict[str, Coding]:
        """Return the available encodings of actions by name, the default first."""

    @abstractmethod
    def _start(self, rows: slice | Array) -> None:
        """Reset the statistics of the runs `rows`; for a slice (all runs), also write the first observations."""

    @abstractmethod
    def arms(self, action: Stacked) -> Action:
        """Convert the learners' decoded `action` into an action of the env `core`."""

    @abstractmethod
    def pulled(self, obs: Observation) -> None:
        """Update the learners' statistics and observations after phase 1, given the env's observation `obs`."""

    def words(self, action: Stacked) -> Message | None:
        """Return the message for a decoded action; ``None`` stands for the standard report."""
        return None

    @abstractmethod
    def heard(self, obs: Observation) -> None:
        """Update the learners' statistics and observations after phase 2, given the env's observation `obs`."""

    @abstractmethod
    def earned(self, before: Observation) -> Array:
        """Return the reward of phase 1, ``(R, M)``; `before` is the observation before the phase."""

    def answered(self) -> Array | None:
        """Return the reward of phase 2, ``(R, M)``; ``None`` if phase 2 gives no reward."""
        return None

    def final_reward(self) -> Array:
        """Return the additional reward, ``(R,)``, that every agent of a run gets at the end of the run."""
        return np.zeros(self.core.runs)

    def solved(self) -> Array:
        """Return which runs, ``(R,)``, count as terminated rather than truncated when they end."""
        return np.zeros(self.core.runs, bool)

    def say(self) -> list[str]:
        """Return the lines of the text that `render` shows."""
        pulls = " ".join(f"{k}:{n:.0f}" for k, n in enumerate(self.pulls[0].sum(0)))
        return [f"pulls per arm {pulls}, best arm {int(self.core.means[0].argmax())}"]

    def draw(self, figure: Figure) -> None:
        """Draw the first run into a Matplotlib figure."""
        axes = figure.add_subplot()
        axes.bar(np.arange(self.core.n_arms), self.pulls[0].sum(0))
        axes.set_xlabel("arm")
        axes.set_ylabel("pulls")

    # -- the round --------------------------------------------------------------------------------------------

    def reset(self, seeds: int | Seeds, rows: Array | None = None) -> None:
        """Start all runs, or restart only the runs `rows`; `seeds` is passed to the core's `reset`."""
        self.begin(self.core.reset(seeds, rows), rows)
        self._billed = self._bill()

    def begin(self, obs: Observation, rows: Array | None = None) -> None:
        """Reset the statistics of all runs, or of the runs `rows`; `obs` is their first observation."""
        #: What the core answered last.
        self.obs = obs
        shape = obs.running.shape[0], self.core.n_agents
        if rows is None:
            #: (R, M, K) each agent's own pulls and reward sums (feedback: users, and what was decoded).
            self.pulls, self.sums = np.zeros((2, *shape, self.core.n_arms))
            self._seats = np.tile(np.arange(shape[1]), (shape[0], 1))
            self._every = [np.ones(choices(self.action_space), np.int8)] * shape[1]
            self.arm = None
            #: (R, M, D) what everybody sees now; a subclass writes its parts, where `layout` has them.
            self.observations = np.zeros((*shape, *self.observation_space.shape), np.float32)
            self.observations[..., self.layout["own_width"]] = 1.0
            if "agent_id" in self.layout:
                self.observations[..., self.layout["agent_id"]] = np.eye(shape[1])
            self._start(slice(None))
            self.show_turn(True, True)
            self._blank = self.observations[:1].copy()
        else:
            self.pulls[rows] = self.sums[rows] = 0.0
            self.observations[rows] = self._blank
            self._start(rows)
            self._flagged = self._flagged if self._flagged == (True, True) else None  # `_blank` shows these phases

    def pull(self, action: Stacked) -> Array:
        """Play phase 1: pull the arms and return the reward, ``(R, M)``."""
        before = self.obs
        self.obs = self.core.pull(self.arms(self.decode(action)))
        self.pulled(self.obs)
        return self._charged(self.earned(before))

    def communicate(self, action: Stacked) -> Array:
        """Play phase 2: send the messages and return the reward, ``(R, M)``."""
        self.obs = self.core.communicate(self.words(self.decode(action)))
        self.heard(self.obs)
        answered = self.answered()
        return self._charged(np.zeros(self._seats.shape) if answered is None else answered)

    def step(self, action: Stacked) -> Array:
        """Play a round with one action for both phases, and return the reward, ``(R, M)``."""
        own, before = self.decode(action), self.obs
        self.obs = self.core.pull(self.arms(own))
        self.pulled(self.obs)
        reward = self.earned(before)
        self.obs = self.core.communicate(self.words(own))
        self.heard(self.obs)
        answered = self.answered()
        earned = reward if answered is None else reward + answered
        return self._charged(earned) if self._costs else earned

    def _bill(self) -> dict[str, Array]:
        """Return the current values of the metrics that have a cost, by name, each ``(R,)``."""
        metrics = self.core.metrics() if self._costs else {}
        return {name: np.array(metrics[name], float) for name in self._costs}

    def _charged(self, reward: Array) -> Array:
        """Return `reward` ``(R, M)`` minus the costs incurred since the last call."""
        before, self._billed = self._billed, self._bill()
        for name, value in self._billed.items():
            reward = reward - self._costs[name] * (value - before[name])[:, None]
        return reward

    def sample_masks(self, run: int = 0) -> list[object]:
        """Return each agent's action mask in run `run`, in the form that ``action_space.sample`` takes."""
        if isinstance(self.action_space, spaces.Discrete):  # the usual case
            masks = self._every if self.mask == self._all else self.mask()[run].view(np.int8)
            return list(map(np.ndarray.copy, masks))
        return [sample_mask(self.action_space, row) for row in self.mask()[run]]

    def observe(self, pull: bool = True, talk: bool = True, rows: Array | None = None) -> Array:
        """Return a copy of the observations, ``(R, M, D)``, or of those of the runs `rows`, before the next step.

        The step plays phase 1 if `pull` is true, and phase 2 if `talk` is true.
        """
        if self._flagged != (pull, talk):  # most steps are like the one before
            self.show_turn(pull, talk)
        return self._seen(rows)

    def squashes(self, part: str) -> bool:
        """Return whether the observation's component `part` is shown as ``x/(1 + |x|)``."""
        return self.layout[part].start in self._squashed

    def state(self) -> Array:
        """Return the last observations of all agents, concatenated, ``(R, M·D)``."""
        return self._seen().reshape(len(self.observations), -1)

    def _seen(self, rows: Array | None = None) -> Array:
        seen = self.observations.copy() if rows is None else self.observations[rows]
        if len(self._squashed):
            squash(seen, self._squashed)
        return seen

    # -- for subclasses ---------------------------------------------------------------------------------------

    def show_turn(self, pull: bool, talk: bool) -> None:
        """Write the flags ``acts`` and ``speaks`` of the next step to the observations."""
        self._flagged = pull, talk
        self.observations[..., self.layout["acts"]] = pull
        self.observations[..., self.layout["speaks"]] = talk

    def unmasked(self, space: Space) -> Coding:
        """Return the encoding that leaves actions of `space` unchanged and allows every action."""
        return Coding(space, self._as_is, self._all)

    def _as_is(self, action: Stacked) -> Stacked:
        return action

    def _all(self) -> Array:
        return np.ones((*self._seats.shape, choices(self.action_space)), bool)

    @property
    def _plain(self) -> bool:
        """Return whether the agents see their own rewards and all of these lie in [0, 1]."""
        field = self.core.own_reward_fields.get("reward")
        return field is not None and field.range[0] >= 0 and field.range[1] <= 1

    def show_time(self, clock: Array) -> None:
        """Write the elapsed share of the horizon to the observations, given each run's `clock`, ``(R,)``."""
        over = np.minimum(clock / (self.core.horizon or math.inf), 1.0)
        self.observations[..., self.layout["time"]] = over[:, None, None]

    def show_arms(self, whose: str, who: Array, pulls: Array, sums: Array) -> None:
        """Write means and widths of arms to ``{whose}_mean`` and ``{whose}_width`` in observations of agents `who`."""
        mean, width = self.layout[f"{whose}_mean"].start, self.layout[f"{whose}_width"].start
        show(who, pulls, sums, self.observations, mean, width)


def _checked_costs(core: World, coefficients: Mapping[str, float] | None) -> dict[str, float]:
    """Return each metric's cost per unit; raise ``ValueError`` if a metric of `coefficients` cannot have a cost."""
    if not isinstance(coefficients, Mapping | None):
        raise ValueError(f"cost_coefficients={shown(coefficients)} must be a dict, such as {{'messages': 0.01}}")
    given, priced = dict(coefficients or {}), ("bits", "epsilon", "messages")
    known = [cost for cost in priced if coefficients and cost in core.metrics_spec]
    for name in given:
        if name not in known:
            raise ValueError(f"cost_coefficients={shown(given)}: {shown(name)} must be one of {', '.join(known)}")
        for w in core.wrappers:
            if name in w.privacy_cost_metrics and name in gathered(w) and core.infinite_cost(w):
                raise ValueError(
                    f"cost_coefficients: {name!r} is infinite in this env, as no guarantee of {w.name} holds"
                )
    return {name: real(f"cost_coefficients[{name!r}]", value, 0, closed="low") for name, value in given.items()}


@lean
def squash(obs, columns):  # type: ignore[no-untyped-def]
    """Replace each value x in the `columns` of the observations `obs` by ``x/(1 + |x|)``."""
    for r in range(obs.shape[0]):
        for m in range(obs.shape[1]):
            for c in columns:
                obs[r, m, c] /= np.float32(1.0) + abs(obs[r, m, c])


@lean
def show(who, pulls, sums, obs, mean, width):  # type: ignore[no-untyped-def]
    """Write agents' ``sums/pulls`` to `obs` from column `mean` on, and ``1/√(1 + pulls)`` from column `width` on."""
    for r in range(who.shape[0]):
        for m in who[r]:
            for k in range(pulls.shape[2]):
                n = max(pulls[r, m, k], 0.0)
                obs[r, m, mean + k] = min(max(sums[r, m, k] / max(n, 1.0), -WIDE), WIDE)
                obs[r, m, width + k] = 1.0 / math.sqrt(1.0 + n)
