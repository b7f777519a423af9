"""Howson, Filippi & Pike-Burke 2024, "QuACK: A Multipurpose Queuing Algorithm for Cooperative k-Armed Bandits".

One leader runs a single-agent algorithm π on all agents' rewards, which wait in a queue per arm.  The followers repeat
the leader's arms as its instructions reach them.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from hushbandits.agents.policy_team import PolicyTeam, Turned
from hushbandits.core import LONGEST, Array, Inbox, Metric, Requirements, Streams, World, choice, flag, integer, lean
from hushbandits.core.messages import Observation
from hushbandits.core.utils import Message
from hushbandits.core.utils.jit import inlined
from hushbandits.envs.network.graphs import graph_median, shortest_path_tree
from hushbandits.envs.network.rules import Rules
from hushbandits.policies.policy import tried
from hushbandits.policies.registry import AnyPolicy

#: Rounds whose guesses are drawn at once.
_BLOCK = 16


class _Queues(NamedTuple):
    leader: Array  # (R,)
    chosen: Array  # (R,) the leader's arm
    arm: Array  # (R, M) last instructions
    informed: Array  # (R, M) who has received one
    queue: Array  # (R, K, depth)
    head: Array  # (R, K)
    size: Array  # (R, K)
    lag: Array  # (G, M, M) `Slots.lag`
    guesses: Array  # (_BLOCK, R, M) arms of a block of rounds for agents without an instruction
    pi: NamedTuple  # the policy's state, a learner per run


@inlined
def _append(k, x, r, queue, head, size):
    at = head[r, k] + size[r, k]
    queue[r, k, np.uint64(at - queue.shape[2] if at >= queue.shape[2] else at)] = x
    size[r, k] += 1


@inlined
def _take(k, r, queue, head, size):
    at = head[r, k]
    head[r, k] = at + 1 if at + 1 < queue.shape[2] else 0
    size[r, k] -= 1
    return queue[r, k, at]


@lean
def _enqueue(arm, reward, arrived, queue, head, size):
    runs, slots = arm.shape
    for r in range(runs):
        for i in range(slots):
            if arrived[r, i]:
                _append(arm[r, i], reward[r, i], r, queue, head, size)


@lean
def _hear(own, r, mail, t):
    g, v, depth = r % own.lag.shape[0], own.leader[r], mail.sent.shape[0]
    (arm, reward), sent, after, told = mail.values, mail.sent[:, r], t % depth + 1, own.arm[r]
    arm, reward, lags, delay, sender = arm[:, r], reward[:, r], own.lag[g, v], mail.delay[g, v], mail.sender[g, v]
    own.informed[r, v] = True
    for w in range(lags.size):
        lag = lags[w]
        i = after - lag if lag <= after else after - lag + depth  # in place of a remainder
        if 0 < lag <= t and sent[i, v]:
            told[w], own.informed[r, w] = arm[i, v], True
    for s in range(mail.degree[g, v]):
        lag, u = delay[s], np.uint64(sender[s])  # unsigned: Numba then checks no sign
        at = np.uint64(after - lag if lag <= after else after - lag + depth)
        if lag <= t and sent[at, u]:
            _append(arm[at, u], reward[at, u], r, own.queue, own.head, own.size)


def _around(choose: Callable[..., int], update: Callable[..., None], turned: Turned) -> Rules:

    @turned
    def act(own, t, r, arms):
        k = choose(own.pi, r)
        while own.size[r, k] > 0:  # π is fed from the queue until it asks for an arm whose queue is empty
            update(own.pi, r, k, _take(k, r, own.queue, own.head, own.size))
            k = choose(own.pi, r)
        for w in range(arms.shape[1]):
            if not own.informed[r, w]:
                arms[r, w] = own.guesses[(t - 1) % _BLOCK, r, w]
        own.chosen[r] = arms[r, own.leader[r]] = k

    @turned
    def learn(own, r, arms, rewards):
        update(own.pi, r, own.chosen[r], rewards[r, own.leader[r]])

    return Rules(act, learn, _hear)


def search_messages(adjacency: Array, distance: Array) -> int:
    """Return the number of messages in the distributed search for the graph median (appendix A).

    All sources are searched at once, while the paper takes one after the other: 3M rounds instead of about 2M².  In
    M − 1 rounds of Bellman–Ford every agent informs all neighbours, and then each parent.  For M rounds an agent's
    knowledge goes to its parents.  For M rounds it sends its neighbours the least (cost, name) that it knows.
    """
    linked = np.zeros_like(adjacency)  # w and its parents: of the neighbours one hop nearer to a source, the lowest
    for hops in distance:
        others = np.flatnonzero(hops)
        nearer = adjacency & (hops[:, None] == hops + 1)
        linked[others, nearer[others].argmax(1)] = True
    agents = len(adjacency)
    return int(linked.sum() * (agents + 1) + adjacency.sum() * (2 * agents - 1))


class QuACK(PolicyTeam):
    """QuACK around any single-agent policy π (Howson et al. 2024, algorithm 1).

    The leader v appends every reward that arrives to its arm's queue Q_a.  In round t it asks π for an arm a;
    while Q_a is not empty, π takes a reward from it and is asked again; then v plays a, and π takes its own
    reward.  A follower w plays ``A^v_{t−d}`` once t > d = d(v, w), a uniform arm before that; where messages get
    lost, it plays the last instruction that reached it.
    π plays Mn times over a horizon of n rounds, and its time counts its own updates: QuACK-UCB has ``δ = 1/(Mn)²``.

    All agents' default messages flood the graph, so γ must cover the distance from the leader to every agent.

    Parameters
    ----------
    policy : str, class or Policy
        π, as in `PolicyTeam`.
    leader : int or str
        An agent, or ``"median"``: the graph median, ``argmin_v Σ_w d(v, w)``.
    routing : str
        ``"flood"``, or ``"tree"``: instructions go down a shortest-path tree from the leader, reports go up (section
        3.1).  Its metric ``messages_most`` counts the busiest agent's messages in a round; all reports that it passes
        on count as one.
    elect_leader : bool
        Whether the run begins with a search for the leader, the graph median, and for the paths to it (appendix A):
        3M rounds of uniform play without reports.  The metrics ``setup_rounds`` and ``setup_messages`` count its cost.

    Raises
    ------
    ValueError
        γ is smaller than the distance from the leader to some agent.
    """

    required_inbox = ("sender", "arm", "reward")
    around = staticmethod(_around)
    rules = PolicyTeam.rules  # repeated, because the phases below follow these rules
    metrics_spec: Mapping[str, Metric] = {
        "setup_rounds": Metric("rounds before the leader is known", "count"),
        "setup_messages": Metric("messages of the search for the leader", "count"),
        "messages_most": Metric("messages that the busiest agent sends in a round", "count"),
    }

    def __init__(
        self,
        policy: AnyPolicy = "UCB",
        leader: int | str | None = "median",
        routing: str = "flood",
        elect_leader: bool = False,
        **params: object,
    ):
        super().__init__(policy, **params)
        if isinstance(leader, str) and leader != "median":
            raise ValueError(f"leader={leader!r} must be 'median' or the number of an agent")
        self.leader = None if leader in (None, "median") else integer("leader", leader, 0)
        self.routing = choice("routing", routing, ("flood", "tree"))
        self.elect_leader = flag("elect_leader", elect_leader)
        if self.elect_leader and self.leader is not None:
            raise ValueError(f"leader={leader!r} must be left out with elect_leader=True")

    @property
    def name(self) -> str:
        return f"QuACK-{self.policy.name}"

    def requirements(self, settings: dict[str, object]) -> Requirements:
        tree = {"routing": "tree", "root": "median" if self.leader is None else self.leader}
        return Requirements(env={**super().requirements(settings).env, **(tree if self.routing == "tree" else {})})

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if leader, horizon or π does not suit the env; only `reset` checks random graphs."""
        if self.leader is not None and self.leader >= env.n_agents:
            raise ValueError(f"leader={self.leader} must be an agent: 0..{env.n_agents - 1}")
        if self.elect_leader and (pause := 3 * env.n_agents) >= env.horizon:
            raise ValueError(f"horizon={env.horizon} is too short: electing a leader takes 3·n_agents = {pause} rounds")
        tried(self.policy, env, env.n_agents * env.horizon, heard=True)
        if hasattr(env, "slots"):
            self._leaders(env)

    def _leaders(self, env: World) -> Array:
        distance: Array = env.distance
        leaders: Array = graph_median(distance) if self.leader is None else np.full(len(distance), self.leader)
        if env.routing == "tree" and (leaders != env.root).any():
            raise ValueError(f"leader={leaders[0]} must be the root of the tree, {env.root[0]}, unless routing='flood'")
        reach = distance[np.arange(len(distance)), leaders].max(1)
        max_hops: Array = env.slots.max_hops
        if (max_hops < reach).any():
            raise ValueError(f"max_hops={max_hops.min()} is too small: an agent is {reach.max()} hops from the leader")
        return leaders

    def begin(self, env: World, rng: Streams) -> _Queues:
        runs, agents, n_arms = len(rng), env.n_agents, env.n_arms
        leaders = self._leaders(env)
        graph = np.arange(runs) % len(leaders)
        self._pause, self._looks = 3 * agents if self.elect_leader else 0, False
        if self.elect_leader:
            self._paid = np.array(list(map(search_messages, env.adjacency, env.distance)))[graph]
        self._rngs = rng.generators()
        self._slots: int = env.slots.sender.shape[2]
        depth = max(16 * agents, 1024, min(100 * agents, 2**19 // (runs * n_arms)))  # longer blocks for few runs
        return _Queues(
            leader=leaders[graph], chosen=np.zeros(runs, np.int64), arm=self._arm,
            informed=np.zeros((runs, agents), bool), queue=np.zeros((runs, n_arms, depth)),
            head=np.zeros((runs, n_arms), np.int64), size=np.zeros((runs, n_arms), np.int64), lag=env.slots.lag,
            guesses=np.zeros((_BLOCK, runs, agents), np.int64), pi=self.learners(env, rng, 1, agents * env.horizon),
        )  # fmt: skip

    def metrics(self, env: World) -> dict[str, Array]:
        found: dict[str, Array] = {}
        if self.elect_leader:
            found |= {"setup_rounds": np.full(len(self._paid), self._pause), "setup_messages": self._paid}
        if env.routing == "tree":
            trees = map(shortest_path_tree, env.adjacency, env.distance, env.root)
            # an instruction to every child and one message to the parent: the agent's degree
            most = np.array([tree.sum(1).max() for tree in trees])
            found["messages_most"] = most[np.arange(len(self.state.leader)) % len(most)]
        return found

    def act(self, obs: Observation) -> Array:
        """Return π's arm for leaders, the last instruction for followers, and a uniform arm for agents with neither."""
        t = int(obs.t[0])
        self._guess(t)
        self._looks = t < self._pause
        if self._looks:
            self._arm[:] = self.state.guesses[t % _BLOCK]
        return self._arm if self._looks else super().act(obs)

    def _guess(self, t: int) -> None:
        """Draw the arms of a block that begins in round t, while agents lack an instruction."""
        if t % _BLOCK == 0 and not self.state.informed.all():
            for r, rng in enumerate(self._rngs):
                self.state.guesses[:, r] = rng.integers(self._n_arms, size=(_BLOCK, self._arm.shape[1]))

    def compose(self, reward: Array) -> Message | None:
        if self._looks:
            return {"arm": self._arm, "reward": reward, "sent": np.zeros(reward.shape, bool)}
        return super().compose(reward)

    def receive(self, inbox: Inbox) -> None:
        if self._looks:
            return
        own = self.state
        instruction, informed = inbox.of(own.leader, "arm")
        np.copyto(self._arm, instruction, where=informed)
        own.informed[:] |= informed
        own.informed[np.arange(len(informed)), own.leader] = True
        arm, arrived = inbox.at(own.leader, "arm")
        reward, _ = inbox.at(own.leader, "reward")
        depth, slots = own.queue.shape[2], arm.shape[1]
        if own.size.max() + slots > depth:  # longer queues, in each of which the oldest reward comes first
            order = (own.head[:, :, None] + np.arange(depth)) % depth
            queue = np.zeros((*own.queue.shape[:2], 2 * depth + slots))
            queue[:, :, :depth] = np.take_along_axis(own.queue, order, 2)
            self.state = own = own._replace(queue=queue, head=np.zeros_like(own.head))
        _enqueue(arm, reward, arrived, own.queue, own.head, own.size)

    def ahead(self) -> int:
        """Return how many rounds compiled code may play: 0 if π is user-defined or the leader is not known yet."""
        rounds = int(self.state.queue.shape[2] - self.state.size.max()) // self._slots if self._slots else LONGEST
        if rounds == 0 or self._t < self._pause or not self._ships:
            return 0
        self._guess(self._t)
        return rounds if self.state.informed.all() else min(rounds, _BLOCK - self._t % _BLOCK)
