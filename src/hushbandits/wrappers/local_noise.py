"""Noise at each agent: on what it reports, in place of its rewards, or on the means that it publishes.

A reward gets Laplace noise or becomes a coin; private means are algorithm 1 of Dubey & Pentland 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np

from hushbandits.core import (
    Field,
    Fields,
    Measure,
    Payload,
    PointNoise,
    Streams,
    Uniforms,
    World,
    Wrapper,
    require,
    set_rows,
)
from hushbandits.core.guarantee import ONCE, ONE_USER, RESOLVED, Adjacency, Guarantee, Run, invalid
from hushbandits.core.payload import Luck
from hushbandits.core.utils import Array, affordable, choice, divisor, integer, jit, real
from hushbandits.envs.network.states import Posting
from hushbandits.privacy import laplace as costs
from hushbandits.privacy import noise, samplers
from hushbandits.privacy.laplace import discrete_laplaces, laplace, laplaces
from hushbandits.wrappers.mechanism import SIMULATED

#: Widest noise in steps of the grid: beyond it, values are missing where an observer may well look.
_WIDEST = 1 << 24
#: Largest ε of a coin: its rarer side, e^−20, still is 2·10⁷ steps of a uniform's 2⁻⁵³.
_LARGEST = 20.0
_FINEST = 30  # bits behind the point of a released mean, where there is room for sums


def reports(env: World) -> Run | None:
    """Return how promises about a reward add up where an agent reports one in every round."""
    times = int(env.horizon or 0)
    return Run(times, f"all rewards of an agent: its {times:,} reports add up") if times else None


def _together(epsilon: float, grid: int | None, times: int, delta: float) -> float:
    """ε at δ of so many reports."""
    if grid is None:
        return costs.composed_laplaces(np.array([epsilon]), delta, times)
    return noise.composed_epsilon(noise.discrete_laplace_profile(grid / epsilon, grid), times, delta)


@dataclass(frozen=True)
class _Noise:
    """Laplace noise: in doubles, or discrete in units of 1/grid."""

    law: samplers.Laplace | samplers.DiscreteLaplace
    grid: int = 1
    integer = False

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return self.law.draw(rng, size) / self.grid

    def total(self, rng: np.random.Generator, n: int) -> float:
        return self.law.total(rng, n) / self.grid

    def onto(self, x: Array, u: Array) -> Array:
        if isinstance(self.law, samplers.Laplace):
            return x + laplaces(u, self.law.b)
        # One division: a sum of two quotients might miss the grid by its last bit.
        steps: Array = np.rint(x * self.grid) + discrete_laplaces(u, self.law.b)
        return steps / self.grid


class LocalLaplace(Wrapper):
    """Each report's reward gets its own ``Lap(1/ε)``: ε-local differential privacy per report.

    **What is covered.**  A noised reward by itself is ε-private.  On a graph an agent also shows which arms it plays.
    With ``own="noised"`` the agents themselves are told of their rewards only what they report, so arms are
    post-processing, and all messages are covered.  With ``own="exact"`` arms follow exact own rewards: one changed
    reward may change with certainty which arm is played next, and so which law the next reports have.  Then a report is
    covered by itself, and nothing is promised about a run.

    Rewards are clipped to [0, 1] before the noise: a sender that says more gains nothing.  Source: Dwork, McSherry,
    Nissim & Smith 2006 (Laplace mechanism); Ghosh, Roughgarden & Sundararajan 2012 (discrete); Mironov 2012 (the last
    bits).

    Parameters
    ----------
    epsilon : float
        ε per report, for rewards in [0, 1] (sensitivity 1).
    own : str
        Where agents come back: ``"noised"``, they are told what they report; ``"exact"``, they go by their exact own
        rewards.  A user who is met once goes by nothing.
    grid : int, optional
        G ≤ 2²⁴ε (else ``ValueError``: 53 bits of luck leave gaps in its support): rewards are rounded to multiples of
        1/G and get ``Lap_ℤ(G/ε)/G``, the discrete mechanism.  By default noise is a double, whose last bits tell on it.

    Examples
    --------
    >>> import hushbandits as hb
    >>> for own in ("exact", "noised"):
    ...     env = hb.make_core("CoopNetwork-v0", wrappers=[LocalLaplace(0.5, own=own)])
    ...     print([(g.epsilon, g.alone, g.invalid_reason) for g in env.guarantees()])
    [(inf, False, 'the arms that an agent shows follow its exact own rewards'), (0.5, True, '')]
    [(0.5, False, '')]
    """

    verbs = ("map", "add")
    _luck: Luck

    def __init__(self, epsilon: float = 1.0, own: str = "noised", grid: int | None = None, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon)
        self.own = choice("own", own, ("exact", "noised"))
        self.grid = None if grid is None else integer("grid", grid, 1, 1 << 30)
        if self.grid is not None and self.grid / self.epsilon > _WIDEST:
            most = int(_WIDEST * self.epsilon)
            raise ValueError(f"grid={grid} at {epsilon=} must be at most {most}: 53 bits leave gaps in wider noise")

    def sends(self, fields: Fields, env: World) -> Fields:
        if "modulus" in fields:
            raise ValueError(f"{self.name} needs raw rewards, but a wrapper before it has encoded them already")
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        return fields

    def tells(self, fields: Fields, env: World) -> Fields:
        if not self._first(env) or "reward" not in fields:
            return fields
        return {**fields, "reward": Field(low=-self.reach, high=1.0 + self.reach)}

    def _first(self, env: World) -> bool:
        """Whether noise comes before the agent, so that whatever is said is made of it."""
        return self.own == "noised" and env.payload.named

    @property
    def reach(self) -> float:
        """How far noise can take a reward: what the ends of a tape's uniforms give."""
        ends = self._noise.onto(np.zeros(2), np.array([0.0, 1.0 - 2.0**-53]))
        return float(np.abs(ends).max())

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        set_rows(self, rows, _luck=env.payload.luck("add", env, rng))

    @property
    def _noise(self) -> PointNoise:
        if self.grid is None:
            return _Noise(samplers.Laplace(1.0 / self.epsilon))
        return _Noise(samplers.DiscreteLaplace(self.grid / self.epsilon), self.grid)

    def tell(self, reward: Array, env: World) -> Array:
        return self._noise.onto(np.clip(reward, 0.0, 1.0), self._luck.next()) if self._first(env) else reward

    def send(self, message: Payload, env: World) -> Payload:
        if self._first(env):
            return message
        noise, grid = self._noise, self.grid
        message = message.clip()
        if grid is not None:
            message = message.map(lambda x: np.rint(x * grid) / grid)
        return message.add(lambda n: noise, self._luck)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        noise = f"Laplace(1/{self.epsilon:g})"
        gaps = "in truth one double rules one of two rewards out in about 4 cases of 5"
        if self.grid is not None:
            noise, far = f"Lap_ℤ({self.grid}/{self.epsilon:g})/{self.grid}", 2.0 * self.grid / self.epsilon * 2.0**-53
            gaps = f"noise is made of 53 random bits, and in the outermost {far:.0e} of its law some values are missing"
        words = "rewards in [0, 1]", f"idealised floating point: {gaps}", SIMULATED
        text, view = f"{noise} on each reported reward", "everyone but the sender"
        exact = partial(_together, self.epsilon, self.grid)
        alone = Guarantee(text, self.epsilon, 0.0, ONE_USER, view, words, "Dwork et al. 2006", run=ONCE, exact=exact)
        if not env.payload.named:  # a user who is met once shows nothing else
            return (alone,)
        inputs = "one report's reward replaced by any other in [0, 1]; a sender's reports compose additively"
        view = "everyone else: all messages, arms included"
        whole = replace(alone, adjacency=Adjacency(inputs, "reward"), view=view, run=reports(env))
        if self.own == "noised":
            return (whole,)
        view = "everyone else: one report by itself, its arm and time taken as given"
        released = replace(whole, view=view, alone=True, run=None)
        return invalid(whole, "the arms that an agent shows follow its exact own rewards"), released


