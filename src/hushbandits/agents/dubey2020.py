"""Dubey & Pentland 2020, "Private and Byzantine-Proof Cooperative Decision-Making" (AAMAS).

`Private-UCB` is algorithm 2, `Byzantine-UCB` algorithm 3.  This module has the decision rules.  The wrapper
`PrivateMeans` adds the noise of algorithm 1, and `Huber` the contamination.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, Guarantee, Inbox, Requirements, Streams, World, choice, divisor, lean, real
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.envs.network.rules import Rules, nothing
from hushbandits.estimators.robust import Estimator, make_estimator
from hushbandits.estimators.running import Rules as SampleRules
from hushbandits.estimators.running import follow, kind, values_kept
from hushbandits.policies.policy import argmax

_ROOM = 1 << 20  # values, about 8 MB: of samples kept, and of those that fit before a block of rounds begins


class _Private(NamedTuple):
    n: Array  # (R, M, K) N_k
    s: Array  # (R, M, K)
    own_n: Array  # (R, M, K) n_k, exact
    own_s: Array  # (R, M, K) s_k
    bound: Array  # (M, K) buffer for one run's
    warm_up: int


@lean
def _act(own, t, r, arms):
    """Choose arms round-robin, then by the largest index (algorithm 2, lines 3–10)."""
    _, agents, n_arms = own.n.shape
    if t <= own.warm_up:
        arms[r] = (t - 1) % n_arms
        return
    level, index = 2.0 * math.log(t), own.bound.reshape(own.bound.size)
    n, s = own.n[r].reshape(index.size), own.s[r].reshape(index.size)
    for i in range(index.size):  # a loop of its own: several arms at once
        x = s[i] / n[i] + math.sqrt(level / n[i])
        index[i] = x if n[i] != 0.0 else math.inf
    for m in range(agents):
        arms[r, m] = argmax(own.bound, m)


@lean
def _learn(own, r, arms, rewards):
    for m in range(arms.shape[1]):
        own.own_n[r, m, arms[r, m]] += 1.0
        own.own_s[r, m, arms[r, m]] += rewards[r, m]


@lean
def _hear(own, r, heard, t):
    """Add each sender's latest released mean, times its count, to the agent's own sums (algorithm 1, lines 22–33)."""
    n, s, own_n, own_s = own.n[r], own.s[r], own.own_n[r], own.own_s[r]
    for m in range(n.shape[0]):
        for k in range(n.shape[1]):
            n[m, k] = own_n[m, k] + heard[m, k, 0]
            s[m, k] = own_s[m, k] + heard[m, k, 1]


_EXACT = Rules(_act, _learn, _hear, "states")
_NOISED = _EXACT._replace(learn=nothing)


class PrivateUCB(NetworkTeam):
    """Private Multi-Agent UCB (Dubey & Pentland 2020, algorithms 1 and 2).

    First ``K⌈1/ε⌉`` rounds round-robin; then ``argmax_k μ̃_k + √(2 ln t / N_k)`` with
    ``N_k = n_k + Σ n′_k`` and ``μ̃_k = (s_k + Σ n′_k v̂′_k)/N_k`` over the latest message of each origin within γ.
    In the paper own sums are exact, and the messages' means are private.  Then no guarantee covers a run, because the
    published counts depend on exact rewards (`PrivateMeans`); this is the id ``Private-UCB-exact``.  With
    ``own_feedback="private"``, the id ``Private-UCB``, the agent's published values replace n_k and s_k, and the
    guarantee covers the whole message.  This algorithm differs from the paper's, and may have less than half of its
    regret.

    Parameters
    ----------
    epsilon : float
        ε of the release schedule of the private means.
    release_exponent : float
        Exponent v ∈ (1, 1.5) of the release schedule and of the noise.
    own_feedback : str
        ``"private"``, or ``"true"`` (the paper's).
    """

    required_inbox = ("mean", "count")

    def __init__(self, epsilon: float = 1.0, release_exponent: float = 1.1, own_feedback: str = "private"):
        self.epsilon = divisor("epsilon", epsilon)
        self.release_exponent = real("release_exponent", release_exponent, 1, 1.5)
        self.own_feedback = choice("own_feedback", own_feedback, ("true", "private"))
        self.required_own_reward = ("reward",) if self.own_feedback == "true" else ("mean", "count")

    def requirements(self, settings: dict[str, object]) -> Requirements:
        given = {"epsilon": self.epsilon, "release_exponent": self.release_exponent, "own_feedback": self.own_feedback}
        return Requirements(wrappers=(("PrivateMeans", given),))

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The compiled rules; they use the agents' exact rewards only if `own_feedback` is ``"true"``."""
        return _EXACT if self.own_feedback == "true" else _NOISED

    def begin(self, env: World, rng: Streams) -> _Private:
        warm_up = env.n_arms * math.ceil(1 / self.epsilon)  # alg. 2, line 3
        n, s, own_n, own_s = np.zeros((4, len(rng), env.n_agents, env.n_arms))
        return _Private(n, s, own_n, own_s, np.zeros(n.shape[1:]), warm_up)


class _Robust(NamedTuple):
    samples: NamedTuple  # `Samples.state`
    n: Array  # (R, M, K) |S_k|
    mean: Array  # (R, M, K) μ̂_R
    own_arm: Array  # (R, M) of the round, until the arrivals are added
    own_reward: Array
    values: Array  # (K, 1 + slots) buffer for one agent's values of a round, by arm
    counts: Array  # (K,)
    sigma: float
    epsilon: float


@lru_cache
def _byzantine(of: SampleRules) -> Rules:
    take, estimate = of

    @lean
    def act(own, t, r, arms):
        _, agents, n_arms = own.mean.shape
        if t <= n_arms:
            arms[r] = t - 1
            return
        log_inverse_delta = 2.0 * math.log(t)  # δ = 1/t²
        estimate(own.samples, r, log_inverse_delta, own.mean, own.n)
        bias = own.sigma * math.sqrt(own.epsilon)
        for m in range(agents):
            best, top = 0, -math.inf
            for k in range(n_arms):
                n, index = own.n[r, m, k], math.inf  # an arm never seen comes first
                if n:  # μ̂_k + σ√ϵ + σ√(ln(1/δ)/|S_k|)
                    index = own.mean[r, m, k] + (bias + own.sigma * math.sqrt(log_inverse_delta / n))
                if index > top:
                    best, top = k, index
            arms[r, m] = best

    @lean
    def learn(own, r, arms, rewards):
        for m in range(arms.shape[1]):
            own.own_arm[r, m], own.own_reward[r, m] = arms[r, m], rewards[r, m]

    @lean
    def hear(own, r, mail, posted):
        arm, reward = mail.values
        depth, _, agents = mail.sent.shape
        g, values, counts, far = r % mail.sender.shape[0], own.values, own.counts, min(depth, posted)
        for m in range(agents):
            sender, shell, i = mail.sender[g, m], mail.shell[g, m], posted % depth
            counts[:] = 0
            values[own.own_arm[r, m], 0], counts[own.own_arm[r, m]] = own.own_reward[r, m], 1
            for d in range(min(far, shell.size - 1)):  # reports of round `posted` − d
                pulled, paid, sent = arm[i, r], reward[i, r], mail.sent[i, r]
                for s in range(shell[d], shell[d + 1]):
                    w = np.uint64(sender[s])  # unsigned: Numba then checks no sign
                    k = np.uint64(pulled[w])
                    values[k, np.uint64(counts[k])] = paid[w]
                    counts[k] += sent[w]
                i = i - 1 if i > 0 else depth - 1
            take(own.samples, r, m, values, counts)

    return Rules(act, learn, hear)


class ByzantineUCB(NetworkTeam):
    """Byzantine-Proof Multi-Agent UCB (Dubey & Pentland 2020, algorithm 3).

    After one pull of each arm, ``argmax_k μ̂_R(S_k, δ) + σ√ϵ + σ√(ln(1/δ)/|S_k|)`` with ``δ = 1/t²``.  S_k holds the
    agent's own rewards of arm k, always clean, and those of every report that reached it.  All senders are treated as
    possibly byzantine.  μ̂_R is the trimmed mean of Prasad et al., or any other estimator.  Within a round the own
    reward comes first, then reports in the order of their slots (nearest sender first).

    Parameters
    ----------
    epsilon : float
        Expected contamination ϵ, in [0, ½).
    sigma : float
        σ, outside the root (theorem 4.1 prints it inside); ½ for rewards in [0, 1].
    mean : str or Estimator
        ``"trimmed"``, ``"lugosi-mendelson"``, ``"mean"`` (plain: much of the gain over UCB1 is the smaller radius),
        ``"median-of-means"``, ``"catoni"``, ``"truncated"``; or an estimator with parameters of its own.

    Notes
    -----
    Cost per round and agent: O(arrivals) plus, for the trimmed means, the tails of the samples
    (`hushbandits.estimators.running`); median of means, Catoni and truncated mean read all samples held.
    """

    required_inbox = ("arm", "reward")

    def __init__(self, epsilon: float = 1e-3, sigma: float = 0.5, mean: str | Estimator = "trimmed"):
        self.epsilon = real("epsilon", epsilon, 0, 0.5, closed="low")
        self.sigma = real("sigma", sigma, 0)
        self.mean = make_estimator(mean, self.epsilon)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """Return no guarantees, because the agent's ε is a share of false reports, not a privacy parameter."""
        return ()

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The compiled rules of algorithm 3 with the agent's estimator."""
        return _byzantine(kind(self.mean).rules)

    def runs_at_once(self, env: World) -> int | None:
        """Return the number of runs whose samples fit in about 8 MB."""
        most, log_inverse_delta = env.n_agents * int(env.horizon), 2 * math.log(max(2, env.horizon))
        values = values_kept(self.mean, most, log_inverse_delta)
        return max(1, _ROOM // (env.n_agents * env.n_arms * values))

    def begin(self, env: World, rng: Streams) -> _Robust:
        """Return the initial state of all agents, without samples."""
        shape = (len(rng), env.n_agents, env.n_arms)
        values = env.slots.degree[np.arange(shape[0]) % len(env.slots.degree)] + 1  # (R, M) of a round, at most
        each, horizon = int(values.max()), int(env.horizon)
        self._samples = follow(self.mean, shape, values * horizon, 2 * math.log(max(2, horizon)))
        self._ahead = max(2, _ROOM // (math.prod(shape) * each))
        self._room = self._ahead * each
        own = np.zeros(shape[:2], np.int64), np.zeros(shape[:2])
        room = np.empty((shape[2], each)), np.empty(shape[2], np.int64)
        return _Robust(self._samples.state, np.zeros(shape), np.zeros(shape), *own, *room, self.sigma, self.epsilon)

    def ahead(self) -> int:
        """Enlarge the sample buffers, and return the number of rounds that fit in them."""
        self._samples.reserve(self._room)
        self.state = self.state._replace(samples=self._samples.state)
        return self._ahead

    def receive(self, inbox: Inbox) -> None:
        """Add each agent's own reward and the received rewards to its samples (lines 14–28)."""
        own = self.state.own_arm[..., None], self.state.own_reward[..., None]
        arm, reward = (np.concatenate([x, inbox[name]], 2) for x, name in zip(own, ("arm", "reward"), strict=True))
        self._samples.add(arm, reward, np.concatenate([np.ones((*arm.shape[:2], 1), bool), inbox.arrived], 2))
        self.state = self.state._replace(samples=self._samples.state)
