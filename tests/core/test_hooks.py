"""Return values of a user-defined wrapper are checked once; the message names the wrapper and its hook."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import rows
from talk import game, mine

from hushbandits.core.env_view import EnvView
from hushbandits.envs.rounds.env import Rounds


@rows("value", [[0.0], [True], [3], np.zeros((1, 7), np.float16), np.zeros((1, 0))])
def test_any_number_per_run_is_a_metric(value):
    game(mine("metrics", {"height": value}))


def test_a_property_that_fails_says_why():
    class Broken(Rounds):
        @property
        def reach(self):
            return self.no_such_thing

        @property
        def t(self):
            return self.nor_this

        @property
        def live(self):
            return super().live

    env = Broken(n_agents=2, horizon=3)
    with pytest.raises(RuntimeError, match="reach before the start"):
        _ = env.reach
    env._phase = "pull"
    with pytest.raises(AttributeError, match="no attribute 'no_such_thing'"):
        _ = env.reach
    with pytest.raises(AttributeError, match="no attribute 'nor_this'"):
        _ = EnvView(env).t
