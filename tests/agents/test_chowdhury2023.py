"""Agents of Chowdhury & Zhou 2023 equal naive twins and satisfy the paper's statements."""

import math

import numpy as np
import pytest
from helpers import begin, build
from paper_bounds import regret_bound
from scipy import stats
from twins_chowdhury import naive_binary, naive_central, naive_distributed

import hushbandits as hb
from hushbandits.envs.feedback.users import BlockInbox
from hushbandits.privacy.plans import distributed_pure, local_pure
from hushbandits.wrappers.loss import Loss

# -- twins ------------------------------------------------------------------------------------------------------


def sums_heard(team, runs):
    """Return per run the block sums that reach the team, in order; the lists grow during play."""
    estimate, heard = team.estimate, [[] for _ in range(runs)]

    def listened(total, n):
        for r in np.flatnonzero(n[:, 0]):
            heard[r].append(total[r, 0])
        return estimate(total, n)

    team.estimate = listened
    return heard


def assert_twin(env, team, heard, final, twin):
    """Each run has the sums (or radii), regret and arms of its twin; some arm was dropped."""
    for r in range(env.runs):
        regret, active, sums = twin(r)
        assert heard[r] == pytest.approx(sums, rel=1e-12)
        assert final["regret"][r] == pytest.approx(regret, rel=1e-12)
        assert np.flatnonzero(team._active[r, 0]).tolist() == active
    assert team._active.sum() < team._active.size


@pytest.mark.parametrize("base", [2, 4])
def test_distributed_elimination_equals_its_naive_twin(base):
    settings = {"horizon": 6000, "n_arms": 4, "epsilon": 2.0, "confidence": 0.3, "simulate_users": "individual"}
    env, team = build("DistDP-v0", "Dist-DP-SE", 3, settings, {"batch_growth": base})
    heard = sums_heard(team, 3)
    final = hb.rollout(env, team, 11)
    assert_twin(env, team, heard, final, lambda r: naive_distributed(env, r, 2.0, 0.3, 6000, base))


@pytest.mark.parametrize("off", [0.0, 1.0, -1.0])
def test_intervals_cover_the_means_of_the_users_who_are_left(off):
    settings = {"horizon": 20_000, "means": [0.9, 0.8], "epsilon": 2.0}
    env, team = build("CentralDP-v0", "DP-SE", 4, settings, wrappers=[Loss(0.5)])
    estimate = team.estimate
    team.estimate = lambda total, n: estimate(total, n) + off
    assert (hb.rollout(env, team)["covered"] == (off == 0.0)).all()


def test_central_elimination_equals_its_naive_twin():
    settings = {"horizon": 40_000, "n_arms": 3, "epsilon": 0.5, "confidence": 0.5, "simulate_users": "individual"}
    env, team = build("CentralDP-v0", "DP-SE", 2, settings)
    heard = sums_heard(team, 2)
    final = hb.rollout(env, team, 2)
    assert_twin(env, team, heard, final, lambda r: naive_central(env, r, 0.5, 0.5, 40_000))


def test_binary_sum_elimination_equals_its_naive_twin():
    settings = {"horizon": 9000, "means": (0.1, 0.4, 0.9), "rewards": "beta", "simulate_users": "individual"}
    env, team = build("ShuffleDP-v0", "VB-SDP-AE", 3, {**settings, "epsilon": 2.0, "delta": 1e-2})
    measured, radii = team.interval, [[], [], []]
    team.interval = lambda r, i, m, b: radii[r].append(measured(r, i, m, b)) or radii[r][-1]
    final = hb.rollout(env, team, 3)
    assert_twin(env, team, radii, final, lambda r: naive_binary(env, r, 2.0, 1e-2, 0.1, 9000))


# -- radii and batches --------------------------------------------------------------------------------------------


def local_noise(m, b, n, epsilon, p):
    plan = local_pure(n, epsilon, p / (m * b * b))
    return plan.tau / plan.g


