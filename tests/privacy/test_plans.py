"""Plans of a block equal the paper's table: away from ε = 1, with fewer users than planned, and at every limit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import rows

import hushbandits as hb
from hushbandits.privacy.noise import tail_quantile
from hushbandits.privacy.plans import (
    Plan,
    central_pure,
    confidence_level,
    distributed_concentrated,
    distributed_pure,
    distributed_renyi,
    local_pure,
    share_or_count,
)
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace, PolyaDifference, Skellam


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 4), st.data())
def test_every_sum_that_may_be_is_decoded(n, g, tau, data):
    """All sums of s users, with noise up to ±τ, are decoded uniquely."""
    plan, left = Plan(n, g, tau, None), data.draw(st.integers(1, n))
    for total in range(left * g + 1):
        for noise in range(-tau, tau + 1):
            assert plan.decode((total + noise) % plan.modulus, left) == (total + noise) / g


@given(st.integers(1, 10**6), st.integers(1, 1000), st.integers(0, 1000))
def test_a_message_has_as_many_bits_as_it_takes(n, g, tau):
    plan = Plan(n, g, tau, None)
    assert plan.modulus == n * g + tau + 1 + tau
    assert 2 ** (plan.bits - 1) < plan.modulus <= 2**plan.bits


@pytest.mark.parametrize("n", [10, 2000])
def test_a_modulus_holds_a_block_in_which_all_bits_are_ones(n):
    env = hb.make_batched("ShuffleDP-v0", shuffle="binary-sum")
    env.reset(0)
    plan = env.mechanism.planned(n)
    assert plan.modulus == n * (1 + plan.noise.k) + 1


def test_the_largest_modulus():
    assert Plan(1, 2**62 - 2, 0, None).modulus == 2**62 - 1


P = 0.07
LOG = math.log(2 / P)


@pytest.mark.parametrize("epsilon", [0.3, 2.5])
@pytest.mark.parametrize(("n", "t"), [(50, None), (1 << 20, None), (50, 50), (50, 31), (7, 1)])
def test_the_table(epsilon, n, t):
    sure = n if t is None else t
    g, h = (math.ceil(scale * epsilon * math.sqrt(n)) for scale in (1, 4))
    sigma2, renyi_tau = h**2 / sure / epsilon**2, 2 * h / epsilon * math.sqrt(LOG) + math.sqrt(2) * LOG
    normal_tau, normal = h / epsilon * math.sqrt(2 * LOG), distributed_concentrated(n, epsilon, P, 4, t)
    rows = [
        (distributed_pure(n, epsilon, P, t), g, PolyaDifference(1 / sure, g / epsilon), g / epsilon * LOG),
        (distributed_renyi(n, epsilon, P, 4, t), h, Skellam(sigma2), renyi_tau),
        (normal, h, DiscreteGaussian(sigma2), normal_tau),
    ]
    for plan, precision, noise, tau in rows:
        assert (plan.n, plan.g, type(plan.noise)) == (n, precision, type(noise))
        for mine, theirs in zip(vars(plan.noise).values(), vars(noise).values(), strict=True):
            assert mine == pytest.approx(theirs, rel=1e-12)
        assert plan.tau == (math.ceil(tau) if sure == n else tail_quantile(plan.noise, n, P))
    central, local = central_pure(n, epsilon, P), local_pure(n, epsilon, P)
    assert central == Plan(n, g, math.ceil(g / epsilon * LOG), None)
    assert local == Plan(n, g, tail_quantile(local.noise, n, P), DiscreteLaplace(g / epsilon))


@rows("law", [DiscreteLaplace(3.0), Skellam(9.0), PolyaDifference(0.2, 6.0)])
@rows("n", [1, 4])
@rows("p", [0.5, 0.1, 1e-3])
def test_the_tail_ends_at_the_first_integer_that_will_do(law, n, p):
    """Compute from the law itself, on a long line."""
    m = 4001
    pmf = np.fft.irfft(law.cf(2 * np.pi * np.arange(m // 2 + 1) / m) ** n, m)
    beyond = [1 - pmf[0] - 2 * pmf[1 : tau + 1].sum() for tau in range(400)]
    assert tail_quantile(law, n, p) == next(tau for tau, rest in enumerate(beyond) if rest <= p)


@rows(("confidence", "horizon", "p"), [
    ("1/T", 0, 0.5), ("1/T", 1, 0.5), ("1/T", 2, 0.5), ("1/T", 3, 1 / 3), (0.25, 3, 0.25), (0.999, 3, 0.999),
])  # fmt: skip
def test_confidence(confidence, horizon, p):
    assert confidence_level(confidence, horizon) == p


@pytest.mark.parametrize("min_participants", [1, 2, 1.0, 0.5, 1e-9])
def test_who_is_sure_may_be_a_share_or_a_count(min_participants):
    found = share_or_count("min_participants", min_participants)
    assert (found, type(found)) == (min_participants, type(min_participants))


def test_a_whole_number_is_not_rounded_up():
    assert distributed_pure(900, 0.1, 0.1).g == 3  # 0.1·30 = 3
