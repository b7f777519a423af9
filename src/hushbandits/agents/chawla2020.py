"""Chawla, Sankararaman, Ganesh & Shakkottai 2020, "The Gossiping Insert-Eliminate Algorithm" (AISTATS): GosInE.

Every agent plays UCB on a short list of arms.  At the end of a phase it asks one neighbour for a good arm, which
replaces the worse of two arms on its list.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from hushbandits.core import LONGEST, Array, Field, Inbox, Metric, Requirements, Streams, Team, World, flag, jit, real
from hushbandits.core.messages import Observation
from hushbandits.core.utils import Message


def first_lists(agents: int, arms: int) -> Array:
    """Return the agents' initial lists of arms, ``(M, c + 2)``: c arms that always stay, then two replaceable arms.

    ``c = ⌈K/M⌉``; agent p has the arms ``(pc + q) mod K``, q = 0 … c + 1, so each arm is sticky for some agent.  If
    there are fewer arms, every agent has all of them.

    Examples
    --------
    >>> first_lists(3, 6).tolist()
    [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 0, 1]]
    """
    sticky = min(math.ceil(arms / agents), arms - 2)
    return (np.arange(agents)[:, None] * sticky + np.arange(sticky + 2)) % arms


@jit
def _choose(lists: Array, n: Array, s: Array, width: Array, arms: Array) -> None:
    for r in range(arms.shape[0]):
        for m in range(arms.shape[1]):
            top = -math.inf
            for i in range(lists.shape[2]):
                k = lists[r, m, i]
                x = math.inf if n[r, m, k] == 0.0 else s[r, m, k] / n[r, m, k] + math.sqrt(width[r] / n[r, m, k])
                if x > top:  # the first wins ties
                    top, arms[r, m] = x, k


@jit
def _learn(n: Array, s: Array, phase: Array, arms: Array, rewards: Array) -> None:
    for r in range(arms.shape[0]):
        for m in range(arms.shape[1]):
            n[r, m, arms[r, m]] += 1.0
            s[r, m, arms[r, m]] += rewards[r, m]
            phase[r, m, arms[r, m]] += 1


class GosInE(Team):
    """GosInE with synchronous or asynchronous phases (Chawla et al. 2020).

    In round t an agent pulls ``argmax μ̂_k + √(α ln t/n_k)`` over its list, from all of its own samples; the first arm
    of the list wins ties.  Phase j ends at ``t = j³``.  Then U and L are swapped if U was pulled less than L in this
    phase.  A uniform neighbour recommends the arm that it pulled most in its own phase; this arm replaces L, unless it
    is on the list already.  The first ⌈K/M⌉ arms of a list stay (`first_lists`).

    With a `slack` d, a phase lasts a uniform number of rounds in ``{D, …, ⌈(1 + d)D⌉}``, ``D = j³ − (j − 1)³``.  The
    neighbour then recommends an arm by its last complete phase, or the first of its list if none is complete.

    Parameters
    ----------
    alpha : float
        α > 0 of UCB.
    slack : float, optional
        d ≥ 0 of the asynchronous form; default: all phases end together.
    shares : bool
        False: every agent has all arms and sends nothing, the baseline of the paper.

    Raises
    ------
    ValueError
        A parameter out of its range.

    Notes
    -----
    Messages are arm indices and give rewards no privacy.  In the paper an agent asks one neighbour.  Here a post goes
    to all of them and its receiver picks one at random, which has the same distribution.  So ``messages`` counts posts
    over every edge, and the metric ``recommendations`` counts requests, one per agent and phase.  If a post has not
    arrived by the end of a phase (lost, or late), the neighbour's previous recommendation is used.

    Examples
    --------
    >>> import hushbandits as hb
    >>> means = hb.UniformMeans(0, 1)
    >>> env = {"n_agents": 10, "n_arms": 30, "means": means, "graph": "complete", "horizon": 3000}
    >>> ours, alone = (
    ...     hb.evaluate("CoopNetwork-v0", "GosInE", runs=4, env=env, agent_kwargs={"shares": shares})
    ...     for shares in (True, False)
    ... )
    >>> bool(ours.final("regret").mean() < alone.final("regret").mean() / 2)
    True
    """

    setting = "network"
    required_inbox = ("sender", "best")
    fields: Mapping[str, Field] = {"best": Field(dtype="i8", low=0)}
    metrics_spec: Mapping[str, Metric] = {
        "recommendations": Metric("names of arms that agents asked each other for", "count"),
    }

    def __init__(self, alpha: float = 4.0, slack: float | None = None, shares: bool = True):
        self.alpha = real("alpha", alpha, 0)
        self.slack = slack if slack is None else real("slack", slack, 0, closed="low")
        self.shares = flag("shares", shares)

    @property
    def name(self) -> str:
        return "GosInE" if self.slack is None else "GosInE-async"

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that messages reach only neighbours."""
        return Requirements(env={"max_hops": 1})

    def reset(self, env: World, rng: Streams) -> None:
        runs, agents, arms = len(rng), env.n_agents, env.n_arms
        first = first_lists(agents, arms) if self.shares else np.tile(np.arange(arms), (agents, 1))
        self._lists = np.tile(first, (runs, 1, 1))
        self._n, self._s = np.zeros((2, runs, agents, arms))
        self._phase = np.zeros((runs, agents, arms), np.int64)  # pulls of this phase
        self._arm = np.zeros((runs, agents), np.int64)
        self._j = np.ones((runs, agents), np.int64)
        self._asked = np.zeros(runs, np.int64)
        self._rngs = rng.generators()
        graph = np.arange(runs) % len(env.slots.sender)
        #: (R, M, S) neighbours (padded with −1), and each neighbour's last recommendation.
        self._near, self._degree = env.slots.sender[graph], env.slots.degree[graph]
        self._heard = first[:, 0][self._near]
        self._end = np.full((runs, agents), 0 if self.shares else LONGEST)
        if self.shares:
            self._schedule(np.ones((runs, agents), bool), self._drawn(range(runs))[..., 1])

    def _drawn(self, runs: Iterable[int]) -> Array:
        """Return two uniform samples for every agent of the runs `runs`, ``(R, M, 2)``, and 0 for all other runs."""
        u = np.zeros((*self._arm.shape, 2))
        for r in runs:
            u[r] = self._rngs[r].random(u.shape[1:])
        return u

    def _schedule(self, due: Array, u: Array) -> None:
        """Set the round in which phase j of each agent in `due` ends; `slack` makes it depend on the uniforms `u`."""
        length = self._j**3 - (self._j - 1) ** 3
        if self.slack is not None:
            more = np.ceil((1 + self.slack) * length).astype(np.int64) - length
            length = length + (u * (more + 1)).astype(np.int64)
        self._end += np.where(due, length, 0)

    def act(self, obs: Observation) -> Array:
        self._t = obs.t + 1
        _choose(self._lists, self._n, self._s, self.alpha * np.log(self._t), self._arm)
        return self._arm

    def compose(self, reward: Array) -> Message:
        _learn(self._n, self._s, self._phase, self._arm, reward)
        self._due = self._end == self._t[:, None]
        best = np.zeros(self._arm.shape, np.int64)
        if self._due.any():
            pulls = np.take_along_axis(self._phase, self._lists, 2)
            most = np.take_along_axis(self._lists, pulls.argmax(2)[..., None], 2)[..., 0]
            best = np.where(self._due, most, 0)  # a silent agent's value must not depend on the batch
        return {"best": best, "sent": self._due}

    def receive(self, inbox: Inbox) -> None:
        arrived, due, lists = inbox.arrived, self._due, self._lists
        if arrived.any():
            r, m, slot = np.nonzero(arrived)  # a neighbour's later post comes later
            place = (self._near[r, m] == inbox["sender"][r, m, slot][:, None]).argmax(1)
            self._heard[r, m, place] = inbox["best"][r, m, slot]
        if not due.any():
            return
        u = self._drawn(np.flatnonzero(due.any(1)).tolist())
        r, m = np.nonzero(due)  # their phase is over
        pair = lists[r, m, -2:]
        pulls = np.take_along_axis(self._phase[r, m], pair, 1)
        lists[r, m, -2:] = np.where(pulls[:, :1] < pulls[:, 1:], pair[:, ::-1], pair)
        there = self._degree[r, m] > 0
        r, m = r[there], m[there]
        named = self._heard[r, m, (u[r, m, 0] * self._degree[r, m]).astype(np.int64)]
        new = (lists[r, m] != named[:, None]).all(1)
        lists[r[new], m[new], -1] = named[new]
        self._asked += np.bincount(r, minlength=len(lists))
        self._phase[due] = 0
        self._j += due
        self._schedule(due, u[..., 1])

    def metrics(self, env: World) -> dict[str, Array]:
        """Return ``recommendations`` (R,): the number of requested recommendations."""
        return {"recommendations": self._asked.copy()}
