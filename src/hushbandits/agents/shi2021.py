"""Shi & Shen 2021, "Federated Multi-Armed Bandits" (AAAI): Fed1-UCB, and the base of federated rules.

Clients pull the remaining arms equally often and send a server their running means.  The server averages them and drops
arms; all clients continue with the rest.  Here every client acts as the server: it receives all means and computes the
same result.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hushbandits.core import LONGEST, Array, Field, Metric, Requirements, Streams, Team, World, integer, jit, real
from hushbandits.core.messages import Inbox, Observation
from hushbandits.core.utils import Message
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.envs.network.inbox import SlotInbox
from hushbandits.envs.rounds.env import play

#: Pulls that are played at once, and the phases of a round.
_BLOCK, _PHASES = 1 << 15, ("act", "compose", "receive")


class Books(NamedTuple):
    """The state of all clients, in arrays ``(R, M)`` or ``(R, M, K)``: samples, remaining arms and phases."""

    n: Array  # pulls of each arm
    s: Array  # sums of their rewards
    order: Array  # the remaining arms, then the others
    left: Array  # number of remaining arms
    place: Array  # pulls of this phase
    each: Array  # pulls of this phase per arm; 0: all phases are over
    phase: Array  # 1, 2, …
    pulls: Array  # of each remaining arm, up to the end of this phase


@jit
def _choose(books: Books, arms: Array) -> None:
    """Write the arms of the next rounds, in which no phase ends, to `arms` ``(rounds, R, M)``."""
    for i in range(arms.shape[0]):
        for r in range(arms.shape[1]):
            for m in range(arms.shape[2]):
                place, each = books.place[r, m] + i, books.each[r, m]
                # after the phases, the remaining arms in turn
                at = place // each if each else place % books.left[r, m]
                arms[i, r, m] = books.order[r, m, at]


@jit
def _learn(books: Books, arms: Array, rewards: Array, due: Array) -> None:
    """Add the rewards of these rounds ``(rounds, R, M)``, and mark the clients whose phase has ended in `due`."""
    for i in range(arms.shape[0]):
        for r in range(arms.shape[1]):
            for m in range(arms.shape[2]):
                k = arms[i, r, m]
                books.n[r, m, k] += 1.0
                books.s[r, m, k] += rewards[i, r, m]
                books.place[r, m] += 1
                due[r, m] = books.each[r, m] > 0 and books.place[r, m] == books.each[r, m] * books.left[r, m]


@jit
def _median(heard: Array, own: Array, m: int, k: int, size: int, total: Array, number: Array) -> tuple[float, int]:
    """Return the median over groups of the averages of arm k that client m knows, and the number of these clients."""
    agents, groups, known = heard.shape[0], total.size, 0
    total[:], number[:] = 0.0, 0.0
    for c in range(agents):
        x = own[c, k] if c == m else heard[c, k]
        if not math.isnan(x):
            g = min(c // size, groups - 1)
            total[g] += x
            number[g] += 1.0
            known += 1
    some = 0
    for g in range(groups):  # a group without any message has no average
        if number[g] > 0.0:
            total[some] = total[g] / number[g]
            some += 1
    return np.median(total[:some]) if some > 0 else 0.0, known


@jit
def medians(due: Array, table: Array, own: Array, size: int, estimate: Array, known: Array) -> None:
    """Write the median of the averages over groups of `size` clients to `estimate`; the last group may be larger.

    Parameters
    ----------
    due : (R, M) bool
        The clients that need it.
    table : (R, 1 or M, M, K)
        What all clients or each client received from the others, NaN if nothing.
    own : (R, M, K)
        What each client knows itself.
    size : int
        M makes one group: the average of all.
    estimate, known : (R, M, K)
        The results: medians, and numbers of the clients whose means entered.
    """
    runs, agents, arms = estimate.shape
    total, number = np.empty((2, agents // size))
    for r in range(runs):
        like = -1  # a client who knows of itself what all others do; the results of such clients are equal
        for m in range(agents):
            if not due[r, m]:
                continue
            heard = table[r, m % table.shape[1]]
            same = table.shape[1] == 1
            for k in range(arms):
                same = same and own[r, m, k] == heard[m, k]
            for k in range(arms):
                if same and like >= 0:
                    estimate[r, m, k], known[r, m, k] = estimate[r, like, k], known[r, like, k]
                else:
                    estimate[r, m, k], known[r, m, k] = _median(heard, own[r], m, k, size, total, number)
            if same:
                like = m


@jit
def best_left(values: Array, books: Books) -> Array:
    """Return the largest of `values` ``(R, M, K)`` over each client's remaining arms, ``(R, M, 1)``."""
    best = np.full((*values.shape[:2], 1), -np.inf)
    for r, m in np.ndindex(best.shape[:2]):
        for at in range(books.left[r, m]):
            best[r, m, 0] = max(best[r, m, 0], values[r, m, books.order[r, m, at]])
    return best


