"""Cooperation over a delayed graph (Dubey & Pentland 2020; Howson, Filippi & Pike-Burke 2024)."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import ClassVar

import networkx as nx
import numpy as np

from hushbandits.core import Array, Fields, Payload, Streams, Wrapper, affordable, lean, locked, require, set_rows
from hushbandits.core.random.names import GRAPH
from hushbandits.core.random.rewards import Law, RepeatingMeans, UniformMeans
from hushbandits.core.utils import choice, count, integer, probability, real
from hushbandits.envs.network.bfs import Links, links
from hushbandits.envs.network.graphs import connected_erdos_renyi
from hushbandits.envs.network.inbox import Ring, SlotInbox
from hushbandits.envs.network.payload import GraphReports
from hushbandits.envs.network.task import NetworkTask
from hushbandits.envs.network.topology import SHARES_OF_DIAMETER, Places, placed
from hushbandits.envs.rounds.env import Rounds


class CoopNetwork(Rounds):
    """M agents on a connected graph, who play one K-armed bandit, one pull each per round.

    A message travels one edge per round, at most γ hops.  Before its pull in round t, agent m thus has the messages of
    m′ up to round ``t − d(m, m′)``.

    Parameters
    ----------
    n_agents, n_arms, means, horizon, permute_arms, drift, switches
        As in `Rounds`: M, K, locations, T.
    rewards : str or Law
        ``bernoulli``, ``beta``, ``truncated-gaussian``, ``clipped-gaussian`` or ``gaussian``.
    graph : str or networkx.Graph
        ``cycle``, ``grid`` (√M × √M), ``star``, ``complete``, ``path``, ``erdos-renyi`` (a connected draw per
        run), or any connected undirected graph of M nodes.
    edge_probability : float
        p of ``erdos-renyi``.
    max_hops : int, str or None
        γ: the most hops that a message travels.  0: no messages; ``None``: unlimited; or ``"diameter"``,
        ``"diameter/2"`` (rounded down; also ``"floor(diameter/2)"``), ``"ceil(diameter/2)"``.
    edge_failure_prob : float
        Probability that an edge fails in a round and loses all messages on it, independently over edges and rounds.
        A post may then arrive late, by a detour, or never (see `hushbandits.envs.network.lossy_transport`).
    hop_delay : int
        Additional rounds that each hop takes.
    routing : str
        ``"flood"``: along every edge, to all agents within γ hops.  ``"tree"``: along a shortest-path tree, from its
        root to all agents, and from each agent to the root alone.
    root : int or str
        The root of the tree: an agent, or ``"median"``, the graph median ``argmin_v Σ_w d(v, w)``.
    wrappers, extra_fields, fields, runs
        As in `Env`.

    Raises
    ------
    ValueError
        A parameter out of its range, or a tree with `edge_failure_prob` or with corrupting relays.

    Notes
    -----
    Metrics: ``regret`` (R,) group pseudo-regret ``Σ_t Σ_m μ*_t − μ_{A_m,t}``; ``agent_regret`` (R, M);
    ``messages`` (R,): transmissions over edges.  A post floods the graph: each agent that receives it after fewer than
    γ hops sends it once along each of its edges.  A post of m thus costs the degrees of all agents within γ − 1 hops
    of m.  It is counted when it is posted, or hop by hop if edges fail.

    Madhushani, Dubey, Leonard & Pentland 2021 study imperfect communication of this kind.

    Examples
    --------
    >>> import numpy as np
    >>> env = CoopNetwork(n_agents=4, horizon=2)
    >>> obs = env.reset(0)
    >>> env.pull(np.zeros((1, 4), int)).reward.shape
    (1, 4)
    """

    setting = "network"
    agent_visible = (
        "distance", "adjacency", "diameter", "slots", "max_hops", "edge_failure_prob", "hop_delay", "routing", "root",
        "most_arrivals", "can_pull_ahead",
    )  # fmt: skip
    agent_visible_params = ("graph", "edge_probability")
    rl_task = NetworkTask
    message_class = GraphReports
    seed_fields: ClassVar[Mapping[str, str]] = {
        **Rounds.seed_fields, "graph": "graph", "edge_probability": "edge_probability",
    }  # fmt: skip
    _drawn: list[Links]  # of each run, if graphs are random

    def __init__(
        self,
        *,
        n_agents: int = 16,
        n_arms: int | None = None,
        means: Sequence[float] | UniformMeans = RepeatingMeans((0.5, *[0.45] * 9)),
        rewards: str | Law = "bernoulli",
        graph: str | nx.Graph = "cycle",
        edge_probability: float = 0.1,
        max_hops: int | str | None = None,
        edge_failure_prob: float = 0.0,
        hop_delay: int = 0,
        routing: str = "flood",
        root: int | str = "median",
        horizon: int = 10_000,
        permute_arms: bool = True,
        drift: float = 0.0,
        n_change_points: int = 0,
        wrappers: Sequence[Wrapper] = (),
        extra_fields: Fields | None = None,
        fields: Fields | None = None,
        runs: int = 1,
    ):
        n_agents = count("n_agents", n_agents, 1)
        self.edge_probability = real("edge_probability", edge_probability, 0, 1, closed="high")
        if isinstance(max_hops, str):
            choice("max_hops", max_hops, SHARES_OF_DIAMETER)
        elif max_hops is not None:
            count("max_hops", max_hops, 0)
        self.max_hops = max_hops
        self.edge_failure_prob = probability("edge_failure_prob", edge_failure_prob)
        self.hop_delay = count("hop_delay", hop_delay, 0)
        self.routing = choice("routing", routing, ("flood", "tree"))
        self._root = root if isinstance(root, str) and root == "median" else integer("root", root, 0, n_agents - 1)
        if self.routing == "tree" and self.edge_failure_prob:
            raise ValueError(f"edge_failure_prob={edge_failure_prob!r} needs routing='flood'")
        self._random_graph = isinstance(graph, str) and graph == "erdos-renyi"
        runs = count("runs", runs, 1)
        if self._random_graph:
            affordable(f"runs={runs} of n_agents={n_agents} on graph=erdos-renyi", 64.0 * n_agents**2 * runs)
        else:
            self._stand(placed(graph, n_agents, max_hops, 1 + self.hop_delay, self.routing, self._root))
        super().__init__(
            n_agents=n_agents, n_arms=n_arms, means=means, rewards=rewards, horizon=horizon, permute_arms=permute_arms,
            drift=drift, n_change_points=n_change_points, wrappers=wrappers, extra_fields=extra_fields, fields=fields,
            runs=runs,
        )  # fmt: skip
        self._relays = [w for w in self.wrappers if "relay" in w.operations]
        self._lossy = bool(self.edge_failure_prob or self._relays)  # whether copies of one post may differ
        if self._relays:
            require(f"{self._relays[0].name} at relays", ("reward",), self.sent_fields)
            if self.routing == "tree":
                raise ValueError(f"{self._relays[0].name} changes messages at relays, so it needs routing='flood'")

    def _stand(self, places: Places) -> None:
        self._places, self.slots, self._edges = places, places.slots, places.edges

    adjacency = property(attrgetter("_places.adjacency"), doc="Adjacency, ``(G, M, M)`` bool; G = 1 (all runs) or R.")
    distance = property(attrgetter("_places.distance"), doc="Hop distances, ``(G, M, M)``.")
    diameter = property(attrgetter("_places.diameter"), doc="Diameter of each graph, ``(G,)``.")
    root = property(attrgetter("_places.root"), doc="Root of each tree, ``(G,)``.")

    @property
    def most_arrivals(self) -> int:
        """The largest number of messages that can reach an agent in a round."""
        senders = self.n_agents - 1 if self._random_graph else int(self.slots.degree.max(initial=0))
        # If edges fail, posts of several rounds may arrive at once, over paths of different lengths.
        late = self.n_agents - 1 if self.max_hops is None or self._random_graph else int(self.slots.max_hops.max())
        return senders * (max(1, late) if self.edge_failure_prob else 1)

    @property
    def reductions(self) -> tuple[str, ...]:
        """Return the inherited reductions, and ``"mix"`` if messages reach only neighbours, within one round.

        ``"mix"`` also needs the field ``sender``, routing ``"flood"``, and copies of a message that cannot differ.
        """
        near = self.slots.depth == 1 if not self._random_graph else self.max_hops == 1 and not self.hop_delay
        gossip = near and self.routing == "flood" and "sender" in self.inbox_fields and not self._lossy
        return (*super().reductions, *(("mix",) if gossip else ()))

    def _reset(self, rng: Streams, rows: Array | None = None) -> None:
        super()._reset(rng, rows)
        runs, m = self.runs, self.n_agents
        if self._random_graph:
            drawn = [links(connected_erdos_renyi(m, self.edge_probability, its)) for its in rng.generators(GRAPH)]
            set_rows(self, rows, _drawn=drawn)
            self._stand(Places(self._drawn, self.max_hops, 1 + self.hop_delay, self.routing, self._root))
        if self._lossy:
            from hushbandits.envs.network.lossy_transport import LossyTransport  # imported late: few runs use it

            if rows is None:
                relays = [*map(attrgetter("relay"), self._relays)]
                self._hops = LossyTransport(self, rng, self.edge_failure_prob, relays)
            else:
                self._hops.reset(rng, rows)
                if self._random_graph:
                    self._hops.lay(self)
        if rows is None:
            size = Ring.size(self.sent_fields, self.slots.depth, runs, m)
            affordable(f"runs={runs} at depth {self.slots.depth}", size)
            self._ring = Ring(self.sent_fields, self.slots.depth, runs, m)
        else:
            self._ring.reset(rows)
            self._ring.deepen(self.slots.depth)

    def _transport(self, message: Payload) -> SlotInbox:
        message = self._counted(message)
        if self._lossy:
            self._arrivals = self._hops.carry(message)
            self._messages = self._hops.transmissions.copy()
            return self._arrivals
        self._messages += np.vecdot(message["sent"], self._edges)
        self._ring.post(message)
        return SlotInbox(self._ring, self.slots, self.n_arms)

    def crossings(self, run: int = 0) -> Array:
        """Return the messages that crossed an edge to a new receiver in the last round of `run`, ``(n, 5)``.

        The result is ``(n, 5)``: from, to, sender, round posted, arm reported (−1 if none).
        """
        if self._t[run] == 0:
            return np.zeros((0, 5), np.int64)
        if self._lossy:
            return self._arrivals._crossings(run)
        g, ring, slots = run % len(self._places.graphs), self._ring, self.slots
        to, slot = np.nonzero(slots.sender[g] >= 0)
        who, delay = slots.sender[g][to, slot], slots.delay[g][to, slot]
        posted = ring.t - delay + 1
        came = (posted >= 1) & ring.sent[posted % ring.depth, run, who]
        to, who, delay, posted = to[came], who[came], delay[came], posted[came]
        # a copy reaches distance d from the neighbours at distance d − 1
        ways, hops = self._places.trees
        last = hops[g][who] == delay[:, None] // (1 + self.hop_delay) - 1
        which, via = np.nonzero(ways[g][to] & last)
        to, who, posted = to[which], who[which], posted[which]
        arm = ring.values["arm"][posted % ring.depth, run, who] if "arm" in ring.values else np.full(len(to), -1)
        return np.stack([via, to, who, posted, arm], 1)

    # -- for compiled rounds ----------------------------------------------------------------------------------

    @property
    def _plain(self) -> bool:
        """Whether this class plays rounds as `CoopNetwork` does, and copies of a message cannot differ."""
        changed = type(self).__mro__[: type(self).__mro__.index(CoopNetwork)]
        return not self._lossy and not any(_ROUND & vars(cls).keys() for cls in changed)

    @property
    def can_pull_ahead(self) -> bool:
        """Whether `pull_ahead` can play rounds without messages at once."""
        near = not self._random_graph and self.slots.depth == 1
        return near and self._plain and not self.arms.moving and all(map(_silent, self.wrappers))

    def pull_ahead(self, arms: Array, spoken: bool = False) -> Array:
        """Play rounds in which no agent sends a message, and return the agents' rewards.

        Parameters
        ----------
        arms : (n, R, M) int
            The arms of n rounds; no run may end before.
        spoken : bool
            Whether only phase 1 of the last round is played, so that `communicate` is next.

        Returns
        -------
        (n, R, M) array
        """
        self._phase, self._arm = "broken", arms  # until the rounds are over
        location, gap = self.arms.pick(arms, self._t)
        _add_rounds(self._charge(arms, gap), self._regret)
        self.own_reward = self._rewards(arms, location, self._uniforms.rows(len(arms)))
        for wrapper in self.wrappers:
            self.own_reward = wrapper.alter_own_reward(self.own_reward, self)
        rewards = self.own_reward
        if silent := len(arms) - spoken:
            self._ring.sent[:] = False
        self._played(silent, arms[-1], rewards[-1])
        if spoken:
            self._phase = "communicate"
        return rewards

    def has_compiled_rounds(self, fields: Sequence[str], only_drops: bool = False, states: bool = False) -> bool:
        """Return whether this class and its wrappers allow compiled rounds from the current round on.

        Parameters
        ----------
        fields : sequence of str
            The fields that the agents send.
        only_drops : bool
            Whether wrappers may do no more than drop messages.
        states : bool
            Whether a wrapper posts states for the agents, by a compiled rule (`Wrapper.poster`).
        """
        sent = self.sent_fields
        same_fields = set(sent) == set(fields) and any(field.latest for field in sent.values()) == states
        known = _posts_states(self) if states else all(_by_uniforms(wrapper, only_drops) for wrapper in self.wrappers)
        return self._plain and same_fields and known and self._phase in ("pull", "over") and self._abreast

    def _played(self, rounds: int, arms: Array | None = None, rewards: Array | None = None) -> None:
        """Update the env after `rounds` compiled rounds; `arms` and `rewards` are those of the last round."""
        if arms is not None and rewards is not None:
            self._arm, self._reward = arms.copy(), locked(rewards)
            self.own_reward = self._reward
        self._ring.t += rounds
        self._passed(rounds)


@lean
def _add_rounds(each, total):  # type: ignore[no-untyped-def]
    """Add the numbers of n rounds, ``(n, R, M)``, to `total` round by round."""
    for i in range(each.shape[0]):
        for r in range(each.shape[1]):
            for m in range(each.shape[2]):
                total[r, m] += each[i, r, m]


def _silent(wrapper: Wrapper) -> bool:
    """Return whether `wrapper` does nothing where no message is sent, but for own rewards, and those at once."""
    return wrapper.per_pull and all(map(wrapper.ships, ("send", "deliver", "alter_own_reward")))


def _by_uniforms(wrapper: Wrapper, only_drops: bool) -> bool:
    """Return whether `wrapper` only drops reports at random, or replaces rewards at random if `only_drops` is false."""
    cls = type(wrapper)
    if wrapper.drop_prob is not None:
        return cls.alter_own_reward is Wrapper.alter_own_reward and cls.deliver is Wrapper.deliver
    ours = all(map(wrapper.ships, ("send", "deliver", "alter_own_reward")))
    return not only_drops and wrapper.operations == ("replace",) and ours


def _posts_states(env: CoopNetwork) -> bool:
    """Return whether rewards lie in [0, 1] and the only wrapper turns reports into states by a compiled rule."""
    if len(env.wrappers) != 1 or not env.law.unit_interval:
        return False
    wrapper = env.wrappers[0]
    hooks = "reset", "send", "deliver", "alter_own_reward", "published"
    return wrapper.poster is not None and all(map(wrapper.ships, hooks))


#: Attributes of `CoopNetwork` that determine a round; a subclass that changes one of them plays by phases.
_ROUND = {name for name in dir(CoopNetwork) if not name.startswith("__")} - {
    "_abc_impl", "arms_class", "logged_metrics", "metrics_spec", "agent_visible", "rl_task", "seed_fields", "task",
}  # fmt: skip
