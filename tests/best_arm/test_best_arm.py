"""Arm selection alone: KL bounds equal scipy's, error rates and sample complexities hold; numbers of Féraud et al."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import each_once, weekly_but
from scipy import optimize, special, stats

import hushbandits as hb
from hushbandits.best_arm.best_arm import ROUTINES
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.rollout import rollout
from hushbandits.policies.kl import kl, kl_lower, kl_upper
from hushbandits.registry import assemble

ID = "DecentralizedExploration-v0"
SOLO = [name for name in ROUTINES if name != "SER4"]
#: One or two of each module.
DAILY = ("Naive", "SER3", "KL-Racing", "KL-LUCB", "UGapEc")


def scipy_kl(p, q):
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))


@each_once
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("q", [1e-12, 0.1, 0.3, 0.5, 0.999999])
def test_kl_is_scipys(p, q):
    assert kl(p, q) == pytest.approx(scipy_kl(p, q), rel=1e-9, abs=1e-15)
    assert kl(p, p) == 0


@each_once
@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.01, 0.25, 0.5, 0.75, 0.99, 1 - 1e-6, 1.0])
@pytest.mark.parametrize("level", [1e-9, 1e-4, 0.01, 0.3, 1.0, 5.0, 30.0])
def test_kl_bounds_are_the_roots_that_scipy_finds(mean, level):
    high, low = 1.0, 0.0
    if mean < 1 and scipy_kl(mean, 1 - 1e-16) > level:
        high = optimize.brentq(lambda q: scipy_kl(mean, q) - level, mean, 1 - 1e-16, xtol=1e-15, rtol=1e-14)
    if mean > 0 and scipy_kl(mean, 1e-300) > level:
        low = optimize.brentq(lambda q: scipy_kl(mean, q) - level, 1e-300, mean, xtol=1e-15, rtol=1e-14)
    # at tiny levels scipy's difference of logarithms is less accurate: its error is about 1e-16/√level
    assert kl_upper(mean, level) == pytest.approx(high, abs=1e-14 + 2e-16 / level**0.5)
    assert kl_lower(mean, level) == pytest.approx(low, abs=1e-14 + 2e-16 / level**0.5)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.floats(0, 1), st.floats(0, 50))
def test_kl_bounds_are_where_they_should_be(mean, level):
    high = kl_upper(mean, level)
    assert mean <= high <= 1
    assert 0 <= kl_lower(mean, level) <= mean
    # one step of a double below: near 1 it exceeds any relative error
    assert kl(mean, max(mean, np.nextafter(high, 0))) <= level * (1 + 1e-9) + 1e-9
    assert high - mean <= (level / 2) ** 0.5 + 1e-12  # Pinsker


def alone(routine, means, eta, epsilon, runs, seed=0):
    """Metrics of one player, with the arms shuffled."""
    team = hb.make_team(f"0-Privacy-{routine}", delta=eta, epsilon=epsilon)
    env = assemble(
        ID, team, runs=runs, env={"n_agents": 1, "means": means, "permute_arms": True, "require_confidence": False}
    )
    return rollout(env, team, spawn_seeds(seed, runs))


INSTANCES = {"two arms": [0.55, 0.85], "four arms": [0.2, 0.8, 0.5, 0.45], "ten arms": [0.8, 0.5, 0.3, *[0.1] * 7]}


@each_once
@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.parametrize(
    "routine", [pytest.param(name, marks=() if name in DAILY else pytest.mark.weekly) for name in SOLO]
)
def test_each_routine_alone_finds_the_best_arm(routine, instance):
    """All gaps exceed ε = .25: an ε-optimal arm is the best one.  Errors beyond η = .05 only at a 1e-6 tail."""
    runs = 20 if routine == "Median" else 200
    metrics = alone(routine, INSTANCES[instance], 0.05, 0.25, runs)
    wrong = int((~metrics["correct"]).sum())
    assert stats.binom.sf(wrong - 1, runs, 0.05) > 1e-6
    assert not metrics["inconclusive"].any()


# (fewer, more): each pair is a statement of the literature, on problem 1 at η = .1, ε = .1
ORDER = [
    ("SE", "Naive"),  # Even-Dar et al. 2006: gaps instead of ε
    ("Naive", "Median"),  # Féraud et al. 2019, appendix: constants of median elimination
    ("KL-LUCB", "LUCB"),  # Kaufmann & Kalyanakrishnan 2013: KL bounds are better than Hoeffding's
    ("KL-LUCB", "KL-Racing"),  # adaptive sampling is better than uniform sampling
    ("UGapEc", "LUCB"),  # Gabillon et al. 2012, and the smaller exploration rate
]


@pytest.fixture(scope="module")
def samples():
    means = [0.7, 0.5, 0.3, *[0.1] * 7]

    @cache
    def of(routine):
        return alone(routine, means, 0.1, 0.1, 3 if routine == "Median" else 100, 1)["rounds"].astype(float)

    return of


@pytest.mark.parametrize(("fewer", "more"), weekly_but([("KL-LUCB", "KL-Racing")], *ORDER))
def test_sample_complexities_stand_in_the_order_of_the_literature(samples, fewer, more):
    low, high = samples(fewer), samples(more)
    error = np.sqrt(low.var(ddof=1) / len(low) + high.var(ddof=1) / len(high))
    assert high.mean() - low.mean() > 5 * error


def rounds(agent, runs, **env):
    return hb.evaluate(ID, agent, runs=runs, env={"permute_arms": True, **env})


def test_messages_stay_below_their_bound_and_usually_are_nine_times_28():
    messages = np.concatenate([rounds("Decentralized-SER3", 20, n_agents=n).final("messages") for n in (32, 64, 256)])
    assert messages.max() <= 279
    assert np.median(messages) == 252
