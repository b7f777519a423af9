"""Exact samplers, integers only, against the pmfs; no floating point on the way."""

import math
import secrets

import numpy as np
import pytest
from chance import LEVEL, chi_square, repeating, two_sample

import hushbandits as hb
from hushbandits.audits.play import seen
from hushbandits.privacy import samplers
from hushbandits.privacy.samplers import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exact,
    Laplace,
    Skellam,
    TruncatedGeometric,
    bernoulli_exp,
)

LAWS = [
    DiscreteLaplace(3.5), DiscreteLaplace(0.4), Skellam(3.0), DiscreteGaussian(6.0), DiscreteGaussian(0.3),
    TruncatedGeometric(3.0, 9),
]  # fmt: skip


@pytest.mark.parametrize("size", [30_000, pytest.param(10**6, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_exact_samplers_follow_the_pmf(law, size):
    with repeating(1):
        drawn = Exact(law).draw(None, size)
    top = math.ceil(14 * math.sqrt(law.variance)) + 2
    assert drawn.dtype == np.int64
    assert chi_square(drawn, law.pmf, np.arange(-top, top + 1)) > LEVEL


def test_exact_laplace_lives_on_a_grid():
    with repeating(0):
        x = Exact(Laplace(2.0)).draw(None, 4000)
    assert (x * 2.0**40 == np.round(x * 2.0**40)).all()
    assert two_sample(x, Laplace(2.0).draw(np.random.default_rng(1), 4000)) > LEVEL
    env = hb.make_batched("CentralDP-v0", noise="exact", simulate_users="individual")
    released = seen(env, [np.array([0.3]), np.array([0.7])], 4).fields["reward"]
    assert (released * 2.0**40 == np.round(released * 2.0**40)).all()  # else the last bits tell .3 from .7


@pytest.mark.parametrize("gamma", [(0, 1), (1, 3), (1, 1), (7, 3), (1, 10**25)])
def test_coins_of_probability_e_to_minus_gamma(gamma):
    p = math.exp(-gamma[0] / gamma[1])
    with repeating(0):
        heads = sum(bernoulli_exp(*gamma) for _ in range(20_000))
    assert abs(heads / 20_000 - p) <= 6 * math.sqrt(p * (1 - p) / 20_000)


def test_the_operating_system_s_randomness_takes_no_seed():
    assert samplers.randbelow is secrets.randbelow
    drawn = [Exact(DiscreteLaplace(2.0)).draw(np.random.default_rng(0), 400) for _ in range(2)]
    assert (drawn[0] != drawn[1]).any()
    assert abs(drawn[0].mean()) < 6 * math.sqrt(DiscreteLaplace(2.0).variance / 400)


@pytest.mark.parametrize("id", ["DistDP-v0", "DistRDP-v0", "DistCDP-v0", "CentralDP-v0", "LocalDP-v0", "ShuffleDP-v0"])
def test_every_mechanism_draws_exact_noise_that_no_seed_repeats(id):
    totals = []
    for _ in range(2):
        env = hb.make_batched(id, runs=2, noise="exact", simulate_users="individual", horizon=200)
        env.reset(0)
        env.pull((np.zeros((2, 1), int), np.full((2, 1), 40)))
        totals.append(env.communicate().inbox.total("reward"))
    assert np.isfinite(totals).all()
    assert (totals[0] != totals[1]).any()
    words = " ".join(env.guarantees()[0].assumptions)
    assert "floating point" not in words
    assert "simulation" not in words
