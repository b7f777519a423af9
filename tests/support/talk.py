"""Envs brought to where messages are due."""

import numpy as np

import hushbandits as hb

NET = {"n_agents": 5, "graph": "complete", "means": [0.9, 0.5, 0.1]}


def begun(env, seeds=0):
    """Return an env whose runs have started."""
    env.reset(seeds)
    return env


def at_talk(env_id="CoopNetwork-v0", seed=0, **kwargs):
    env = hb.make_core(env_id, **{**(NET if env_id == "CoopNetwork-v0" else {}), **kwargs})
    env.reset(seed)
    return env, env.pull(default_action(env))


def default_action(env):
    shape = env.who.shape
    if env.setting == "exploration":
        return np.ones((*shape, env.n_arms), bool)
    return np.zeros(shape, int) if env.setting == "network" else (np.zeros(shape, int), np.full(shape, 8))
