"""Number of Python calls and files of a warm step: validation must not slow it down."""

import helpers
import pytest

import hushbandits as hb


@pytest.mark.parametrize(("env_id", "calls", "files"), [("CoopNetwork-v0", 46, 12), ("DistDP-v0", 70, 14)])
def test_a_warm_step_makes_few_calls(env_id, calls, files):
    env = hb.make(env_id)
    env.reset(seed=0)
    actions = dict.fromkeys(env.agents, 5)  # feedback: arm 0 for 32 users
    for _ in range(5):
        env.step(actions)
    called = helpers.calls(env.step, actions)
    assert 0 < len(called) <= calls
    assert len({*called}) <= files
