"""Number of Python calls and files of a warm step: validation must not slow it down."""

import sys
from pathlib import Path

import pytest

import hushbandits as hb

PACKAGE = str(Path(hb.__file__).parent) + "/"


@pytest.mark.parametrize(("env_id", "calls", "files"), [("CoopNetwork-v0", 45, 12), ("DistDP-v0", 100, 20)])
def test_a_warm_step_makes_few_calls(env_id, calls, files):
    env = hb.make(env_id)
    env.reset(seed=0)
    actions = dict.fromkeys(env.agents, 5)  # feedback: arm 0 for 32 users
    for _ in range(5):
        env.step(actions)
    called = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_filename) if event == "call" else None)
    env.step(actions)
    sys.setprofile(before)
    ours = [name for name in called if name.startswith(PACKAGE)]
    assert 0 < len(ours) <= calls
    assert len({*ours}) <= files
