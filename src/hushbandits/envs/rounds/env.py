"""Envs in which every agent pulls one arm in each of T rounds: the usual multi-agent bandit.

In `Rounds` every agent receives all messages at the end of a round.  It is the base of the network.  A user-defined env
is a subclass that overrides what differs: the arms' locations, the rewards or the transport of messages.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import ClassVar

import numpy as np

from hushbandits.core import Arms, Array, Bernoulli, Env, Metric, Payload, Streams, Wrapper, locked, set_rows
from hushbandits.core.messages import Field, Fields, Inbox, index_field
from hushbandits.core.random import rewards as laws
from hushbandits.core.random.names import REWARD
from hushbandits.core.random.rewards import Law, RepeatingMeans, UniformMeans
from hushbandits.core.random.streams import LONGEST, Uniforms
from hushbandits.core.utils import Params, affordable, count, shown
from hushbandits.core.utils.jit import alike
from hushbandits.envs.rounds.reports import Reports
from hushbandits.envs.rounds.task import ArmTask


class Everyone(Inbox):
    """An inbox with this round's messages of all other agents; slot s belongs to the s-th other agent.

    Parameters
    ----------
    message : dict of (R, M, …) arrays
        Fields, and ``sent``.
    n_arms : int
        K.
    """

    def __init__(self, message: Payload, n_arms: int):
        self._message, self._n_arms = message, n_arms
        self.fields = (*[name for name in message if name != "sent"], "sender")
        m = message["sent"].shape[1]
        slot = np.arange(m - 1)
        #: (M, M − 1) the sender in each slot.
        self._sender = slot + (slot >= np.arange(m)[:, None])

    @property
    def arrived(self) -> Array:
        """``(R, M, M − 1)`` bool: whether each slot's agent sent a message."""
        return self._message["sent"][:, self._sender]

    def __getitem__(self, field: str) -> Array:
        if field not in self.fields:
            raise KeyError(f"no field {field!r} in this inbox; its fields: {', '.join(self.fields)}")
        arrived = self.arrived
        if field == "sender":
            return np.where(arrived, self._sender, -1)
        value = self._message[field][:, self._sender]
        return np.where(arrived.reshape(*arrived.shape, *(1,) * (value.ndim - 3)), value, np.zeros((), value.dtype))

    def total(self, field: str, weight: str | None = None) -> Array:
        """Return the sum of `field` (times `weight`) over the slots, in the senders' order."""
        return added_up(self[field] if weight is None else self[field] * self[weight])

    def tally(self) -> tuple[Array, Array]:
        if not {"arm", "reward"} <= set(self.fields):
            return super().tally()
        return tallied(self["arm"], self["reward"], self.arrived, self._n_arms)


def added_up(value: Array) -> Array:
    """Return the sum of `value` ``(R, M, S, …)`` over its slots, in order; True counts as 1."""
    out = np.zeros((*value.shape[:2], *value.shape[3:]), np.int64 if value.dtype == bool else value.dtype)
    for s in range(value.shape[2]):
        out += value[:, :, s]
    return out


def tallied(arm: Array, reward: Array, arrived: Array, n_arms: int) -> tuple[Array, Array]:
    """Return pull counts and reward sums per arm, each ``(R, M, K)``, over the filled slots ``(R, M, S)``."""
    runs, agents, _ = shape = (*arrived.shape[:2], n_arms)
    seat = (np.arange(runs * agents).reshape(runs, agents, 1) * n_arms + arm)[arrived]
    pulls, sums = np.bincount(seat, minlength=math.prod(shape)), np.bincount(seat, reward[arrived], math.prod(shape))
    return pulls.reshape(shape).astype(float), sums.reshape(shape)


class FixedHorizon(Env):
    """Base class of envs of T rounds, which add up the regret of each agent.

    A subclass sets `horizon`, and with every reset `_who`, the agents that act.
    """

    logged_metrics = ("regret", "messages")
    metrics_spec: Mapping[str, Metric] = {
        "regret": Metric("pseudo-regret of all agents", "amount"),
        "agent_regret": Metric("pseudo-regret of each agent"),
    }
    horizon: int
    _who: Array
    _t: Array
    _live: Array
    _regret: Array

    def _reset(self, rng: Streams, rows: Array | None = None) -> None:
        n = len(rng)
        set_rows(self, rows, _t=np.zeros(n, np.int64), _live=np.ones(n, bool), _regret=np.zeros((n, self.n_agents)))
        self._abreast = rows is None  # all runs end together

    def _counted(self, message: Payload) -> Payload:
        """Count the round, and return `message` without the messages of runs that are over."""
        if not self._abreast:
            message = message.with_fields(sent=message["sent"] & self._live[:, None])
        self._count(1)
        return message

    def _count(self, rounds: int) -> bool:
        """Add `rounds` to those of each run that is not over; return whether a run goes on."""
        before, self._t, self._live = self._t, np.empty_like(self._t), np.empty_like(self._live)
        return bool(_advance(before, rounds, self.horizon, self._t, self._live))

    def _passed(self, rounds: int) -> None:
        """Count rounds that compiled code has played."""
        self._phase = "pull" if self._count(rounds) else "over"

    # attrgetter is fast: every phase reads these.
    t: Array = property(attrgetter("_t"), doc="``(R,)`` rounds so far.")  # type: ignore[assignment]
    running: Array = property(attrgetter("_live"), doc="``(R,)`` bool: runs that have played fewer than T rounds.")  # type: ignore[assignment]
    active_agents: Array = property(attrgetter("_who"), doc="``(R, A)``: the agents that act in this round.")  # type: ignore[assignment]

    @property
    def agent_regret(self) -> Array:
        """Pseudo-regret of each agent so far, ``(R, M)``."""
        return self._regret.copy()


