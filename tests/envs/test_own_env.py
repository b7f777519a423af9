"""A user-defined env in a file works like the built-in ones, everywhere."""

from pathlib import Path

import numpy as np
import pytest
from kinds import each_once

import hushbandits as hb

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {"n_agents": 4, "horizon": 24}
IDS = ["own_env:Seasons", "own_env:Channels", "own_envs_here:Weather", "contextual:Contexts"]


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "support")


every_env = pytest.mark.parametrize("id", IDS)


@each_once
@every_env
@pytest.mark.parametrize("name", hb.list_wrappers())
def test_a_wrapper_works_or_is_refused_in_one_sentence(id, name):
    wrapper, core = hb.make_wrapper(name), hb.make_batched(id, **SMALL)
    others = "ShuffledSum", "VoteCorruption", "FalseMeans", "TreeGaussian", "ShuffledVectorSum", "LaplaceFilter"
    says = "needs the field" if name in others else None
    if set(wrapper.operations) - set(core.message_class.operations):
        says = "needs messages that can be .*, but messages here are reports"
    if says is not None:
        for refused in (
            lambda: hb.make_batched(id, wrappers=[name], **SMALL),
            lambda: hb.wrap(hb.make(id, **SMALL), name),
        ):
            with pytest.raises(ValueError, match=f"^{wrapper.name} {says}") as error:
                refused()
            assert "\n" not in str(error.value)
        return
    wrapped = hb.wrap(core, name)
    final = hb.rollout(wrapped, hb.make_team("Random"), seed=3)
    plain = hb.rollout(core, hb.make_team("Random"), seed=3)
    np.testing.assert_array_equal(final["regret"], plain["regret"])  # messages are not rewards
    view = hb.wrap(hb.make(id, **SMALL), wrapper)
    view.reset(seed=0)
    assert view.core.wrappers[0].name == wrapper.name
    hb.privacy_report(wrapped, "Random")


@each_once
@every_env
@pytest.mark.parametrize("wrappers", [(), ("Loss", "LocalLaplace")], ids=str)
def test_it_keeps_its_promises(id, wrappers):
    hb.testing.check_env(id, n_agents=3, horizon=6, wrappers=list(wrappers))


@every_env
def test_plain_agents_play(id):
    from own_env import Hop

    heard = []

    class Sticky(Hop):
        def receive(self, messages):
            heard.extend(messages)

    hb.rollout(hb.make_batched(id, runs=2, **SMALL), hb.PerAgent(Sticky), seed=0)
    assert {message["sender"] for message in heard} <= set(range(4))
    assert heard
    with pytest.raises(ValueError, match=r"agent 0 of Bad in round 1 of run 0: act must return an integer in 0\.\.9"):
        hb.rollout(hb.make_batched(id, **SMALL), hb.PerAgent(type("Bad", (Hop,), {"act": lambda self, t: 1.7})))


@every_env
def test_teams_of_another_setting_are_refused(id):
    with pytest.raises(ValueError, match="plays the exploration setting"):
        hb.evaluate(id, "DP-MASE", runs=1, env=SMALL)
    if "Seasons" not in id:
        with pytest.raises(ValueError, match="plays the network setting"):
            hb.evaluate(id, "Multi-UCB", runs=1, env=SMALL)


def test_drift_and_switches_come_with_every_env_of_rounds():
    """The second half of the run is another problem, and regret is against its best arm."""
    still = {**SMALL, "means": [0.9, 0.1], "permute_arms": False}
    env = {**still, "n_change_points": 1}
    always = hb.PerAgent(
        type("Always", (), {"__init__": lambda self, m, rng: None, "act": lambda self, t: 0, "blind": True})
    )
    core = hb.make_batched("own_env:Seasons", **env)
    assert core.arms.moving
    regret = hb.rollout(hb.make_batched("CoopNetwork-v0", **env), always)["regret"]
    np.testing.assert_allclose(regret, 4 * 12 * 0.8)
    jumps = hb.make_batched("own_envs_here:Weather", rain=0.0, **still)
    np.testing.assert_allclose(hb.rollout(jumps, always)["regret"], 4 * 0.8 * (7 + 3))  # rounds 7–13 and 21–23


def test_a_parameter_and_a_metric_of_its_own():
    wet = [hb.evaluate("own_envs_here:Weather", "Random", runs=4, env={**SMALL, "rain": rain}) for rain in (0.0, 1.0)]
    assert [results.final("wet").tolist() for results in wet] == [[0] * 4, [24] * 4]
