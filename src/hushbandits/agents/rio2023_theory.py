"""Bounds of Rio et al. 2023 with explicit constants.

The propositions state orders; a constant that a figure needs is that of the proof, and the docstring says so.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import scipy

from hushbandits.best_arm.elimination import elimination_gap
from hushbandits.best_arm.private_elimination import epoch_length
from hushbandits.envs.exploration.problems import vote_threshold


def dp_local_samples(gaps: Sequence[float], epsilon: float, beta: float) -> int:
    """Return T(β), enough activations for DP successive elimination to find the best arm with probability 1 − β.

    ``Σ_e R(e)`` over epochs ``e = 1..⌈log₂(1/Δ₂)⌉``, each with the arms whose gap is below ``Δ_{e−1}``: R(e) makes
    h and c at most Δ_e/8 each, so epoch e drops every arm with ``Δ_k ≥ Δ_e`` (Sajed & Sheffet 2019, lemma 4.2).
    """
    last = math.ceil(math.log2(1 / min(g for g in gaps if g > 0)))
    arms = {e: sum(g < 2.0 ** -(e - 1) for g in gaps) for e in range(1, last + 1)}
    return sum(int(epoch_length(m, e, epsilon, beta)) for e, m in arms.items())


def elimination_local_samples(gaps: Sequence[float], failure: float) -> int:
    """Return T(η), enough activations for successive elimination to find the best arm with probability 1 − η.

    The smallest t whose elimination gap ``2√(ln(Kt²/η)/t)`` is at most Δ₂/2: empirical means are then within a
    quarter of Δ₂ (Even-Dar et al. 2006, theorem 8).
    """
    return first_below(lambda t: elimination_gap(len(gaps), t, failure), min(g for g in gaps if g > 0) / 2)


def first_below(radius: Callable[[int], float], bound: float) -> int:
    """Return the smallest t ≥ 1 at which `radius`, which falls after its first steps, is at most `bound`."""
    high = 1
    while radius(high) > bound:
        high *= 2
    return bisect_left(range(high), True, high // 2 + 1, key=lambda t: radius(t) <= bound)


def most_likely(weights: Sequence[float], m: int) -> float:
    """Return p*, the m-th largest activation probability in `weights`, or the smallest if there are fewer than m."""
    return sorted(weights, reverse=True)[min(max(m, 1), len(weights)) - 1]


def mase_rounds(local_samples: float, weights: Sequence[float], threshold: int, delta: float) -> float:
    """Return the number of rounds after which each of the M most active agents has T(β) samples with probability 1 − δ.

    Source: proposition 4.3; T(β) is `local_samples`, and M is `threshold`.

    The root of the proof's quadratic ``p*T − √(T ln(1/δ)/2) = T(β)`` (its eq. 4):
    ``T = ((a + √(a² + 4p*T(β)))/(2p*))²`` with ``a = √(ln(1/δ)/2)``; p* is the probability of the M-th most likely
    agent.
    """
    p = most_likely(weights, threshold)
    a = math.sqrt(math.log(1 / delta) / 2)
    return ((a + math.sqrt(a * a + 4 * p * local_samples)) / (2 * p)) ** 2


def mase_confidence(
    rounds: float, local_samples: float, weights: Sequence[float], threshold: int, delta: float
) -> float:
    """Return the confidence ``(1 − δ)(1 − I_{1−p*}(T − T(β), 1 + T(β)))^M`` of proposition 4.3.

    I is the regularised incomplete beta function, T is `rounds`, T(β) is `local_samples`, M is `threshold`, and p* is
    `most_likely(weights, M)`.
    """
    late = scipy.special.betainc(rounds - local_samples, 1 + local_samples, 1 - most_likely(weights, threshold))
    return float((1 - delta) * (1 - late) ** threshold)


def corrupted_failure(delta: float, eta_xi: float, xi: float, alpha: int = 0) -> float:
    """Return ``(1 − I_ξ(α + 1, M)) η_ξ^(M+α)``, proposition 5.2's term for one α = `alpha`, with ``M = ⌊ln δ/ln η_ξ⌋``.

    The proposition takes the minimum over all α ∈ ℕ.  But the expression falls to 0 as α grows, which no failure
    probability does: the proof multiplies by the chance of M + α wrong eliminations, which a failure does not need.
    `failure_by_count` with ``p = η_ξ(1 − ξ)`` is a bound that holds.
    """
    m = vote_threshold(delta, eta_xi)
    enough_votes = 1.0 - scipy.special.betainc(alpha + 1, m, xi)
    return float(enough_votes * eta_xi ** (m + alpha))


def failure_by_count(n_agents: int, local_failure: float, votes_needed: int) -> float:
    """Return ``P[Bin(N, p) ≥ M]``, the probability that at least M = `votes_needed` of N agents vote out the best arm.

    Independence of the agents proves this bound; it is above the papers' ``p^M``.
    """
    return float(scipy.stats.binom.sf(votes_needed - 1, n_agents, local_failure))


def corrupted_rounds(local_samples: float, n_agents: int, threshold: int, probability: float = 0.5) -> float:
    """Return ``N Q⁻¹(T(η_ξ), 1 − α^(1/M))``, about the number of rounds that suffice with probability α.

    Source: proposition 5.3, for uniform agents.  T(η_ξ) is `local_samples`, M is `threshold`, and α is `probability`.

    Q is the regularised upper gamma function, inverted in its second argument.
    """
    return float(n_agents * scipy.special.gammainccinv(local_samples, 1 - probability ** (1 / threshold)))