@alike
def _advance(before, rounds, horizon, t, live):  # type: ignore[no-untyped-def]
    """Write each run's rounds to `t`, `rounds` more than `before` if it was not over, and to `live` whether it is not.

    Return whether a run goes on.  The arrays are the env's own, so they have the same types in every call.
    """
    some = False
    for r in range(t.size):
        t[r] = before[r] + rounds if before[r] < horizon else before[r]
        live[r] = t[r] < horizon
        some |= live[r]
    return some


class Rounds(FixedHorizon):
    """M agents that play one K-armed bandit, one pull each per round, for T rounds.

    A subclass may replace `arms_class` (how arms move), `_rewards` (the rewards of pulls), `_charge` (their regret),
    `_transport` (who receives which message) and `report`.  If it replaces one of the last two, it must declare
    `reward_free_fields`; otherwise no privacy guarantee holds.

    Parameters
    ----------
    n_agents : int
        M.
    n_arms : int, optional
        K; needed if `means` is drawn.  It must equal the length of `means` if `means` is a list.
    means : sequence of K floats or UniformMeans
        Arm locations; by default the best arm at .5 and all others at .45, whatever K is.
    rewards : str or Law
        Reward law.
    horizon : int
        T rounds.
    permute_arms : bool
        Shuffle the arms of every run, so that no tie rule favours the best arm by its index.
    drift : float
        By how much all arms but the best fall per round, down to 0.
    n_change_points : int
        How often within the horizon the means move on by one arm, at equal distances.
    wrappers, extra_fields, fields, runs
        As in `Env`.

    Notes
    -----
    Metrics: ``regret`` (R,) group pseudo-regret against the arm that is best in each round; ``agent_regret`` (R, M);
    ``messages`` (R,): the number of messages sent.

    Examples
    --------
    >>> class Loud(Rounds):
    ...     setting = "loud"
    >>> env = Loud(n_agents=3, horizon=2)
    >>> obs = env.reset(0)
    >>> obs = env.pull(np.zeros((1, 3), int))
    >>> env.communicate().inbox["sender"][0].tolist()
    [[1, 2], [0, 2], [0, 1]]
    """

    setting = "rounds"
    metrics_spec: Mapping[str, Metric] = {"messages": Metric("messages sent", "count")}
    visible_after_episode = (*Env.visible_after_episode, "agent_regret")
    message_class: ClassVar[type[Payload]] = Reports
    seed_fields: ClassVar[Mapping[str, str]] = {
        **{name: name for name in ("n_agents", "n_arms", "means", "rewards", "horizon", "permute_arms", "drift")},
        "n_change_points": "n_change_points",
    }
    #: How the arms move.
    arms_class: ClassVar[type[Arms]] = Arms
    rl_task = ArmTask
    _uniforms: Uniforms
    _messages: Array

    def __init__(
        self,
        *,
        n_agents: int = 16,
        n_arms: int | None = None,
        means: Sequence[float] | UniformMeans = RepeatingMeans((0.5, *[0.45] * 9)),
        rewards: str | Law = "bernoulli",
        horizon: int = 10_000,
        permute_arms: bool = True,
        drift: float = 0.0,
        n_change_points: int = 0,
        wrappers: Sequence[Wrapper] = (),
        extra_fields: Fields | None = None,
        fields: Fields | None = None,
        runs: int = 1,
    ):
        self.horizon = count("horizon", horizon, 1, LONGEST)
        move: Params = {"drift": drift, "n_change_points": n_change_points, "horizon": self.horizon}
        #: The arms' locations.
        self.arms = self.arms_class(means, rewards, n_arms=n_arms, permute=permute_arms, **move)
        self.law = self.arms.law
        n_agents, runs, n_arms = count("n_agents", n_agents, 1), count("runs", runs, 1), self.arms.n_arms
        own = float(runs) * (48.0 * n_agents * n_arms + self.arms.expect(self.horizon * n_agents))
        if type(self)._transport is Rounds._transport:  # each inbox has a slot per other agent
            own += (9.0 + 17.0 * runs) * n_agents**2
        affordable(f"runs={runs} of n_agents={n_agents} and n_arms={n_arms}", own)
        super().__init__(
            n_agents=n_agents, n_arms=n_arms, wrappers=wrappers, extra_fields=extra_fields, fields=fields, runs=runs
        )

    @property
    def report(self) -> Fields:
        return {"arm": index_field(self.n_arms), "reward": Field()}

    def _offers(self, fields: Fields) -> Fields:
        """Return the fields that agents receive: the fields sent, and ``sender``."""
        return {**fields, "sender": Field(dtype="i8")}

    @property
    def reductions(self) -> tuple[str, ...]:
        """Return ``("tally",)`` if the inbox has the fields ``arm`` and ``reward``, otherwise ``()``."""
        return ("tally",) if {"arm", "reward"} <= set(self.inbox_fields) else ()

    # -- the arms, now ------------------------------------------------------------------------------------------

    @property
    def locations(self) -> Array:
        """Current arm locations, ``(R, K)``."""
        return self.arms.at(self._t)

    @property
    def means(self) -> Array:
        """Current arm means, ``(R, K)``."""
        return self.arms.means(self._t)

    @property
    def gaps(self) -> Array:
        """Current gaps between the best arm's mean and each arm's mean, ``(R, K)``."""
        return self.arms.gap(self._t)

    # -- the round ------------------------------------------------------------------------------------------------

    def _reset(self, rng: Streams, rows: Array | None = None) -> None:
        super()._reset(rng, rows)
        self.arms.reset(rng, rows)
        set_rows(self, rows, _uniforms=rng.reader((self.n_agents,), REWARD), _messages=np.zeros(len(rng), np.int64))
        self._who = np.broadcast_to(np.arange(self.n_agents), (self.runs, self.n_agents))

    def _pull(self, action: Array) -> Array:
        self._arm = action
        location, gap = self.arms.pick(action, self._t)
        gap = self._charge(action, gap)
        reward = self._rewards(action, location, self._uniforms.next())
        for hook, value in (("_charge", gap), ("_rewards", reward)):
            if getattr(value, "shape", None) != action.shape:
                whose = f"{hook} of {type(self).__name__}"
                raise ValueError(f"{whose} must return shape {action.shape}, not {shown(value)}")
        self._regret += gap if self._abreast else gap * self._live[:, None]
        self._reward = locked(reward)
        return self._reward

    def _charge(self, arm: Array, gap: Array) -> Array:
        """Return the regret of pulls, ``(R, M)``, given the pulled arms and their gaps."""
        return gap

    def _rewards(self, arm: Array, location: Array, u: Array) -> Array:
        """Return the rewards of pulls, ``(R, M)``, given each pull's arm, location and uniform sample `u`."""
        return (self.arms.tables or self.law).quantile(u, location)

    def _report(self) -> dict[str, Array]:
        return {"arm": self._arm, "reward": self.own_reward}

    def _transport(self, message: Payload) -> Inbox:
        message = self._counted(message)
        self._messages += message["sent"].sum(1)
        return Everyone(message, self.n_arms)

    def _metrics(self) -> dict[str, Array]:
        """Return ``regret`` (R,), ``agent_regret`` (R, M) and ``messages`` (R,)."""
        return {"regret": self._regret.sum(1), "agent_regret": self.agent_regret, "messages": self._messages.copy()}


