"""Arms that pay their means exactly, and the guarantees on them."""

import math

import hushbandits as hb
from hushbandits.core.random.rewards import Constant
from hushbandits.envs.feedback.env import Feedback
from hushbandits.envs.network.env import CoopNetwork

#: A field for any number.
CODE = hb.Field()


class Always(Constant):
    """A law that pays the mean of an arm exactly, in [0, 1]."""

    unit_interval = True


def network(x, *wrappers, cls=CoopNetwork, **more):
    """Two agents who hear each other; every pull pays x."""
    if issubclass(cls, CoopNetwork):
        more["graph"] = "complete"
    law = {"means": [x, x], "rewards": Always(), "horizon": 4, "n_agents": 2}
    return cls(wrappers=wrappers, **law, **more)


def feedback(x, *wrappers, **more):
    """A server whose users all get x."""
    return Feedback(wrappers=wrappers, means=[x, x], rewards=Always(), horizon=100, **more)


def finite(env, team=None):
    """Return the rows of the table of guarantees with a finite ε."""
    return [line for line in hb.privacy_report(env, team) if math.isfinite(line.epsilon)]
