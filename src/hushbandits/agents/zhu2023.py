"""Zhu, Koppel, Velasquez & Liu 2023, "Byzantine-Resilient Decentralized Multi-Armed Bandits": resilient UCB.

Agents send their neighbours every arm's empirical mean and number of pulls.  A receiver uses the neighbours that have
pulled an arm about as often as itself, and drops the largest and the smallest of their means.
"""

from collections.abc import Mapping

import numpy as np

from hushbandits.core import Array, Field, Inbox, Message, Requirements, Streams, Team, World, integer, jit, real
from hushbandits.core.messages import Observation


@jit
def _estimates(n: Array, mean: Array, counts: Array, means: Array, f: int, kappa: float, z: Array, g: Array) -> None:
    """Write estimates `z` and variance factors `g` from the neighbours' last messages (lines 2–4 of the algorithm)."""
    runs, agents, slots, arms = counts.shape
    near = np.empty(slots)
    for r in range(runs):
        for m in range(agents):
            for k in range(arms):
                own, size = n[r, m, k], 0
                for s in range(slots):
                    if counts[r, m, s, k] > 0.0 and kappa * counts[r, m, s, k] >= own:  # line 2: A
                        near[size] = means[r, m, s, k]
                        size += 1
                if size <= 2 * f:  # line 3
                    z[r, m, k], g[r, m, k] = mean[r, m, k], 1.0
                    continue
                kept, total = np.sort(near[:size]), mean[r, m, k]  # line 4
                for s in range(f, size - f):
                    total += kept[s]
                eta = 1.0 / (size - 2 * f + 1)
                z[r, m, k], g[r, m, k] = total * eta, (4.0 * eta * eta + kappa * eta + kappa) / 4.0


class ResilientUCB(Team):
    """Byzantine-resilient UCB, which trims the f largest and the f smallest of the neighbours' means (Zhu et al. 2023).

    Every arm is pulled once.  In round t = 1, 2, …, agent i uses the messages of its neighbours h about arm k up to
    round t − 1: ``A = {h : κ n_hk ≥ n_ik}``.  If ``|A| ≤ 2f``, then ``z = x̄_ik`` and g = 1.  Otherwise ``z = η(x̄_ik +
    Σ_A x̄_hk − the f largest − the f smallest)`` with ``η = 1/(|A| − 2f + 1)``, and ``g = (4η² + κη + κ)/4``.  It pulls
    ``argmax_k z + √(2g ln t/n_ik)``, the first on ties.

    Parameters
    ----------
    f : int
        f ≥ 0, the number of Byzantine neighbours that an agent tolerates.  The paper asks for at least 3f + 1
        neighbours; with 2f or fewer, an agent uses its own rewards alone, as UCB1.
    kappa : float
        κ > 0: by which factor less often than itself a neighbour may have pulled an arm.

    Raises
    ------
    ValueError
        A parameter out of its range.

    Notes
    -----
    The rule follows the authors' code with one exception.  Their agents update one after the other within a round; here
    all use the messages up to the previous round.  If a message is lost, the neighbour's previous message is used.
    Messages are exact means and give no privacy.  The attack of the paper is the wrapper
    `hushbandits.wrappers.false_means.FalseMeans`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 10, "means": (0.5, 0.45, 0.4, 0.3), "graph": "complete", "horizon": 1000}
    >>> attack = [hb.make_wrapper("FalseMeans", fraction=0.1)]
    >>> resilient, alone = (
    ...     hb.evaluate("CoopNetwork-v0", "Resilient-UCB", runs=10, env=env, wrappers=attack, agent_kwargs={"f": f})
    ...     for f in (1, 10)
    ... )
    >>> bool(resilient.final("honest_regret").mean() < alone.final("honest_regret").mean())
    True
    """

    name = "Resilient-UCB"
    setting = "network"
    required_inbox = ("mean", "count")
    fields: Mapping[str, Field] = {"mean": Field(per_arm=True, latest=True), "count": Field(per_arm=True, latest=True)}

    def __init__(self, f: int = 1, kappa: float = 1.5):
        self.f = integer("f", f, 0)
        self.kappa = real("kappa", kappa, 0)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that messages reach only neighbours."""
        return Requirements(env={"max_hops": 1})

    def reset(self, env: World, rng: Streams) -> None:
        shape = (len(rng), env.n_agents, env.n_arms)
        self._n, self._s, self._mean, self._z = np.zeros((4, *shape))
        self._g = np.ones(shape)
        self._run, self._seat = np.ogrid[: shape[0], : shape[1]]

    def act(self, obs: Observation) -> Array:
        arms = self._n.shape[2]
        first = obs.t < arms
        log_t = np.log(np.maximum(obs.t + 1 - arms, 1))[:, None, None]
        self._arm = (self._z + np.sqrt(2.0 * self._g * log_t / np.maximum(self._n, 1.0))).argmax(2)
        self._arm[first] = obs.t[first, None]  # line 1
        return self._arm

    def compose(self, reward: Array) -> Message:
        at = self._run, self._seat, self._arm
        self._n[at] += 1.0
        self._s[at] += reward
        self._mean[at] = self._s[at] / self._n[at]
        return {"mean": self._mean, "count": self._n}

    def receive(self, inbox: Inbox) -> None:
        counts, means = np.asarray(inbox["count"]), np.asarray(inbox["mean"])
        _estimates(self._n, self._mean, counts, means, self.f, self.kappa, self._z, self._g)
