"""Noise bits and shares of a binary sum equal the printed formulas, away from ε = 1 and at the limits."""

import math

import numpy as np
import pytest
from refusals import rows

import hushbandits as hb
from hushbandits.privacy.plans import (
    SMALLEST,
    ExtraBits,
    binomial_delta,
    extra_bits,
    shares_needed,
    shares_security,
)


@rows(("epsilon", "delta"), [(0.5, 1e-2), (2.0, 1e-6), (3.0, 1e-9)])
@rows("n", [7, 100, 1000, 50_000])
def test_bits_as_printed(epsilon, delta, n):
    tau = 96 * math.log(2 / delta) / epsilon**2
    bits = extra_bits(n, epsilon, delta)
    assert (bits.k, bits.q) == ((math.ceil(tau / n), 0.5) if n <= tau else (1, pytest.approx(tau / (2 * n))))


@pytest.mark.parametrize("epsilon", [0.7, 4.0])
def test_exact_bits_are_as_few_as_will_do(epsilon):
    n, delta = 30_000, 1e-6
    bits = extra_bits(n, epsilon, delta, "exact")
    assert bits.k == 1
    assert binomial_delta(n, bits.q, epsilon) <= delta < binomial_delta(n, bits.q * (1 - 1.5e-4), epsilon)


@pytest.mark.parametrize(("k", "q"), [(3, 0.25), (1, 0.01), (40, 0.5)])
def test_moments_of_the_bits(k, q):
    x = np.arange(k + 1)
    pmf = np.array([math.comb(k, int(i)) * q**i * (1 - q) ** (k - i) for i in x])
    bits = ExtraBits(k, q)
    assert bits.mean == pytest.approx(pmf @ x)
    assert bits.variance == pytest.approx(pmf @ (x - pmf @ x) ** 2)


@pytest.mark.parametrize("n", [10, 2000])
def test_the_modulus_holds_a_block_in_which_all_bits_are_ones(n):
    env = hb.make_batched("ShuffleDP-v0", shuffle="binary-sum")
    env.reset(0)
    plan = env.mechanism.planned(n)
    assert plan.modulus == n * (1 + plan.noise.k) + 1


@pytest.mark.parametrize(("n", "m", "security"), [(SMALLEST, 100, 40), (1000, 2**20, 40), (50, 5, 80)])
def test_shares_are_as_few_as_will_do(n, m, security):
    k = shares_needed(n, m, security)
    assert shares_security(k - 1, n, m) < security <= shares_security(k, n, m)
