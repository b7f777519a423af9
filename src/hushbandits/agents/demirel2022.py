"""Demirel, Yıldırım & Tekin 2022, "Federated Multi-Armed Bandits Under Byzantine Attacks": Fed-MoM-UCB.

Fed-MoM-UCB has the phases of Fed1-UCB, with a median of means at the server: it averages the clients of each group and
takes the median over groups.  Some of the clients lie.
"""

import math
from collections.abc import Callable

import numpy as np

from hushbandits.agents.shi2021 import Books, Federated, best_left, medians
from hushbandits.core import Array, Requirements, Streams, World, choice, count, real

#: a(λ), by name.
MAPPINGS: dict[str, Callable[[float], float]] = {
    "arithmetic": lambda share: (1 + 2 * share) / 2,
    "geometric": lambda share: math.sqrt(2 * share),
    "harmonic": lambda share: 4 * share / (1 + 2 * share),
    "polynomial": lambda share: share * (2.5 - share),
}
#: Pulls of an arm up to the end of phase p.
_GROWTHS: dict[str, Callable[[Array], Array]] = {"linear": lambda p: 10 * p, "doubling": lambda p: 2**p - (p == 0)}


def _shares(fraction: float, mapping: str) -> tuple[float, float]:
    """Return a, the value of `mapping` at λ = `fraction`, and ``e = (a − λ)/a > ½``."""
    a = MAPPINGS[mapping](fraction)
    return a, (a - fraction) / a


def clients_needed(n_arms: int, horizon: int, fraction: float, mapping: str, failure: float = 1e-3) -> int:
    """Return the number of clients needed for failure probability δ = `failure`: ``⌈4 ln(KT/δ)/(ln 2 · (4e − 1) a)⌉``.

    `_shares` returns a and e.

    Examples
    --------
    >>> clients_needed(10, 50_000, 0.2, "arithmetic"), clients_needed(10, 50_000, 0.1, "geometric")
    (89, 123)
    """
    a, e = _shares(fraction, mapping)
    return math.ceil(4 * math.log(n_arms * horizon / failure) / (math.log(2) * (4 * e - 1) * a))


def group_size(clients: int, fraction: float, mapping: str) -> int:
    """Return the number of clients in a group, ``B = ⌊M/⌈Ma⌉⌋`` for M clients.

    a is the value of `mapping` at `fraction`.

    Examples
    --------
    >>> group_size(89, 0.2, "arithmetic"), group_size(123, 0.1, "geometric")
    (1, 2)
    """
    return clients // math.ceil(clients * _shares(fraction, mapping)[0])


def tolerance(clients: int, fraction: float, mapping: str, sigma_c: float) -> float:
    """Return ``ω = 8σ_c √(ln 2 · (4e − 1)/(B(2e − 1)))``, with e of `_shares` and B of `group_size`.

    While several arms remain, the phases of `FedMoMUCB` end only if `beta` exceeds ω.

    Examples
    --------
    >>> round(tolerance(89, 0.2, "arithmetic", 0.01), 4)
    0.1386
    """
    e = _shares(fraction, mapping)[1]
    return 8 * sigma_c * math.sqrt(math.log(2) * (4 * e - 1) / (group_size(clients, fraction, mapping) * (2 * e - 1)))


