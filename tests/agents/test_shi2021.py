"""Fed1-UCB (Shi & Shen 2021) equals its naive twin, and its posts have the right cost."""

import math

import numpy as np
import pytest
from helpers import arms_pulled, build
from twin_streams import Steps
from twins_federated import fed1, naive_phases, rewards_of

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.team import revealed
from hushbandits.wrappers.loss import Loss

MEANS = (0.7, 0.2, 0.5, 0.65)
FACTORS = {1: None, 2: [[1.5, 0.5, 1.2, 0.8], [0.5, 1.5, 0.8, 1.2]], 5: None}
T = 700


@pytest.mark.parametrize(("pulls", "sigma"), [(1, 0.5), (7, 0.1), (None, 0.5)])
@pytest.mark.parametrize("m", FACTORS)
def test_it_equals_its_naive_twin(m, pulls, sigma):
    given = {"n_agents": m, "means": MEANS, "factors": FACTORS[m], "spread": 0.1, "horizon": T}
    env, team = build("FederatedNetwork-v0", "Fed1-UCB", 4, given, {"pulls": pulls, "sigma": sigma, "cost": 0.5})
    arms = arms_pulled(env, team, spawn_seeds(8, 4))
    final, shown = env.metrics(), metrics(env, team)
    each = math.floor(10 * math.log(T)) if pulls is None else pulls
    for r, seed in enumerate(spawn_seeds(8, 4)):
        pull = rewards_of(seed, env.arms.own[r].tolist(), T)
        played, uploads = naive_phases(pull, m, 4, T, lambda p: each, fed1(T, m, sigma))
        assert arms[r].tolist() == played
        assert shown["uploads"][r] == uploads
        regret = (0.7 - np.array(MEANS))[arms[r]].sum()
        assert final["regret"][r] == pytest.approx(regret)
        assert shown["total_regret"][r] == pytest.approx(regret + 0.5 * uploads)
    if sigma == 0.1:
        assert all(len(np.unique(run[-50:])) < 4 for run in arms)  # some were dropped


def metrics(env, team):
    with revealed(env) as its:
        return team.metrics(its)


def test_what_is_lost_leaves_the_last_word_standing():
    given = {"n_agents": 3, "means": MEANS, "spread": 0.1, "horizon": T}
    env, team = build("FederatedNetwork-v0", "Fed1-UCB", 3, given, {"pulls": 7}, [Loss(0.5)])
    arms = arms_pulled(env, team, spawn_seeds(2, 3))
    apart = 0
    for r, seed in enumerate(spawn_seeds(2, 3)):
        lost = Steps(seed, "wrapper/Loss/drop").random((T, 3))
        pull = rewards_of(seed, env.arms.own[r].tolist(), T)
        played, _ = naive_phases(pull, 3, 4, T, lambda p: 7, fed1(T, 3), lost=lambda t, i, u=lost: u[t - 1, i] < 0.5)
        assert arms[r].tolist() == played
        apart += len({tuple(column) for column in arms[r].T.tolist()}) > 1
    assert apart  # agents received different messages


def test_posts_cost_as_often_as_a_server_gets_them():
    env = {"n_agents": 4, "means": MEANS, "horizon": 200}
    result = hb.evaluate("FederatedNetwork-v0", "Fed1-UCB", runs=3, env=env, agent_kwargs={"pulls": 10})
    np.testing.assert_array_equal(result.final("messages"), 3 * result.final("uploads"))
    assert (result.final("uploads") >= 4 * 5).all()
