"""Reinforcement-learning task of envs in which every agent pulls one arm per round."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core import Coding, Field, Inbox, Observation, Part, RLTask, Space, Stacked, World, affordable, choices
from hushbandits.core.task import WIDE
from hushbandits.core.utils import Array, flag, lean


class PullTask(RLTask):
    """Base class of tasks in which every active agent pulls one arm per round.

    Parameters
    ----------
    core, **options
        As for `RLTask`.
    """

    def _codings(self) -> dict[str, Coding]:
        arm = self.unmasked(spaces.Discrete(self.core.n_arms))
        several = Coding(spaces.MultiDiscrete([self.core.n_arms]), self._first, self._all)
        return {"discrete": arm, "multidiscrete": several, "native": arm}

    def _first(self, action: Array) -> Array:
        return action[..., 0]

    def arms(self, action: Stacked) -> Array:
        """Return the arms of the active agents, ``(R, A)``."""
        who = self.obs.active_agents
        self.arm = np.ascontiguousarray(action[np.arange(len(who))[:, None], who], np.int64)
        return self.arm

    def earned(self, before: Observation) -> Array:
        """Return the active agents' own rewards, and 0 for others and where rewards are withheld, ``(R, M)``."""
        return self._spread(before.active_agents, 0.0 if self.obs.reward is None else self.obs.reward)

    def _spread(self, who: Array, value: Array | float) -> Array:
        """Return `value` ``(R, A, …)`` at the agents `who`, and 0 at all others, ``(R, M, …)``."""
        spread = np.zeros((*self._seats.shape, *np.shape(value)[2:]))
        spread[np.arange(len(who))[:, None], who] = value
        return spread


