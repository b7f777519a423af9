"""Agents of linear bandits that play by confidence ellipsoids and upload when a rule asks for it.

An agent is a rule for uploads and the way in which it uses downloads.  The phases play one round at a time; an episode
plays blocks of rounds in compiled code, with the same results, bit by bit.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np

from hushbandits.core import Array, Bernoulli, Inbox, Message, Requirements, Streams, Team, World, jit, real
from hushbandits.core.messages import Observation
from hushbandits.envs.inbox import OneSlot
from hushbandits.envs.linear.env import Linear, pay
from hushbandits.envs.linear.server import FIELDS, Server, serve_run
from hushbandits.envs.rounds.env import SHIFTS, compiles, play, shifted
from hushbandits.estimators.ridge import Radius, Ridge, RidgeArrays, add, choose, picked, radius_of, refresh, sum_up


@jit
def never(t, since, grown, threshold):  # type: ignore[no-untyped-def]
    """Return False: the agent uploads nothing."""
    return False


@jit
def grows(t, since, grown, threshold):  # type: ignore[no-untyped-def]
    """Return whether ln det has grown by more than `threshold` since the last synchronisation."""
    return grown > threshold


class State(NamedTuple):
    """What compiled rounds of a `LinearTeam` read and write."""

    played: RidgeArrays
    data: RidgeArrays
    gram: Array  # (R, M, d, d) Σ x xᵀ of the pulls that are not uploaded yet
    moment: Array  # (R, M, d) and their Σ r x
    pulls: Array  # (R, M) and their number
    base: Array
    since: Array
    radius: Radius
    threshold: float
    lags: bool


class LinearTeam(Team):
    """Base class of agents that play by confidence ellipsoids, each by a ridge regression of its own.

    An agent plays by V and adds its pulls to sums that it has not uploaded.  It uploads them if `trigger` says so, and
    sets V to λI plus the server's sums, and its own left, when these arrive.

    Parameters
    ----------
    beta : float or None
        β; by default the radius of theorem 2 of Abbasi-Yadkori et al. 2011, ``σ√(2 ln(1/δ) + d ln(1 + n/(dλ))) + √λ``
        for n pulls in V and ‖θ‖ ≤ 1.
    ridge : float
        λ.
    sigma, delta : float
        σ and δ of the radius.

    Attributes
    ----------
    played, data : Ridge
        Regressions by which agents play, and with all that they know; one and the same unless `lags`.
    base : (R, M)
        ln det of λI plus what an agent shares with the server.
    since : (R,) int
        The round of the last download.
    """

    setting = "linear"
    required_inbox: tuple[str, ...] = FIELDS
    #: The rule of the server that the algorithm needs.
    server: str = "broadcast"
    #: Compiled rule ``(t, since, grown, threshold)`` → whether an agent uploads at the end of round t = 1, 2, ….
    trigger: ClassVar[Callable[..., bool]] = grows
    #: Whether all agents upload if one asks for it.
    together: ClassVar[bool] = False
    #: Whether an agent plays by its last download alone.
    lags: ClassVar[bool] = False
    #: Whether all agents send the default message and download the same sums, so that one estimator serves all.
    alike: bool = False

    def __init__(self, beta: float | None = 0.5, ridge: float = 1.0, sigma: float = 0.5, delta: float = 0.05):
        self.beta = None if beta is None else real("beta", beta, 0, closed="low")
        self.ridge, self.sigma = real("ridge", ridge, 0), real("sigma", sigma, 0)
        self.delta = real("delta", delta, 0, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require the server's rule."""
        return Requirements(env={"server": self.server})

    def threshold(self, env: World) -> float:
        """Return the number that `trigger` compares with."""
        return math.inf

    def reset(self, env: World, rng: Streams) -> None:
        runs, agents, d = len(rng), env.n_agents, env.n_features
        self.env, self._runs = env, np.arange(runs)[:, None]
        size = runs, 1 if self.alike else agents, d
        self.played = Ridge(*size, self.ridge)
        self.data = Ridge(*size, self.ridge) if self.lags else self.played
        self.base, self.since = self.data.volume.copy(), np.zeros(runs, np.int64)
        if self.beta is None:
            self.radius = Radius(math.sqrt(self.ridge), self.sigma, 2 * math.log(1 / self.delta), self.ridge)
        else:
            self.radius = Radius(self.beta, 0.0, 0.0, self.ridge)
        self.state = State(
            self.played.arrays, self.data.arrays,
            np.zeros((runs, agents, d, d)), np.zeros((runs, agents, d)), np.zeros((runs, agents), np.int64),
            self.base, self.since, self.radius, float(self.threshold(env)), self.lags,
        )  # fmt: skip

    def act(self, obs: Observation) -> Array:
        self._t, self.who, features = obs.t + 1, obs.active_agents, self.env.features
        arm = self.played.choose(np.zeros_like(self.who) if self.alike else self.who, features, self.radius)
        self.x = picked(features, arm)
        return arm

    def compose(self, reward: Array) -> Message | None:
        if self.alike:
            return None
        sent = np.empty(self.who.shape, bool)
        loops(type(self).trigger).learn(self.state, self._t, self.who, self.x, reward, sent)
        return self.upload(self.who, sent & ~self.env.pending[self._runs, self.who])

    def upload(self, who: Array, sent: Array) -> Message:
        """Return the message of the agents `who`, which empties the sums of those with `sent`."""
        if self.together:
            sent = np.repeat(sent.any(1, keepdims=True), sent.shape[1], 1)
        r, a = sent.nonzero()
        m = who[r, a]
        self.base[r, m] = self.data.volume[r, m]
        message = {name: getattr(self.state, name)[self._runs, who] for name in FIELDS}
        for name in FIELDS:
            getattr(self.state, name)[r, m] = 0
        return {**message, "sent": sent}

    def receive(self, inbox: Inbox) -> None:
        r, m, *sums = self.downloads(inbox)
        if self.alike:
            self.played.refresh(r[m == 0], m[m == 0], *(value[m == 0] for value in sums))
        else:
            _hear_all(self.state, self._t, r, m, *sums)

    @staticmethod
    def downloads(inbox: Inbox) -> tuple[Array, Array, Array, Array, Array]:
        """Return run and agent of each of n downloads, and the server's ``gram``, ``moment`` and ``pulls`` in it."""
        assert isinstance(inbox, OneSlot)
        r, m = inbox.arrived[..., 0].nonzero()
        gram, moment, pulls = map(inbox.arrivals, FIELDS)
        return r, m, gram, moment, pulls

    def episode(
        self, env: World, until: float = math.inf, stops: Sequence[float] = (), look: Callable[[], None] | None = None
    ) -> bool:
        """Play every run in compiled code; return False if the env, a wrapper or an overridden phase prevents it."""
        phases = ("act", "compose", "upload", "receive", "downloads")
        plain = not self.alike and all(getattr(type(self), name) is getattr(LinearTeam, name) for name in phases)
        if not (plain and type(env) is Linear and env.has_compiled_rounds() and compiles(env.law)):
            return False
        play(env, until, stops, look, partial(self._block, env))
        return True

    def _block(self, env: Linear, most: int) -> None:
        assert isinstance(env._server, Server)
        env._phase = "broken"  # until the rounds are over
        rounds = min(most, max(1, _BLOCK // env._x[0].size))
        t, (x, features, who, u) = int(env._t[0]), env.ahead(rounds)
        low, high = SHIFTS.get(type(env.law), (0.0, 1.0))
        pay = Payment(shifted(env.law, u), env.theta, env._regret, type(env.law) is Bernoulli, low, high)
        loops(type(self).trigger).rounds(self.state, env._server.arrays, x, features, who, pay, t, self.together)
        env._passed(rounds)


_BLOCK = 1 << 13  # features per run that are drawn ahead


class Payment(NamedTuple):
    """How compiled rounds pay: 1 if a shift is below the location (`coin`), else location + shift, clipped."""

    shifts: Array  # (rounds, R, A)
    theta: Array
    regret: Array
    coin: bool
    low: float
    high: float


class Loops(NamedTuple):
    """Compiled loops of agents with one trigger: the end of phase 1, and whole rounds."""

    learn: Callable[..., None]
    rounds: Callable[..., None]


@lru_cache
def loops(trigger: Callable[..., bool]) -> Loops:
    """Return the compiled loops of agents with the rule `trigger`."""

    @jit
    def learn_one(state, r, m, t, x, reward):  # type: ignore[no-untyped-def]
        add(state.data, r, m, x, reward)
        sum_up(state.gram, state.moment, state.pulls, r, m, x, reward)
        return trigger(t, state.since[r], state.data.volume[r, m] - state.base[r, m], state.threshold)

    @jit
    def learn(state, t, who, x, reward, sent):  # type: ignore[no-untyped-def]
        for r in range(who.shape[0]):
            for a in range(who.shape[1]):
                sent[r, a] = learn_one(state, r, who[r, a], t[r], x[r, a], reward[r, a])

    @jit
    def rounds(state, arrays, x, features, who, payment, t, together):  # type: ignore[no-untyped-def]
        sent, to = np.empty(who.shape[2], np.bool_), np.empty(state.base.shape[1], np.bool_)
        for r in range(who.shape[1]):  # run by run: the state of one stays in the caches
            for i in range(len(x)):
                asked = False
                for a in range(who.shape[2]):
                    m, seen = who[i, r, a], features[i, r, a]
                    width = radius_of(state.radius, state.played.pulls[r, m], seen.shape[1])
                    arm = choose(seen, state.played.inverse[r, m], state.played.theta[r, m], width)
                    location, gap = pay(x[i, r, a], payment.theta[r], arm)
                    payment.regret[r, m] += gap
                    shift = payment.shifts[i, r, a]
                    if payment.coin:
                        reward = 1.0 if shift < location else 0.0
                    else:
                        reward = min(max(location + shift, payment.low), payment.high)
                    sent[a] = learn_one(state, r, m, t + i + 1, seen[arm], reward)
                    asked |= sent[a]
                if asked:
                    sent |= together
                    _exchange(state, arrays, r, who[i, r], sent, to, t + i + 1)

    return Loops(learn, rounds)


@jit
def _exchange(state, arrays, r, who, sent, to, t):  # type: ignore[no-untyped-def]
    """Play the second phase of run r: uploads, the server's answer, and downloads."""
    arrays.counts[r, 0] += sent.sum()
    serve_run(arrays, r, who, sent, state.gram[r][who], state.moment[r][who], state.pulls[r][who], to)
    for a in range(who.size):
        if sent[a]:
            m = who[a]
            state.base[r, m] = state.data.volume[r, m]
            state.gram[r, m], state.moment[r, m], state.pulls[r, m] = 0.0, 0.0, 0
    for m in range(to.size):
        if to[m]:
            _hear(state, t, r, m, arrays.gram[r, 0], arrays.moment[r, 0], arrays.pulls[r, 0])


@jit
def _hear(state, t, r, m, gram, moment, pulls):  # type: ignore[no-untyped-def]
    """Take over the server's sums for agent m of run r, at the end of round t."""
    ridge = state.radius.ridge
    refresh(state.data, r, m, gram, moment, pulls, ridge)
    state.base[r, m], state.since[r] = state.data.volume[r, m], t
    if state.lags:
        refresh(state.played, r, m, gram, moment, pulls, ridge)
    if state.pulls[r, m] > 0:
        own = state.gram[r, m], state.moment[r, m]
        refresh(state.data, r, m, gram + own[0], moment + own[1], pulls + state.pulls[r, m], ridge)


@jit
def _hear_all(state, t, run, agent, gram, moment, pulls):  # type: ignore[no-untyped-def]
    for n in range(len(run)):
        _hear(state, t[run[n]], run[n], agent[n], gram[n], moment[n], pulls[n])
