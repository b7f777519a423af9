"""Playing by hand, and watching."""

import numpy as np

import hushbandits as hb
from hushbandits.core import Streams, spawn_seeds
from hushbandits.registry import assemble, takes


def own_streams(env, team):
    """What a team is started with."""
    return Streams(env.seeds).below(f"agent/{team.stream}")


def cursors(runs, seed=3):
    """What the rewards of a block in each of so many runs are drawn from."""
    return Streams(spawn_seeds(seed, runs)).cursors().reshape(runs, 1, -1)


def arms_pulled(env, team, seeds, look=lambda: None):
    """Play by the phases; the arms of every round, (R, T, M)."""
    hb.check_compatible(env, team)
    obs, arms = env.reset(seeds), []
    team.reset(env, own_streams(env, team))
    while obs.live.any():
        arms.append(team.act(obs).copy())
        obs = env.pull(arms[-1])
        obs = env.talk(team.speak(obs.reward))
        team.hear(obs.inbox)
        look()
    return np.stack(arms, 1)


def build(env_id, agent, runs, env=None, agent_kwargs=None, wrappers=()):
    """An env and a team; arms stand in the order given, as naive twins know them."""
    team = hb.make_team(agent, **(agent_kwargs or {}))
    order = {"permute_arms": False} if takes(env_id, "permute_arms") else {}
    return assemble(env_id, team, runs=runs, env={**order, **(env or {})}, wrappers=wrappers), team


def equal(one, two, what=""):
    """Whether two dicts of arrays are the same."""
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=f"{what} {name}")


def act(env):
    """A random action for every agent of a PettingZoo env."""
    return {agent: env.action_space(agent).sample() for agent in env.agents}
