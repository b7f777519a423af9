"""Wrappers across the settings: what they hide, what they change, and what they must keep."""

import numpy as np
import pytest
from helpers import build
from scipy import stats

import hushbandits as hb
from hushbandits.core.rollout import rollout
from hushbandits.envs.feedback.env import Feedback
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

NET = {"n_agents": 9, "graph": "grid", "horizon": 60}


@pytest.mark.parametrize("cohort", [2, 4])
def test_secagg_reveals_exactly_the_sums(cohort):
    """Bernoulli rewards are exact on the grid: under SecAgg the tally is the plain one, of arms that enough report."""
    plain, sealed = (hb.make_batched("CoopNetwork-v0", wrappers=w, **NET) for w in ([], [SecAgg(cohort)]))
    rng = np.random.default_rng(0)
    plain.reset(0)
    sealed.reset(0)
    for _ in range(60):
        arms = rng.integers(3, size=(1, 9))
        plain.pull(arms)
        sealed.pull(arms)
        open_inbox, closed = plain.communicate().inbox, sealed.communicate().inbox
        pulls, sums = open_inbox.tally()
        enough = pulls >= cohort
        np.testing.assert_array_equal(closed.arrived[..., 0], enough.any(2))
        np.testing.assert_array_equal(closed.tally()[0], pulls * enough)
        np.testing.assert_array_equal(closed.tally()[1], sums * enough)


def test_secagg_rounds_rewards_to_its_grid():
    env = hb.make_batched("CoopNetwork-v0", rewards="beta", wrappers=[SecAgg(quantization_levels=8)], **NET)
    plain = hb.make_batched("CoopNetwork-v0", rewards="beta", **NET)
    for e in (env, plain):
        e.reset(1)
    for _ in range(20):
        arms = np.zeros((1, 9), int)
        reward = plain.pull(arms).reward
        env.pull(arms)
        (pulls, sums), (_, exact) = env.communicate().inbox.tally(), plain.communicate().inbox.tally()
        assert (np.abs(sums - exact * (pulls > 0)) <= pulls / 16 + 1e-9).all()
        assert ((sums * 8) == np.rint(sums * 8)).all()
        assert ((reward >= 0) & (reward <= 1)).all()


def test_secagg_modulus_has_room_for_every_honest_sum():
    """The modulus is that of the agent with most neighbours: the middle of the path hears four, its ends two."""
    path = hb.make_batched(
        "CoopNetwork-v0", n_agents=5, graph="path", max_hops=2, wrappers=[SecAgg(quantization_levels=10, bound=3.0)]
    )
    path.reset(0)
    for _ in range(2):
        path.pull(np.zeros((1, 5), int))
        inbox = path.communicate({"arm": np.zeros((1, 5), int), "reward": np.full((1, 5), -3.0)}).inbox
    np.testing.assert_allclose(inbox.tally()[1][0, :, 0], np.array([2, 3, 4, 3, 2]) * -3.0)


@pytest.mark.parametrize("wrapper", [SecAgg, Shuffle])
def test_a_window_of_votes_gives_the_coordinator_only_sums_that_add_up(wrapper):
    env, team = build("DPMASE-v0", "DP-MASE", 2, {"n_agents": 12}, {"epsilon": 1.0}, (wrapper(batch_window=50),))
    metrics = rollout(env, team, 0)
    assert metrics["correct"].all()
    assert (env.votes <= 12).all()
    # every opened vote is counted once; the coordinator's own bit matrix stays empty
    assert not env.book.counted.any()
    assert (env.votes <= env.book.sent.sum(1)).all()


def test_local_laplace_has_the_law_of_laplace():
    env = hb.make_batched(
        "CoopNetwork-v0", n_agents=40, graph="complete", horizon=60, wrappers=[LocalLaplace(0.5, own_feedback="true")]
    )
    obs = env.reset(0)
    noise = []
    while obs.running.any():
        reward = env.pull(np.zeros((1, 40), int)).reward
        obs = env.communicate()
        heard = obs.inbox["reward"][0, 0], obs.inbox["sender"][0, 0]
        noise.append(heard[0] - reward[0, heard[1]])
    assert stats.kstest(np.concatenate(noise), stats.laplace(scale=2.0).cdf).pvalue > 1e-6


@pytest.mark.parametrize("users", ["aggregate", "individual"])
def test_huber_shifts_a_block_by_its_rate(users):
    env = hb.make_batched(
        "CentralDP-v0", simulate_users=users, means=[0.2, 0.4], rewards="bernoulli", horizon=40_000, epsilon=1e6,
        permute_arms=False, wrappers=[Huber(0.3, law="constant", location=1.0, fraction=0.5)],
    )  # fmt: skip
    env.reset(0)
    env.pull((np.array([[0]]), np.array([[40_000]])))
    mean = env.communicate().inbox.total("reward")[0, 0] / 40_000
    # contaminated with probability .15: mean .85·.2 + .15; standard error below .0024, seven of them
    assert abs(mean - (0.85 * 0.2 + 0.15)) < 0.017


@pytest.mark.parametrize("users", ["aggregate", "individual"])
def test_loss_thins_a_block(users):
    env = hb.make_batched("CentralDP-v0", simulate_users=users, horizon=10_000, wrappers=[Loss(0.25)])
    env.reset(0)
    env.pull((np.array([[3]]), np.array([[10_000]])))
    kept = int(env.communicate().inbox.total("n")[0, 0])
    assert stats.binomtest(kept, 10_000, 0.75).pvalue > 1e-6


@pytest.mark.parametrize("users", ["aggregate", "individual"])
def test_local_laplace_widens_a_block(users):
    """n users' noise: variance 2n/ε²."""
    env = Feedback(
        simulate_users=users, means=[0.0, 1.0], rewards="bernoulli", horizon=64 * 400, wrappers=[LocalLaplace(0.5)]
    )
    obs = env.reset(0)
    sums = []
    while obs.running.any():
        env.pull((np.array([[0]]), np.array([[64]])))
        obs = env.communicate()
        sums.append(obs.inbox.total("reward")[0, 0])
    expected = 64 * 2 / 0.25
    # 400 sums, near Gaussian: the variance estimate's relative standard error is about √(2/400) = .07
    assert 0.6 * expected < np.var(sums) < 1.5 * expected


def test_shuffle_permutes_users_and_keeps_their_sum():
    seen = []
    for wrappers in ((), (Shuffle(),)):
        env = Feedback(simulate_users="individual", horizon=100, wrappers=wrappers)
        env.reset(0)
        env.pull((np.array([[0]]), np.array([[50]])))
        seen.append(env.communicate().inbox["users"][0, 0, 0])
    assert not np.array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(np.sort(seen[0]), np.sort(seen[1]))
