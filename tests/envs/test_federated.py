"""Agents with different arms: rewards, costs, and compatibility with the network setting."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri
from twin_streams import Steps, generator

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.network.federated import specialists

MEANS = (0.7, 0.2, 0.5)
FACTORS = [[1.6, 0.5, 1.0], [0.4, 1.5, 1.0]]
PLAIN = {"n_agents": 2, "means": MEANS, "factors": FACTORS, "spread": 0.0, "horizon": 60}


def made(runs=3, **given):
    return hb.make_batched("FederatedNetwork-v0", runs=runs, **{**PLAIN, **given})


def test_pulls_pay_by_the_agents_means_and_cost_by_the_global_ones():
    env = made(runs=2, permute_arms=False, spread=0.3, margin=0.1)
    arms = np.random.default_rng(0).integers(3, size=(60, 2, 2))
    env.reset(spawn_seeds(4, 2))
    regret = np.zeros((2, 2))
    for t in range(60):
        reward = env.pull(arms[t]).reward
        env.communicate()
        for r, seed in enumerate(spawn_seeds(4, 2)):
            around = np.array(FACTORS) * MEANS + 0.3 * ndtri(generator(seed, "clients").random((2, 3)))
            u = Steps(seed, "reward").random((60, 2))
            for m in range(2):
                k = arms[t, r, m]
                assert reward[r, m] == pytest.approx(stats.norm.ppf(u[t, m], around[m, k], 0.5))
                regret[r, m] += max(0.7 - MEANS[k] - 0.1, 0)
    np.testing.assert_allclose(env.metrics()["agent_regret"], regret)
    np.testing.assert_allclose(env.gaps, [[0, 0.4, 0.1]] * 2)
    np.testing.assert_allclose(env.means, [MEANS] * 2)


def test_factors_go_with_their_arms_when_these_are_shuffled():
    env = made(runs=40)
    env.reset(3)
    orders = set()
    for r in range(40):
        place = [MEANS.index(mean) for mean in env.means[r]]
        orders.add(tuple(place))
        np.testing.assert_allclose(env.arms.own[r], (np.array(FACTORS) * MEANS)[:, place])
    assert len(orders) == 6
    np.testing.assert_allclose(env.arms.own.mean(1), env.means)  # the exact model


def test_agents_are_drawn_around_the_global_means_and_drawn_means_have_factors_too():
    env = made(runs=400, n_agents=2, n_arms=3, means=hb.UniformMeans(0.2, 0.8), spread=0.05)
    env.reset(1)
    away = (env.arms.own - env.means[:, None] * np.array(FACTORS)) / 0.05
    assert stats.kstest(away.ravel(), "norm").pvalue > 1e-6
    assert abs(np.corrcoef(away[:, 0].ravel(), away[:, 1].ravel())[0, 1]) < 0.15


@pytest.mark.parametrize(("agents", "own", "rest"), [(1, 1.0, 1.0), (5, 4.2, 0.2), (10, 9.1, 0.1)])
def test_specialists_are_shi_and_shens(agents, own, rest):
    factors = specialists(agents, 10)
    for m in range(agents):
        expected = [own if k in ({1: {*range(10)}, 5: {m, 9 - m}, 10: {m}}[agents]) else rest for k in range(10)]
        assert factors[m].tolist() == pytest.approx(expected)
    np.testing.assert_allclose(specialists(agents, 23).mean(0), 1)
    np.testing.assert_array_equal(made(n_agents=agents, factors="specialists").arms.factors, specialists(agents, 3))


def test_bernoulli_agents_stay_within_their_law():
    env = made(rewards="bernoulli", factors=[[1.2, 0.5, 1.0], [0.8, 1.5, 1.0]], runs=300, permute_arms=False)
    env.reset(0)
    rewards = []
    for _ in range(40):
        rewards.append(env.pull(np.zeros((300, 2), int)).reward)
        env.communicate()
    assert np.mean(rewards, axis=(0, 1)) == pytest.approx([0.84, 0.56], abs=4 * 0.5 / 12_000**0.5)


@pytest.mark.parametrize("every_message", [False, True])
def test_views_play_it(every_message):
    env = hb.make("FederatedNetwork-v0", render_mode="ansi", observe_messages=every_message, **PLAIN)
    env.reset(seed=1)
    for _ in range(5):
        _, reward, *_ = env.step(dict.fromkeys(env.agents, 0))
        assert list(reward.values()) == env.core._reward[0].tolist()
    assert env.core.metrics()["regret"][0] == pytest.approx(10 * env.core.gaps[0, 0])
    assert "arm" in env.render()
