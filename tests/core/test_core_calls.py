"""Number of Python calls and files of a warm step: validation must not slow it down."""

import helpers
import pytest

import hushbandits as hb

#: A step of a network is one compiled round; blocks of feedback pass their protocol in one compiled pass.
MOST = [
    ("CoopNetwork-v0", {}, 26, 12),
    ("DistDP-v0", {}, 70, 14),
    ("ShuffleDP-v0", {}, 70, 14),
    ("CentralDP-v0", {"discrete": True}, 71, 16),
    ("LocalDP-v0", {}, 69, 14),
    ("DPMASE-v0", {}, 53, 10),
]


@pytest.mark.parametrize(("env_id", "params", "calls", "files"), MOST)
def test_a_warm_step_makes_few_calls(env_id, params, calls, files):
    env = hb.make(env_id, **params)
    env.reset(seed=0)
    actions = dict.fromkeys(env.agents, 5)  # feedback: arm 0 for 32 users
    for _ in range(5):
        env.step(actions)
    called = helpers.calls(env.step, actions)
    assert 0 < len(called) <= calls
    assert len({*called}) <= files
