"""Rows of the paper's table: precision, tail bound, modulus and noise of a block."""

import math

import numpy as np
import pytest
from naive_laws import wrapped_sum
from refusals import rows

from hushbandits.privacy.plans import (
    central_pure,
    distributed_concentrated,
    distributed_pure,
    distributed_renyi,
    local_pure,
)
from hushbandits.privacy.samplers import DiscreteGaussian, PolyaDifference, Skellam


@rows("epsilon", [0.1, 0.5, 1.0, 3.0])
@rows("n", [2, 64, 1000, 1 << 20])
def test_precision_modulus_and_tail_bound_are_the_table_s(n, epsilon):
    for p in (0.1, 1e-6):
        g = math.ceil(epsilon * math.sqrt(n))
        tau = math.ceil(g / epsilon * math.log(2 / p))
        for plan in (distributed_pure(n, epsilon, p), central_pure(n, epsilon, p)):
            assert (plan.g, plan.tau, plan.modulus) == (g, tau, n * g + 2 * tau + 1)
            assert plan.bits == math.ceil(math.log2(plan.modulus))
        assert distributed_pure(n, epsilon, p).noise == PolyaDifference(1 / n, g / epsilon)


@rows("scale", [1, 10, 100])
@rows("n", [2, 64, 1000, 1 << 20])
def test_scaled_rows_of_the_table(n, scale):
    epsilon, p = 0.5, 0.1
    g = math.ceil(scale * epsilon * math.sqrt(n))
    log = math.log(2 / p)
    rows = {
        distributed_renyi: math.ceil(2 * g / epsilon * math.sqrt(log) + math.sqrt(2) * log),
        distributed_concentrated: math.ceil(g / epsilon * math.sqrt(2 * log)),
    }
    for row, tau in rows.items():
        plan = row(n, epsilon, p, scale)
        assert (plan.g, plan.tau, plan.modulus) == (g, tau, n * g + 2 * tau + 1)
        assert plan.noise.sigma2 == pytest.approx(g**2 / (n * epsilon**2))


@pytest.mark.parametrize("t", [150, 20])
def test_noise_for_t_users_and_the_tail_of_what_n_of_them_add(t):
    n, epsilon, p, g = 200, 0.5, 0.1, 15  # ⌈2·.5·√200⌉
    rows = {
        Skellam(g**2 / (t * epsilon**2)): distributed_renyi(n, epsilon, p, 2.0, t),
        DiscreteGaussian(g**2 / (t * epsilon**2)): distributed_concentrated(n, epsilon, p, 2.0, t),
        PolyaDifference(1 / t, 8 / epsilon): distributed_pure(n, epsilon, p, t),
    }
    for noise, plan in rows.items():
        assert plan.noise == noise
        assert plan.g == (8 if isinstance(noise, PolyaDifference) else g)
        assert plan.modulus == n * plan.g + 2 * plan.tau + 1
        m = 20 * plan.tau + 1
        pmf = np.roll(wrapped_sum(noise.cf, n, m), m // 2)
        k = np.abs(np.arange(m) - m // 2)
        assert pmf[k > plan.tau].sum() <= p < pmf[k >= plan.tau].sum()


def test_the_local_tail_is_a_quantile_of_the_sum():
    plan = local_pure(1024, 0.5, 0.1)
    assert plan.g == 16
    sums = np.array([plan.noise.total(np.random.default_rng(r), 1024) for r in range(4000)])
    assert abs((np.abs(sums) > plan.tau).mean() - 0.1) < 6 * math.sqrt(0.09 / 4000)


def test_a_whole_number_is_not_rounded_up():
    assert distributed_pure(900, 0.1, 0.1).g == 3  # 0.1·30 = 3
