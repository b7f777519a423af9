"""Privatized feedback: a server prescribes arms to blocks of users (Chowdhury & Zhou 2023)."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import ClassVar

import numpy as np

from hushbandits.core import Arms, Array, Env, Field, Fields, Metric, Observation, Payload, Privatizer, Streams, Wrapper
from hushbandits.core.random.arms import make_law
from hushbandits.core.random.names import REWARD
from hushbandits.core.random.philox import CURSOR, PLACE, STEP, fill_in_turn
from hushbandits.core.random.rewards import Law, UniformMeans
from hushbandits.core.random.streams import LONGEST
from hushbandits.core.utils import Action, Message, affordable, choice, count, jit
from hushbandits.core.validation import checked_message, inside
from hushbandits.envs.feedback.one_pass import OnePass
from hushbandits.envs.feedback.payload import Blocks
from hushbandits.envs.feedback.pooled_users import Pooled
from hushbandits.envs.feedback.task import FeedbackTask
from hushbandits.envs.feedback.users import BlockInbox, Cohort, Individuals

#: The easy instances of Chowdhury & Zhou 2023.
EASY = UniformMeans(0.25, 0.75)
_COUNT = Field(dtype="i8", low=0)
#: The fields of a block's report.
_REPORT = {"reward": Field(), "n": Field(dtype="i8")}


class Feedback(Env):
    """Env of M independent servers, each of which receives the rewards of T users through a privacy protocol (R, S, A).

    A server prescribes arm a to a block of n new users.  Each of them pulls it once; the wrappers carry the rewards
    to the server: local randomizer R, secure function S, analyzer A.  The server itself sees no reward.

    Parameters
    ----------
    n_agents : int
        M, the servers.
    n_arms : int, optional
        K; 10 if `means` is drawn.  It must equal the length of `means` if `means` is a list.
    means : sequence of K floats or UniformMeans
        Arm locations; by default the easy instances of Chowdhury & Zhou 2023, uniform on [.25, .75] for each run.
    rewards : str or Law
        ``clipped-gaussian`` (σ = .1, the paper's), ``bernoulli``, ``beta``, or any law on [0, 1].
    horizon : int
        T, the users of each server; a block is cut there.
    permute_arms : bool
        Shuffle the arms of every run.
    n_change_points : int
        How often within the horizon the means move on by one arm, at equal distances.  A block is cut there, so
        all its users see the same means.
    simulate_users : str
        ``"aggregate"`` draws only the sum of a block.  ``"individual"`` simulates users one by one, as a real
        secure aggregation needs; memory is then runs × servers × the longest block.  The analyzer's output has the same
        distribution in both.
    wrappers, runs
        As in `Env`.

    Raises
    ------
    ValueError
        A parameter out of its range, or rewards that may leave [0, 1].

    Notes
    -----
    Action: ``(arm, n)``, each ``(R, M)`` ints.  Metrics, each ``(R,)`` and summed over servers: ``regret``,
    pseudo-regret ``Σ n (μ* − μ_a)``; ``users``; ``bits`` sent by users; ``bits_per_user``.  Time counts users per
    server; the regret is linear in time inside a block.  With a privacy mechanism also ``epsilon`` and ``delta``:
    the largest privacy loss of a user so far, by the mechanism's `ledger` (``env.mechanism.ledger``).

    Examples
    --------
    >>> env = Feedback(horizon=1000, rewards="bernoulli")
    >>> obs = env.reset(0)
    >>> env.pull((np.array([[3]]), np.array([[64]]))).reward
    array([[nan]])
    >>> env.communicate().inbox.total("n")
    array([[64]])
    """

    setting = "feedback"
    time_unit = "users"
    logged_metrics = ("regret", "bits")
    metrics_spec: Mapping[str, Metric] = {
        "regret": Metric("pseudo-regret of all agents", "amount"),
        "users": Metric("users", "count"),
        "bits": Metric("bits sent by users", "count"),
        "bits_per_user": Metric("bits sent per user", "amount"),
    }
    message_class = Blocks
    seed_fields: ClassVar[Mapping[str, str]] = {
        name: name for name in ("n_agents", "n_arms", "means", "rewards", "horizon", "permute_arms", "n_change_points")
    }
    interpolate_metrics = True
    agent_visible = ("mechanism", "simulate_users", "served")
    rl_task = FeedbackTask
    served: Array  # (R, M) users so far

    def __init__(
        self,
        *,
        n_agents: int = 1,
        n_arms: int | None = None,
        means: Sequence[float] | UniformMeans = EASY,
        rewards: str | Law = "clipped-gaussian",
        horizon: int = 1_000_000,
        permute_arms: bool = True,
        n_change_points: int = 0,
        simulate_users: str = "aggregate",
        wrappers: Sequence[Wrapper] = (),
        extra_fields: Fields | None = None,
        fields: Fields | None = None,
        runs: int = 1,
    ):
        self.law = make_law(rewards)
        if not self.law.unit_interval:
            raise ValueError(f"rewards={rewards!r} must stay in [0, 1]: the protocols' noise is calibrated to that")
        if n_arms is None and isinstance(means, UniformMeans):
            n_arms = 10
        self.horizon = count("horizon", horizon, 1, LONGEST)
        #: The arms' locations, by the number of users that a server has had.
        self.arms = Arms(
            means, self.law, n_arms=n_arms, permute=permute_arms, n_change_points=n_change_points, horizon=self.horizon
        )
        n_arms = self.arms.n_arms
        n_agents, runs = count("n_agents", n_agents, 1), count("runs", runs, 1)
        own = float(runs) * (300.0 * n_agents + 24.0 * n_arms)
        affordable(f"runs={runs} of n_agents={n_agents} and n_arms={n_arms}", own)
        self.simulate_users = choice("simulate_users", simulate_users, ("aggregate", "individual"))
        super().__init__(
            n_agents=n_agents, n_arms=n_arms, wrappers=wrappers, extra_fields=extra_fields, fields=fields, runs=runs
        )

    @cached_property
    def _pass(self) -> OnePass | None:
        shipped = type(self)._report is Feedback._report and type(self)._transport is Feedback._transport
        return OnePass.of(self) if shipped else None

    @property
    def report(self) -> Fields:
        """Fields of a block's report: the rewards (a `Cohort`), the size and, if messages are individual, ``users``."""
        return {**_REPORT, "users": Field()} if self.simulate_users == "individual" else dict(_REPORT)

    @property
    def actions(self) -> Fields:
        """Fields of an action: the arm and the number of users of a block."""
        return {**super().actions, "n": _COUNT}

    def _offers(self, fields: Fields) -> Fields:
        return {k: f for k, f in fields.items() if k in ("reward", "n", "users")}

    @property
    def mechanism(self) -> Privatizer | None:
        """The wrapper that privatizes rewards and decodes sums, or ``None``."""
        return next((w for w in self.wrappers if isinstance(w, Privatizer)), None)

    def _reset(self, rng: Streams, rows: Array | None = None) -> None:
        shape = (len(rng), self.n_agents)
        self.arms.reset(rng, rows)
        cursors = rng.cursors(self.n_agents, REWARD).reshape(*shape, CURSOR)
        if rows is None:
            self._blocks, self._t, self._live = cursors, np.zeros(len(rng), np.int64), np.ones(len(rng), bool)
            self.served, self._bits = np.zeros((2, *shape), np.int64)
            self._regret = np.zeros(shape)
            self._who = np.broadcast_to(np.arange(self.n_agents), shape)
            self._unseen, self._raw = np.full(shape, np.nan), np.full(shape, 64)  # a raw reward is sent as a double
            self._horizons = np.full(shape, self.horizon)
        else:
            _restart(rows, cursors, self._blocks, self.served, self._bits, self._regret, self._t, self._live)

    def _check_action(self, action: object) -> Action:
        arm, n = super()._check_action(action)
        if not inside(n.reshape(-1), 1, LONGEST) and (bad := (n < 1) & (self.served < self.horizon)).any():
            r, m = np.argwhere(bad)[0]  # a server without users left is ignored
            raise ValueError(f"action's n={n[r, m]} of server {m} in run {r} must be at least 1 user")
        return arm, n

    def _pull(self, action: tuple[Array, Array]) -> Array:
        arm, n = action
        most = self.arms.stretch(self.served) if self.arms.moving else self._horizons
        self._location, gap = self.arms.pick(arm, self.served)
        self._n = np.empty(n.shape, np.int64)
        _cut(n, most, self.horizon, gap, self._n, self._blocks, self.served, self._regret, self._t, self._live)
        return self._unseen

    def _report(self) -> Message:
        location = self._location
        crowd: Cohort
        if self.simulate_users == "aggregate":
            crowd = Pooled(self._n, self.law, location, self._blocks.copy())
        else:
            most = int(self._n.max())
            affordable(f"a block of {most} users one by one", 32.0 * self._n.size * most)
            at, x = self._n.nonzero(), np.zeros((*self._n.shape, most))
            sizes = self._n[at]
            u = np.empty(sizes.sum())
            fill_in_turn(self._blocks[at], np.arange(sizes.size), sizes, u)
            x[np.arange(most) < self._n[:, :, None]] = self.law.quantile(u, np.repeat(location[at], sizes))
            crowd = Individuals(x, self._n)
        return {"reward": crowd, "n": self._n, "bits": self._raw, "sent": self._n > 0}

    def _said(self, message: Message) -> Message:
        raise ValueError("message must be None in the feedback setting, in which only users send messages")

    def _checked(self, what: str, message: Message, fields: Fields) -> Message:
        """Return the message if its rewards are a `Cohort` and its other fields valid; else raise ``ValueError``."""
        shape = self._who.shape
        crowd = message.get("reward") if isinstance(message, dict) else None
        fits = isinstance(crowd, Cohort) and getattr(crowd.n, "shape", ()) == shape and (crowd.n <= crowd.planned).all()
        if not fits:
            raise ValueError(f"{what}['reward'] must be a Cohort of {shape} blocks with n ≤ planned, not {crowd!r}")
        rest = {name: field for name, field in fields.items() if name not in ("reward", "users")}
        said = {name: value for name, value in message.items() if name in ("bits", *rest)}
        return {**checked_message(what, said, {"bits": _COUNT, **rest}, shape), "reward": crowd}

    def communicate(self, message: Message | None = None) -> Observation:
        """Play phase 2, in one pass where nothing needs messages, and return an observation with the inbox."""
        inbox = None
        if self._pass is not None and self._phase == "communicate" and message is None and self._passing is None:
            inbox = self._pass.play(self._n, self._location, self._blocks, self._bits)
        if inbox is None:
            return super().communicate(message)
        obs = self._seen(inbox=inbox)
        self._phase = "pull" if np.count_nonzero(obs.running) else "over"
        return obs

    def _transport(self, message: Payload) -> BlockInbox:
        crowd: Cohort = message["reward"]
        arrived = message["sent"] & (crowd.n > 0)
        self._bits += crowd.n * message["bits"]
        individuals = crowd.values if "users" in self.sent_fields else None
        return BlockInbox(np.where(arrived, crowd.total(), 0), np.where(arrived, crowd.n, 0), arrived, individuals)

    # attrgetter is fast: every phase reads these.
    t: Array = property(attrgetter("_t"), doc="``(R,)`` users per server so far (mean over servers, rounded down).")  # type: ignore[assignment]
    running: Array = property(attrgetter("_live"), doc="``(R,)`` bool: runs in which some server has users left.")  # type: ignore[assignment]
    active_agents: Array = property(attrgetter("_who"), doc="``(R, M)``: all servers, with or without users left.")  # type: ignore[assignment]

    def no_action(self) -> tuple[Array, Array]:
        """Return the smallest action: arm 0 and a block of one user."""
        return np.zeros(self._who.shape, np.int64), np.ones(self._who.shape, np.int64)

    @property
    def locations(self) -> Array:
        """Current arm locations, ``(R, K)``; if arms move, at the first server's time."""
        return self.arms.at(self.served[:, 0])

    @property
    def means(self) -> Array:
        """Current arm means, ``(R, K)``; if arms move, at the first server's time."""
        return self.arms.means(self.served[:, 0])

    @property
    def gaps(self) -> Array:
        """Current gaps to the best mean, ``(R, K)``; if arms move, at the first server's time."""
        return self.arms.gap(self.served[:, 0])

    def _metrics(self) -> dict[str, Array]:
        """Return ``regret``, ``users``, ``bits`` and ``bits_per_user``, each ``(R,)``."""
        return self._metrics_of(np.arange(len(self.served)))

    def _metrics_of(self, rows: Array) -> dict[str, Array]:
        regret, users, bits = [np.add.reduce(x[rows], 1) for x in (self._regret, self.served, self._bits)]
        return {"regret": regret, "users": users, "bits": bits, "bits_per_user": bits / np.maximum(users, 1)}


@jit
def _restart(rows, cursors, blocks, served, bits, regret, t, live):  # type: ignore[no-untyped-def]
    """Reset the state of the runs `rows`, whose random streams begin at `cursors`."""
    for i, r in enumerate(rows):
        blocks[r] = cursors[i]
        served[r] = bits[r] = 0
        regret[r] = 0.0
        t[r] = 0
        live[r] = True


@jit
def _cut(n, most, horizon, gap, size, cursors, served, regret, t, live):  # type: ignore[no-untyped-def]
    """Write block sizes `n`, limited by `horizon` and `most`, to `size`; count users as served, and their regret.

    Each block has its own step of the random stream: the way its rewards are drawn does not change later blocks.
    """
    for r in range(n.shape[0]):
        live[r] = False
        for m in range(n.shape[1]):
            size[r, m] = max(0, min(n[r, m], horizon - served[r, m], most[r, m]))
            regret[r, m] += size[r, m] * gap[r, m]
            cursors[r, m, STEP] += np.uint64(n.shape[1])
            cursors[r, m, PLACE] = np.uint64(0)
            served[r, m] += size[r, m]
            live[r] |= served[r, m] < horizon
        t[r] = served[r].sum() // n.shape[1]
