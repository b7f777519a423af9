"""Arms that pay exactly where they stand, and what is promised there."""

import math

import hushbandits as hb
from hushbandits.core.random.rewards import Constant
from hushbandits.envs.feedback.env import Feedback
from hushbandits.envs.network.env import CoopNetwork

#: A field of numbers that anything may stand in.
CODE = hb.Field()


class Always(Constant):
    """An arm pays where it stands, in [0, 1]."""

    unit_interval = True


def network(x, *wrappers, cls=CoopNetwork, **more):
    """Two agents who hear each other, and whose every pull pays x."""
    if issubclass(cls, CoopNetwork):
        more["graph"] = "complete"
    law = {"means": [x, x], "rewards": Always(), "horizon": 4, "n_agents": 2}
    return cls(wrappers=wrappers, **law, **more)


def feedback(x, *wrappers, **more):
    """A server whose users are all paid x."""
    return Feedback(wrappers=wrappers, means=[x, x], rewards=Always(), horizon=100, **more)


def finite(env, team=None):
    """The lines of the table of promises whose ε is finite."""
    return [line for line in hb.privacy_report(env, team) if math.isfinite(line.epsilon)]
