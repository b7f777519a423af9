"""Exact samplers, integers only, against the pmfs; no floating point on the way."""

import math

import numpy as np
import pytest
from chance import LEVEL, chi_square, two_sample
from scipy import stats

import hushbandits as hb
from hushbandits.privacy.exact import Exact, SecretSource, SeededSource, bernoulli_exp
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace, Laplace, PolyaDifference, Skellam

LAWS = [DiscreteLaplace(3.5), DiscreteLaplace(0.4), Skellam(3.0), DiscreteGaussian(6.0), DiscreteGaussian(0.3)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_exact_samplers_follow_the_pmf(law):
    drawn = Exact(law).draw(np.random.default_rng(1), 30_000)
    top = math.ceil(14 * math.sqrt(law.variance)) + 2
    assert drawn.dtype == np.int64
    assert chi_square(drawn, law.pmf, np.arange(-top, top + 1)) > LEVEL


@pytest.mark.parametrize("n", [1, 3, 8])
def test_exact_polya_shares_add_up_to_discrete_laplace(n):
    rng = np.random.default_rng(n)
    sums = Exact(PolyaDifference(1 / n, 4.0)).draw(rng, 2500 * n).reshape(2500, n).sum(1)
    assert chi_square(sums, DiscreteLaplace(4.0).pmf, np.arange(-80, 81)) > LEVEL
    total = np.array([Exact(PolyaDifference(1 / n, 4.0)).total(rng, n) for _ in range(2500)])
    assert chi_square(total, DiscreteLaplace(4.0).pmf, np.arange(-80, 81)) > LEVEL


@pytest.mark.parametrize("n", [2, 13])
@pytest.mark.parametrize("law", [PolyaDifference(1 / 6, 4.0), Skellam(2.0), DiscreteGaussian(3.0)], ids=repr)
def test_exact_sums_are_those_of_the_users_who_are_left(law, n):
    # Not of the six whose Pólya shares would make one discrete Laplace draw.
    rng = np.random.default_rng(n)
    sums = np.array([Exact(law).total(rng, n) for _ in range(1500)])
    assert two_sample(sums, law.draw(rng, 1500 * n).reshape(1500, n).sum(1)) > LEVEL
    assert abs(sums.var() / (n * law.variance) - 1) < 6 * math.sqrt(stats.kurtosis(sums, fisher=False) / 1500)


@pytest.mark.parametrize("law", [PolyaDifference(1 / 5, 3.0), Skellam(2.0)], ids=repr)
def test_exact_and_fast_agree_in_law(law):
    rng = np.random.default_rng(2)
    assert two_sample(Exact(law).draw(rng, 6000), law.draw(rng, 6000)) > LEVEL


def test_exact_laplace_lives_on_a_grid():
    x = Exact(Laplace(2.0)).draw(np.random.default_rng(0), 4000)
    assert (x * 2.0**40 == np.round(x * 2.0**40)).all()
    assert two_sample(x, Laplace(2.0).draw(np.random.default_rng(1), 4000)) > LEVEL


@pytest.mark.parametrize("gamma", [(0, 1), (1, 3), (1, 1), (7, 3), (1, 10**25)])
def test_coins_of_probability_e_to_minus_gamma(gamma):
    source = SeededSource(np.random.default_rng(0))
    p = math.exp(-gamma[0] / gamma[1])
    heads = sum(bernoulli_exp(source, *gamma) for _ in range(20_000))
    assert abs(heads / 20_000 - p) <= 6 * math.sqrt(p * (1 - p) / 20_000)


def test_integers_below_n_are_uniform_and_repeat_with_their_seed():
    draws = [[SeededSource(np.random.default_rng(5)).below(7) for _ in range(3)] for _ in range(2)]
    assert draws[0] == draws[1]
    source = SeededSource(np.random.default_rng(5))
    counts = np.bincount([source.below(7) for _ in range(14_000)], minlength=7)
    assert (np.abs(counts - 2000) < 6 * math.sqrt(2000)).all()
    assert max(source.below(1 << 200) for _ in range(50)).bit_length() > 190


def test_the_operating_system_s_randomness_takes_no_seed():
    drawn = Exact(DiscreteLaplace(2.0)).draw(SecretSource(), 400)
    assert abs(drawn.mean()) < 6 * math.sqrt(DiscreteLaplace(2.0).variance / 400)


@pytest.mark.parametrize("id", ["DistDP-v0", "DistRDP-v0", "DistCDP-v0", "CentralDP-v0", "LocalDP-v0", "ShuffleDP-v0"])
def test_every_mechanism_takes_the_exact_sampler(id):
    env = hb.make_core(id, runs=2, sampler="exact", users="each", horizon=200)
    env.reset(0)
    env.pull((np.zeros((2, 1), int), np.full((2, 1), 40)))
    assert np.isfinite(env.talk().inbox.total("reward")).all()
    assert "idealised floating point" not in env.guarantees()[0].assumptions
