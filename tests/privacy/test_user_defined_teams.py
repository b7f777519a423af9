"""No ε of an agent stands if user-defined code reveals a reward, or plays another rule than its class guarantees."""

import math

import numpy as np
from exact_pay import CODE, Always, finite

import hushbandits as hb
from hushbandits.best_arm.private_elimination import private_elimination
from hushbandits.envs.exploration.env import Exploration

DPMASE = type(hb.make_team("DP-MASE"))


class Annotated(Exploration):
    """Its vote contains the mean reward of the activation."""

    @property
    def report(self):
        return {**super().report, "mean": CODE}

    def _pull(self, action):
        self._earned = super()._pull(action)
        return self._earned

    def _report(self):
        return {**super()._report(), "mean": np.nan_to_num(np.nanmean(self._earned, 2))}

    def _passing(self, message):
        super()._passing(message)
        self.left = message


class Fast(DPMASE):
    """Noise of 10⁻¹⁰ times the scale."""

    def routine(self, n_arms):
        return private_elimination(n_arms, 1e10 * self.epsilon, self.beta)


class Frank(DPMASE):
    """Votes out arms without rewards."""

    def compose(self, reward):
        return {"vote": np.nan_to_num(reward, nan=1.0) == 0}


class Frankly(Frank):
    """Declares its guarantee itself."""

    def claimed_guarantees(self, env):
        return super().claimed_guarantees(env)


def votes(env):
    """Return the messages of an agent that has pulled all arms."""
    env.reset(0)
    env.pull(np.ones((1, 1, env.n_arms), bool))
    env.communicate()
    return env.left["mean"]


def small(**more):
    return hb.make_batched("DPMASE-v0", n_agents=32, horizon=50, **more)


def test_an_agent_whose_hooks_are_replaced_keeps_no_epsilon():
    assert [line.epsilon for line in finite(small(), "DP-MASE")] == [0.1]
    for cls in (Fast, Frank):
        (line,) = hb.privacy_report(small(), cls())
        assert (line.epsilon, line.run_epsilon) == (math.inf, math.inf)
        assert f"as claimed by {cls.__name__}" in line.by
        assert f"as claimed by {cls.__name__}" in "".join(line.assumptions)
    (line,) = hb.privacy_report(small(), Frankly())
    assert line.epsilon == 0.1
    assert "as claimed by Frankly" in line.assumptions
    assert "as claimed by Frankly" in line.counts


def test_a_field_beside_votes_voids_what_an_agent_promises():
    def annotated(x):
        return Annotated(means=[x, x], rewards=Always(), n_agents=32, horizon=50)

    for x in (0.0, 0.3, 1.0):
        assert votes(annotated(x)) == x
    assert finite(annotated(0.3), hb.make_team("DP-MASE")) == []


def test_a_wrapper_is_unknown_under_whatever_name():
    class Reads(hb.Wrapper):
        def send(self, message, env):
            return message.with_fields(vote=np.nan_to_num(env._earned) == 0)

    assert finite(small(wrappers=[Reads(name="DP-MASE")]), "DP-MASE") == []
