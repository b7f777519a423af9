"""Theorems of Féraud et al. 2019 hold in simulation, as does privacy against their observer."""

import numpy as np
import pytest
from helpers import build
from scipy import stats

import hushbandits as hb
from benchmarks.observer import observe, watch
from hushbandits.agents import feraud2019_theory as theory
from hushbandits.agents.rio2023_theory import mase_confidence, mase_rounds
from hushbandits.best_arm.best_arm import ROUTINES, identify
from hushbandits.core.rollout import rollout
from hushbandits.envs.exploration.problems import vote_threshold
from hushbandits.experiments import feraud2019

ID = "DecentralizedExploration-v0"
P1 = [0.7, 0.5, 0.3, *[0.1] * 7]
GAPS = [max(P1) - mean for mean in P1]


def test_theorem_1_in_numbers():
    assert vote_threshold(0.05, 0.9) == 28
    assert vote_threshold(0.25, 0.5) == 2  # a quotient that rounding would put below 2
    assert theory.message_bound(0.05, 0.9, 10) == 279
    assert theory.failure(0.05, 0.9) > 0.05  # M is rounded down


def test_median_elimination_needs_just_the_samples_of_corollary_1():
    rng = np.random.default_rng(0)
    for k, eta, epsilon in ((2, 0.9, 0.9), (5, 0.5, 0.8), (6, 0.2, 0.9)):
        means = rng.random(k)
        _, pulls = identify(ROUTINES["Median"](k, eta, epsilon), lambda arm, m=means: float(rng.random() < m[arm]), k)
        assert pulls == theory.median_samples(k, eta, epsilon)


@pytest.mark.parametrize("routine", ["SE", "SER3"])
def test_successive_elimination_stays_below_the_samples_of_corollary_2(routine):
    rng, eta, runs = np.random.default_rng(1), 0.1, 40
    bound = theory.elimination_samples(GAPS, eta, 0.1)
    longer = sum(
        identify(ROUTINES[routine](10, eta, 0.1), lambda k: float(rng.random() < P1[k]), 10, seed=i)[1] > bound
        for i in range(runs)
    )
    assert stats.binom.sf(longer - 1, runs, eta) > 1e-6
    # and the bound is no triviality: twice the gaps would be refuted
    assert theory.elimination_samples([2 * g for g in GAPS], eta, 0.2) < 0.5 * bound


def test_theorem_2_bounds_the_stopping_time_and_says_how_surely():
    own, weights = theory.elimination_samples(GAPS, 0.9, 0.25), [1 / 64] * 64
    bound = mase_rounds(own, weights, 28, 0.05)
    rounds = hb.evaluate(ID, "Decentralized-SER3", runs=20, env={"permute_arms": True}).final("rounds")
    assert rounds.max() < bound
    sure = [mase_confidence(bound * x, own, weights, 28, 0.05) for x in (0.5, 0.9, 1.0, 1.2)]
    assert sure == sorted(sure)
    assert sure[0] < 0.01
    assert 0.94 < sure[-1] <= 0.95


@pytest.mark.parametrize(("m", "p"), [(32, 0.8 / 32), (33, 0.2 / 32), (99, 0.2 / 32)])
def test_theorem_2_counts_on_the_most_likely_players(m, p):
    """p* is the probability of the M-th most likely player, or of the last if there are fewer."""
    weights = [0.2 / 32] * 32 + [0.8 / 32] * 32
    t = mase_rounds(500, weights, m, 0.05)
    assert p * t - np.sqrt(t * np.log(1 / 0.05) / 2) == pytest.approx(500)  # Hoeffding's inequality
    # I_{1−p}(T − T_Py, 1 + T_Py) = P[Bin(T, p) ≤ T_Py]
    late = stats.binom.cdf(500, 90_000, p)
    assert mase_confidence(90_000, 500, weights, m, 0.05) == pytest.approx(0.95 * (1 - late) ** m)


def test_theorem_4_bounds_the_messages_of_dser4():
    env = {"n_agents": 32, "horizon": 200_000, "permute_arms": True}
    sent = rollout(*build(ID, "Decentralized-SER4", 10, env, {"phi": 5e-5}))["messages"]
    # one elimination more than resets; 10 resets each, 10 runs
    assert sent.mean() < (5e-5 * 200_000 + 1) * theory.message_bound(0.05, 0.9, 10)  # φT(MK − 1)


def test_dashed_lines_belong_to_agents_that_vote():
    x = np.array([32.0, 64.0])
    env, voter = {"problem": "P1"}, {"eta": 0.9}
    for line in (feraud2019.corollary_1, feraud2019.corollary_2, feraud2019.theorem_1):
        assert np.isnan(line(env, {}, x)).all()
        assert np.isfinite(line(env, voter, x)).all()
    assert (np.diff(feraud2019.corollary_2(env, voter, x)) > 0).all()


def test_watching_more_players_shows_more():
    """28 of 64 players of UGapEc give up all arms but one when the run ends, and the others nothing."""
    found = observe(ID, "Decentralized-UGapEc", (1, 8, 64), runs=10)
    assert found[1][0] == pytest.approx((28 + 36 * 0.2) / 64, abs=0.05)  # two of ten arms are ε-optimal
    assert found[1][0] < found[8][0] <= found[64][0] == found[64][1] == 1.0
    assert found[1][1] == 1.0


def test_an_observer_of_silence_guesses():
    good = np.eye(5, dtype=bool)[:1]
    mean, most = watch(np.zeros((1, 4, 5), bool), good, 2, np.random.default_rng(0))
    assert [mean[0], most[0]] == pytest.approx([0.2, 0.2])


def test_privacy_is_as_the_paper_claims_it_and_only_where_votes_are_sent():
    env, _ = build(ID, "Decentralized-SER3", 1, {"n_agents": 64}, {"eta": 0.8, "epsilon": 0.3})
    (claim,) = env.guarantees()
    assert claim.epsilon == np.inf  # no differential privacy
    assert "ε = 0.3, η = 0.8" in claim.adjacency.words
    assert claim.assumptions[0].startswith("as claimed by the paper")
    for agent in ("0-Privacy-SER3", "1-Privacy-SER3"):
        assert build(ID, agent, 1, {"n_agents": 4}, {})[0].guarantees() == ()


def test_baselines_that_send_no_votes_show_none():
    results = hb.evaluate(ID, "1-Privacy-UGapEc", runs=3, env={"n_agents": 4, "permute_arms": True})
    assert results.final("named").tolist() == pytest.approx([0.2] * 3)
