"""Private exploration as a reinforcement-learning task, with its picture."""

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from hushbandits.core import Array, Coding, Message, Observation, Part, World, jit, lean
from hushbandits.core.task import show
from hushbandits.envs.exploration.ballot import decided
from hushbandits.envs.render import IN, OUT, Picture, caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLANK, _PULLED, _GONE, _VOTE = np.array([[255, 255, 255], [176, 206, 236], [222, 222, 222], [74, 84, 99]])


class ExplorationTask(Picture):
    """Task in which one agent at a time pulls arms and votes against arms.

    The action space is ``Discrete(K + 1)``: the arm to vote out, or none (K); the agent pulls all arms of 𝒦 that it has
    not voted out.  If an activation is one arm, it is ``Discrete(2K + 1)``: pull arm k, vote out arm k − K, or nothing.
    ``"multidiscrete"`` has a bit per arm to pull and then a bit per vote (or the one arm, K: none, and the votes).
    ``"native"`` is the same as ``MultiBinary(2K)`` if sets are pulled.
    Only the action of the agent whose ``acts`` or ``speaks`` is 1 has an effect.  Further parts: ``own_votes`` (this
    agent's votes) and ``active`` (the global set 𝒦).  Every agent earns ``−1/horizon`` per counted round, and at the
    end +1 if 𝒦 is the best arm alone, otherwise −1: a return is ``±1 − rounds/horizon``.

    Parameters
    ----------
    core : Exploration or its EnvView
    **options
        As for `RLTask`.

    Warns
    -----
    UserWarning
        More votes are needed than there are agents: no episode can be won.

    Examples
    --------
    >>> import hushbandits as hb
    >>> ExplorationTask(hb.make_batched("DPMASE-v0", horizon=1000)).action_space
    Discrete(11)
    """

    def __init__(self, core: World, **options: Any):
        # A team does not know the agents' activation probabilities.
        voters = int((getattr(core, "weights", np.ones(core.n_agents)) > 0).sum())
        self._judged = bool(core.termination_by == "coordinator")
        if self._judged and core.votes_needed > voters:
            warnings.warn(
                f"no arm can be voted out: votes_needed={core.votes_needed} exceeds the number of agents that act, "
                f"{voters}, and each agent has one vote per arm; give more agents, or a lower threshold",
                stacklevel=2,
            )
        super().__init__(core, **options)
        self._votes_alone = [*core.fields] == ["vote"]
        self._at = {name: part.start for name, part in self.layout.items()}

    def _parts(self) -> dict[str, Part]:
        k = self.core.n_arms
        return {"own_votes": (k, 0.0, 1.0), "active": (k, 0.0, 1.0)}

    def _codings(self) -> dict[str, Coding]:
        k, single = self.core.n_arms, self.core.one_arm_per_step
        first = [k + 1] if single else [2] * k
        several = Coding(spaces.MultiDiscrete([*first, *[2] * k]), self._as_is, self._bits)
        if single:
            one = Coding(spaces.Discrete(2 * k + 1), self._from_one, self._one)
            return {"discrete": one, "multidiscrete": several, "native": several}
        vote = Coding(spaces.Discrete(k + 1), self._from_vote, self._vote)
        native = several._replace(space=spaces.MultiBinary(2 * k))
        return {"discrete": vote, "multidiscrete": several, "native": native}

    # -- the picture: the global set, the votes per arm, and the votes of each agent ----------------------------

    def say(self) -> list[str]:
        core: World = self.core
        left = np.flatnonzero(core.book.active[0])
        few = f"{{{', '.join(map(str, left))}}}" if len(left) <= 20 else f"of {len(left)} of {core.n_arms} arms"
        rule = f"an arm leaves at {core.votes_needed} votes" if self._judged else "everyone decides alone"
        act = f"{int(core.pool[0].sum())} of {core.n_agents} agents still act"
        return [
            f"global set {few}, {rule}",
            f"votes per arm {self.listed(core.votes[0])}",
            f"agent_{core.upcoming[0]} acts next; {act}" if core.running[0] else act,
        ]

    def draw(self, figure: "Figure") -> None:
        core: World = self.core
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        left.imshow(self._cast().swapaxes(0, 1), aspect="auto", interpolation="nearest")
        left.set_title("agents", fontsize=9)
        left.locator_params(axis="x", nbins=8, integer=True)
        left.tick_params(labelsize=8)
        if core.running[0]:
            left.scatter(core.upcoming, [core.n_arms - 0.4], marker="^", s=36, color="black", clip_on=False, zorder=5)
        colour = np.where(core.book.active[0], IN, OUT)
        self.bars(right, core.votes[0], colour, "votes")
        # An arm without votes has no bar; a mark on the axis shows that it is in the global set.
        right.scatter(np.zeros(core.n_arms), np.arange(core.n_arms), marker="s", s=20, color=colour, zorder=4)
        if self._judged:
            right.axvline(core.votes_needed, color="black", linewidth=0.8, linestyle="--", zorder=3)
            right.set_xlim(0, 1.2 * max(core.votes_needed, core.votes[0].max()))
        self.rows(left, np.flatnonzero(core.right[0]))
        caption(
            figure,
            "left, dark: a vote that this agent has cast; blue: its pulls so far, the more the darker",
            "grey column: it acts no more" if not core.pool[0].all() else "",
            "triangle: acts next" if core.running[0] else "",
            "right, blue: in the global set; grey: voted out" if self._judged else "everyone decides alone",
            f"dashed: votes that remove an arm ({core.votes_needed})" if self._judged else "",
            "★ best arm",
        )

    def _cast(self) -> Array:
        """Return the votes and pulls of every agent on every arm as colours, ``(N, K, 3)``."""
        core: World = self.core
        pulls = self.pulls[0]
        share = (pulls / max(1.0, pulls.max()))[:, :, None]
        cells = np.where(core.pool[0][:, None, None], _BLANK + share * (_PULLED - _BLANK), _GONE)
        return np.where(core.book.sent[0][:, :, None], _VOTE, cells).astype(np.uint8)

    # -- codings ------------------------------------------------------------------------------------------------

    def _from_vote(self, action: Array) -> Array:
        at = self._at
        return _sets(action, self.obs.active_agents, self.observations, at["active"], at["own_votes"], self.core.n_arms)

    def _from_one(self, action: Array) -> Array:
        k, choice = self.core.n_arms, action[..., None]
        return np.concatenate([np.minimum(choice, k), choice - k == np.arange(k)], -1)

    def _part(self, name: str) -> Array:
        return self.observations[..., self.layout[name]]

    def _pullable(self) -> Array:
        """Return which arms of 𝒦 the next active agents may pull, ``(R, M, K)``."""
        return (self._part("active") > 0) & (self._part("acts") > 0)

    def _vote(self) -> Array:
        at, who = self._at, self.obs.active_agents
        return _votable(who, self.observations, at["active"], at["own_votes"], at["speaks"], self.core.n_arms)

    def _one(self) -> Array:
        return np.concatenate([self._pullable(), self._vote()], -1)

    def _bits(self) -> Array:
        pulls = self._pullable()
        votes = (self._part("active") > 0) & (self._part("own_votes") == 0) & (self._part("speaks") > 0)
        bits = np.stack([np.ones_like(votes), votes], -1).reshape(*votes.shape[:2], -1)
        if self.core.one_arm_per_step:
            return np.concatenate([pulls, np.ones_like(votes[..., :1]), bits], -1)
        return np.concatenate([np.stack([np.ones_like(pulls), pulls], -1).reshape(bits.shape), bits], -1)

    # -- the round ------------------------------------------------------------------------------------------------

    def _start(self, rows: slice | Array) -> None:
        if isinstance(rows, slice):
            self.observations[..., self.layout["active"]] = 1.0
            self._horizon = float(self.core.horizon or math.inf)
        self._clock = self.obs.t

    def arms(self, action: Array) -> Array:
        """Return the set of arms that the active agent pulls."""
        return _pulls(action, self.obs.active_agents, self.core.n_arms)

    def pulled(self, obs: Observation) -> None:
        """Add the rewards of the pulls to the statistics and observations."""
        at, seen = self._at, (self.pulls, self.sums, self.observations)
        columns = at["own_mean"], at["own_width"], at["time"]
        before, self._clock, self._paid = self._clock, obs.t, np.empty(self._seats.shape)
        _count_set(obs.active_agents, obs.reward, before, obs.t, self._horizon, self._paid, *seen, *columns)

    def earned(self, before: Observation) -> Array:
        """Return −1/`horizon` for agents in runs whose last activation counts as a round, otherwise 0, ``(R, M)``."""
        return self._paid

    def words(self, action: Array) -> Message | None:
        obs, own = self.obs, self._at["own_votes"]
        vote = _votes(action, obs.active_agents, obs.running, self.observations, own, self.core.n_arms)
        if not np.count_nonzero(vote):
            return None
        return {"vote": vote} if self._votes_alone else {**self.core.standard_report(), "vote": vote}

    def heard(self, obs: Observation) -> None:
        """Write the published global set 𝒦 to the observations."""
        assert obs.inbox is not None
        self.observations[..., self.layout["active"]] = obs.inbox["active"][:, :, 0]

    def final_reward(self) -> Array:
        """Return +1 for runs that are correct (`Exploration.correct`), otherwise −1, ``(R,)``.

        Where some runs are over and others are not, these have 0.
        """
        rows = np.flatnonzero(~self.obs.running)
        if not len(rows):  # all are cut
            rows = np.arange(self.core.runs)
        reward = np.zeros(self.core.runs)
        reward[rows] = 2.0 * self.core.correct_in(rows) - 1.0
        return reward

    def solved(self) -> Array:
        """Return which runs are decided or have no agent left to act, ``(R,)``."""
        book = self.core.book
        return decided(book.stop, book.running, book.active, book.open_seats, book.cumulative)

    def show_turn(self, pull: bool, talk: bool) -> None:
        _show_due(self.obs.active_agents, pull, talk, self.observations, self._at["acts"], self._at["speaks"])


