"""Bugs from practice and their neighbours: an answer is right, or one sentence says why there is none."""

import copy
import operator
import pickle
import re

import pytest
from kinds import by_class, one_per_class
from refusals import rows

import hushbandits as hb
from hushbandits.wrappers.shuffle import Shuffle

NET = {"n_agents": 3, "horizon": 4}


# -- shuffles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", one_per_class(id for id in hb.list_envs() if not re.search("Elimination|Linear", id)))
def test_whoever_shuffles_hears_no_sender(id):
    wrapper = Shuffle(batch_window=4)
    core = hb.make_batched(id, wrappers=[wrapper])
    assert "sender" not in core.inbox_fields


# -- how wrappers look, and what there is before the start ---------------------------------------------------------

PLAYED = [(id, ()) for id in hb.list_envs()] + [("CoopNetwork-v0", (w,)) for w in ("Huber", "Loss", "SecAgg", "Shuffle",
          "LocalLaplace", "PrivateMeans")] + [("DPMASE-v0", (w,)) for w in ("Loss", "VoteCorruption")]  # fmt: skip


@pytest.mark.parametrize(("id", "wrappers"), by_class(PLAYED), ids=str)
def test_a_wrapper_looks_the_same_before_and_after(id, wrappers):
    """It printed the arrays of its run, since some have the names of parameters."""
    more = {"n_agents": 32, "one_arm_per_step": False} if "Decentralized" in id else {}
    core = hb.make_batched(id, wrappers=list(wrappers), horizon=20, **more)
    before = [repr(w) for w in core.wrappers]
    hb.rollout(core, hb.make_team("Random"))
    assert [repr(w) for w in core.wrappers] == before
    assert all(len(text) < 200 and "array" not in text and "\n" not in text for text in before)


@pytest.mark.parametrize("id", one_per_class(hb.list_envs()))
def test_before_the_start_the_sentence_names_what_was_asked_for(id):
    core = hb.make_batched(id)
    asked = ["t", "running", "active_agents", "features" if core.setting == "linear" else "means"]
    asked += ["recommendation"] * (core.setting == "exploration")
    for name in ("metrics", "standard_report", *asked):
        with pytest.raises(RuntimeError, match=rf"^{name} before the start: call reset\(seeds\) first$"):
            operator.methodcaller(name)(core)
    for attribute in ("nothing_of_that_name", "_nothing"):
        assert not hasattr(core, attribute)
        with pytest.raises(AttributeError, match=f"'{type(core).__name__}' object has no attribute '{attribute}'"):
            getattr(core, attribute)
    for twin in (copy.copy(core), copy.deepcopy(core), pickle.loads(pickle.dumps(core))):
        twin.reset(0)
        assert twin.t.tolist() == [0]
        assert not hasattr(twin, "nothing_of_that_name")
    assert hb.make(id).core.n_arms == core.n_arms


# -- what a plain agent leaves unsaid ------------------------------------------------------------------------------


class Quiet:
    words = None

    def __init__(self, m, rng):
        self.m = m

    def act(self, t):
        return 0

    def compose(self, reward):
        return type(self).words(self.m)


OWN = {"x": hb.Field(), "y": hb.Field(dtype="i8")}


@rows(
    ("fields", "extra_fields", "words", "lacking"),
    [
        (OWN, None, lambda m: {"x": 1.0} if m == 1 else {"x": 1.0, "y": 2}, "y"),
        (OWN, None, lambda m: {} if m == 1 else None, "x"),
        (None, {"x": hb.Field()}, lambda m: None if m == 1 else {"x": 1.0}, "x"),
        (None, {"x": hb.Field()}, lambda m: {"arm": 2} if m == 1 else {"x": 1.0}, "x"),
    ],
)
def test_what_nobody_says_is_not_a_zero(fields, extra_fields, words, lacking):
    agent = type("Quiet1", (Quiet,), {"words": staticmethod(words)})
    core = hb.make_batched("CoopNetwork-v0", graph="complete", fields=fields, extra_fields=extra_fields, **NET)
    with pytest.raises(
        ValueError, match=f"agent 1 of Quiet1 in round 1 of run 0 says has no field '{lacking}'"
    ) as error:
        hb.rollout(core, hb.PerAgent(agent, fields=fields))
    assert "\n" not in str(error.value)


class Fixed:
    blind = True

    def __init__(self, m, rng, arm=0):
        self.arm = arm

    def act(self, t):
        return self.arm


def test_parameters_reach_the_class_of_one_agent():
    env = {"n_agents": 2, "horizon": 5, "means": (0.9, 0.5), "permute_arms": False}
    lost = [hb.evaluate("CoopNetwork-v0", Fixed, runs=1, env=env, agent_kwargs={"arm": arm}) for arm in (0, 1)]
    assert [one.final("regret").item() for one in lost] == pytest.approx([0.0, 4.0])
    for wrong in ({"am": 1}, {"m": 1}):
        with pytest.raises(TypeError, match=r"Fixed .*am=1|Fixed .*m=1"):
            hb.make_team(Fixed, **wrong)