class LocalBernoulli(Wrapper):
    """Each reward x in [0, 1] is replaced by a bit, ``P(1 | x) = (x(e^ε − 1) + 1)/(e^ε + 1)``, before anybody sees it.

    The agents themselves are told the bit alone, so whatever they do and say is made of bits.  A bit's mean is
    ``½ + (μ − ½)(e^ε − 1)/(e^ε + 1)``; regret still counts the arms' own means.  Source: Ren, Zhou, Liu & Shroff 2020,
    "Multi-Armed Bandits with Local Differential Privacy", convert-to-Bernoulli.

    Parameters
    ----------
    epsilon : float
        ε per reward, at most 20: from 37 on a double's 53 bits of luck cannot toss the coin's rarer side.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_core("CoopNetwork-v0", wrappers=[LocalBernoulli(0.5)])
    >>> [(g.epsilon, g.view) for g in env.guarantees()]
    [(0.5, 'everyone, the agent included')]
    """

    _luck: Luck

    def __init__(self, epsilon: float = 1.0, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon, _LARGEST, closed="high")

    def sends(self, fields: Fields, env: World) -> Fields:
        if "add" not in env.payload.verbs:
            raise ValueError(f"{self.name} needs rewards that can be noised one by one: {env.payload.noun} cannot")
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        if not env.payload.named:
            raise ValueError(f"{self.name} replaces what agents are told; a user of this setting is met once")
        return fields

    def tells(self, fields: Fields, env: World) -> Fields:
        return {**fields, "reward": Field(low=0.0, high=1.0)} if "reward" in fields else fields

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        set_rows(self, rows, _luck=env.payload.luck("add", env, rng))

    def chance(self, reward: Array) -> Array:
        """``P(1 | x)`` of a `reward` x, of any shape."""
        lean = math.exp(-self.epsilon)
        return (reward * (1.0 - lean) + lean) / (1.0 + lean)

    def tell(self, reward: Array, env: World) -> Array:
        return np.where(self._luck.next() < self.chance(np.clip(reward, 0.0, 1.0)), 1.0, 0.0)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        neighbours = "one reward replaced by any other in [0, 1]; an agent's rewards compose additively"
        inputs = Adjacency(neighbours, "reward")
        rounded = "idealised floating point: the coin's chance is rounded to 53 bits"
        words = "rewards in [0, 1]", "the mechanism sits before the agent", rounded, SIMULATED
        text = f"a bit with P(1 | x) = (x(e^ε − 1) + 1)/(e^ε + 1), ε = {self.epsilon:g}, for each reward"
        view, run, exact = "everyone, the agent included", reports(env), partial(noise.coins_epsilon, self.epsilon)
        return (Guarantee(text, self.epsilon, 0.0, inputs, view, words, "Ren et al. 2020", run=run, exact=exact),)