@jit
def _proceed(due: Array, kept: Array, over: Array, books: Books, each: Array) -> None:
    """Drop the arms outside `kept` for each client in `due`, and begin the next phase with `each` pulls per arm."""
    for r, m in np.ndindex(due.shape):
        if not due[r, m]:
            continue
        order, size = books.order[r, m], 0
        for at in range(books.left[r, m]):
            k = order[at]
            if kept[r, m, k]:  # put it behind those kept before
                for i in range(at, size, -1):
                    order[i] = order[i - 1]
                order[size] = k
                size += 1
        books.left[r, m], books.place[r, m] = size, 0
        books.phase[r, m] += 1
        books.each[r, m] = 0 if over[r, m] or size == 1 else each[r, m]
        books.pulls[r, m] += books.each[r, m]


class Federated(Team):
    """Base of federated rules, in which clients pull arms in phases and a server eliminates arms.

    In phase p every client pulls each remaining arm equally often, arm after arm, and posts its running means.  Every
    client then applies the server's rule to all posts, in index order, so that all reach the same result.  After the
    last phase the remaining arms are pulled in turn, and nothing more is sent.

    Parameters
    ----------
    cost : float
        C ≥ 0, the cost of a client's post to the server in units of regret.

    Notes
    -----
    A subclass defines `schedule`, the pulls of an arm in a phase, and `judge`, the arms that are kept.

    If a post is lost, a client's previous post is used, and clients may then differ.
    """

    setting = "network"
    required_inbox = ("sender", "mean", "count")
    fields: Mapping[str, Field] = {"mean": Field(per_arm=True, latest=True), "count": Field(per_arm=True, latest=True)}
    metrics_spec: Mapping[str, Metric] = {
        "uploads": Metric("posts of a client to the server", "count"),
        "total_regret": Metric("pseudo-regret of all clients, and what their posts cost", "amount"),
    }

    def __init__(self, cost: float = 1.0):
        self.cost = real("cost", cost, 0, closed="low")

    def schedule(self, phase: Array) -> Array:
        """Return the number of pulls of each arm, at least 1, in the phases `phase`, as ints ``(R, M)``."""
        raise NotImplementedError(f"{type(self).__name__} must define schedule(phase)")

    def judge(self, due: Array, table: Array, own: Array, books: Books) -> tuple[Array, Array]:
        """Return which arms each client keeps, ``(R, M, K)`` bool, and whether its last phase is over, ``(R, M)`` bool.

        `table` and `own` hold the means that clients know, as in `medians`; only the results of clients that are `due`
        are used.  At least one of the arms left in `books` must be kept.
        """
        raise NotImplementedError(f"{type(self).__name__} must define judge(due, table, own, books)")

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require a complete graph: every client acts as the server, and must receive all posts in a round."""
        return Requirements(env={"graph": "complete", "max_hops": 1})

    def runs_at_once(self, env: World) -> int | None:
        """Return 1 if rounds without messages can be played at once, else how many runs' tables fit in about 32 MB.

        Runs end their phases at different times.
        """
        return 1 if env.can_pull_ahead else max(1, (1 << 22) // (env.n_agents**2 * env.n_arms))

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if some client receives posts late or never; only `reset` can check a random graph."""
        if hasattr(env, "slots") and (env.slots.depth > 1 or env.slots.degree.min() < env.n_agents - 1):
            raise ValueError(f"{self.name} needs graph='complete' and no delay: every message must reach all at once")

    def reset(self, env: World, rng: Streams) -> None:
        self.validate_env(env)
        shape = len(rng), env.n_agents, env.n_arms
        self.horizon = env.horizon
        phase = np.ones(shape[:2], np.int64)
        each = self.schedule(phase)
        self._books = Books(
            n=np.zeros(shape), s=np.zeros(shape), order=np.tile(np.arange(env.n_arms), (*shape[:2], 1)),
            left=np.full(shape[:2], env.n_arms), place=np.zeros(shape[:2], np.int64), each=each.copy(),
            phase=phase, pulls=each.copy(),
        )  # fmt: skip
        self._arm = np.zeros(shape[:2], np.int64)
        self._due = np.zeros(shape[:2], bool)
        self._mean, self._count = np.zeros((2, *shape))
        self._uploads = np.zeros(shape[0], np.int64)

    def act(self, obs: Observation) -> Array:
        _choose(self._books, self._arm[None])
        return self._arm

    def compose(self, reward: Array) -> Message:
        _learn(self._books, self._arm[None], reward[None], self._due)
        return self._message()

    def _message(self) -> Message:
        books, due = self._books, self._due
        if due.any():
            np.divide(books.s, books.n, out=self._mean, where=due[..., None])
            np.copyto(self._count, books.n, where=due[..., None])
            self._uploads += due.sum(1)
        return {"mean": self._mean, "count": self._count, "sent": due}

    def receive(self, inbox: Inbox) -> None:
        due, books = self._due, self._books
        if not due.any():
            return
        runs, agents, arms = books.n.shape
        if type(inbox) is SlotInbox:  # every client receives the same
            mail, posted = inbox._mail(("mean", "count"))
            mean, count = (values[posted % len(values)] for values in mail.values)
            table = np.where(count > 0.0, mean, np.nan)[:, None]
        else:
            sender, mean, count = (np.asarray(inbox[field]) for field in ("sender", "mean", "count"))
            table = np.full((runs, agents, agents, arms), np.nan)
            r, m, slot, k = np.nonzero((sender >= 0)[..., None] & (count > 0.0))  # a later slot replaces an earlier one
            table[r, m, sender[r, m, slot], k] = mean[r, m, slot, k]
        kept, over = self.judge(due, table, self._mean, books)
        _proceed(due, kept, over, books, self.schedule(books.phase + 1))

    def episode(
        self, env: World, until: float = math.inf, stops: Sequence[float] = (), look: Callable[[], None] | None = None
    ) -> bool:
        """Play the rounds of a phase at once, or return False if the env or an override prevents it."""
        ours = all(map(self.ships, _PHASES))
        if not (ours and isinstance(env, CoopNetwork) and env.can_pull_ahead and env._abreast):
            return False

        def advance(most: int) -> None:
            books = self._books
            left = int(np.where(books.each > 0, books.each * books.left - books.place, LONGEST).min())
            rounds = min(most, left, max(1, _BLOCK // self._arm.size))
            arms = np.empty((rounds, *self._arm.shape), np.int64)
            _choose(books, arms)
            _learn(books, arms, env.pull_ahead(arms, rounds == left), self._due)
            if rounds == left:  # a phase ends
                inbox = env.communicate(self._message()).inbox
                assert inbox is not None
                self.receive(inbox)

        play(env, until, stops, look, advance)
        return True

    def metrics(self, env: World) -> dict[str, Array]:
        """Return ``uploads`` (R,), the number of all clients' posts, and ``total_regret`` (R,).

        The total is the clients' regret plus `cost` per post.
        """
        return {"uploads": self._uploads.copy(), "total_regret": env.agent_regret.sum(1) + self.cost * self._uploads}


class Fed1UCB(Federated):
    """Fed1-UCB, which finds the best arm of the average model of a fixed set of clients (Shi & Shen 2021).

    In every phase a client pulls each remaining arm f times.  After F pulls of each, the server knows the average
    ``μ̂_k`` over M clients up to ``B = √(4σ² ln T/(M F))``, and drops k if ``μ̂_k + B < max μ̂ − B``.

    Parameters
    ----------
    pulls : int, optional
        f of a phase; default ``⌊10 ln T⌋``, as in the authors' code.
    sigma : float
        σ > 0, sub-Gaussian constant of a reward.
    cost : float
        C ≥ 0, the cost of a client's post to the server in units of regret.

    Raises
    ------
    ValueError
        A parameter out of its range, or a graph that is not complete.

    Notes
    -----
    The rule follows the authors' code.  With one client it is their baseline.  Messages are exact means and give no
    privacy.  Posts go to all clients, so ``messages`` counts them over every edge.  ``uploads`` counts the posts to a
    server, one per client and phase, and ``total_regret`` adds their cost C.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 5, "means": (0.7, 0.4, 0.2), "spread": 0, "horizon": 2000}
    >>> result = hb.evaluate("FederatedNetwork-v0", "Fed1-UCB", runs=4, env=env, agent_kwargs={"pulls": 20})
    >>> bool((result.final("total_regret") == result.final("regret") + result.final("uploads")).all())
    True
    """

    name = "Fed1-UCB"

    def __init__(self, pulls: int | None = None, sigma: float = 0.5, cost: float = 1.0):
        super().__init__(cost)
        self.pulls = pulls if pulls is None else integer("pulls", pulls, 1)
        self.sigma = real("sigma", sigma, 0)

    def schedule(self, phase: Array) -> Array:
        pulls = max(1, math.floor(10 * math.log(self.horizon))) if self.pulls is None else self.pulls
        return np.full(phase.shape, pulls)

    def judge(self, due: Array, table: Array, own: Array, books: Books) -> tuple[Array, Array]:
        estimate, known = np.zeros((2, *books.n.shape))
        medians(due, table, own, due.shape[1], estimate, known)
        samples = np.maximum(known, 1.0) * books.pulls[..., None]
        width = 2 * self.sigma * np.sqrt(math.log(self.horizon) / samples)
        return ~(estimate + width < best_left(estimate - width, books)), np.zeros(due.shape, bool)