# -- rounds in compiled code: rewards are a comparison with the location, or the location plus a number ----------------

#: The range of rewards that are a location plus a random number, by law.
SHIFTS: dict[type[Law], tuple[float, float]] = {laws.ClippedGaussian: (0.0, 1.0)}
SHIFTS |= dict.fromkeys((laws.Gaussian, laws.Uniform, laws.Constant, laws.Stable), (-math.inf, math.inf))


def compiles(law: Law) -> bool:
    """Return whether compiled code can draw rewards of `law`."""
    return type(law) is Bernoulli or type(law) in SHIFTS


def shifted(law: Law, u: Array) -> Array:
    """Return the numbers that are added to locations, given uniform samples; `u` for Bernoulli, which compares."""
    if type(law) is Bernoulli:
        return u
    if type(law) is laws.ClippedGaussian:
        law = laws.Gaussian(law.sigma)
    return law.quantile(u, np.array(0.0)) + np.zeros(u.shape)


def play(
    env: FixedHorizon,
    until: float,
    stops: Sequence[float],
    look: Callable[[], None] | None,
    advance: Callable[[int], None],
) -> None:
    """Call `advance` with the most rounds that it may play, up to round `until`; `look` at each of the `stops`."""
    for stop in (*stops, until):
        goal = math.ceil(min(stop, until, env.horizon))
        while (t := int(env._t[0])) < goal:
            advance(goal - t)
        if look is not None:
            look()
