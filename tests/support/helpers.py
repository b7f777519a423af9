"""Helpers to play step by step, and to observe."""

import sys
from pathlib import Path

import numpy as np

import hushbandits as hb
from hushbandits.core import Streams, spawn_seeds
from hushbandits.core.team import EnvView
from hushbandits.registry import assemble, takes


def own_streams(env, team):
    """Return the arguments with which a team starts."""
    return Streams(env.seeds).below(f"agent/{team.stream}")


def begin(env, team, seeds):
    """Start the runs of an env and its team; return the first observation."""
    obs = env.reset(seeds)
    team.reset(EnvView(env), own_streams(env, team))
    return obs


def cursors(runs, seed=3):
    """Return the uniforms behind the rewards of a block, in so many runs."""
    return Streams(spawn_seeds(seed, runs)).cursors().reshape(runs, 1, -1)


def arms_pulled(env, team, seeds, look=lambda: None):
    """Play by phases; return the arms of every round, (R, T, M)."""
    hb.check_compatible(env, team)
    obs, arms = begin(env, team, seeds), []
    while obs.running.any():
        arms.append(team.act(obs).copy())
        obs = env.pull(arms[-1])
        obs = env.communicate(team.compose(obs.reward))
        team.receive(obs.inbox)
        look()
    return np.stack(arms, 1)


def build(env_id, agent, runs, env=None, agent_kwargs=None, wrappers=()):
    """Return an env and a team; arms keep the given order, as naive twins need."""
    team = hb.make_team(agent, **(agent_kwargs or {}))
    order = {"permute_arms": False} if takes(env_id, "permute_arms") else {}
    return assemble(env_id, team, runs=runs, env={**order, **(env or {})}, wrappers=wrappers), team


def equal(one, two, what=""):
    """Return whether two dicts of arrays are equal."""
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=f"{what} {name}")


def act(env):
    """Return a random action for every agent of a PettingZoo env."""
    return {agent: env.action_space(agent).sample() for agent in env.agents}


def estimates(samples, log_inverse_delta, out):
    """Write the means at confidence 1 − δ to `out` ``(R, M, K)``; entries without a sample stay unchanged."""
    for r in range(len(out)):
        samples.rules.estimate(samples.state, r, log_inverse_delta, out, np.empty(out.shape))


def calls(function, *args):
    """Return the files of this package's functions that are called, one for each call."""
    root, files, before = str(Path(hb.__file__).parent), [], sys.getprofile()
    sys.setprofile(lambda frame, event, _: files.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return [file for file in files if file.startswith(root)]
