"""Problems of private exploration: arms, activation probabilities of the agents, and vote thresholds."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushbandits.core import Arms, Array, Law, Params, RepeatingMeans, UniformMeans, choice, count, nearest, real, reals


@dataclass(frozen=True)
class Problem:
    """Arm means and reward law of a problem, and the decrease of suboptimal means per round."""

    means: RepeatingMeans
    rewards: str
    drift: float = 0.0


#: Problems of the papers by name.
PROBLEMS = {
    "P1": Problem(RepeatingMeans((0.7, 0.5, 0.3, *[0.1] * 7)), "bernoulli"),
    "P2": Problem(RepeatingMeans((11.0, 10.8, *[10.4] * 8)), "gaussian"),
    "P3": Problem(RepeatingMeans((0.7, 0.5, 0.3, *[0.1] * 7)), "bernoulli", drift=1e-5),
}


def problem_arms(
    problem: str,
    means: Sequence[float] | UniformMeans | None,
    rewards: str | Law | None,
    n_arms: int | None,
    drift: float | None,
    rest: Params | None = None,
) -> Arms:
    """Return the arms of the problem named `problem`; `means`, `rewards` and `drift`, if given, replace the problem's.

    Arms beyond a problem's ten repeat its last mean.

    The arguments are those of `Exploration`; `rest` goes to `Arms`.

    Examples
    --------
    >>> problem_arms("P3", None, None, None, None).drift, problem_arms("P1", None, None, 3, None).given.tolist()
    (1e-05, [0.7, 0.5, 0.3])
    """
    known = PROBLEMS[choice("problem", problem, PROBLEMS)]
    n_arms = None if n_arms is None else count("n_arms", n_arms, 2)
    if drift is None:
        drift = known.drift if means is None else 0.0
    if means is None:
        means = known.means
    return Arms(means, known.rewards if rewards is None else rewards, n_arms=n_arms, drift=drift, **(rest or {}))


def vote_threshold(delta: float, beta: float) -> int:
    """Return the vote threshold ``M = ⌊ln δ / ln β⌋``.

    Source: Rio et al. 2023, algorithm 2; Féraud et al. 2019, algorithm 2.

    A quotient within 1e-12 of a whole number is that number: rounding must not cost a vote.
    """
    return math.floor(math.log(delta) / math.log(beta) * (1 + 1e-12))


def check_confidence(delta: float, eta: float, n_agents: int) -> None:
    """Raise ``ValueError`` unless ``δ ∈ [η^N, η²]``, so that between 2 and N votes eliminate an arm.

    Source: Féraud et al. 2019, algorithm 2.

    Examples
    --------
    >>> check_confidence(0.05, 0.9, 29)
    >>> check_confidence(0.05, 0.9, 28)
    Traceback (most recent call last):
        ...
    ValueError: delta=0.05 must lie in [η^N, η²] = [0.0523348, 0.81] for eta=0.9 and n_agents=28; ...
    """
    quotient = math.log(delta) / math.log(eta)
    if quotient * (1 + 1e-12) < 2:
        hint = f"choose eta ≥ {math.sqrt(delta):.6g}"
    elif quotient > n_agents * (1 + 1e-12):
        hint = f"choose n_agents ≥ {math.ceil(quotient * (1 - 1e-12))}"
    else:
        return
    raise ValueError(
        f"delta={delta:g} must lie in [η^N, η²] = [{eta**n_agents:.6g}, {eta**2:.6g}] for eta={eta:g} and "
        f"n_agents={n_agents}; {hint}, or set require_confidence=False"
    )


def agent_weights(distribution: str | Sequence[float], n_agents: int) -> Array:
    """Return each agent's probability of being the active agent, ``(N,)``.

    Parameters
    ----------
    distribution : str or sequence of N floats
        ``"uniform"``; ``"power"``, ``P(n) ∝ n^(−0.8)`` (Rio et al. 2023, fig. 6), ``"power:γ"`` for another γ;
        ``"50/80"``: the first 50 % of the players, rounded up, make 80 % of the events (Féraud et al. 2019,
        problem 2), or any other two percentages; or N non-negative weights.
    n_agents : int
        N.
    """
    if isinstance(distribution, str):
        kind, _, exponent = distribution.partition(":")
        shares = re.fullmatch(r"(\d+)/(\d+)", distribution)
        if kind == "uniform" and not exponent:
            weights: Array = np.ones(n_agents)
        elif kind == "power":
            try:
                gamma = real("agent_distribution's exponent", float(exponent) if exponent else 0.8, 0, closed="low")
            except ValueError:
                raise ValueError(f"agent_distribution={distribution!r}: the exponent must be a number ≥ 0") from None
            weights = np.arange(1, n_agents + 1) ** -gamma
        elif shares:
            weights = _two_groups(int(shares[1]), int(shares[2]), n_agents)
        else:
            meant = nearest(kind, ["uniform", "power", "50/80"])
            raise ValueError(f"agent_distribution={distribution!r} is unknown{meant}")
    else:
        weights = reals("agent_distribution", distribution)
        if weights.shape != (n_agents,):
            raise ValueError(f"agent_distribution must be n_agents={n_agents} weights, not of shape {weights.shape}")
        if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise ValueError("agent_distribution must be finite weights ≥ 0 that are not all 0")
    return weights / weights.sum()


def _two_groups(players: int, events: int, n_agents: int) -> Array:
    if not (0 < players < 100 and 0 < events < 100):
        raise ValueError(f"agent_distribution='{players}/{events}' must be two percentages between 1 and 99")
    busy = -(-n_agents * players // 100)
    if busy == n_agents:
        raise ValueError(f"agent_distribution='{players}/{events}' needs more agents than n_agents={n_agents}")
    return np.where(np.arange(n_agents) < busy, events / busy, (100 - events) / (n_agents - busy))
