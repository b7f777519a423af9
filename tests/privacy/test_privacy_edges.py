"""Edge cases in which one comparison or term decides whether a privacy bound holds, by independent formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import each_once
from noises import polya_by_hand
from refusals import rows
from scipy import stats

import hushbandits as hb
from hushbandits.privacy.divergence import (
    binomial_profile,
    concentrated_sum,
    pure_curve,
    skellam_curve,
    to_epsilon,
    zcdp_curve,
)
from hushbandits.privacy.ledger import Ledger, Spent
from hushbandits.privacy.plans import binomial_delta
from hushbandits.privacy.samplers import polya_epsilon


@settings(deadline=None)
@given(st.floats(0, 1, exclude_min=True), st.integers(1, 10**6))
def test_somebody_always_takes_part(share, n):
    sure = hb.make_wrapper("DiscreteLaplace", min_participants=share).sure(n)
    assert 1 <= sure <= n
    assert sure == 1 or sure <= share * n < sure + 1


def booked(*prices):
    """Return a ledger with one block of each cost."""
    ledger = Ledger(lambda n, s: prices[n - 1], lambda n: {}, 1)
    sizes = np.arange(1, len(prices) + 1)[None]
    ledger.use(sizes, sizes)
    return ledger


def test_adding_up_holds_at_its_own_delta_only():
    """Ten blocks of δ = 1e-6 are not (10ε, 5e-6)-DP: no bound gives that number."""
    book = booked(Spent(0.5, 1e-6))
    assert book.returning(0, 10, 5e-6) == (5.0, pytest.approx(1e-5))
    assert book.returning(0, 10, 0.0) == (5.0, pytest.approx(1e-5))
    epsilon, delta = book.returning(0, 10, 2e-5)
    assert (delta <= 2e-5, epsilon <= 5.0) == (True, True)


def test_adding_up_takes_the_dearest_in_either_respect():
    book = booked(Spent(0.5, 1e-6), Spent(0.2, 1e-4))
    assert book.returning(0, 10, 1e-9) == (5.0, pytest.approx(1e-3))


def test_what_a_composition_does_not_resolve_is_bounded_by_curves():
    curve = pure_curve(0.1)
    book = booked(Spent(0.1, 0.0, curve))
    assert book.returning(0, 1000, 1e-12) == (to_epsilon(lambda alpha: 1000 * curve(alpha), 1e-12), 1e-12)
    assert book.returning(0, 1000, 1e-12)[0] < 100
    assert book.returning(0, 1000, 0.0) == (100.0, 0.0)


@pytest.mark.parametrize("curve", [None, zcdp_curve(1.0)])
def test_adding_up_says_the_delta_that_it_has(curve):
    """If addition is the best bound, δ is the sum, not the requested one."""
    book = booked(Spent(1e-3, 1e-9, curve))
    assert book.returning(0, 2, 2e-9) == (2e-3, 2e-9)
    assert Ledger(lambda n, s: Spent(1.0), lambda n: {}, 1).returning(0, 3, 1e-6) == (0.0, 0.0)


@pytest.mark.parametrize("more", [-1, 0, 1, 1000, 1 << 20])
def test_the_rest_of_a_sum_of_gaussians_is_bounded_from_above(more):
    n, sigma2 = (1 << 20) + more, 0.25
    k = np.arange(1, n)
    xi = 10 * float(np.exp(-2 * np.pi**2 * sigma2 * (k / (k + 1))).sum())
    epsilon = 3 / math.sqrt(n * sigma2)
    truth = 0.5 * min(math.sqrt(epsilon**2 + xi / 2), epsilon + xi) ** 2
    assert truth * (1 - 1e-12) <= concentrated_sum(n, sigma2, 3) <= truth * (1 + 1e-5)


@rows("rho", [0.0, 1e-9, 1e-3])
@rows("delta", [0.5, 0.9, 0.999])
def test_epsilon_is_never_negative(rho, delta):
    assert to_epsilon(zcdp_curve(rho), delta) == 0.0


@each_once
@pytest.mark.parametrize(("trials", "q"), [(40, 0.03), (40, 0.8), (10**6, 0.5), (10**6, 0.1), (10**7, 0.01)])
@pytest.mark.parametrize("deviations", [0.0, 1.0, 3.0, 5.0, 6.5])
def test_the_binomial_is_looked_at_far_into_its_tails(trials, q, deviations):
    """Heads of the two laws, X and X + 1, by the distribution function; the loss reaches ε at `deviations` sd."""
    sd = math.sqrt(trials * q * (1 - q))
    epsilon = deviations / sd
    cut = math.floor((trials + 1) / (1 + math.exp(epsilon) * (1 - q) / q))  # P(x)/P(x − 1) > e^ε up to here
    up = stats.binom.cdf(cut, trials, q) - math.exp(epsilon) * stats.binom.cdf(cut - 1, trials, q)
    cut = math.ceil((trials + 1) / (1 + math.exp(-epsilon) * (1 - q) / q)) - 1  # P(x)/P(x + 1) > e^ε beyond
    down = stats.binom.sf(cut - 1, trials, q) - math.exp(epsilon) * stats.binom.sf(cut, trials, q)
    assert binomial_delta(trials, q, epsilon) == pytest.approx(max(up, down), rel=1e-5)
    assert binomial_profile(trials, q)(np.array([epsilon]))[0] == binomial_delta(trials, q, epsilon)


@pytest.mark.parametrize(("shape", "b"), [(0.01, 1.0), (0.5, 1.0), (0.9, 2.0), (1e-4, 3.0)])
def test_polya_noise_at_the_edge_of_what_a_transform_resolves(shape, b):
    """For every sensitivity, so that P(g) falls just inside, just outside, and far beyond."""
    for g in range(1, round(30 * b)):
        assert polya_epsilon(shape, b, g) == pytest.approx(max(g / b, polya_by_hand(shape, b, g)), rel=1e-6), g


@pytest.mark.parametrize(
    ("sigma2", "d", "alpha", "first"), [(100.0, 10, 3, True), (0.5, 2, 2, False), (9.0, 4, 40, False)]
)
def test_skellam_s_curve_is_the_smaller_of_two_bounds(sigma2, d, alpha, first):
    bounds = ((2 * alpha - 1) * d**2 + 6 * d) / (4 * sigma2**2), 3 * d / (2 * sigma2)
    assert (bounds[0] < bounds[1]) == first
    assert skellam_curve(sigma2, d)(alpha) == pytest.approx(alpha * d**2 / (2 * sigma2) + min(bounds), rel=1e-12)


@each_once
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("env_id", ["CentralDP-v0", "DistDP-v0", "DistRDP-v0", "LocalDP-v0", "ShuffleDP-v0"])
def test_noise_that_is_lost_is_priced_at_every_epsilon(env_id, epsilon):
    try:
        env = hb.make_batched(env_id, epsilon=epsilon, means=[0.9, 0.1], horizon=500, wrappers=["Loss"])
    except ValueError as error:
        pytest.skip(str(error))
    env.reset(0)
    for users in (1, 2, 50, 400):
        env.pull((np.zeros((1, 1), int), np.full((1, 1), users)))
        env.communicate()
    assert not np.isnan(env.metrics()["epsilon"]).any()
