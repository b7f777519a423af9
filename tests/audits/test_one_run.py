"""Audits with one run and many canaries: level, power, and eligible parts."""

import math
from dataclasses import replace

import canary_mutants as own
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import weekly_but
from scipy import stats

from hushbandits.audits.cases import Budget, named
from hushbandits.audits.events import guessed, one_run
from hushbandits.privacy.audit import one_run_bound, one_run_least, one_run_p_value
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace

# -- what right guesses refute ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.floats(0, 6), st.integers(1, 3000), st.floats(1e-9, 0.2))
def test_what_is_exactly_as_private_as_it_says_is_refuted_no_more_often_than_the_level(epsilon, guesses, level):
    """Randomized response is the boundary: each guess is right with probability e^ε/(1 + e^ε)."""
    q = 1 / (1 + math.exp(-epsilon))
    first = int(stats.binom.isf(level, guesses, q)) + 1  # where its tail falls below the level, up to rounding
    for correct in range(max(first - 2, 0), min(first + 2, guesses) + 1):
        bound = one_run_bound(correct, guesses, 0.0, level)
        assert (bound > epsilon - 2e-4) >= (stats.binom.sf(correct - 1, guesses, q) < level)
        assert (bound > epsilon) <= (stats.binom.sf(correct - 1, guesses, q) < level * (1 + 1e-9))


@settings(deadline=None)
@given(st.floats(0.1, 4), st.floats(1e-6, 0.2), st.integers(1, 40))
def test_no_probability_of_so_many_right_guesses_exceeds_the_p_value(epsilon, delta, m):
    """Two (ε, δ)-private mechanisms: with probability δ each bit is revealed separately, or all together."""
    q, v = 1 / (1 + math.exp(-epsilon)), np.arange(m + 1)
    p = np.array([one_run_p_value(k, m, epsilon, delta, m) for k in v])
    assert (stats.binom.sf(v - 1, m, delta + (1 - delta) * q) <= p + 1e-12).all()
    assert (delta + (1 - delta) * stats.binom.sf(v - 1, m, q) <= p + 1e-12).all()


@pytest.mark.parametrize(("correct", "guesses", "canaries"), [(0, 5, 9), (5, 5, 5), (40, 60, 100), (300, 400, 400)])
def test_the_p_value_is_that_of_the_papers_appendix(correct, guesses, canaries):
    epsilon, delta, q = 0.7, 1e-3, 1 / (1 + math.exp(-0.7))
    law = [math.comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)]
    alpha = max((sum(law[correct - i : correct]) / i for i in range(1, correct + 1)), default=0.0)
    naive = min(sum(law[correct:]) + 2 * canaries * delta * alpha, 1.0)
    assert one_run_p_value(correct, guesses, epsilon, delta, canaries) == pytest.approx(naive)


def laplace(epsilon, n, rng):
    """Return bits behind Laplace noise, and an independent number."""
    bits = rng.random(n) < 0.5
    return bits, {"x": bits + rng.laplace(0, 1 / epsilon, n), "idle": rng.random(n)}


def refuted(true, claimed, n, level, times, seed):
    """Return how often a mechanism with this ε is refuted, given another claim."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(times):
        canaries, guesses, correct = guessed(*laplace(true, n, rng), level)
        found += one_run_bound(correct, guesses, 0.0, level, canaries) > claimed
    return found


@settings(deadline=None, max_examples=4)
@given(st.floats(0.2, 3), st.integers(0, 1000))
def test_learned_guesses_keep_their_level_at_the_edge(epsilon, seed):
    level, times = 0.05, 60
    assert refuted(epsilon, epsilon, 800, level, times, seed) <= stats.binom.isf(1e-5, times, level)


@settings(deadline=None, max_examples=4)
@given(st.floats(0.2, 3), st.integers(0, 1000))
def test_the_epsilon_that_is_said_to_be_refuted_is(epsilon, seed):
    """The observer learns the threshold that the power assumes: noise beyond either reward."""
    n, level, times = 8000, 1e-3, 12
    least = one_run_least(epsilon, 0.0, n // 2, level)
    assert epsilon < least < math.inf
    assert refuted(1.05 * least, epsilon, n, level, times, seed) >= 7


def test_an_observer_who_sees_nothing_guesses_nothing():
    bits = np.random.default_rng(0).random(400) < 0.5
    assert guessed(bits, {"x": np.zeros(400)}, 1e-6)[1] == 0
    assert guessed(bits, {"x": np.where(bits, 1.0, np.nan)}, 1e-6) == (200, 200, 200)


# -- eligible parts ---------------------------------------------------------------------------------------------------

#: Pairs of parts: with correct noise, and with half of it.
PAIRS = {
    "a promise about one message by itself": (own.OwnNoise, own.HalfNoise),
    "each message with random numbers of its own": (own.OwnDraws, own.HalfDraws),
    "a mechanism": (LocalDiscreteLaplace, own.Loud),
    "an agent": (own.OwnAgent, own.HalfAgent),
}


def verdicts(part, epsilon, samples=4000, seed=0):
    """A user-defined class, in every setting that accepts it."""
    budget = Budget(samples=samples, seed=seed, full=(epsilon,))
    for case in named(f"{part.__module__}:{part.__name__}"):
        yield from one_run(replace(case, budget=budget))


@pytest.mark.parametrize("pair", weekly_but([("a mechanism",)], *((pair,) for pair in PAIRS)))
@settings(deadline=None, max_examples=2)
@given(epsilon=st.floats(0.5, 2.0), seed=st.integers(0, 10**6))
def test_half_the_noise_is_refuted_and_all_of_it_is_not(pair, epsilon, seed):
    true, half = PAIRS[pair]
    for verdict in verdicts(true, epsilon, seed=seed):
        assert verdict.word == "passes"
        assert verdict.claimed == epsilon < verdict.least < 2 * epsilon
        assert verdict.power == f"a true ε of {verdict.least:.3g}"
    found = list(verdicts(half, epsilon, seed=seed))
    assert {verdict.word for verdict in found} == {"FAILS"}
    assert all(epsilon < verdict.measured < 2 * epsilon for verdict in found)


def test_a_promise_of_one_message_accuses_nobody_whose_messages_share_their_random_numbers():
    """In one run the guesses would be right or wrong together, so each canary has a separate run."""
    for seed in range(3):
        assert {v.word for v in verdicts(own.OneDraw, 1.0, 600, seed)} == {"passes"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("AdaP-UCB", "an agent's actions depend on all rewards so far together"),
        ("DistCDP-v0", "too few runs for so large an ε or δ"),
        ("PrivateNetwork-v0", "too few runs for so large an ε"),
    ],
)
def test_where_it_does_not_apply_it_says_why(name, why):
    found = list(one_run(named(name)[0]))
    assert found
    for verdict in found:
        assert verdict.word == "not tested"
        assert why in verdict.why
