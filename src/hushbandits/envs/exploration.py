"""Private exploration: best-arm identification by voting (Rio et al. 2023; Féraud et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hushbandits.core.ballot import accumulate, cast, count, draw_agent, retire
from hushbandits.core.env import Env
from hushbandits.core.jit import jit
from hushbandits.core.messages import Field, Fields, Inbox
from hushbandits.core.rewards import Law, draw_means, make_law
from hushbandits.core.tapes import Uniforms, streams
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import choice, integer, real
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.problems import PROBLEMS, agent_weights, vote_threshold
from hushbandits.policies.elimination import confidence_under_loss

__all__ = ["Exploration", "GlobalSet"]


@jit
def _draw_agents(cumulative, u, live, who):  # type: ignore[no-untyped-def]
    for r in range(u.size):
        if live[r]:
            who[r] = draw_agent(cumulative[r], u[r])


@jit
def _cast_rows(vote, live, who, sent, cost, messages):  # type: ignore[no-untyped-def]
    for r in range(who.size):
        if live[r]:
            messages[r] += cost * cast(vote[r], sent[r, who[r]])


@jit
def _count_rows(vote, live, who, counted, votes, needed, active):  # type: ignore[no-untyped-def]
    for r in range(who.size):
        if live[r]:
            count(vote[r], counted[r, who[r]], votes[r], needed, active[r])


class GlobalSet(Inbox):
    """What the coordinator tells everyone: the global set 𝒦, one message in one slot."""

    fields = ("active",)

    def __init__(self, active: Array):
        self._active = active

    @property
    def arrived(self) -> Array:
        """``(R, 1, 1)``: always there."""
        return np.ones((len(self._active), 1, 1), bool)

    def __getitem__(self, field: str) -> Array:
        if field != "active":
            raise KeyError(f"no field {field!r} in this inbox; it offers: active")
        return self._active[:, None, None, :]


class Exploration(Env):
    """N agents act one at a time and tell a coordinator only which arms they give up on.

    In every round one agent is drawn from P.  It pulls the arms that it chooses, learns, and may vote arms
    out; the coordinator removes an arm from the global set 𝒦 at the vote threshold and tells everyone 𝒦.

    Parameters
    ----------
    problem : str
        ``"P1"``: Bernoulli arms .7 .5 .3 and seven of .1; ``"P2"``: Gaussian arms 11, 10.8 and eight of 10.4.
    means : sequence of K floats, optional
        Arm means of your own instead of the problem's.
    rewards : str or Law, optional
        Reward law of your own instead of the problem's.
    n_arms : int, optional
        Only checked against `means`.
    n_agents : int
        N.
    agent_distribution : str or sequence of N floats
        P: ``"uniform"``, ``"power"`` (``P(n) ∝ n^(−0.8)``), ``"power:γ"``, or N weights.
    threshold : int, optional
        M; default ``⌊ln δ / ln β⌋``.
    comparison : str
        ``">"`` (Rio et al.: arm k leaves when its votes exceed M) or ``">="`` (Féraud et al.).
    delta, beta : float
        δ and β of the default threshold.
    eta, xi : float
        η instead of β, and the probability ξ that a vote is lost: the default threshold is then
        ``⌊ln δ / ln η_ξ⌋`` with ``η_ξ = 1 − (1 − η)/(1 − ξ)^(K−1)`` (Rio et al., algorithm 3).
    judge : str
        Whose word counts: the ``"coordinator"``, who removes arms from 𝒦; or ``"everyone"``: votes remove nothing,
        an agent's own ballot must leave one arm, and a run is correct when every agent's does leave the best.
    vote_cost, round_cost : int
        Messages charged per new vote and per round (1 and 0; baselines that share samples pay by the round).
    idle : str
        What an empty arm set means: ``"leaves"`` (Rio et al.: the agent is finished, P is renormalised over the
        rest, no round is counted) or ``"stays"`` (Féraud et al.: the activation counts).
    permute_arms : bool
        Shuffle the arms of every run, so that no tie rule favours the best arm by its index.
    horizon : int, optional
        Rounds after which a run ends inconclusive; ``None``: never.
    wrappers, speech, runs
        As in `Env`.

    Notes
    -----
    Votes are an N × K bit matrix: a repeated vote counts nothing.  A run stops at |𝒦| ≤ 1; when everyone has
    left with |𝒦| > 1 (lost votes can do that) it ends inconclusive, and so it does when 𝒦 is empty; the
    recommendation is then the arm with the fewest votes, ties drawn at random.
    Metrics, each (R,): ``rounds``; ``messages``, votes sent; ``correct``, false when inconclusive;
    ``inconclusive``; ``arms``, |𝒦|.

    Examples
    --------
    >>> env = Exploration(n_agents=8)
    >>> obs = env.reset(0)
    >>> obs.who.shape, int(env.threshold)
    ((1, 1), 4)
    """

    setting = "exploration"
    clock = "rounds"
    curve_metrics = ("arms", "messages")
    fixed_length = False

    def __init__(
        self,
        *,
        problem: str = "P1",
        means: Sequence[float] | None = None,
        rewards: str | Law | None = None,
        n_arms: int | None = None,
        n_agents: int = 64,
        agent_distribution: str | Sequence[float] = "uniform",
        threshold: int | None = None,
        comparison: str = ">",
        delta: float = 0.05,
        beta: float = 0.5,
        eta: float | None = None,
        xi: float = 0.0,
        judge: str = "coordinator",
        vote_cost: int = 1,
        round_cost: int = 0,
        idle: str = "leaves",
        permute_arms: bool = False,
        horizon: int | None = None,
        wrappers: Sequence[Wrapper] = (),
        speech: Fields | None = None,
        runs: int = 1,
    ):
        known = PROBLEMS[choice("problem", problem, PROBLEMS)]
        self.law = make_law(known.rewards if rewards is None else rewards)
        values, n_arms = draw_means(known.means if means is None else means, n_arms, self.law)
        self._locations: Any = values
        n_agents = integer("n_agents", n_agents, 1)
        self.weights = agent_weights(agent_distribution, n_agents)
        self.delta = real("delta", delta, 0, 1)
        self.beta = real("beta", beta, 0, 1) if eta is None else real("eta", eta, 0, 1)
        self.xi = real("xi", xi, 0, 1, closed="low")
        self.judge = choice("judge", judge, ("coordinator", "everyone"))
        self.costs = integer("vote_cost", vote_cost, 0), integer("round_cost", round_cost, 0)
        self.comparison = choice("comparison", comparison, (">", ">="))
        self.idle = choice("idle", idle, ("leaves", "stays"))
        local = confidence_under_loss(self.beta, self.xi, n_arms)
        self.threshold = vote_threshold(delta, local) if threshold is None else integer("threshold", threshold, 0)
        #: Votes that remove an arm.
        self.votes_needed = self.threshold + (self.comparison == ">")
        if self.judge == "everyone":
            self.votes_needed = n_agents + 1
        if self.votes_needed < 1:
            raise ValueError(f"threshold={self.threshold} with comparison '>=' removes every arm without a vote")
        self.permute_arms = bool(permute_arms)
        self.horizon = None if horizon is None else integer("horizon", horizon, 1)
        super().__init__(n_agents=n_agents, n_arms=n_arms, wrappers=wrappers, speech=speech, runs=runs)

    @property
    def report(self) -> Fields:
        """One bit per arm: voted out."""
        return {"vote": Field((self.n_arms,), "?")}

    @property
    def envelope(self) -> Fields:
        """The coordinator knows who votes."""
        return {"who": Field(dtype="i8")}

    def _offers(self, fields: Fields) -> Fields:
        return {"active": Field((self.n_arms,), "?", latest=True)}

    def _reset(self, seeds: Seeds) -> None:
        runs, n, k = len(seeds), self.n_agents, self.n_arms
        self.locations = np.tile(self._locations, (runs, 1))
        if self.permute_arms:
            for r, rng in enumerate(streams(seeds, "instance")):
                self.locations[r] = self.locations[r][rng.permutation(k)]
        self.means = self.law.mean(self.locations)
        self._reward_luck = Uniforms(seeds, "reward", (k,))
        self._turn_luck = Uniforms(seeds, "activation", ())
        self._seeds = seeds
        self._runs = np.arange(runs)
        self._live = np.ones(runs, bool)
        self._rounds = np.zeros(runs, np.int64)
        self._messages = np.zeros(runs, np.int64)
        self._active = np.ones((runs, k), bool)
        self._voted = np.zeros((runs, n, k), bool)
        self._cast = np.zeros((runs, n, k), bool)
        self.votes = np.zeros((runs, k), np.int64)
        #: (R, N) who is still drawn.
        self.pool = np.tile(self.weights > 0, (runs, 1))
        self._cumulative = np.empty((runs, n))
        for r in range(runs):
            accumulate(self.weights, self.pool[r], self._cumulative[r])
        self._who = np.zeros(runs, np.int64)
        self._draw()
        self._next = self._who

    def _draw(self) -> None:
        _draw_agents(self._cumulative, self._turn_luck.next(), self._live, self._who)

    def _check_action(self, action: Any) -> Array:
        action = np.asarray(action)
        shape = (self.runs, 1, self.n_arms)
        if action.shape != shape or action.dtype != bool:
            raise ValueError(f"action must be bool arm sets of shape {shape}, not {action.dtype} {action.shape}")
        return action

    def _pull(self, action: Array) -> Array:
        # One row of luck per activation, pulled or not: rows of all runs stay in step.
        luck = self._reward_luck.next()
        pulls = action[:, 0] & self._live[:, None]
        reward = np.where(pulls, self.law.quantile(luck, self.locations), np.nan)
        idle = self._live & ~pulls.any(1)
        if self.idle == "leaves":
            for r in np.flatnonzero(idle):
                retire(self.weights, self.pool[r], self._cumulative[r], self._who[r])
            counted = self._live & ~idle
        else:
            counted = self._live
        self._rounds += counted
        self._messages += self.costs[1] * counted
        # The next agent is drawn here, so that it can be told that it is next before it must act.
        self._acted = self._who.copy()
        #: (R,) runs that nobody acts in any more: they end with this round.
        self.deserted = ~self.pool.any(1) & self._live
        _draw_agents(self._cumulative, self._turn_luck.next(), self._live & ~self.deserted, self._who)
        self._next, self._who = self._who, self._acted
        return reward[:, None]

    def _report(self) -> dict[str, Any]:
        return {"vote": np.zeros((self.runs, 1, self.n_arms), bool)}

    def talk(self, message: dict[str, Any] | None = None) -> Any:
        """Beat 2: votes in, 𝒦 out; votes are counted as messages when they are sent."""
        if self._phase == "talk" and message is not None and "vote" in message:
            vote = np.asarray(message["vote"], bool)[:, 0]
            _cast_rows(vote, self._live, self._who, self._cast, self.costs[0], self._messages)
        return super().talk(message)

    def _transport(self, message: dict[str, Any]) -> GlobalSet:
        if "tally" in message:  # votes that a wrapper already added up, senders unknown
            self.votes += message["tally"]
            self._active &= ~(self._live[:, None] & (self.votes >= self.votes_needed))
        else:
            heard = self._live & message["sent"][:, 0]
            _count_rows(
                message["vote"][:, 0], heard, self._who, self._voted, self.votes, self.votes_needed, self._active
            )
        decided = self._active.sum(1) <= 1
        late = False if self.horizon is None else self._rounds >= self.horizon
        self._live = self._live & ~(decided | self.deserted | late)
        self._who = self._next
        return GlobalSet(self._active.copy())

    @property
    def t(self) -> Array:
        """Rounds so far."""
        return self._rounds.copy()

    @property
    def live(self) -> Array:
        """Runs that have not stopped."""
        return self._live

    @property
    def who(self) -> Array:
        """The active agent."""
        return self._who[:, None].copy()

    @property
    def upcoming(self) -> Array:
        """``(R,)`` the agent of the next beat 1; between the beats it is not `who`, who still speaks."""
        return self._next

    # -- for compiled episodes --------------------------------------------------------------------------------

    def vote_loss(self) -> tuple[float, str] | None:
        """What stands between the agents and the coordinator: the rate and tape of lost votes (rate −1: nothing).

        ``None`` where it is anything else: then only the beats will do.
        """
        if not self.wrappers:
            return -1.0, "no loss"
        if len(self.wrappers) == 1 and self.wrappers[0].vote_loss is not None:
            return self.wrappers[0].vote_loss
        return None

    def book(self) -> tuple[Any, ...]:
        """Arrays of the running state, for an episode to write to; rows are runs."""
        horizon = -1 if self.horizon is None else self.horizon
        return (
            self.weights, self.idle == "leaves", self.votes_needed, horizon, self._live, self._rounds, self._messages,
            self._active, self._cast, self._voted, self.votes, self.pool, self._cumulative, *self.costs,
        )  # fmt: skip

    def close(self) -> None:
        """Every run has ended in an episode."""
        self._phase = "over"

    def recommendation(self) -> Array:
        """``(R,)`` the arm left in 𝒦, else the arm with the fewest votes, ties at random."""
        out = np.empty(self.runs, np.int64)
        for r, rng in enumerate(streams(self._seeds, "recommendation")):
            left = np.flatnonzero(self._active[r]) if self._active[r].any() else np.arange(self.n_arms)
            fewest = left[self.votes[r, left] == self.votes[r, left].min()]
            out[r] = fewest[rng.integers(len(fewest))]
        return out

    def metrics(self) -> dict[str, Array]:
        """``rounds, messages, correct, inconclusive, arms``, each (R,)."""
        arms = self._active.sum(1)
        best = self.means.argmax(1)
        decided = arms == 1
        correct = decided & self._active[self._runs, best]
        if self.judge == "everyone":
            acting = self.weights > 0
            decided = ((~self._cast).sum(2) == 1)[:, acting].all(1)
            correct = decided & ~self._cast[self._runs, :, best][:, acting].any(1)
        return {
            "rounds": self._rounds.copy(),
            "messages": self._messages.copy(),
            "correct": correct,
            "inconclusive": ~self._live & ~decided,
            "arms": arms,
        }
