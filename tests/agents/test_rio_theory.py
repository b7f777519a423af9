"""The propositions of Rio et al. 2023 as functions equal simulations and closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

import hushbandits as hb
from hushbandits.agents import rio2023_theory as theory
from hushbandits.core.rollout import rollout

MEANS = (0.9, 0.5, 0.2)
GAPS = [0.0, 0.4, 0.7]


def test_dp_local_samples_by_hand():
    # Δ₂ = .4: epochs 1 (Δ < 1: all three) and 2 (Δ < ½: two arms)
    first = math.floor(max(32 * math.log(8 * 3 / 0.5) * 4, 8 * math.log(4 * 3 / 0.5) * 2 / 0.5)) + 1
    second = math.floor(max(32 * math.log(8 * 2 * 4 / 0.5) * 16, 8 * math.log(4 * 2 * 4 / 0.5) * 4 / 0.5)) + 1
    assert theory.dp_local_samples(GAPS, 0.5, 0.5) == first + second


@pytest.mark.parametrize("agent", ["DP-MASE", "Independent"])
def test_one_agent_finishes_within_its_local_samples(agent):
    """A single agent ends within T(β) rounds in at least 1 − β of the runs."""
    failure = 0.3
    if agent == "DP-MASE":
        bound, team = theory.dp_local_samples(GAPS, 0.5, failure), hb.make_team(agent, epsilon=0.5, beta=failure)
        env = hb.make_batched("DPMASE-v0", runs=300, n_agents=1, threshold=0, means=MEANS, permute_arms=True)
    else:
        bound, team = theory.elimination_local_samples(GAPS, failure), hb.make_team(agent, delta=failure)
        env = hb.make_batched("DPMASE-v0", 300, n_agents=1, termination_by="everyone", means=MEANS, permute_arms=True)
    metrics = rollout(env, team, 0)
    late = int((~metrics["correct"] | (metrics["rounds"] > bound)).sum())
    assert stats.binomtest(late, 300, failure, alternative="greater").pvalue > 1e-6
    assert metrics["rounds"].max() > bound / 50  # the bound is not vacuous


def test_elimination_local_samples_is_the_smallest():
    t = theory.elimination_local_samples(GAPS, 0.1)

    def gap(t):
        return 2 * math.sqrt(math.log(3 * t * t / 0.1) / t)

    assert gap(t) <= 0.2 < gap(t - 1)


@pytest.mark.parametrize("xi", [0.05, 0.1, 0.2])
def test_corrupted_failure_by_brute_force(xi):
    eta_xi = 1 - 0.1 / (1 - xi) ** 9
    m = math.floor(math.log(0.05) / math.log(eta_xi))
    for a in (0, 1, 5, 20):  # P[Bin(M + α, 1 − ξ) ≥ M] η_ξ^(M + α)
        term = stats.binom.sf(m - 1, m + a, 1 - xi) * eta_xi ** (m + a)
        assert math.isclose(theory.corrupted_failure(0.05, eta_xi, xi, a), term, rel_tol=1e-9)
    # as printed, the minimum over all α is 0: an erratum
    assert theory.corrupted_failure(0.05, eta_xi, xi, 5000) < 1e-30


def test_corrupted_rounds_by_its_own_model():
    """M given agents all have T samples by that time with probability α, arrivals being Poisson."""
    t = theory.corrupted_rounds(500, 64, 28, 0.7)
    assert math.isclose(stats.poisson.sf(499, t / 64) ** 28, 0.7, rel_tol=1e-9)


def test_failure_by_count_is_a_binomial_tail():
    rng = np.random.default_rng(0)
    wrong = (rng.random((20_000, 30)) < 0.2).sum(1) >= 9
    assert stats.binomtest(int(wrong.sum()), 20_000, theory.failure_by_count(30, 0.2, 9)).pvalue > 1e-6
