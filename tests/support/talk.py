"""Envs played up to the communication phase."""

import numpy as np

import hushbandits as hb
from hushbandits.core.wrapper import Wrapper

NET = {"n_agents": 5, "graph": "complete", "means": [0.9, 0.5, 0.1]}


def begun(env, seeds=0):
    """Return an env whose runs have started."""
    env.reset(seeds)
    return env


def at_talk(env_id="CoopNetwork-v0", seed=0, **kwargs):
    env = hb.make_batched(env_id, **{**(NET if env_id == "CoopNetwork-v0" else {}), **kwargs})
    env.reset(seed)
    return env, env.pull(default_action(env))


def default_action(env):
    shape = env.active_agents.shape
    if env.setting == "exploration":
        return np.ones((*shape, env.n_arms), bool)
    return (np.zeros(shape, int), np.full(shape, 8)) if env.setting == "feedback" else np.zeros(shape, int)


def mine(hook, value, **more):
    """Return a wrapper named Mine one hook of which returns `value`."""
    return type("Mine", (Wrapper,), {hook: lambda self, *_: value, **more})()


def game(made, **kwargs):
    """Play a round with a wrapper, and call all of its hooks."""
    env, _ = at_talk(wrappers=[made], **kwargs)
    env.communicate()
    env.metrics()
    env.guarantees()


def view_begun(**kwargs):
    """Return a small env of the views whose episode has started."""
    env = hb.make("CoopNetwork-v0", n_agents=2, **kwargs)
    env.reset(seed=0)
    return env


def view_over():
    """Return a small env of the views whose episode is over."""
    env = view_begun(horizon=1)
    env.step({"agent_0": 0, "agent_1": 0})
    return env


def play_one(env_id, action, **kwargs):
    """Start a small env of the views, and play an action of its last agent."""
    env = hb.make(env_id, n_agents=2, **kwargs)
    env.reset(seed=0)
    env.step({"agent_0": env.action_space("agent_0").sample(), "agent_1": action})


def begun_vec(env_id, make=hb.make_vec, **kwargs):
    """Return a vector env of two runs whose episodes have started."""
    env = make(env_id, 2, **kwargs)
    env.reset()
    return env
