"""Seeds depend on the master seed, on the parameters of rewards and world, and on the run's number; on nothing else."""

import numpy as np
import pytest
from refusals import rows

import hushbandits as hb
from hushbandits.core.random.names import REWARD
from hushbandits.registry import assemble, takes

NET = {"n_agents": 4, "n_arms": 3, "means": hb.UniformMeans(0.1, 0.9), "horizon": 30}


def test_evaluate_plays_the_run_that_rollout_plays():
    team = hb.make_team("Multi-UCB")
    regret = hb.rollout(assemble("CoopNetwork-v0", team, runs=1, env=NET), team, 5)["regret"]
    assert hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=3, seed=5, env=NET).final("regret")[0] == regret[0]


def seeds(id, **params):
    env = hb.make_batched(id, 2, **params)
    env.reset(3)
    return env.seeds.tolist()


@rows("id", sorted(id for id in hb.list_envs() if takes(id, "epsilon")))
def test_two_values_of_epsilon_fit_the_same_runs(id):
    assert seeds(id, epsilon=0.5) == seeds(id, epsilon=2.0)


@pytest.mark.parametrize("wrapper", [hb.make_wrapper("Loss", rate=0.4), hb.make_wrapper("SecAgg", protocol="bonawitz")])
def test_wrappers_and_protocols_fit_the_same_runs(wrapper):
    assert seeds("CoopNetwork-v0", wrappers=[wrapper], **NET) == seeds("CoopNetwork-v0", **NET)


@pytest.mark.parametrize(
    "change", [{"n_agents": 5}, {"n_arms": 4}, {"horizon": 31}, {"rewards": "beta"}, {"graph": "star"}]
)
def test_another_world_has_other_runs(change):
    assert not {*map(tuple, seeds("CoopNetwork-v0", **{**NET, **change}))} & {
        *map(tuple, seeds("CoopNetwork-v0", **NET))
    }


def test_a_team_cannot_open_the_streams_of_its_env():
    """No attribute of a team's arguments leads to the rewards that its env draws."""
    handed = []

    class Curious(hb.Team):
        def reset(self, env, rng):
            handed.append(rng.uniforms(0, (4,), REWARD))

        def act(self, obs):
            return np.zeros(obs.active_agents.shape, int)

    core = hb.make_batched("CoopNetwork-v0", **NET)
    hb.rollout(core, Curious(), 5)
    drawn = hb.core.Streams(core.seeds).uniforms(0, (4,), REWARD)
    assert not np.isin(handed, drawn).any()
