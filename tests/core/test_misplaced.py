"""A misplaced argument is refused in a sentence that gives its right place."""

from typing import NamedTuple

import numpy as np
import pytest
from own_agents_that_fail import Still

import hushbandits as hb

NET = {"n_agents": 4, "horizon": 5}


class Known(NamedTuple):
    n: np.ndarray


class Flat(hb.Policy):
    def state(self, learners, n_arms, plays, cursors=None):
        return Known(np.zeros((learners, n_arms)))

    @staticmethod
    def choose(state, r):
        return 0

    @staticmethod
    def update(state, r, arm, reward):
        pass


def refused(says, call, *args, error=ValueError, **kwargs):
    with pytest.raises(error, match=says) as caught:
        call(*args, **kwargs)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("policy", [Flat, Flat()], ids=["class", "built"])
def test_a_policy_is_no_agent_and_is_played_by_some(policy):
    refused("Flat", hb.make_team, policy)
    for agent in ("Alone", "QuACK"):
        results = hb.evaluate("CoopNetwork-v0", agent, runs=1, env=NET, agent_kwargs={"policy": policy})
        assert results.final("regret").shape == (1,)


class Misreads(Still):
    def receive(self, messages):
        for message in messages:
            message["rewrd"]


def test_a_field_that_no_message_has_names_agent_and_round():
    says = r"agent \d of Misreads in round 1 of run 0: receive raised KeyError: .rewrd.; .* has: arm, reward"
    env = hb.make_batched("CoopNetwork-v0", **{**NET, "graph": "complete"})
    refused(says, hb.rollout, env, hb.PerAgent(Misreads), error=RuntimeError)


def test_an_agent_that_nothing_reaches_is_refused_unless_it_is_blind():
    deaf = type("Deaf", (Still,), {"blind": False, "update": lambda self, reward: None})

    def built(cls):  # a function, which returns agents only when it is called
        hb.rollout(hb.make_batched("CoopNetwork-v0", **NET), hb.PerAgent(lambda m, rng: cls(m, rng)))

    for refuses in (hb.PerAgent, hb.make_team, built):
        with pytest.raises(ValueError, match="never learns") as caught:
            refuses(deaf)
        assert all(word in str(caught.value) for word in ("Deaf", "compose", "receive", "blind"))
    with pytest.raises(AssertionError, match="never learns"):
        hb.testing.check_agent(deaf, "CoopNetwork-v0")
    deaf.blind = True
    hb.PerAgent(deaf)
