"""Every env can be watched, whatever its agents are told of their own rewards."""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.views.watch import watched


@pytest.mark.parametrize("env", hb.list_envs())
def test_a_watched_run_is_the_one_that_is_played(env):
    def core():
        return hb.make_core(env, n_agents=32, horizon=30)

    team = hb.make_team("Random")
    seen = core()
    rounds = sum(1 for _ in watched(seen, team, seed=3)) - 1
    played = hb.play(core(), hb.make_team("Random"), seed=3)
    assert rounds > 0
    for name, value in seen.metrics().items():
        np.testing.assert_array_equal(value, played[name], err_msg=name)


def test_agents_that_are_told_no_rewards_can_be_watched():
    env = hb.make_core("PrivateNetwork-v0", n_agents=4, horizon=5)
    assert [task.pulls.sum().item() for task in watched(env, hb.make_team("Private-UCB"))][-1] > 0