def local_mechanism(epsilon: float = 1.0, mechanism: str = "laplace", *, name: str | None = None) -> Wrapper:
    """Return the mechanism between arms and agents: ``"laplace"`` or ``"bernoulli"``.

    Parameters
    ----------
    epsilon : float
        ε of one report.
    mechanism : str
        ``"laplace"``: noise on the reward (`LocalLaplace`); ``"bernoulli"``: a bit (`LocalBernoulli`).
    """
    bits = choice("mechanism", mechanism, ("laplace", "bernoulli")) == "bernoulli"
    return LocalBernoulli(epsilon, name=name) if bits else LocalLaplace(epsilon, name=name)


@lru_cache(maxsize=256)
def _releases_together(epsilon: float, v: float, horizon: int, times: int, delta: float) -> float:
    """ε at δ of so many rewards, each in all releases of an arm."""
    return costs.composed_laplaces(costs.release_counts(epsilon, v, horizon).astype(float) ** (-v / 2), delta, times)


class _Means(NamedTuple):
    n: Array  # (R, M, K)
    s: Array  # (R, M, K) exact sums
    mean: Array  # (R, M, K) v̂, as last released
    pulls: Array  # (R, M, K) n, where a mean has been released
    spent: Array  # (R, M, K, 2) Σ ε_n and Σ ε_n² of the releases
    due: Array  # by count: whether it is a release count
    scale: Array  # by count: that of the noise
    cost: Array  # by count: ε_n
    grid: float  # v̂ is a multiple of 1/grid
    clips: bool


