"""Truncated noise: its guarantee by hand, and compatible parts."""

import math

import numpy as np
import pytest
from noises import hockey_stick

import hushbandits as hb
from hushbandits.audits.cases import Budget
from hushbandits.audits.suite import checks
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.samplers import TruncatedGeometric
from hushbandits.wrappers.local_dp import LocalTruncated


def made(**given):
    env = Feedback(wrappers=[LocalTruncated(**given)], horizon=3000)
    env.reset(0)
    return env


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.3])
def test_the_bound_is_the_smallest_that_keeps_delta(epsilon, delta):
    env = made(epsilon=epsilon, delta=delta)
    (promise,) = env.guarantees()
    assert (promise.epsilon, promise.delta, promise.invalid_reason) == (epsilon, delta, "")
    for n in (1, 2, 64, 2500):
        plan = env.mechanism.planned(n)
        x = np.arange(-plan.noise.bound, plan.noise.bound + 1)
        attained = hockey_stick(plan.noise.pmf(x), plan.g, epsilon * (1 + 1e-9))
        assert attained <= delta
        assert env.mechanism.seen(n, n)(np.array([epsilon * (1 + 1e-9)]))[0] == pytest.approx(attained, rel=1e-6)
        if plan.noise.bound > plan.g:
            shorter = TruncatedGeometric(plan.noise.b, plan.noise.bound - 1)
            assert shorter.pmf(np.arange(shorter.bound - plan.g + 1, shorter.bound + 1)).sum() > delta


def test_one_file_and_one_line_are_enough():
    kinds = {check.what for check in checks(["LocalTruncated"], Budget(samples=300, largest=24, runs=2))}
    assert kinds == {"white box", "drawn law", "black box", "one run"}  # the audits play all of them weekly
    finals = hb.evaluate(
        Feedback, "LDP-SE", runs=2, env={"horizon": 3000}, wrappers=["LocalTruncated"]
    ).only.data.finals
    assert "uncalibrated" not in finals
    exact = Feedback(simulate_users="individual", wrappers=[LocalTruncated(noise="exact")], horizon=100)
    assert math.isfinite(hb.rollout(exact, hb.make_team("LDP-SE"))["epsilon"].item())


def test_a_promise_of_less_is_refuted():
    class Boast(LocalTruncated):
        def claimed_guarantees(self, env):
            (promise,) = super().claimed_guarantees(env)
            return (type(promise)(**{**vars(promise), "delta": promise.delta / 2}),)

    (promise,) = Feedback(wrappers=[Boast()], horizon=3000).guarantees()
    assert promise.invalid_reason.startswith("the law of its noise gives")
