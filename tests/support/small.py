"""Small versions of registered envs: a short horizon, and the fewest agents that can decide a run."""

import warnings
from functools import cache

import hushbandits as hb

#: Numbers of agents tried in turn: fewer may have no way to remove an arm.
AGENTS = (3, 5, 8, 16, 32, 64)
HORIZON = 12
#: Envs whose actions are numbers, not choices.
NUMBERS = ("PricedNetwork-v0", "PricedNetwork-Train-v0")


@cache
def _fewest(env_id):
    for n_agents in AGENTS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it warns if no vote can decide
            try:
                hb.make(env_id, n_agents=n_agents, horizon=HORIZON)
            except (ValueError, UserWarning):
                continue
        return n_agents
    raise AssertionError(f"{env_id} cannot be made small: tell tests/support/small.py how")


def small(env_id, **more):
    """Return parameters for a short and small env; `more` take precedence."""
    return {"n_agents": _fewest(env_id), "horizon": HORIZON, **more}
