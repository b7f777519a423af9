"""Private means in place of rewards in messages: algorithm 1 of Dubey & Pentland 2020."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np

from hushbandits.core import Field, Fields, Metric, Payload, Streams, Uniforms, World, Wrapper, require, set_rows
from hushbandits.core.guarantee import NOISED_MEAN, RESOLVED, Adjacency, Guarantee, invalid
from hushbandits.core.utils import Array, affordable, choice, divisor, lean, real
from hushbandits.envs.network.states import STATES, Posting
from hushbandits.privacy import laplace as costs
from hushbandits.privacy.laplace import laplace

_FINEST = 30  # bits behind the point of a released mean, where there is room for sums


class _Means(NamedTuple):
    n: Array  # (R, M, K)
    s: Array  # (R, M, K) exact sums
    mean: Array  # (R, M, K) v̂, as last released
    pulls: Array  # (R, M, K) n, where a mean has been released
    due: Array  # by count: whether it is a release count
    scale: Array  # by count: that of the noise
    grid: float  # v̂ is a multiple of 1/grid
    clips: bool


@lean
def _post(own, r, m, k, reward, u):
    n = int(own.n[r, m, k]) + 1
    own.n[r, m, k] = n
    own.s[r, m, k] += min(max(reward, 0.0), 1.0) if own.clips else reward
    if own.due[n]:
        mean = own.s[r, m, k] / n + laplace(u, own.scale[n])
        own.mean[r, m, k] = np.rint(mean * own.grid) / own.grid
        own.pulls[r, m, k] = n
    elif own.pulls[r, m, k]:
        own.pulls[r, m, k] = n


@lean
def _post_all(own, arms, rewards, uniforms):
    for r in range(arms.shape[0]):
        for m in range(arms.shape[1]):
            _post(own, r, m, arms[r, m], rewards[r, m], uniforms[r, m])


@lru_cache(maxsize=4)
def _schedule(epsilon: float, exponent: float, horizon: int) -> tuple[Array, Array, Array]:
    """Return by pull count whether it is a release count, the scale of its noise, and Σ ε_n and Σ ε_n² up to it."""
    due, counts = np.zeros(horizon + 1, bool), range(1, horizon + 1)
    due[costs.release_counts(epsilon, exponent, horizon)] = True
    scale = np.array([0.0, *(math.pow(n, exponent / 2 - 1) for n in counts)])
    # from the same scalar power that a run alone would take
    cost = np.array([0.0, *(math.pow(n, -exponent / 2) for n in counts)]) * due
    return due, scale, np.cumsum(np.stack([cost, cost**2], 1), 0)


class PrivateMeans(Wrapper):
    """Wrapper that replaces reports by ``⟨v̂, n⟩``, each arm's private mean and pull count (Dubey & Pentland 2020).

    The source keeps exact sums; when an arm's count n reaches a release count (`release_counts`) it publishes
    ``v̂ = s/n + Lap(n^(v/2−1))`` and carries that value on until the next release.  Before the first release
    an arm is absent (n = 0).

    **What is covered.** A release by itself is ``n^(−v/2)``-DP.  With ``own_feedback="private"`` the agents see of
    their own rewards only what they have published, so arms, counts and the times of releases are post-processing, and
    the whole message is covered.  With ``own_feedback="true"``, the paper's form, arms follow exact own rewards, and
    one changed reward may change with certainty which arm is played next (two arms, ε = 1: the third is the better of
    the first two rewards), hence which count goes up and which mean moves: nothing is promised about a run.

    Rewards are clipped to [0, 1], where their law lies in it: a sender that says more gains nothing.

    A released mean is rounded to 30 binary digits, or to fewer where the sums of many agents over a long horizon need
    the room: then sums over senders are exact, in whatever order they are taken.  Rounding is post-processing.

    Parameters
    ----------
    epsilon : float
        ε of the release schedule, > 0.
    release_exponent : float
        Exponent v ∈ (1, 1.5).
    own_feedback : str
        ``"private"``: agents see of their own rewards what they have published, ``mean`` and ``count``, in the inbox
        (``inbox.own``), and nothing else.  ``"true"``: they see their rewards.
    delta : float
        δ′ at which `metrics` compose the releases, by a closed form that is never too small, and `privacy` exactly.

    Notes
    -----
    Metrics, at every checkpoint, of one reward, the dearest: one of the agent and arm whose releases so far cost most.
    ``epsilon`` (R,), exactly ``Σ W_n^(−v/2)`` (δ′ = 0); ``epsilon_delta`` (R,), composed at δ′ (`compose_releases`);
    ``epsilon_lemma`` (R,), the paper's lemma for a neighbour (d = 1); ``agent_epsilon`` (R, M), as ``epsilon``.  All of
    them ∞ where nothing is promised about a run: rewards without a bound, or ``own_feedback="true"``.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", n_agents=4, wrappers=[PrivateMeans(epsilon=1.0)])
    >>> sorted(env.inbox_fields)
    ['count', 'mean', 'sender']
    """

    vetted = ("proof", "exact law", "audit", "dp-accounting")
    privacy_cost_metrics = ("epsilon", "epsilon_delta", "epsilon_lemma", "agent_epsilon")
    logged_metrics = ("epsilon", "epsilon_delta", "epsilon_lemma")
    metrics_spec: ClassVar[Mapping[str, Metric]] = {
        "epsilon": Metric("ε spent on one reward, at most", "amount"),
        "epsilon_delta": Metric("ε spent on one reward, at most, with δ > 0", "amount"),
        "epsilon_lemma": Metric("ε spent on one reward, by the paper's lemma", "amount"),
        "agent_epsilon": Metric("ε spent on one reward of each agent, at most", "amount"),
    }

    _stream: Uniforms

    def __init__(
        self,
        epsilon: float = 1.0,
        release_exponent: float = 1.1,
        own_feedback: str = "private",
        delta: float = math.exp(-10),
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon)
        self.release_exponent = real("release_exponent", release_exponent, 1, 1.5)
        self.own_feedback = choice("own_feedback", own_feedback, ("true", "private"))
        self.delta = real("delta", delta, 0, 1)

    def message_fields(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("arm", "reward"), fields)
        kept = {k: f for k, f in fields.items() if k not in ("arm", "reward")}
        return {**kept, **dict.fromkeys(STATES, Field((env.n_arms,), latest=True))}

    def own_reward_field(self, fields: Fields, env: World) -> Fields:
        if self.own_feedback == "true":
            return fields
        kept = {k: f for k, f in fields.items() if k != "reward"}
        return {**kept, **dict.fromkeys(STATES, Field((env.n_arms,)))}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        set_rows(self, rows, _stream=rng.reader((env.n_agents,)))
        if rows is None:
            n, s, mean, pulls = np.zeros((4, len(rng), env.n_agents, env.n_arms))
            horizon = int(env.horizon)
            affordable(f"horizon={horizon} of {self.name}", 100.0 * horizon)
            due, scale, self._spent = _schedule(self.epsilon, self.release_exponent, horizon)
            # Σ n v̂ over all agents: rewards and, at the 2^-53 that a uniform can be, 37 scales of noise
            most = env.n_agents * (horizon + 37.0 * math.pow(horizon, self.release_exponent / 2))
            bits = min(_FINEST, 52 - math.frexp(most)[1])
            self._own = _Means(n, s, mean, pulls, due, scale, 2.0**bits, env.law.unit_interval)
        else:
            for by_run in self._own[:4]:
                by_run[rows] = 0.0

    def send(self, message: Payload, env: World) -> Payload:
        """Count each agent's pull, and release a private mean if the arm's count is a release count (algorithm 1)."""
        # one uniform per agent and round, released or not: the random stream never shifts
        _post_all(self._own, message["arm"], message["reward"], self._stream.next())
        kept = {name: value for name, value in message.items() if name not in ("arm", "reward")}
        return Payload(kept, mean=self._own.mean, count=self._own.pulls)

    @property
    def poster(self) -> Callable[..., None]:
        return _post

    def posting(self, rounds: int) -> Posting:
        return Posting(self._own, self._stream.rows(rounds), self.own_feedback == "private")

    def published(self, env: World) -> dict[str, Array]:
        return {} if self.own_feedback == "true" else {"mean": self._own.mean, "count": self._own.pulls}

    def metrics(self, env: World) -> dict[str, Array]:
        spent = self._spent[self._own.n.astype(np.int64)].max(2)
        pure, squares = spent[..., 0].max(1), spent[..., 1].max(1)
        rounds = np.maximum(env.t - 1, 0)
        return {
            "epsilon": pure,
            "epsilon_delta": costs.compose_releases(pure, squares, self.delta),
            "epsilon_lemma": costs.lemma(self.epsilon, self.release_exponent, rounds, self.delta),
            "agent_epsilon": spent[..., 0],
        }

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        counts = costs.release_counts(self.epsilon, self.release_exponent, int(env.horizon)).astype(float)
        each = counts ** (-self.release_exponent / 2)
        pure = float(each.sum())
        exact = partial(costs.composed_releases, self.epsilon, self.release_exponent, int(env.horizon))
        noise = f"Laplace(n^({self.release_exponent / 2 - 1:g})) on a mean of n rewards"
        text, inputs = f"{noise}, released at {len(counts)} counts", "one reward of one agent on one arm replaced"
        view = "any receiver: all messages, counts included"
        source = "Dubey & Pentland 2020, algorithm 1 and lemma 3.4; a release is n^(−v/2)-DP"
        whole = Guarantee(text, pure, 0.0, Adjacency(inputs, "reward"), view, NOISED_MEAN, source, exact=exact)
        whole = replace(whole, vetted=self.vetted)
        if self.own_feedback == "true":
            view = "a receiver of one released mean by itself, its arm and time taken as given"
            first = float(each[0]) if len(each) else 0.0
            alone = replace(whole, mechanism=noise, epsilon=first, view=view, single_release=True, exact=None)
            return invalid(whole, "arms and counts follow exact own rewards"), alone
        strong = exact(1, max(self.delta, RESOLVED))
        return (whole, replace(whole, epsilon=strong, delta=self.delta)) if strong < pure else (whole,)