@jit
def _post(own, r, m, k, reward, u):
    n = int(own.n[r, m, k]) + 1
    own.n[r, m, k] = n
    own.s[r, m, k] += min(max(reward, 0.0), 1.0) if own.clips else reward
    if own.due[n]:
        mean = own.s[r, m, k] / n + laplace(u, own.scale[n])
        own.mean[r, m, k] = np.rint(mean * own.grid) / own.grid
        own.spent[r, m, k, 0] += own.cost[n]
        own.spent[r, m, k, 1] += own.cost[n] ** 2
        own.pulls[r, m, k] = n
    elif own.pulls[r, m, k]:
        own.pulls[r, m, k] = n


@jit
def _post_all(own, arms, rewards, luck):
    for r in range(arms.shape[0]):
        for m in range(arms.shape[1]):
            _post(own, r, m, arms[r, m], rewards[r, m], luck[r, m])


class PrivateMeans(Wrapper):
    """Replace the standard report by ``⟨v̂, n⟩``, per arm a private mean and the pull count (Dubey & Pentland 2020).

    The source keeps exact sums; when an arm's count n reaches a release count (`release_counts`) it publishes
    ``v̂ = s/n + Lap(n^(v/2−1))`` and carries that value on until the next release.  Before the first release
    an arm is absent (n = 0).

    **What is covered.**  A release by itself is ``n^(−v/2)``-DP.  With ``own="noised"`` the agents are told of their
    own rewards only what they have published, so arms, counts and the times of releases are post-processing, and the
    whole message is covered.  With ``own="exact"``, the paper's form, arms follow exact own rewards, and one changed
    reward may change with certainty which arm is played next (two arms, ε = 1: the third is the better of the first
    two rewards), hence which count goes up and which mean moves: nothing is promised about a run.

    Rewards are clipped to [0, 1], where their law lies in it: a sender that says more gains nothing.

    A released mean is rounded to 30 binary digits, or to fewer where the sums of many agents over a long horizon need
    the room: then sums over senders are exact, in whatever order they are taken.  Rounding is post-processing.

    Parameters
    ----------
    epsilon : float
        ε of the release schedule, > 0.
    v : float
        Exponent v ∈ (1, 1.5).
    own : str
        ``"noised"``: agents are told of their own rewards what they have published, ``mean`` and ``count``, which each
        of them finds in its inbox (``inbox.own``), and nothing else.  ``"exact"``: they see their rewards.
    delta : float
        δ′ at which `metrics` compose the releases, by a closed form that is never too small, and `privacy` exactly.

    Notes
    -----
    Metrics, at every checkpoint, of one reward, the dearest: one of the agent and arm whose releases so far cost most.
    ``epsilon`` (R,), exactly ``Σ W_n^(−v/2)`` (δ′ = 0); ``epsilon_delta`` (R,), composed at δ′ (`compose_releases`);
    ``epsilon_lemma`` (R,), the paper's lemma for a neighbour (d = 1); ``agent_epsilon`` (R, M), as ``epsilon``.  All of
    them ∞ where nothing is promised about a run: rewards without a bound, or ``own="exact"``.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_core("CoopNetwork-v0", n_agents=4, wrappers=[PrivateMeans(epsilon=1.0)])
    >>> sorted(env.inbox_fields)
    ['count', 'mean', 'sender']
    """

    spends = ("epsilon", "epsilon_delta", "epsilon_lemma", "agent_epsilon")
    curve_metrics = ("epsilon", "epsilon_delta", "epsilon_lemma")
    measures: ClassVar[Mapping[str, Measure]] = {
        "epsilon": Measure("ε spent on one reward, at most", "amount"),
        "epsilon_delta": Measure("ε spent on one reward, at most, with δ > 0", "amount"),
        "epsilon_lemma": Measure("ε spent on one reward, by the paper's lemma", "amount"),
        "agent_epsilon": Measure("ε spent on one reward of each agent, at most", "amount"),
    }

    _own: _Means
    _luck: Uniforms

    def __init__(
        self,
        epsilon: float = 1.0,
        v: float = 1.1,
        own: str = "noised",
        delta: float = math.exp(-10),
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon)
        self.v = real("v", v, 1, 1.5)
        self.own = choice("own", own, ("exact", "noised"))
        self.delta = real("delta", delta, 0, 1)

    def sends(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("arm", "reward"), fields)
        kept = {k: f for k, f in fields.items() if k not in ("arm", "reward")}
        shape = (env.n_arms,)
        return {**kept, "mean": Field(shape, latest=True), "count": Field(shape, latest=True)}

    def tells(self, fields: Fields, env: World) -> Fields:
        if self.own == "exact":
            return fields
        shape = (env.n_arms,)
        return {**{k: f for k, f in fields.items() if k != "reward"}, "mean": Field(shape), "count": Field(shape)}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        set_rows(self, rows, _luck=rng.reader((env.n_agents,)))
        if rows is None:
            shape = (len(rng), env.n_agents, env.n_arms)
            n, s, mean, pulls = np.zeros((4, *shape))
            self._own = _Means(n, s, mean, pulls, np.zeros((*shape, 2)), *self._schedule(env))
        else:
            for by_run in self._own[:5]:
                by_run[rows] = 0.0

    def _schedule(self, env: World) -> tuple[Array, Array, Array, float, bool]:
        """Return by count whether a mean is released, the scale of its noise and its ε; then its grid, and `clips`."""
        horizon = int(env.horizon)
        affordable(f"horizon={horizon} of {self.name}", 100.0 * horizon)
        due = np.zeros(horizon + 1, bool)
        due[costs.release_counts(self.epsilon, self.v, horizon)] = True
        # from the same scalar power that a run alone would take
        powers = self.v / 2 - 1, -self.v / 2
        scale, cost = (np.array([0.0, *(math.pow(n, p) for n in range(1, horizon + 1))]) for p in powers)
        # Σ n v̂ over all agents: rewards and, at the 2^-53 that a tape can draw, 37 scales of noise
        most = env.n_agents * (horizon + 37.0 * math.pow(horizon, self.v / 2))
        return due, scale, cost, 2.0 ** min(_FINEST, 52 - math.frexp(most)[1]), env.law.unit_interval

    def send(self, message: Payload, env: World) -> Payload:
        """Count the pull; release where the count is due (alg. 1, lines 3–13)."""
        # one uniform per agent and round, released or not: the tape never shifts
        _post_all(self._own, message["arm"], message["reward"], self._luck.next())
        kept = {name: value for name, value in message.items() if name not in ("arm", "reward")}
        return Payload(kept, mean=self._own.mean, count=self._own.pulls)

    @property
    def poster(self) -> Callable[..., None]:
        return _post

    def posting(self, rounds: int) -> Posting:
        return Posting(self._own, self._luck.rows(rounds), self.own == "noised")

    def told(self, env: World) -> dict[str, Array]:
        return {} if self.own == "exact" else {"mean": self._own.mean, "count": self._own.pulls}

    def metrics(self, env: World) -> dict[str, Array]:
        spent = self._own.spent.max(2)
        pure, squares = spent[..., 0].max(1), spent[..., 1].max(1)
        rounds = np.maximum(env.t - 1, 0)
        return {
            "epsilon": pure,
            "epsilon_delta": costs.compose_releases(pure, squares, self.delta),
            "epsilon_lemma": costs.lemma(self.epsilon, self.v, rounds, self.delta),
            "agent_epsilon": spent[..., 0],
        }

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        counts = costs.release_counts(self.epsilon, self.v, int(env.horizon)).astype(float)
        each = counts ** (-self.v / 2)
        pure, exact = float(each.sum()), partial(_releases_together, self.epsilon, self.v, int(env.horizon))
        noise = f"Laplace(n^({self.v / 2 - 1:g})) on a mean of n rewards"
        text, inputs = f"{noise}, released at {len(counts)} counts", "one reward of one agent on one arm replaced"
        words = "rewards in [0, 1]", "idealised floating point", SIMULATED
        view = "any receiver: all messages, counts included"
        source = "Dubey & Pentland 2020, algorithm 1 and lemma 3.4; a release is n^(−v/2)-DP"
        whole = Guarantee(text, pure, 0.0, Adjacency(inputs, "reward"), view, words, source, exact=exact)
        if self.own == "exact":
            view = "a receiver of one released mean by itself, its arm and time taken as given"
            first = float(each[0]) if len(each) else 0.0
            alone = replace(whole, mechanism=noise, epsilon=first, view=view, alone=True, exact=None)
            return invalid(whole, "arms and counts follow exact own rewards"), alone
        strong = exact(1, max(self.delta, RESOLVED))
        return (whole, replace(whole, epsilon=strong, delta=self.delta)) if strong < pure else (whole,)
