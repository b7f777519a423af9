"""Dubey & Pentland 2020, "Cooperative Multi-Agent Bandits with Heavy Tails" (ICML): CMP-UCB."""

from functools import lru_cache
from typing import NamedTuple

import networkx as nx
import numpy as np

from hushbandits.core import Array, Inbox, Observation, Requirements, Streams, World, choice, integer, jit
from hushbandits.envs.network import graphs
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.envs.network.rules import Rules
from hushbandits.policies.heavy import TruncatedUCB
from hushbandits.policies.policy import started, tried

#: How leaders are chosen, and the agents up to which the search for a largest set takes seconds.
PARTITIONS, LARGEST = ("largest", "greedy"), 64


def partition(distance: Array, max_hops: int, how: str = "largest") -> tuple[Array, Array]:
    """Return the leaders, in ascending order, and for each agent the position of its leader in this array.

    The leaders are an independent set of 𝒢_γ to which nobody can be added; everyone else has one within γ hops, and
    follows the nearest, the lowest index on ties.

    ``"largest"``: as many as there can be.  Howson et al. 2024 choose them "such that they form the maximal weighted
    independent set", whose size, α(𝒢_γ), stands before the logarithm of CMP-UCB's bound (appendix C.2); they state no
    weights, so all agents weigh the same.  Of several largest sets it is the one with the largest γ-neighbourhoods in
    sum, whose leaders hear most, and then the first in order of names.  Of more than 64
    agents it is refused (``ValueError``): the search may take exponentially long.

    ``"greedy"``: the agent with most γ-neighbours among those left, lowest index on ties.  It may be smaller: at γ = 2
    a grid of 16 has four leaders and three here.

    Examples
    --------
    >>> from hushbandits.envs.network.graphs import adjacency, hop_distances
    >>> for how in ("largest", "greedy"):
    ...     leaders, follows = partition(hop_distances(adjacency("path", 5)), 1, how)
    ...     print(leaders.tolist(), follows.tolist())
    [0, 2, 4] [0, 0, 1, 1, 2]
    [1, 3] [0, 0, 0, 1, 1]
    """
    if how == "largest" and len(distance) > LARGEST:
        raise ValueError(f"partition='largest' takes up to {LARGEST} agents, not {len(distance)}: use 'greedy'")
    near = graphs.power_graph(distance, max_hops)
    chosen = graphs.independent_set if how == "greedy" else graphs.largest_independent_set
    leaders = np.sort(chosen(near, near.sum(1)))
    return leaders, distance[:, leaders].argmin(1)


@lru_cache(maxsize=64)
def _leaders(graph: str | nx.Graph, n_agents: int, how: str) -> dict[int, int]:
    distance = graphs.hop_distances(graphs.adjacency(graph, n_agents))
    return {max_hops: len(partition(distance, max_hops, how)[0]) for max_hops in range(1, int(distance.max()) + 1)}


def max_hops_of(graph: str | nx.Graph, n_agents: int, leaders: int, how: str = "largest") -> int:
    """Return the γ whose number of leaders is nearest to `leaders`; ties go to fewer leaders, then to the largest γ.

    The larger γ, the more a leader hears.

    Examples
    --------
    >>> [max_hops_of("cycle", 16, leaders) for leaders in (1, 2, 4)]  # of γ = 3 … 8: 4, 3, 2, 2, 2, 1
    [8, 7, 3]
    """
    counts = _leaders(graph, n_agents, how)
    return max(counts, key=lambda max_hops: (-abs(counts[max_hops] - leaders), -counts[max_hops], max_hops), default=1)


class _Leaders(NamedTuple):
    leader: Array  # (R, n) −1: none
    follows: Array  # (R, M) the leader's agent
    arm: Array  # (R, M) last instructions
    lag: Array  # (G, M, M) `Slots.lag`
    pi: NamedTuple  # learner r·n + i


_choose, _take = TruncatedUCB.choose, TruncatedUCB.take


@jit
def _act(own, t, r, arms):
    most = own.leader.shape[1]
    for i in range(most):
        v = own.leader[r, i]
        if v >= 0:
            own.pi.t[r * most + i] = t - 1  # its clock: rounds, however many rewards have arrived
            arms[r, v] = _choose(own.pi, r * most + i)


@jit
def _learn(own, r, arms, rewards):
    most = own.leader.shape[1]
    for i in range(most):
        v = own.leader[r, i]
        if v >= 0:
            _take(own.pi, r * most + i, arms[r, v], rewards[r, v])


@jit
def _hear(own, r, mail, t):
    g, depth, most = r % own.lag.shape[0], mail.sent.shape[0], own.leader.shape[1]
    arm, reward = mail.values
    for m in range(own.lag.shape[1]):
        v = own.follows[r, m]
        lag = own.lag[g, v, m]
        i = (t - lag + 1) % depth
        if 0 < lag <= t and mail.sent[i, r, v]:
            own.arm[r, m] = arm[i, r, v]
    for j in range(most):
        v = own.leader[r, j]
        if v < 0:
            continue
        for s in range(mail.degree[g, v]):
            lag, w = mail.delay[g, v, s], mail.sender[g, v, s]
            i = (t - lag + 1) % depth
            if lag <= t and mail.sent[i, r, w]:
                _take(own.pi, r * most + j, arm[i, r, w], reward[i, r, w])