@jit
def _sets(vote, who, obs, active, own, arms):
    """Return the bits of pulls and votes, ``(R, M, 2K)``, of the agents `who`, given each agent's `vote` (K: none).

    An agent pulls the arms of 𝒦 that it has not voted out.
    """
    runs, agents, _ = obs.shape
    sets = np.zeros((runs, agents, 2 * arms), np.int8)
    for r in range(runs):
        for m in who[r]:
            for k in range(arms):
                out = vote[r, m] == k
                sets[r, m, k] = (obs[r, m, active + k] > 0) & (obs[r, m, own + k] == 0) & (not out)
                sets[r, m, arms + k] = out
    return sets


@jit
def _pulls(action, who, arms):
    """Return the arms that the agents `who` pull, ``(R, A, K)``: a set, or the only one that the action names."""
    pulls, single = np.empty((*who.shape, arms), np.bool_), action.shape[2] == arms + 1
    for r in range(who.shape[0]):
        for a in range(who.shape[1]):
            for k in range(arms):
                pulls[r, a, k] = action[r, who[r, a], 0] == k if single else action[r, who[r, a], k] != 0
    return pulls


@jit
def _votes(action, who, running, obs, own, arms):
    """Return the votes of the agents `who`, ``(R, A, K)``, and write them to the observations."""
    runs, acting = who.shape
    vote, first = np.zeros((runs, acting, arms), np.bool_), action.shape[2] - arms
    for r in range(runs):
        for a in range(acting):
            for k in range(arms):
                if running[r] and action[r, who[r, a], first + k] != 0:
                    vote[r, a, k] = True
                    obs[r, who[r, a], own + k] = 1.0
    return vote