class ArmTask(PullTask):
    """Task in which every agent pulls one arm per round and reports the arm and its reward.

    The action space is ``Discrete(K)``.  The env's `extra_fields` declares fields that are sent beside the default
    message: if all are bits, the space is ``MultiDiscrete([K, 2, …])``; natively it is a ``Dict`` of ``arm`` and these
    fields. Further parts, per arm, over all messages so far: ``heard_mean`` and ``heard_width``, defined as the agent's
    own. Per declared field: ``heard_<field>``, the sum over this round's arrivals divided by M − 1.  An agent's reward
    is that of its own pull.

    Parameters
    ----------
    core : Rounds or its EnvView
    observe_messages : bool
        Whether an observation also shows every single message of the last round, beside sums of messages:
        ``slot_arrived`` (S), ``slot_arm`` (S·K, one bit each) and the other fields.  The S slots are padded to the
        most messages that can arrive.  A learner may then trim them, for example.
    **options
        As for `RLTask`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> task = ArmTask(hb.make_batched("CoopNetwork-v0", n_agents=4))
    >>> task.action_space, task.observation_space.shape
    (Discrete(10), (43,))
    """

    speaks = True

    def __init__(self, core: World, *, observe_messages: bool = False, **options: Any):
        said = {name: field for name, field in core.fields.items() if name not in core.report}
        self._extra_fields = {name: (field, extra_space(name, field)) for name, field in said.items()}
        if "reward" not in core.own_reward_fields and not {"mean", "count"} <= set(core.own_reward_fields):
            raise ValueError(
                f"a learner needs its agents' own rewards, or the means and counts of those rewards; this env returns "
                f"{', '.join(core.own_reward_fields) or 'nothing'}"
            )
        offered = {*core.inbox_fields, *core.reductions}
        #: Whether the inbox holds single rewards, each counted once, or states: means and counts of every agent.
        self._events = "tally" in offered
        self._states = {"mean", "count"} <= offered
        self._slotted: dict[str, Field] = self._slots_of(core) if flag("observe_messages", observe_messages) else {}
        super().__init__(core, **options)

    def _slots_of(self, core: World) -> dict[str, Field]:
        if "sender" not in core.inbox_fields and not {"arm", "reward"} & set(core.inbox_fields):
            raise ValueError(
                "observe_messages=True needs messages that arrive one by one; in this env they arrive as "
                f"{', '.join(core.inbox_fields) or 'their sum'}"
            )
        #: S, the most messages of a round.
        self._wide = max(1, int(getattr(core, "most_arrivals", core.n_agents - 1)))
        shown = {name: field for name, field in core.inbox_fields.items() if name != "sender"}
        width = self._wide * (1 + sum(self._width(name, field, core.n_arms) for name, field in shown.items()))
        affordable(f"observe_messages=True of {self._wide} messages", 8.0 * core.runs * core.n_agents * width)
        return shown

    @staticmethod
    def _width(name: str, field: Field, n_arms: int) -> int:
        return n_arms if name == "arm" else math.prod(field.shape)

    def _parts(self) -> dict[str, Part]:
        core, wide = self.core, (-math.inf, math.inf)
        known = (0.0, 1.0) if core.law.unit_interval and not core.wrappers else wide
        heard: dict[str, Part] = {}
        if self._events or self._states:
            heard = {"heard_mean": (core.n_arms, *known), "heard_width": (core.n_arms, 0.0, 1.0)}
        for name, (field, space) in self._extra_fields.items():
            low = -1.0 if isinstance(space, spaces.Box) else 0.0
            heard[f"heard_{name}"] = (math.prod(field.shape), *(wide if core.wrappers else (low, 1.0)))
        if self._slotted:
            heard["slot_arrived"] = (self._wide, 0.0, 1.0)
        for name, field in self._slotted.items():
            bits = name == "arm" or field.dtype == "?"
            bounds = (0.0, 1.0) if bits else known if name == "reward" else wide
            heard[f"slot_{name}"] = (self._wide * self._width(name, field, core.n_arms), *bounds)
        return heard

    def _codings(self) -> dict[str, Coding]:
        if not self._extra_fields:
            return super()._codings()
        k = self.core.n_arms
        parts = {name: space for name, (_, space) in self._extra_fields.items()}
        native = self.unmasked(spaces.Dict({"arm": spaces.Discrete(k), **parts}))
        if any(isinstance(space, spaces.Box) for space in parts.values()):
            return {"native": native}
        bits = sum(choices(space) // 2 for space in parts.values())
        several = Coding(spaces.MultiDiscrete([k, *[2] * bits]), self._spoken, self._all)
        return {"multidiscrete": several, "native": native}

    def _spoken(self, action: Array) -> dict[str, Array]:
        """Split a flat action into the arm and the bits of each extra field, and return these parts by field name."""
        ends = np.cumsum([1, *(math.prod(field.shape) for field, _ in self._extra_fields.values())])
        said = (action[..., a:b] for a, b in pairwise(ends))
        return {"arm": action[..., 0], **dict(zip(self._extra_fields, said, strict=True))}

    def _start(self, rows: slice | Array) -> None:
        if isinstance(rows, slice):
            self._heard_n, self._heard_s = np.zeros((2, *self.pulls.shape))
            if "heard_width" in self.layout:
                self.observations[..., self.layout["heard_width"]] = 1.0
        self._heard_n[rows] = self._heard_s[rows] = 0.0

    def arms(self, action: Stacked) -> Array:
        self.arm = np.ascontiguousarray(action["arm"] if self._extra_fields else action, np.int64)
        return self.arm

    def pulled(self, obs: Observation) -> None:
        if obs.reward is None:  # withheld
            self.show_time(obs.t + 1)
            assert self.arm is not None
            r, m = np.indices(self.arm.shape)
            self.pulls[r, m, self.arm] += 1.0
            return
        at = self.layout
        mean, width, time = at["own_mean"].start, at["own_width"].start, at["time"].start
        _pull_one(
            self.arm, obs.reward, obs.t, self.core.horizon, self.pulls, self.sums, self.observations, mean, width, time
        )  # fmt: skip

    def earned(self, before: Observation) -> Array:
        """Return the agents' own rewards, or zeros if they are withheld."""
        return np.zeros(self._seats.shape) if self.obs.reward is None else np.array(self.obs.reward)

    def answered(self) -> Array | None:
        """Return the pulled arm's estimated mean as the reward if own rewards are withheld, else ``None``."""
        if "reward" in self.core.own_reward_fields:
            return None
        assert self.arm is not None
        mean, count = (np.take_along_axis(x, self.arm[..., None], 2)[..., 0] for x in (self.sums, self._known))
        return mean / np.maximum(count, 1.0)

    def words(self, action: Stacked) -> dict[str, Array] | None:
        """Return the default message with the extra fields of the action."""
        if not self._extra_fields:
            return None
        said = {
            name: action[name].reshape(*self._seats.shape, *field.shape).astype(field.dtype)
            for name, (field, _) in self._extra_fields.items()
        }
        report = self.core.standard_report()  # without fields that are withheld from agents
        return {**{name: value for name, value in report.items() if name in self.core.fields}, **said}

    def heard(self, obs: Observation) -> None:
        inbox = obs.inbox
        assert inbox is not None
        if "reward" not in self.core.own_reward_fields:
            self._known = inbox.own["count"]
            self.sums = inbox.own["mean"] * self._known
            self.show_arms("own", self._seats, self._known, self.sums)
        if self._events:
            mean, width = self.layout["heard_mean"].start, self.layout["heard_width"].start
            _hear(*inbox.tally(), self._heard_n, self._heard_s, self.observations, mean, width)
        elif self._states:
            self._heard_n, self._heard_s = inbox.total("count"), inbox.total("mean", "count")
            self.show_arms("heard", self._seats, self._heard_n, self._heard_s)
        for name in self._extra_fields:
            self._put(f"heard_{name}", inbox.total(name) / max(1, self.core.n_agents - 1))
        if self._slotted:
            self._show_slots(inbox)

    def _show_slots(self, inbox: Inbox) -> None:
        arrived = inbox.arrived
        # slots hold arrivals in order; lost messages take no slot
        order = np.argsort(~arrived, axis=2, kind="stable")[:, :, : self._wide]
        shape = (*arrived.shape[:2], self._wide)

        def padded(value: Array) -> Array:
            value = np.take_along_axis(value, order.reshape(*order.shape, *(1,) * (value.ndim - 3)), 2)
            full = np.zeros((*shape, *value.shape[3:]), value.dtype)
            full[:, :, : value.shape[2]] = value
            return full

        there = padded(arrived)
        self._put("slot_arrived", there)
        for name in self._slotted:
            value = padded(np.asarray(inbox[name]))
            if name == "arm":
                value = (value[..., None] == np.arange(self.core.n_arms)) & there[..., None]
            self._put(f"slot_{name}", value)

    def _put(self, part: str, value: Array) -> None:
        self.observations[..., self.layout[part]] = np.clip(value, -WIDE, WIDE).reshape(*self._seats.shape, -1)


def extra_space(name: str, field: Field) -> Space:
    """Return the action space of one extra field: bits, or floats in [−1, 1].

    Examples
    --------
    >>> extra_space("bit", Field(dtype="?")), extra_space("code", Field((3,), "f4")).shape
    (Discrete(2), (3,))
    """
    if field.dtype == "?":
        return spaces.MultiBinary(field.shape) if field.shape else spaces.Discrete(2)
    if np.dtype(field.dtype).kind == "f":
        return spaces.Box(-1.0, 1.0, field.shape, np.dtype(field.dtype))
    raise ValueError(f"extra_fields={name!r} has dtype {field.dtype!r}, but learners send bits ('?') or floats ('f4')")


@lean
def _pull_one(arm, reward, t, horizon, pulls, sums, obs, mean, width, time):  # type: ignore[no-untyped-def]
    """Add every agent's pull to the statistics, and write mean, width and elapsed time to its observation.

    The round that is being played counts as over.
    """
    for r in range(arm.shape[0]):
        add_pulls(arm[r], reward[r], pulls[r], sums[r], obs[r], mean, width)
        obs[r, :, time] = min((t[r] + 1) / horizon, 1.0)


@lean
def add_pulls(arm, reward, pulls, sums, obs, mean, width):  # type: ignore[no-untyped-def]
    """Add the pulls of one run's agents to the statistics, and write means and widths to the observations."""
    for m in range(arm.size):
        k = arm[m]
        pulls[m, k] += 1.0
        sums[m, k] += reward[m]
        n = max(pulls[m, k], 0.0)
        obs[m, mean + k] = min(max(sums[m, k] / max(n, 1.0), -WIDE), WIDE)
        obs[m, width + k] = 1.0 / math.sqrt(1.0 + n)


@lean
def _hear(pulls, sums, n, total, obs, mean, width):  # type: ignore[no-untyped-def]
    for r in range(n.shape[0]):
        add_tallies(pulls[r], sums[r], n[r], total[r], obs[r], mean, width)


@lean
def add_tallies(pulls, sums, n, total, obs, mean, width):  # type: ignore[no-untyped-def]
    """Add one run's tallies of a round to the totals, and write means and widths to the observations."""
    arms = n.shape[1]
    for m in range(n.shape[0]):
        for k in range(arms):
            n[m, k] += pulls[m, k]
            total[m, k] += sums[m, k]
        known, worth, seen = n[m], total[m], obs[m]
        for k in range(arms):
            count = max(known[k], 0.0)
            seen[mean + k] = min(max(worth[k] / max(count, 1.0), -WIDE), WIDE)
        for k in range(arms):
            seen[width + k] = 1.0 / math.sqrt(1.0 + max(known[k], 0.0))