#: (σ, h) of the table's rows at ε and s, and the other noise of a sum.
RADII = {
    ("DistDP-v0", "Dist-DP-SE"): ({}, lambda e, s: (math.sqrt(2) / e, 1 / e), None),
    ("CentralDP-v0", "CDP-SE"): ({"discrete": True}, lambda e, s: (math.sqrt(2) / e, 1 / e), None),
    ("DistRDP-v0", "Dist-RDP-SE"): ({"scale": 3.0}, lambda e, s: (2 / e + math.sqrt(2) / (s * e), 1 / (s * e)), None),
    ("DistCDP-v0", "Dist-CDP-SE"): ({"scale": 3.0}, lambda e, s: ((math.sqrt(2) + math.sqrt(2) / s) / e, 0), None),
    ("LocalDP-v0", "LDP-SE"): ({}, lambda e, s: (math.sqrt(2) / e, 0), local_noise),
    ("ShuffleDP-v0", "Shuffle-DP-SE"): ({}, lambda e, s: (math.sqrt(2) / e, 1 / e), None),
    ("ShuffleDP-v0", "Shuffle-DP-SE", "pure"): (
        {"shuffle": "pure"}, lambda e, s: (2 * math.sqrt(2) / e, 2 / e), None
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RADII, ids="-".join)
def test_the_radius_is_the_table_s(case):
    env, constants, more = RADII[case]
    core, team = build(*case[:2], 1, {**env, "epsilon": 0.4, "confidence": 0.05})
    begin(core, team, 0)
    sigma, h = constants(0.4, 3.0)
    for m, b, n in ((10, 1, 2), (4, 5, 30), (2, 12, 4096)):
        log = math.log(2 * m * b * b / 0.05)
        noise = sigma * math.sqrt(log) + h * log + (more(m, b, n, 0.4, 0.05) if more else 0)
        expected = math.sqrt(math.log(4 * m * b * b / 0.05) / (2 * n)) + noise / n
        assert team.width(m, b, n) == pytest.approx(expected, rel=1e-12)


def test_batches_grow_by_any_base():
    for base in (1.5, 2.0, 4.0):
        team = hb.make_team("Dist-DP-SE", batch_growth=base)
        assert [team.length(4, b) for b in range(1, 9)] == [math.ceil(base**b) for b in range(1, 9)]


def test_a_phase_counts_as_many_users_as_its_shortest_block():
    env, team = build("DistDP-v0", "Dist-DP-SE", 1, {"n_arms": 3, "horizon": 10_000})
    begin(env, team, 0)
    asked = []
    team.width = lambda m, b, n: asked.append((m, b, n)) or 1.0
    yes, no = np.array([[True]]), np.array([[False]])

    def hears(n, arrived=yes):
        team.receive(BlockInbox(np.array([[0.5 * n]]), np.array([[n]]), arrived))
        return team._arm.item()

    assert [hears(2), hears(0, no), hears(1), hears(2)] == [1, 1, 2, 0]  # a lost block is requested again
    assert [hears(4), hears(3), hears(4)] == [1, 2, 0]
    assert asked == [(3, 1, 1), (3, 2, 3)]


@pytest.mark.parametrize("min_participants", [0.5, 0.9])
def test_a_radius_counts_on_the_noise_of_all_who_may_be_left(min_participants):
    """Noise is calibrated to t_min of the users, and all of them may add it: the quantile of the sum of n shares."""
    core, team = build(
        "DistDP-v0", "Dist-DP-SE", 1, {"epsilon": 0.4, "confidence": 0.05, "min_participants": min_participants}
    )
    begin(core, team, 0)
    for m, b in ((10, 4), (2, 9)):
        n = 2**b
        plan = distributed_pure(n, 0.4, 0.05 / (m * b * b), math.floor(min_participants * n))
        log = math.log(2 * m * b * b / 0.05)
        sampling = math.sqrt(math.log(4 * m * b * b / 0.05) / (2 * n))
        rounding = math.sqrt(2 * log) / 0.4 / n
        assert team.width(m, b, n) == pytest.approx(sampling + rounding + plan.tau / plan.g / n, rel=1e-12)


# -- the paper's statements ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_regret_stays_below_lemma_2(epsilon):
    p, runs = 0.1, 100
    env, team = build("DistDP-v0", "Dist-DP-SE", runs, {"horizon": 10**6, "epsilon": epsilon, "confidence": p})
    regret = hb.rollout(env, team, 3)["regret"]
    bound = np.array(regret_bound(env.gaps, epsilon, p, 10**6))
    assert stats.binom.sf((regret > bound).sum() - 1, runs, 3 * p) > 1e-7
    assert np.median(regret / bound) > 0.1  # the bound is informative


@pytest.mark.parametrize("confidence", [0.1, "1/T"])
def test_confidence_is_a_number_or_one_over_the_horizon(confidence):
    env, team = build("DistDP-v0", "Dist-DP-SE", 1, {"horizon": 5000, "confidence": confidence})
    hb.rollout(env, team, 0)
    p = 1 / 5000 if confidence == "1/T" else 0.1
    assert env.mechanism.planned(64).tau == math.ceil(8 * math.log(2 / p))
    assert team._p == p


def test_shuffle_batches_start_at_32_and_small_blocks_are_refused():
    env, team = build("ShuffleDP-v0", "Shuffle-DP-SE", 1, {"horizon": 3000})
    obs = begin(env, team, 0)
    assert team.act(obs)[1].tolist() == [[32]]
    assert [team.length(4, b) for b in (1, 2, 3)] == [32, 64, 128]
    env.pull((np.array([[0]]), np.array([[18]])))
    assert not env.communicate().inbox.arrived.any()
    env.pull((np.array([[0]]), np.array([[19]])))
    assert env.communicate().inbox.arrived.all()


def test_a_relaxed_sum_is_wrong_with_probability_one_over_2t():
    # At ε = 10⁶ noise is far below one user: a nonzero value is a relaxed sum, uniform on ℤ_m.
    runs, servers, n = 1000, 10, 32
    env = hb.make_batched(
        "ShuffleDP-v0", shuffle="pure", horizon=n, runs=runs, n_agents=servers, means=(0.0, 1.0), rewards="bernoulli",
        epsilon=1e6, permute_arms=False,
    )  # fmt: skip
    env.reset(0)
    env.pull((np.zeros((runs, servers), int), np.full((runs, servers), n)))
    z = env.communicate().inbox.total("reward").ravel()
    wild = z[np.abs(z) > 1e-3]
    assert stats.binomtest(len(wild), runs * servers, 1 / (2 * n)).pvalue > 1e-7
    assert stats.kstest(wild, stats.uniform(0, n).cdf).pvalue > 1e-7


def test_a_shuffled_sum_and_its_noise_are_as_secure():
    assert hb.make_batched("ShuffleDP-v0", security=20).guarantees()[0].delta > 1e-6
