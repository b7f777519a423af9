"""Duels on a graph: preferences checked, instances permuted, Zoghi's regret."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.envs.network.dueling import condorcet_winner

CYCLE = [[0.5, 0.6, 0.7, 0.8], [0.4, 0.5, 0.9, 0.1], [0.3, 0.1, 0.5, 0.9], [0.2, 0.9, 0.1, 0.5]]  # 1 > 2 > 3 > 1


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_regret_is_zoghis_on_permuted_instances(arms, seed):
    rng = np.random.default_rng(seed)
    p = np.triu(rng.random((arms, arms)), 1)
    p = p + np.tril(1 - p.T, -1) + 0.5 * np.eye(arms)
    w = int(rng.integers(arms))
    p[w], p[:, w] = 0.9, 0.1
    p[w, w] = 0.5
    env = hb.make_batched("DuelingNetwork-v0", runs=3, n_agents=4, horizon=9, preferences=p.tolist(), permute_arms=True)
    env.reset(seed)
    assert env.n_arms == arms * arms
    regret = np.zeros((3, 4))
    orders = set()
    for _ in range(9):
        action = rng.integers(arms * arms, size=(3, 4))
        env.communicate({"arm": action, "reward": env.pull(action).reward, "sent": np.ones((3, 4), bool)})
        for r in range(3):
            chance = env.arms.locations[r].reshape(arms, arms)
            best = condorcet_winner(chance)
            orders.add(best)
            first, second = np.divmod(action[r], arms)
            regret[r] += (chance[best, first] + chance[best, second]) / 2 - 0.5
    for r in range(3):  # the same duel with renamed arms: rows and columns alike
        chance = env.arms.locations[r].reshape(arms, arms)
        np.testing.assert_allclose(np.sort(chance.sum(1)), np.sort(p.sum(1)))
        np.testing.assert_allclose(chance + chance.T, 1)
    np.testing.assert_allclose(env.metrics()["agent_regret"], regret, atol=1e-12)


def test_a_pair_pays_when_its_first_arm_wins():
    given = {"n_agents": 4, "horizon": 16, "preferences": CYCLE, "permute_arms": False}
    env = hb.make_batched("DuelingNetwork-v0", runs=400, **given)
    env.reset(2)
    for pair in range(16):
        reward = env.pull(np.full((400, 4), pair)).reward
        env.communicate({"arm": np.full((400, 4), pair), "reward": reward, "sent": np.ones((400, 4), bool)})
        assert abs(reward.mean() - CYCLE[pair // 4][pair % 4]) < 4 * 0.5 / 40
    assert env.gaps[0].reshape(4, 4)[0].tolist() == pytest.approx([0.0, 0.05, 0.1, 0.15])
