"""Federated linear contextual bandits: agents see features, and share sums of features and rewards with a server."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar

import networkx as nx
import numpy as np

from hushbandits.core import LONGEST, Array, Field, Fields, Metric, Payload, Streams, Uniforms, affordable, set_rows
from hushbandits.core.random.arms import make_law
from hushbandits.core.random.names import ACTIVATION, FEATURES, REWARD
from hushbandits.core.random.rewards import Gaussian, Law
from hushbandits.core.utils import Message, choice, count, jit, real
from hushbandits.envs.inbox import OneSlot
from hushbandits.envs.linear.contexts import ContextLaw, make_contexts
from hushbandits.envs.linear.payload import Increments
from hushbandits.envs.linear.server import FIELDS, RULES, Flood, Server, Sums
from hushbandits.envs.linear.task import LinearTask
from hushbandits.envs.network.topology import placed
from hushbandits.envs.rounds.env import FixedHorizon
from hushbandits.estimators.ridge import picked

#: The noise of He et al. 2022.
NOISE = Gaussian(0.3)
#: Which agents act: all in every round, or one, drawn uniformly or with weights 1, ½, ⅓, ….
ACTIVITIES = ("all", "one", "ranked")


class Linear(FixedHorizon):
    """M agents that see features of K arms in R^d and earn ⟨x, θ⟩ plus noise, for one θ per run.

    In a round every active agent sees fresh features, pulls an arm, and may upload sums of x xᵀ and r x.  The server
    adds the uploads up and sends its sums down.

    Parameters
    ----------
    n_agents, n_arms, n_features : int
        M, K and d.
    contexts : str or ContextLaw
        ``cube``, ``sphere+1``, ``pool``, a file of vectors (``.npy``, ``.csv``, ``.txt``), or a `ContextLaw`.
    rewards : str or Law
        Law of a reward around its location ⟨x, θ⟩.
    activity : str
        ``all``: all agents act in every round; ``one``: one of them, drawn uniformly; ``ranked``: one of them, agent m
        with a weight 1/(m + 1).
    horizon : int
        T rounds.
    server : str
        When the server sends its sums: ``broadcast``, ``answer`` or ``differences`` (`RULES`).
    growth, ridge : float
        γ and λ of the rule ``differences``.
    up_delay, down_delay : int
        Rounds that an upload and a download take; an agent that waits for an answer should upload nothing new.
    graph : str or networkx.Graph, optional
        As in `CoopNetwork`: agents have no server, but flood their increments over this graph, an edge per round.
    max_hops : int, optional
        The most hops that an increment travels.
    runs, **rest
        As in `Env`.

    Raises
    ------
    ValueError
        A parameter out of its range, contexts that do not fit the sizes, or mean rewards that the law cannot have.

    Notes
    -----
    Metrics: ``regret`` (R,) sum of ``max_k ⟨x_k, θ⟩ − ⟨x_a, θ⟩`` over pulls; ``agent_regret`` (R, M); ``messages``,
    transfers up and down, that is ``uploads`` + ``downloads``; ``numbers`` in them, d(d + 1)/2 + d each; ``syncs``,
    rounds in which the server wrote to all agents.  On a graph, uploads count transmissions over edges.

    Examples
    --------
    >>> env = Linear(n_agents=2, horizon=5)
    >>> obs = env.reset(0)
    >>> env.features.shape, env.pull(np.zeros((1, 1), int)).reward.shape
    ((1, 1, 25, 15), (1, 1))
    >>> env.communicate().inbox.total("pulls")
    array([[1, 1]])
    """

    setting = "linear"
    metrics_spec: Mapping[str, Metric] = {
        "messages": Metric("messages up and down", "count"),
        "uploads": Metric("messages to the server", "count"),
        "downloads": Metric("messages from the server", "count"),
        "numbers": Metric("numbers in messages", "count"),
        "syncs": Metric("synchronisations of all agents", "count"),
    }
    agent_visible = ("features", "n_features", "contexts", "activity", "server", "growth", "ridge", "pending")
    visible_after_episode = ("theta", "agent_regret")
    message_class = Increments
    rl_task = LinearTask
    seed_fields: ClassVar[Mapping[str, str]] = {
        name: name for name in ("n_agents", "n_arms", "n_features", "contexts", "rewards", "activity", "horizon")
    }
    #: (R, d)
    theta: Array
    _x: Array
    _contexts: Uniforms
    _turns: Uniforms
    _uniforms: Uniforms

    def __init__(
        self,
        *,
        n_agents: int = 15,
        n_arms: int = 25,
        n_features: int = 15,
        contexts: str | ContextLaw = "cube",
        rewards: str | Law = NOISE,
        activity: str = "one",
        horizon: int = 10_000,
        server: str = "broadcast",
        growth: float = 6.0,
        ridge: float = 1.0,
        up_delay: int = 0,
        down_delay: int = 0,
        graph: str | nx.Graph | None = None,
        max_hops: int | None = None,
        runs: int = 1,
        **rest: Any,
    ):
        self.horizon = count("horizon", horizon, 1, LONGEST)
        self.n_features = count("n_features", n_features, 1)
        n_agents, n_arms, runs = count("n_agents", n_agents, 1), count("n_arms", n_arms, 2), count("runs", runs, 1)
        self.contexts, self.law = make_contexts(contexts), make_law(rewards)
        self.contexts.check(n_arms, n_features)
        (low, high), (least, most) = self.contexts.means, self.law.locations
        if low < least or high > most:
            raise ValueError(
                f"rewards={rewards!r} must have locations in [{low:g}, {high:g}], the mean rewards of "
                f"{self.contexts!r}, not in [{least:g}, {most:g}]"
            )
        self.activity = choice("activity", activity, ACTIVITIES)
        self.server, self.growth = choice("server", server, RULES), real("growth", growth, 1, closed="low")
        self.ridge = real("ridge", ridge, 0)
        delays = count("up_delay", up_delay, 0), count("down_delay", down_delay, 0)
        if server == "differences" and any(delays):
            raise ValueError(f"{up_delay=} and {down_delay=} must be 0 with server='differences', which may not answer")
        self._server: Sums = Server(self.server, self.growth, self.ridge, *delays)
        if graph is not None:
            if activity != "all" or any(delays):
                raise ValueError(f"{graph=} needs activity='all' and no delays of a server, not {activity=}, {delays=}")
            hops = None if max_hops is None else count("max_hops", max_hops, 1)
            self._server = Flood(placed(graph, n_agents, hops, 1, "flood", "median"))
        acting = n_agents if activity == "all" else 1
        own = 8.0 * runs * (acting * n_arms * (2 * n_features + 2) + (2 * acting + n_agents) * (n_features + 1) ** 2)
        affordable(f"runs={runs} of n_agents={n_agents}, n_arms={n_arms}, n_features={n_features}", own)
        super().__init__(n_agents=n_agents, n_arms=n_arms, runs=runs, **rest)

    @property
    def report(self) -> Fields:
        d = self.n_features
        return {"gram": Field((d, d)), "moment": Field((d,)), "pulls": Field(dtype="i8", low=0)}

    def _offers(self, fields: Fields) -> Fields:
        return {name: fields[name] for name in FIELDS}

    def _reset(self, rng: Streams, rows: Array | None = None) -> None:
        super()._reset(rng, rows)
        m, d = self.n_agents, self.n_features
        self._acting, self._runs = m if self.activity == "all" else 1, np.arange(self.runs)[:, None]
        theta, pool = self.contexts.draw_theta(rng, d), self.contexts.draw_pool(rng, d)
        contexts = rng.reader((self._acting, self.contexts.samples(self.n_arms, d)), FEATURES)
        turns, uniforms = rng.reader((), ACTIVATION), rng.reader((self._acting,), REWARD)
        x, who = self._drawn(contexts.rows(1), pool)[0], self._turned(turns.rows(1)[0])
        set_rows(
            self, rows, theta=theta, _shown=self.contexts.seen(x), _pool=pool, _contexts=contexts, _turns=turns,
            _uniforms=uniforms, _x=x, _who=who, _owed=np.zeros((len(rng), m, d)),
        )  # fmt: skip
        self._server.reset(who, m, self.report, rows)

    def _payload(self, message: Message) -> Increments:
        return Increments({"reward": self.own_reward, "owed": self._owe, **message})

    def _owe(self, off: Array, sent: Array) -> Array:
        """Return what a change of rewards by `off` adds to Σ r x, ``(R, A, d)``, and keep it until it is `sent`."""
        at, sent = (self._runs, self._who), sent[..., None]
        owed = self._owed[at] + off[..., None] * picked(self.features, self._arm)
        self._owed[at] = np.where(sent, 0.0, owed)
        return np.where(sent, owed, 0.0)

    def _drawn(self, u: Array, pool: Array, first: Array | None = None) -> Array:
        """Return the features of some rounds, ``(rounds, R, A, K, d)``, after those of `first`, given uniforms `u`."""
        before = 0 if first is None else 1
        x = np.empty((before + len(u), u.shape[1], self._acting, self.n_arms, self.n_features))
        x[:before] = first
        for round_u, round_x in zip(u, x[before:], strict=True):
            self.contexts.draw(round_u, pool, round_x)
        return x

    def _turned(self, turn: Array) -> Array:
        """Return the agents that act in rounds with the uniform samples `turn`, one more axis."""
        agents = np.arange(self.n_agents)
        if self.activity == "all":
            return np.tile(agents, (*turn.shape, 1))
        shares = np.cumsum(1.0 / (agents + 1)) if self.activity == "ranked" else agents + 1.0
        return np.searchsorted(shares, turn[..., None] * shares[-1], side="right")

    def _pull(self, action: Array) -> Array:
        self._arm = action
        location, gap = np.empty(action.shape), np.empty(action.shape)
        _charge(action, self._x, self.theta, location, gap)
        self._regret[self._runs, self._who] += gap * self._live[:, None]
        return self.law.quantile(self._uniforms.next(), location)

    def _report(self, reward: Array | None = None) -> dict[str, Array]:
        x = picked(self.features, self._arm)
        gram, moment = np.einsum("rai,raj->raij", x, x), (self.own_reward if reward is None else reward)[..., None] * x
        return {"gram": gram, "moment": moment, "pulls": np.ones(x.shape[:2], np.int64)}

    def _transport(self, message: Payload) -> OneSlot:
        inbox = self._server.serve(self._counted(message), self._who)
        self._x, self._who = self._drawn(self._contexts.next()[None], self._pool)[0], self._turned(self._turns.next())
        self._shown = self.contexts.seen(self._x)
        return inbox

    # -- blocks of rounds in compiled code -------------------------------------------------------------------

    def has_compiled_rounds(self) -> bool:
        """Return whether compiled code may play rounds: no wrapper, hook or delay, and all runs in the same round."""
        return self._phase == "pull" and self._abreast and not (self._server.slow or self.wrappers or self._passing)

    def ahead(self, rounds: int) -> tuple[Array, Array, Array, Array]:
        """Return what the next rounds draw: features ``(rounds, R, A, K, d)``, and as agents see them; who acts; u."""
        x, turn = self._drawn(self._contexts.rows(rounds), self._pool, self._x), self._turns.rows(rounds)
        who, seen = np.concatenate([self._who[None], self._turned(turn)]), self.contexts.seen(x)
        self._x, self._shown, self._who = x[-1], seen[-1], who[-1]
        return x[:-1], seen[:-1], who[:-1], self._uniforms.rows(rounds)

    features = property(attrgetter("_shown"), doc="``(R, A, K, d)``: what the active agents see.")
    pending = property(attrgetter("_server.pending"), doc="``(R, M)`` bool: agents that wait for the server's answer.")

    def _metrics(self) -> dict[str, Array]:
        """Return ``regret``, ``messages``, ``uploads``, ``downloads``, ``numbers``, ``syncs``, and ``agent_regret``."""
        (up, down, syncs), d = self._server.counts.T.copy(), self.n_features
        return {
            "regret": self._regret.sum(1), "agent_regret": self.agent_regret, "messages": up + down, "uploads": up,
            "downloads": down, "numbers": (up + down) * (d * (d + 1) // 2 + d), "syncs": syncs,
        }  # fmt: skip


@jit
def pay(x, theta, arm):  # type: ignore[no-untyped-def]
    """Return the mean reward ⟨x, θ⟩ of `arm`, given features `x` ``(K, d)``, and its gap to the best arm."""
    best, mean = -np.inf, 0.0
    for k in range(x.shape[0]):
        value = 0.0
        for i in range(x.shape[1]):
            value += x[k, i] * theta[i]
        best = max(best, value)
        if k == arm:
            mean = value
    return mean, best - mean


@jit
def _charge(arm, x, theta, location, gap):  # type: ignore[no-untyped-def]
    for r in range(arm.shape[0]):
        for a in range(arm.shape[1]):
            location[r, a], gap[r, a] = pay(x[r, a], theta[r], arm[r, a])
