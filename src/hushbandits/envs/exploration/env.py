"""Private exploration: identification of the best arm by votes of agents against arms.

Source: Rio et al. 2023; Féraud et al. 2019.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import ClassVar

import numpy as np

from hushbandits.best_arm.elimination import confidence_under_loss
from hushbandits.core import Env, Field, Fields, Guarantee, Payload, Streams, Team, Wrapper, checked, require, set_rows
from hushbandits.core.random.names import ACTIVATION, REWARD
from hushbandits.core.random.philox import CURSOR
from hushbandits.core.random.rewards import Bernoulli, Law, UniformMeans
from hushbandits.core.random.streams import LONGEST, Uniforms
from hushbandits.core.utils import Array, Message, Params, affordable, choice, count, flag, real, ships
from hushbandits.envs.exploration import ballot, coordinator
from hushbandits.envs.exploration.ballot import STOPS, Outcomes, VoteState
from hushbandits.envs.exploration.payload import Votes
from hushbandits.envs.exploration.problems import agent_weights, check_confidence, problem_arms, vote_threshold
from hushbandits.envs.exploration.task import ExplorationTask
from hushbandits.envs.exploration.termination import admit, check_end, check_loss
from hushbandits.envs.inbox import OneSlot


class Exploration(Env):
    """Env in which N agents act one at a time and send only votes against arms to a coordinator.

    In every round one agent is drawn from P.  It pulls the arms that it chooses, learns, and may vote arms out.  The
    coordinator removes an arm from the global set 𝒦 at the vote threshold and publishes 𝒦.

    Parameters
    ----------
    problem : str
        ``"P1"``: Bernoulli arms .7 .5 .3 and seven of .1; ``"P2"``: Gaussian arms 11, 10.8 and eight of 10.4;
        ``"P3"``: P1 with a drift of 1e-5.  (Problem 2 of Féraud et al. is P1 among ``"50/80"`` agents.)
    means : sequence of K floats or UniformMeans, optional
        Arm means that replace the problem's.
    rewards : str or Law, optional
        Reward law that replaces the problem's.
    n_arms : int, optional
        K; needed if `means` is drawn.  It must equal the length of `means` if `means` is a list.  Of a problem's
        means the first K are used; the last one is repeated for arms beyond its ten.
    n_agents : int
        N.
    agent_distribution : str or sequence of N floats
        P: ``"uniform"``, ``"power"`` (``P(n) ∝ n^(−0.8)``), ``"power:γ"``, ``"50/80"`` (50 % of the agents make
        80 % of the events), or N weights.
    threshold : int, optional
        M; default ``⌊ln δ / ln β⌋``.
    vote_rule : str
        ``">"`` (Rio et al.: arm k leaves when its votes exceed M) or ``">="`` (Féraud et al.).
    delta, beta : float
        δ and β of the default threshold.
    eta, xi : float
        η instead of β, and the probability ξ that a vote is lost: the default threshold is then
        ``⌊ln δ / ln η_ξ⌋`` with ``η_ξ = 1 − (1 − η)/(1 − ξ)^(K−1)`` (Rio et al., algorithm 3).
    termination_by : str
        Who decides.  ``"coordinator"``: it removes arms from 𝒦.  ``"everyone"``: votes remove nothing, each agent's
        own ballot must leave one arm, and a run is correct if every ballot leaves the best arm.
    vote_cost, round_cost : int
        Messages charged per new vote (or reset) and per round, 1 and 0 by default; ``"others"``: N − 1.  Baselines
        that share samples pay per round.
    inactive_agents : str
        The meaning of an empty arm set: ``"drop"`` (Rio et al.: the agent is finished, P is renormalised over the
        rest, no round is counted) or ``"keep"`` (Féraud et al.: the activation counts).
    termination : str
        When a run ends: when the ``"coordinator"`` has ``|𝒦| ≤ 1`` (Rio et al.); when all ``"players"`` hold one arm
        (Féraud et al., algorithm 2, line 22); or only at the ``"horizon"``, judged by its regret.  A player holds 𝒦
        as of its last activation without the arms that it voted out, or 𝒦 itself if 𝒦 was one arm.  A run in which
        nothing can change any more ends too.
    one_arm_per_step : bool
        Whether an activation pulls one arm only; a larger set is then an error.
    tolerance : float
        ε: an arm within ε of the best is correct (`correct`).
    require_confidence : bool
        Whether δ outside ``[η^N, η²]`` is an error (Féraud et al., algorithm 2), where votes decide by the default
        threshold.
    drift : float, optional
        By how much the means of all arms but the best fall per round, down to 0; default: the problem's, or 0 if
        `means` is given.
    n_change_points : int
        How often within the horizon the means move on by one arm, at equal distances.
    allow_vote_resets : bool
        Whether agents may reset the vote by the message field ``reset``, which the coordinator obeys and passes on;
        only with ``termination="horizon"``.
    permute_arms : bool
        Shuffle the arms of every run, so that no tie rule favours the best arm by its index.
    horizon : int, optional
        Rounds after which a run ends inconclusive; ``None``: never.
    wrappers, extra_fields, fields, runs
        As in `Env`.

    Raises
    ------
    ValueError
        A parameter out of its range, or two that contradict each other: `n_change_points` or ``termination="horizon"``
        without a `horizon`, a threshold that removes every arm without a vote.

    Notes
    -----
    Votes are an N × K bit matrix: a repeated vote has no effect.  A run stops at ``|𝒦| ≤ 1``.  It ends inconclusive
    if 𝒦 is empty, or if all agents have left with ``|𝒦| > 1``, which lost votes can cause.  The recommendation is
    then the arm with the fewest votes, ties drawn at random.
    Metrics, each (R,): ``rounds``; ``messages``, votes sent (not those lost at the source); ``correct``, false if
    inconclusive (with players: whether each of them holds a correct arm); ``inconclusive``; ``arms``, ``|𝒦|``;
    ``named`` and ``named_most``, how often an observer of one agent's votes names a correct arm (mean over agents; the
    agent with the most votes); and, with the horizon as the stop, ``regret``, the pseudo-regret of every pull against
    the arm that is best at that time.

    Examples
    --------
    >>> env = Exploration(n_agents=8)
    >>> obs = env.reset(0)
    >>> obs.active_agents.shape, int(env.threshold)
    ((1, 1), 4)
    """

    setting = "exploration"
    logged_metrics: tuple[str, ...] = ("arms", "messages")
    metrics_spec = coordinator.MEASURES
    message_class = Votes
    #: The horizon is not among them: learners need one even where experiments have none.
    seed_fields: ClassVar[Mapping[str, str]] = {
        **{name: name for name in ("problem", "n_agents", "n_arms", "means", "rewards", "permute_arms", "drift")},
        "agent_distribution": "agent_distribution", "n_change_points": "n_change_points",
    }  # fmt: skip
    fixed_length = False
    agent_visible = (
        "threshold", "votes_needed", "vote_rule", "delta", "beta", "xi", "termination_by", "inactive_agents",
        "termination", "one_arm_per_step", "tolerance", "allow_vote_resets",
    )  # fmt: skip
    agent_visible_params = ("eta", "require_confidence", "vote_cost", "round_cost")
    rl_task = ExplorationTask
    book: VoteState  # the state of the vote: phases and episodes write here
    _reward_stream: Uniforms
    _left: Array  # votes sent, if a wrapper sums them; otherwise these are the votes counted

    def __init__(
        self, *, problem: str = "P1", means: Sequence[float] | UniformMeans | None = None,
        rewards: str | Law | None = None, n_arms: int | None = None, n_agents: int = 64,
        agent_distribution: str | Sequence[float] = "uniform", threshold: int | None = None, vote_rule: str = ">",
        delta: float = 0.05, beta: float = 0.5, eta: float | None = None, xi: float = 0.0,
        termination_by: str = "coordinator", vote_cost: int = 1, round_cost: int | str = 0, inactive_agents: str =
        "drop", termination: str = "coordinator", one_arm_per_step: bool = False, tolerance: float = 0.0,
        require_confidence: bool = False, drift: float | None = None, n_change_points: int = 0, allow_vote_resets: bool
        = False, permute_arms: bool = True, horizon: int | None = None, wrappers: Sequence[Wrapper] = (), extra_fields:
        Fields | None = None, fields: Fields | None = None, runs: int = 1,
    ):  # fmt: skip
        self.horizon = None if horizon is None else count("horizon", horizon, 1, LONGEST)
        move: Params = {"n_change_points": n_change_points, "horizon": self.horizon}
        #: The arms' locations.
        self.arms = problem_arms(problem, means, rewards, n_arms, drift, {"permute": permute_arms, **move})
        self.law, n_arms = self.arms.law, self.arms.n_arms
        n_agents, runs = count("n_agents", n_agents, 1), count("runs", runs, 1)
        own = 32.0 * n_agents + float(runs) * (n_agents * (2.0 * n_arms + 24) + 64.0 * n_arms)
        affordable(f"runs={runs} of n_agents={n_agents} and n_arms={n_arms}", own)
        self.weights = agent_weights(agent_distribution, n_agents)
        self.delta = real("delta", delta, 0, 1)
        self.beta = real("beta", beta, 0, 1) if eta is None else real("eta", eta, 0, 1)
        self.xi = real("xi", xi, 0, 1, closed="low")
        self.termination_by = choice("termination_by", termination_by, ("coordinator", "everyone"))
        others = isinstance(round_cost, str) and round_cost == "others"
        per_round = n_agents - 1 if others else count("round_cost", round_cost, 0)
        self.costs = count("vote_cost", vote_cost, 0), per_round
        self.vote_rule = choice("vote_rule", vote_rule, (">", ">="))
        self.inactive_agents = choice("inactive_agents", inactive_agents, ("drop", "keep"))
        self.termination = choice("termination", termination, STOPS)
        self.one_arm_per_step = flag("one_arm_per_step", one_arm_per_step)
        self.tolerance = real("tolerance", tolerance, 0, closed="low")
        #: M, and votes that remove an arm.
        self.threshold, self.votes_needed = self._quorum(n_arms, threshold, require_confidence)
        self.allow_vote_resets = flag("allow_vote_resets", allow_vote_resets)
        check_end(self)
        if self.termination == "horizon":
            self.fixed_length = True
            self.logged_metrics = ("regret", *type(self).logged_metrics)
        super().__init__(
            n_agents=n_agents, n_arms=n_arms, wrappers=wrappers, extra_fields=extra_fields, fields=fields, runs=runs
        )
        check_loss(self.xi, self.wrappers)
        self._sums_votes = "tally" in self.sent_fields

    def _quorum(self, n_arms: int, threshold: int | None, require_confidence: bool) -> tuple[int, int]:
        strict = flag("require_confidence", require_confidence)
        everyone, local = self.termination_by == "everyone", confidence_under_loss(self.beta, self.xi, n_arms)
        if threshold is None and strict and not everyone:  # an agent that never acts cannot vote
            check_confidence(self.delta, local, int((self.weights > 0).sum()))
        threshold = vote_threshold(self.delta, local) if threshold is None else count("threshold", threshold, 0)
        needed = len(self.weights) + 1 if everyone else threshold + (self.vote_rule == ">")
        if needed < 1:
            raise ValueError(f"threshold={threshold} with vote_rule='>=' removes every arm before any vote")
        return threshold, needed

    def admit(self, team: Team) -> None:
        admit(self, team)

    @property
    def report(self) -> Fields:
        """Fields of a message: a vote bit per arm and, if resets are allowed, a reset bit."""
        reset = {"reset": Field((), "?")} if self.allow_vote_resets else {}
        return {"vote": Field((self.n_arms,), "?"), **reset}

    @property
    def actions(self) -> Fields:
        return {"arms": Field((self.n_arms,), "?")}

    def random_action(self, rngs: Sequence[np.random.Generator], block: int = 32) -> Array:
        """Return the action that pulls all arms in 𝒦, or with `one_arm_per_step` one random arm of 𝒦."""
        arms = self.book.active[:, None] & self.book.running[:, None, None]
        if self.one_arm_per_step:
            for row, rng in zip(arms[:, 0], rngs, strict=True):
                left = np.flatnonzero(row)
                row[:] = False
                row[left[rng.integers(len(left), size=min(1, len(left)))]] = True
        return arms

    def random_message(self, rngs: Sequence[np.random.Generator], rate: float = 0.01) -> dict[str, Array]:
        """Return a message that votes against each arm with probability `rate`."""
        return {**self._report(), "vote": np.stack([rng.random((1, self.n_arms)) < rate for rng in rngs])}

    def _offers(self, fields: Fields) -> Fields:
        if "tally" not in fields:
            require("the coordinator", ("vote",), fields)
        answer = {"active": Field((self.n_arms,), "?", latest=True)}
        if not self.allow_vote_resets:
            return answer
        require("a vote that agents may reset", ("reset",), fields)
        return {**answer, "reset": Field((), "?")}

    def _reset(self, rng: Streams, rows: Array | None = None) -> None:
        n, k = len(rng), self.n_arms
        self.arms.reset(rng, rows)
        turns = rng.reader((), ACTIVATION)
        first = turns.rows(1)[0]
        set_rows(self, rows, _reward_stream=rng.reader((k,), REWARD), _turn_stream=turns)
        if self._sums_votes:
            set_rows(self, rows, _left=np.zeros((n, self.n_agents, k), bool))
        if rows is None:
            self.book, self._everyone = ballot.open_votes(self, n), np.ones((n, 1), bool)
            #: (R, K) votes that have arrived, and (R, N) agents that are still drawn.
            self.votes, self.pool = self.book.votes, self.book.pool
        ballot.open_rows(np.arange(n) if rows is None else rows, first, self.book)
        self._who = self.book.active_agents[:, None].copy()
        # Without wrappers, nobody else holds a message without votes.
        plain = self._whole and not self.wrappers and ships(self._report)
        self._silent = super()._standard() if plain else None

    def _standard(self) -> Message:
        return super()._standard() if self._silent is None else self._silent

    @property
    def locations(self) -> Array:
        """Current arm locations, ``(R, K)``."""
        return self.arms.at(self.book.rounds)

    @property
    def means(self) -> Array:
        """Current arm means, ``(R, K)``."""
        return self.arms.means(self.book.rounds)

    def _check_action(self, action: object) -> Array:
        arms = checked("action", action, self._action_fields[0][1], self._who.shape)
        if self.one_arm_per_step and (arms.sum(2) > 1).any():
            raise ValueError("action must pull at most one arm per activation, because one_arm_per_step=True")
        return arms

    def _pull(self, action: Array) -> Array:
        # One step per activation, pulled or not: an episode can read blocks.
        uniforms, turns, book = self._reward_stream.next(), self._turn_stream.next(), self.book
        stand = self.arms.look(book.rounds)
        # The next agent is drawn here, so that it learns that it is next before it must act.
        reward, coin = np.empty(action.shape), type(self.law) is Bernoulli
        # `pull` and `talk` are `alike`: what laws and wrappers return is made an array of a fixed type.
        drawn = uniforms if coin else np.ascontiguousarray(self.law.quantile(uniforms, stand.location), float)
        ballot.pull(action, drawn, coin, stand.location, stand.gap, turns, reward, *book[:11])
        return reward

    def _report(self) -> dict[str, Array]:
        reset = {"reset": np.zeros((self.runs, 1), bool)} if self.allow_vote_resets else {}
        return {"vote": np.zeros((self.runs, 1, self.n_arms), bool), **reset}

    def _spoken(self, message: Message) -> None:
        ballot.cast_rows(message["vote"], self._who, self.book.running, self.book.sent)

    def _passing(self, message: Message) -> None:
        # The votes sent are those that pass the last wrapper that sees single votes.
        if "vote" in message:
            self._leaving_votes = message["vote"]

    def _transport(self, message: Payload) -> OneSlot:
        book, sent = self.book, message["sent"]
        reset = message["reset"][:, 0] & sent[:, 0] & book.running if self.allow_vote_resets else None
        if self._sums_votes:
            book.votes[:] += message["tally"][:, 0]
        vote, arrived = np.ascontiguousarray(self._leaving_votes, bool), np.ascontiguousarray(sent, bool)
        ballots = self._left if self._sums_votes else book.counted
        ballot.talk(vote, arrived, self._who, ballots, int(not self._sums_votes), *book[6:])
        if reset is not None and len(rows := np.flatnonzero(reset)):
            book.messages[rows] += book.vote_cost
            ballot.clear(book, rows)
            if self._sums_votes:
                self._left[rows] = False
        self._who = book.active_agents[:, None].copy()
        values = {"active": book.active[:, None].copy()}
        return OneSlot(values if reset is None else {**values, "reset": reset[:, None]}, self._everyone, True)

    # attrgetter is fast: every phase reads these.
    t: Array = property(attrgetter("book.rounds"), doc="``(R,)`` rounds so far.")  # type: ignore[assignment]
    running: Array = property(attrgetter("book.running"), doc="``(R,)`` bool: runs that are not over.")  # type: ignore[assignment]

    upcoming = property(attrgetter("book.active_agents"), doc="The agent that acts in the next phase 1, ``(R,)``.")

    # Between the phases the agent that pulled, otherwise the next one.
    active_agents: Array = property(attrgetter("_who"), doc="``(R, 1)``: the agent that acts.")  # type: ignore[assignment]

    @property
    def deserted(self) -> Array:
        """Runs in which no agent can act any more, ``(R,)`` bool."""
        return self.book.cumulative[:, 0, -1] == 0.0

    def vote_loss(self) -> tuple[float, Array] | None:
        """Return the rate at which votes are lost, and cursors of the random numbers that decide each loss.

        The rate is −1 without wrappers.  The result is ``None`` if this env can only be played phase by phase.
        """
        if self._phase not in ("pull", "over") or len(self.wrappers) > 1:
            return None
        if not self.wrappers:
            return -1.0, np.zeros((self.runs, CURSOR), np.uint64)
        only = self.wrappers[0]
        if only.drop_prob is None or not all(map(only.ships, ("send", "deliver", "alter_own_reward"))):
            return None
        return only.drop_prob, vars(only)["_stream"]

    def played(self) -> None:
        """Update the env after compiled code has played rounds."""
        self._who = self.book.active_agents[:, None].copy()
        self._phase = "pull" if self.running.any() else "over"

    def outcomes(self, r: int, size: int) -> Outcomes:
        """Return the rewards, gaps and random numbers of the next `size` activations of run r."""
        self._phase = "broken"  # until `played`: what was drawn cannot be drawn again
        stand, stream = self.arms.look(np.arange(size) + self.book.rounds[r], run=r), self._reward_stream
        locations, gaps = (np.ascontiguousarray(np.atleast_2d(x), float) for x in (stand.location, stand.gap))
        cursor = np.array([*stream.seeds[r], stream.word, *[stream._section[r]] * 6], np.uint64)
        if type(self.law) is Bernoulli:  # a comparison: the episode draws the rewards of the pulled arms alone
            stream.rows(0)
            rewards, first = np.empty((1, self.n_arms)), int(stream.step[r])
            stream.step[r] += np.uint64(size)
        else:
            rewards, first = np.require(self.law.quantile(stream.take(r, size), stand.location), float, ["C", "W"]), -1
        return Outcomes(rewards, first, cursor, locations, gaps, self._turn_stream.take(r, size))

    def recommendation(self) -> Array:
        """Return an arm of 𝒦 (of all arms if 𝒦 is empty) with the fewest votes, ``(R,)``; ties are broken at random."""
        self._begun("recommendation")
        return coordinator.recommend(self.book, Streams(self.seeds))

    def claimed_guarantees(self) -> tuple[Guarantee, ...]:
        """Return the claim of (ε, η)-privacy for the vote; no claim if the coordinator ends runs or votes cost 0."""
        return coordinator.claimed(self.termination, self.costs[0], self.beta, self.tolerance)

    @property
    def right(self) -> Array:
        """Arms that are now correct: their mean is within `tolerance` of the best mean, ``(R, K)`` bool."""
        slack = 1e-12 if self.tolerance else 0.0  # of a difference of means that is rounded
        return self.arms.gap(self.book.rounds) <= self.tolerance + slack

    @property
    def correct(self) -> Array:
        """Whether the only arm left in 𝒦 is now correct, ``(R,)`` bool.

        If agents decide, whether the only arm left to each agent is now correct.
        """
        return self.correct_in(np.arange(self.runs))

    def correct_in(self, rows: Array) -> Array:
        """Return `correct` of the runs `rows` alone, ``(len(rows),)`` bool."""
        return ballot.judged(self.book, self.right, self.termination_by == "everyone", rows)[0]

    def _metrics(self) -> dict[str, Array]:
        """Return the metrics of the vote, and ``regret`` if `termination` is ``"horizon"``, each ``(R,)``."""
        return self._metrics_of(np.arange(self.runs))

    def _metrics_of(self, rows: Array) -> dict[str, Array]:
        regret = {"regret": self.book.regret[rows]} if self.termination == "horizon" else {}
        return {**coordinator.measured(self.book, self.right, self.termination_by == "everyone", rows), **regret}
