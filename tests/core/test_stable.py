"""Symmetric α-stable rewards: quantiles and tails equal SciPy's, moments equal their closed form."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import hushbandits as hb
from hushbandits.core.random.rewards import Stable
from hushbandits.core.random.stable import stable_quantile, stable_tail

ALPHAS = [1.2, 1.5, 1.9, 1.99]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_quantiles_and_tails_are_scipys(alpha):
    law = stats.levy_stable(alpha, 0)
    x = np.array([0.1, 0.7, 2.0, 5.0, 30.0])
    np.testing.assert_allclose(stable_tail(x, alpha), law.sf(x), rtol=2e-4)
    u = np.array([0.02, 0.3, 0.5, 0.6, 0.95])
    np.testing.assert_allclose(law.cdf(stable_quantile(u, alpha)), u, rtol=1e-5)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_quantile_undoes_the_tail_and_is_odd(alpha):
    tail = np.concatenate([np.geomspace(2.0**-53, 0.49, 60)])
    x = -stable_quantile(tail, alpha)  # the lower one: 1 − u is not a double there
    np.testing.assert_allclose(stable_tail(x, alpha), tail, rtol=2e-6)
    u = np.linspace(0.01, 0.49, 25)
    np.testing.assert_allclose(stable_quantile(1 - u, alpha), -stable_quantile(u, alpha), rtol=1e-12)
    assert stable_quantile(np.array([0.5]), alpha)[0] == 0.0
    assert np.isfinite(stable_quantile(np.array([0.0, 1 - 2.0**-53]), alpha)).all()
    far = stable_quantile(np.array([1e-12]), alpha)[0]  # Γ(α) sin(πα/2)/π x^−α, in the limit
    limit = (special.gamma(alpha) * math.sin(math.pi * alpha / 2) / math.pi / 1e-12) ** (1 / alpha)
    assert -far == pytest.approx(limit, rel=2e-3)


@pytest.mark.parametrize(("alpha", "order"), [(1.5, 0.8), (1.9, 1.0), (1.9, 1.5)])
def test_absolute_moments(alpha, order):
    # u = v⁸ spreads the tail out
    found, _ = integrate.quad(
        lambda v: 2 * abs(stable_quantile(np.array(0.5 * v**8), alpha)) ** order * 4 * v**7, 0, 1, limit=200
    )
    gamma = special.gamma
    exact = 2**order * gamma((1 + order) / 2) * gamma(1 - order / alpha) / (gamma(1 - order / 2) * math.sqrt(math.pi))
    assert found == pytest.approx(exact, rel=1e-3)


def test_rewards_follow_the_law():
    law = Stable(alpha=1.7, scale=2.0)
    env = hb.make_batched("HeavyTailedNetwork-v0", runs=50, n_agents=36, horizon=2, rewards=law, graph="grid")
    env.reset(1)
    x = env.pull(np.zeros((50, 36), int)).reward.ravel()
    tails = stats.levy_stable(1.7, 0, loc=0.7, scale=2.0)
    grid = np.quantile(x, np.linspace(0.02, 0.98, 25))
    share = (x[:, None] <= grid).mean(0)
    assert np.abs(share - tails.cdf(grid)).max() < 2.7 / math.sqrt(x.size)