@jit
def _votable(who, obs, active, own, speaks, arms):
    """Return the mask of allowed votes, ``(R, M, K + 1)``; the last entry, for no vote, is always allowed."""
    runs, agents, _ = obs.shape
    mask = np.zeros((runs, agents, arms + 1), np.bool_)
    mask[:, :, arms] = True
    for r in range(runs):
        for m in who[r]:
            if obs[r, m, speaks] > 0:
                held = 0
                for k in range(arms):
                    mask[r, m, k] = (obs[r, m, active + k] > 0) & (obs[r, m, own + k] == 0)
                    held += mask[r, m, k]
                if held < 2:  # an agent may not vote out the last arm that it holds
                    mask[r, m, :arms] = False
    return mask


@lean
def _show_due(who, pull, talk, obs, acts, speaks):
    """Mark in `obs` which agents act and which vote in the next step.

    These are the agents `who` in the phases that `pull` and `talk` announce; in other phases no agent is marked.
    """
    for r in range(who.shape[0]):
        for m in range(obs.shape[1]):
            obs[r, m, acts] = pull and who[r, 0] == m
            obs[r, m, speaks] = talk and who[r, 0] == m


@lean
def _count_set(who, reward, before, t, horizon, paid, pulls, sums, obs, mean, width, time):
    """Add rewards to the statistics; write means, widths and the elapsed share of the horizon to `obs`, and `paid`."""
    for r in range(who.shape[0]):
        over = min(t[r] / horizon, 1.0)
        for m in range(obs.shape[1]):
            obs[r, m, time], paid[r, m] = over, (before[r] - t[r]) / horizon
        for a in range(who.shape[1]):
            for k in range(reward.shape[2]):
                if not math.isnan(reward[r, a, k]):
                    pulls[r, who[r, a], k] += 1.0
                    sums[r, who[r, a], k] += reward[r, a, k]
    show(who, pulls, sums, obs, mean, width)