@jit
def _take_all(pi, row, step, arm, reward, arrived):
    for r in range(arm.shape[0]):
        for s in range(arm.shape[1]):
            if arrived[r, s]:
                _take(pi, r * step + row, arm[r, s], reward[r, s])


class CMPUCB(NetworkTeam):
    """CMP-UCB: several leaders run robust UCB on the rewards that reach them; followers repeat their leader's arms.

    A leader takes in every reward of its γ-neighbourhood as it arrives; a follower plays the last arm that reached it
    from its leader, a uniform one before.  γ is the env's `max_hops`, or chosen for a number of leaders.

    In round t the index is ``μ̂ + 4u^(1/(1+e)) (ln t²/N)^(e/(1+e))``, N counting all rewards of the arm that have
    arrived: t are rounds, where QuACK's leader counts every reward that it feeds to its policy (Howson et al. 2024,
    appendix C.2: ln n against ln mn).

    Parameters
    ----------
    moment, excess : float
        u and e of the truncated mean (`hushbandits.policies.heavy.TruncatedUCB`).
    leaders : int, optional
        How many leaders γ is chosen for (`max_hops_of`), on a graph that is fixed; default: γ is given.
    gamma : int, optional
        γ, instead of the env's `max_hops`.
    partition : str
        Who leads: ``"largest"``, a largest independent set of 𝒢_γ, among up to 64 agents; ``"greedy"``, any number.
    """

    required_inbox = ("sender", "arm", "reward")
    rules = Rules(_act, _learn, _hear)

    def __init__(
        self, moment: float = 1.0, excess: float = 1.0, leaders: int | None = None, partition: str = "largest",
        gamma: int | None = None,
    ):  # fmt: skip
        self.policy = TruncatedUCB(moment, excess)
        self.partition = choice("partition", partition, PARTITIONS)
        self.leaders = None if leaders is None else integer("leaders", leaders, 1)
        self.gamma = None if gamma is None else integer("gamma", gamma, 1)
        if self.leaders is not None and self.gamma is not None:
            raise ValueError(f"leaders={leaders} and gamma={gamma} exclude each other, because leaders= chooses γ")

    @property
    def name(self) -> str:
        return "CMP-UCB" if self.leaders is None else "CMP-UCB-leaders"

    def requirements(self, settings: dict[str, object]) -> Requirements:
        if self.leaders is None:
            return Requirements() if self.gamma is None else Requirements(env={"max_hops": self.gamma})
        graph, agents = settings.get("graph", "cycle"), integer("n_agents", settings.get("n_agents", 16), 1)
        if isinstance(graph, str) and graph == "erdos-renyi":
            raise ValueError(f"leaders={self.leaders} needs a fixed graph, not graph='erdos-renyi'; give gamma=")
        return Requirements(env={"max_hops": max_hops_of(graph, agents, self.leaders, self.partition)})

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if no valid leaders exist or robust UCB cannot start; `reset` checks random graphs."""
        if hasattr(env, "slots"):
            self._partitions(env)
        tried(self.policy, env, env.n_agents * env.horizon, heard=True)

    def _partitions(self, env: World) -> list[tuple[Array, Array]]:
        reaches: Array = env.slots.max_hops
        found = [partition(d, int(reaches[g % len(reaches)]), self.partition) for g, d in enumerate(env.distance)]
        if env.routing == "tree" and any(leaders.tolist() != [env.root[g]] for g, (leaders, _) in enumerate(found)):
            raise ValueError("routing='tree' needs the root as the only leader of CMP-UCB: use routing='flood'")
        return found

    def begin(self, env: World, rng: Streams) -> _Leaders:
        runs, agents = len(rng), env.n_agents
        found = self._partitions(env)
        most = max(len(leaders) for leaders, _ in found)
        leader, follows = np.full((runs, most), -1), np.zeros((runs, agents), np.int64)
        for r in range(runs):
            leaders, whom = found[r % len(found)]
            leader[r, : len(leaders)] = leaders
            follows[r] = leaders[whom]
        self._informed = follows == np.arange(agents)
        self._rngs = rng.generators()
        pi = started(self.policy, env, runs * most, agents * env.horizon)
        return _Leaders(leader, follows, self._arm, env.slots.lag, pi)

    def act(self, obs: Observation) -> Array:
        if not self._informed.all():
            guesses = [rng.integers(self._n_arms, size=self._arm.shape[1]) for rng in self._rngs]
            np.copyto(self._arm, guesses, where=~self._informed)
        return super().act(obs)

    def receive(self, inbox: Inbox) -> None:
        own = self.state
        for i, leader in enumerate(own.leader.T):
            there = leader >= 0
            v = np.where(there, leader, 0)
            instruction, informed = inbox.of(v, "arm")
            informed = informed & there[:, None] & (own.follows == v[:, None])
            np.copyto(self._arm, instruction, where=informed)
            self._informed |= informed
            arm, arrived = inbox.at(v, "arm")
            reward, _ = inbox.at(v, "reward")
            _take_all(own.pi, i, own.leader.shape[1], arm, reward, arrived & there[:, None])

    def ahead(self) -> int:
        return super().ahead() if self._informed.all() else 0
