"""How many Python calls a warm round costs: an edge that checks everything is paid in every beat."""

import sys
from pathlib import Path

import pytest

import hushbandits as hb

PACKAGE = str(Path(hb.__file__).parent) + "/"
CORE = PACKAGE + "core/"


@pytest.mark.parametrize(
    ("env", "agent", "most", "whole"),
    [("CoopNetwork-v0", "Multi-UCB", 18, 36), ("DistDP-v0", "Dist-DP-SE", 40, 116)],
    ids=["network", "feedback"],
)
def test_a_warm_round_makes_few_calls(env, agent, most, whole):
    core, team = hb.make_core(env), hb.make_team(agent)
    obs = core.reset(0)
    team.reset(hb.core.env_view.EnvView(core), core.seeds)

    def play(obs):
        obs = core.pull(team.act(obs))
        obs = core.talk(team.speak(obs.reward))
        team.hear(obs.inbox)
        return obs

    for _ in range(3):
        obs = play(obs)
    calls = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code) if event == "call" else None)
    play(obs)
    sys.setprofile(before)
    assert len([code for code in calls if code.co_filename.startswith(CORE)]) <= most
    assert len([code for code in calls if code.co_filename.startswith(PACKAGE)]) <= whole