class FedMoMUCB(Federated):
    """Fed-MoM-UCB, which takes the median of the averages over groups of clients (Demirel et al. 2022).

    Let ``e = (a − λ)/a``, with groups of ``B = ⌊M/⌈Ma⌉⌋`` clients, the last of which takes the rest.  A phase that ends
    at s pulls of each remaining arm has ``E = 2(σ/√s + σ_c) √(ln 2 · (4e − 1)/((2e − 1)B))``; U_k is the median over
    groups of the group's average.  Arm k is dropped if ``U_k ≤ max U − 2E``.  Phases are over once ``E ≤ β/4`` or one
    arm is left; the remaining arms are then pulled in turn.

    Parameters
    ----------
    fraction : float
        λ in (0, ½): the share of clients that may lie.
    mapping : str
        a(λ): ``"arithmetic"`` (1 + 2λ)/2, ``"geometric"`` √(2λ), ``"harmonic"`` 4λ/(1 + 2λ), ``"polynomial"``
        λ(2.5 − λ).
    growth : str
        Pulls of an arm up to the end of phase p: ``"linear"`` 10p, ``"doubling"`` 2^p.
    beta : float
        β > 0: the tolerated gap to the best arm.  It ends phases only above ω (`tolerance`).
    sigma : float
        σ > 0, sub-Gaussian constant of a reward.
    sigma_c : float
        σ_c ≥ 0, sub-Gaussian constant of clients' means around the global one.
    cost : float
        C ≥ 0, the cost of a client's post to the server in units of regret.
    failure : float, optional
        δ in (0, 1): the env gets the number of clients that confidence 1 − δ needs (`clients_needed`); n_arms and
        horizon must then be given.  Default: any number of clients, without a guarantee.

    Raises
    ------
    ValueError
        A parameter out of its range, a graph that is not complete, or a number of clients other than `failure` needs.

    Notes
    -----
    The rule follows the authors' code.  The paper's regret is that of
    `hushbandits.envs.network.federated.FederatedNetwork` with a ``margin`` of β, a parameter separate from `beta`.
    Messages are exact means and give no privacy.  The attacks are the readings ``invert`` and ``hide`` of
    `hushbandits.wrappers.false_means.FalseMeans`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 20, "means": (0.9, 0.7, 0.1), "spread": 0.01, "horizon": 1000}
    >>> attack = [hb.make_wrapper("FalseMeans", attack="invert", fraction=0.25)]
    >>> median, average = (
    ...     hb.evaluate("FederatedNetwork-v0", agent, runs=4, env=env, wrappers=attack, agent_kwargs=given)
    ...     for agent, given in (
    ...         ("Fed-MoM-UCB", {"fraction": 0.25, "sigma": 0.1}), ("Fed1-UCB", {"pulls": 10, "sigma": 0.1}),
    ...     )
    ... )
    >>> bool(median.final("regret").mean() < average.final("regret").mean() / 2)
    True
    """

    name = "Fed-MoM-UCB"

    def __init__(
        self,
        fraction: float = 0.2,
        mapping: str = "arithmetic",
        growth: str = "linear",
        beta: float = 0.189,
        sigma: float = 0.5,
        sigma_c: float = 0.01,
        cost: float = 1.0,
        failure: float | None = None,
    ):
        super().__init__(cost)
        self.fraction = real("fraction", fraction, 0, 0.5)
        self.mapping = choice("mapping", mapping, MAPPINGS)
        self.growth = choice("growth", growth, _GROWTHS)
        self.beta = real("beta", beta, 0)
        self.sigma = real("sigma", sigma, 0)
        self.sigma_c = real("sigma_c", sigma_c, 0, closed="low")
        self.failure = failure if failure is None else real("failure", failure, 0, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require a complete graph and, if `failure` is set, `clients_needed` clients.

        Raises
        ------
        ValueError
            `failure` is given, but ``n_arms`` or ``horizon`` is not.
        """
        asked = super().requirements(settings)
        if self.failure is None:
            return asked
        if missing := [name for name in ("n_arms", "horizon") if name not in settings]:
            raise ValueError(f"failure={self.failure!r} needs n_arms and horizon: give the env {missing[0]}=")
        n_arms, horizon = (count(name, settings[name], 1) for name in ("n_arms", "horizon"))
        needed = clients_needed(n_arms, horizon, self.fraction, self.mapping, self.failure)
        return Requirements(env={**asked.env, "n_agents": needed})

    def reset(self, env: World, rng: Streams) -> None:
        self._size = group_size(env.n_agents, self.fraction, self.mapping)
        e = _shares(self.fraction, self.mapping)[1]
        self._factor = 2 * math.sqrt(math.log(2) * (4 * e - 1) / ((2 * e - 1) * self._size))
        super().reset(env, rng)

    def schedule(self, phase: Array) -> Array:
        upto = _GROWTHS[self.growth]
        return upto(phase) - upto(phase - 1)

    def judge(self, due: Array, table: Array, own: Array, books: Books) -> tuple[Array, Array]:
        estimate, known = np.zeros((2, *books.n.shape))
        medians(due, table, own, self._size, estimate, known)
        width = self._factor * (self.sigma / np.sqrt(books.pulls) + self.sigma_c)
        return estimate > best_left(estimate, books) - 2 * width[..., None], width <= self.beta / 4
