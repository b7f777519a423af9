"""Local privacy by randomized replacement: the coin's law, its guarantee, its audit, and mutants of it."""

import math

import numpy as np
import pytest
from helpers import begin, build
from refusals import rows
from scipy import stats

import hushbandits as hb
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
def test_the_coin_leans_as_it_is_said_to(epsilon, x):
    env = hb.make_batched("CoopNetwork-v0", runs=500, n_agents=16, horizon=1, wrappers=[LocalBernoulli(epsilon)])
    env.reset(3)
    bits = env.wrappers[0].alter_own_reward(np.full((500, 16), x), env)
    assert set(np.unique(bits)) <= {0.0, 1.0}
    chance = (x * math.expm1(epsilon) + 1) / (math.exp(epsilon) + 1)
    assert stats.binomtest(int(bits.sum()), bits.size, chance).pvalue > 1e-4


def test_agents_see_bits_and_regret_counts_the_arms():
    world = {"rewards": "beta", "epsilon": 2.0, "mechanism": "bernoulli", "n_agents": 4, "horizon": 30}
    env, team = build("LocalDPNetwork-v0", "QuACK-LDP-UCB-B", 2, world)
    obs = begin(env, team, 1)
    for _ in range(30):
        arms = team.act(obs).copy()
        obs = env.pull(arms)
        assert set(np.unique(obs.reward)) <= {0.0, 1.0}
        obs = env.communicate(team.compose(obs.reward))
        values = obs.inbox["reward"][obs.inbox.arrived]
        assert set(np.unique(values)) <= {0.0, 1.0}
        team.receive(obs.inbox)
    gaps = env.metrics()["regret"] / 0.05
    np.testing.assert_allclose(gaps, gaps.round(), atol=1e-9)


@rows("agent", ["LDP-UCB-L", "QuACK-LDP-UCB-L"])
@rows("mechanism", ["laplace", "bernoulli"])
def test_policy_and_mechanism_share_epsilon(agent, mechanism):
    world = {"n_agents": 4, "horizon": 60}
    found = []
    for given, own in (({"epsilon": 4.0}, {}), ({}, {"epsilon": 4.0}), ({"epsilon": 4.0}, {"epsilon": 4.0})):
        env, team = build("LocalDPNetwork-v0", agent, 2, {**world, "mechanism": mechanism, **given}, own)
        assert [g.epsilon for g in env.guarantees()] == [4.0]
        found.append(hb.rollout(env, team, seed=3)["regret"].tolist())
        state = team.state.pi if agent.startswith("QuACK") else team.state  # a single agent has the policy's state
        assert state.parameter == 4.0
    assert found[0] == found[1] == found[2]
    with pytest.raises(ValueError, match=r"epsilon=2\.0 .*epsilon=4\.0"):
        build("LocalDPNetwork-v0", agent, 2, {**world, "epsilon": 2.0}, {"epsilon": 4.0})


@pytest.mark.parametrize(
    "wrapper", [LocalBernoulli(2.0), LocalLaplace(2.0, own_feedback="private")], ids=["coin", "laplace"]
)
def test_a_mechanism_of_the_callers_shares_epsilon_too(wrapper):
    world = {"n_agents": 4, "horizon": 20}
    env, team = build("CoopNetwork-v0", "QuACK-LDP-UCB-L", 1, world, wrappers=(wrapper,))
    hb.rollout(env, team, seed=0)
    assert team.state.pi.parameter == 2.0
    env, team = build("CoopNetwork-v0", "QuACK-LDP-UCB-L", 1, world, {"epsilon": 1.0}, (wrapper,))
    with pytest.raises(ValueError, match=rf"epsilon=1.0 of policy LDP-UCB-L must equal epsilon=2.0 of {wrapper.name}"):
        hb.rollout(env, team, seed=0)
    env, team = build("CoopNetwork-v0", "QuACK-LDP-UCB-L", 1, world)  # without noise
    hb.rollout(env, team, seed=0, step=lambda: None)
    assert team.state.pi.parameter == 1.0


@pytest.mark.parametrize("agent", ["coop-UCB", "DDUCB", "Dec-TS"])
def test_gossip_over_coins_is_private_and_learns(agent):
    """Sums of bits are made of bits; their means keep the arms' order, so that the peers' rules hold as they stand."""
    world = {"n_agents": 4, "horizon": 400, "mechanism": "bernoulli", "epsilon": 4.0, "means": (0.9, 0.1, 0.1)}
    env, team = build("LocalDPNetwork-v0", agent, 4, world)
    assert [(g.epsilon, g.delta) for g in env.guarantees()] == [(4.0, 0.0)]
    assert hb.rollout(env, team, seed=1)["regret"].max() < 0.5 * 4 * 400 * 0.8 * 2 / 3
