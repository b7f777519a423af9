"""Accounting: closed forms, numerical divergences, and other people's accountants where they are installed."""

import math

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.privacy.accounting import (
    ORDERS,
    advanced_composition,
    compose,
    concentrated_sum,
    discrete_gaussian_rho,
    pure_curve,
    shuffle_amplification,
    skellam_curve,
    to_delta,
    to_epsilon,
    zcdp_curve,
)
from hushbandits.privacy.audit import renyi_divergence
from hushbandits.privacy.samplers import DiscreteGaussian, Skellam
from hushbandits.privacy.shuffling import binomial_delta, extra_bits, shares_needed


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("alpha", [1.5, 2, 8, 64])
def test_pure_curve_is_the_divergence_of_randomized_response(epsilon, alpha):
    p = 1 / (1 + math.exp(-epsilon))
    q = 1 - p
    divergence = math.log(p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)) / (alpha - 1)
    assert pure_curve(epsilon)(alpha) == pytest.approx(divergence, rel=1e-9)
    printed = (math.sinh(alpha * epsilon) - math.sinh((alpha - 1) * epsilon)) / math.sinh(epsilon)
    assert pure_curve(epsilon)(alpha) == pytest.approx(math.log(printed) / (alpha - 1), rel=1e-9)


@pytest.mark.parametrize("sigma2", [30.0, 100.0, 2500.0])
@pytest.mark.parametrize("sensitivity", [1, 5, 20])
def test_skellam_s_curve_bounds_its_divergence(sigma2, sensitivity):
    k = np.arange(-math.ceil(35 * math.sqrt(sigma2)), math.ceil(35 * math.sqrt(sigma2)) + 1)
    with np.errstate(divide="ignore"):
        law = np.log(Skellam(sigma2).pmf(k))
    for alpha in (2, 3, 5):
        measured = renyi_divergence(law, sensitivity, alpha)
        assert measured <= skellam_curve(sigma2, sensitivity)(alpha) + 1e-9
        if sensitivity**2 <= sigma2:  # where it is close to a Gaussian
            assert measured == pytest.approx(alpha * sensitivity**2 / (2 * sigma2), rel=0.1)


@pytest.mark.parametrize("sigma2", [1.0, 25.0])
def test_discrete_gaussian_is_concentrated(sigma2):
    k = np.arange(-200, 201)
    law = -(k**2) / (2 * sigma2) - np.log(np.exp(-(k**2) / (2 * sigma2)).sum())
    assert np.exp(law) == pytest.approx(DiscreteGaussian(sigma2).pmf(k), abs=1e-12)
    for alpha in (2, 4, 8):
        assert renyi_divergence(law, 3, alpha) <= zcdp_curve(discrete_gaussian_rho(sigma2, 3))(alpha) + 1e-9


def test_a_sum_of_discrete_gaussians_needs_a_variance():
    assert concentrated_sum(1024, 0.3, 32) > discrete_gaussian_rho(1024 * 0.3, 32)
    assert concentrated_sum(1 << 21, 100.0, 1000) == pytest.approx(discrete_gaussian_rho(100.0 * (1 << 21), 1000))
    with pytest.raises(ValueError, match=r"sigma2=0.2 must be a number ≥ 0.25"):
        concentrated_sum(10, 0.2, 1)


def test_skellam_s_curve_is_for_integers():
    with pytest.raises(ValueError, match=r"alpha=2.5: Skellam's bound holds for integers ≥ 2"):
        skellam_curve(1.0, 1)(2.5)


def test_conversion_is_the_minimum_over_orders_and_inverts():
    curve = zcdp_curve(0.3)
    by_hand = min(0.3 * a + math.log(1 / (a * 1e-5)) / (a - 1) + math.log(1 - 1 / a) for a in ORDERS)
    assert to_epsilon(curve, 1e-5) == pytest.approx(by_hand, rel=1e-12)
    assert to_delta(curve, by_hand) == pytest.approx(1e-5, rel=1e-9)
    # Never better than the exact Gaussian trade-off, and not far from it.
    from scipy.stats import norm

    mu = math.sqrt(0.6)
    exact = norm.cdf(mu / 2 - by_hand / mu) - math.exp(by_hand) * norm.cdf(-mu / 2 - by_hand / mu)
    assert 0.1e-5 < exact <= 1e-5


def test_returning_users():
    rho, delta = 0.005, 1e-6
    for blocks in (1, 10, 100):
        composed = to_epsilon(compose([zcdp_curve(rho)] * blocks), delta)
        assert composed == pytest.approx(to_epsilon(zcdp_curve(rho * blocks), delta), rel=1e-9)
    # Appendix I: Rényi composition beats advanced composition of the converted blocks, by a factor that grows.
    per_block = to_epsilon(zcdp_curve(rho), delta / 200)
    advanced, _ = advanced_composition(per_block, delta / 200, 100, delta / 2)
    assert to_epsilon(compose([zcdp_curve(rho)] * 100), delta) < 0.5 * advanced
    assert advanced_composition(0.1, 0.0, 2, 1e-6) == (0.2, 0.0)


def test_amplification_by_shuffling_as_printed():
    for epsilon0, n, delta in ((0.5, 10**5, 1e-6), (2.0, 10**6, 1e-8)):
        e = math.exp(epsilon0)
        printed = (e - 1) / (e + 1) * (8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n)
        assert shuffle_amplification(epsilon0, n, delta) == pytest.approx(math.log(1 + printed), rel=1e-12)
    assert shuffle_amplification(3.0, 100, 1e-6) == 3.0  # outside the theorem: nothing is gained
    assert shuffle_amplification(1.0, 10**6, 1e-6) < shuffle_amplification(1.0, 10**5, 1e-6) < 1.0


def test_split_and_mix_shares():
    with pytest.raises(ValueError, match="at least 19 users"):
        shares_needed(18, 1000)
    assert shares_needed(32, 1 << 12) == math.ceil(2 + (80 + 12) / (5 - math.log2(math.e)))
    assert shares_needed(1 << 20, 1 << 32) < shares_needed(1 << 10, 1 << 32)


def test_binary_sum_calibration():
    for n in (10, 500, 100_000):
        paper, exact = (extra_bits(n, 1.0, 1e-6, c) for c in ("paper", "exact"))
        tau = 96 * math.log(2e6)
        assert (paper.k, paper.q) == ((math.ceil(tau / n), 0.5) if n <= tau else (1, tau / (2 * n)))
        assert binomial_delta(n * exact.k, exact.q, 1.0) <= 1e-6
        ratio = paper.variance / exact.variance
        assert 10 < ratio < 45
    # The divergence of one fair bit, by hand: P(0) = ½ against 0.
    assert binomial_delta(1, 0.5, 3.0) == pytest.approx(0.5)
    assert binomial_delta(2, 0.5, 0.0) == pytest.approx(0.5)


def test_the_ledger_writes_down_every_block():
    env = hb.make_vec("DistRDP-v0", runs=2, n_agents=2, horizon=700, scale=10.0)
    final = hb.play(env, hb.make_team("Dist-RDP-SE"), 0)
    ledger = env.mechanism.ledger
    rows = ledger.rows(0)
    assert sum(row["planned"] * row["blocks"] for row in rows) == pytest.approx(1400, abs=2)  # a block of 1 never opens
    assert {row["server"] for row in rows} == {0, 1}
    assert max(row["epsilon"] for row in rows) == final["epsilon"][0]
    for row in rows:
        curve = skellam_curve(row["g"] ** 2, row["g"])  # ε = 1: the sum's variance is g²
        assert row["epsilon"] == pytest.approx(to_epsilon(curve, 1e-6))
        assert row["delta"] == 1e-6
    assert ledger.view.startswith("the server: modular sums")
    assert list(ledger.to_frame()["run"].unique()) == [0, 1]
    once, often = ledger.returning(0, 1, 1e-6), ledger.returning(0, 9, 1e-6)
    assert once[0] == final["epsilon"][0]
    assert once[0] < often[0] < 9 * once[0]


def test_a_mechanism_without_a_secure_function_spends_everything():
    from hushbandits.envs.feedback import Feedback
    from hushbandits.wrappers.distributed_dp import DiscreteLaplace

    env = Feedback(wrappers=[DiscreteLaplace(1.0)], horizon=300)
    assert math.isinf(hb.play(env, hb.make_team("Dist-DP-SE"))["epsilon"].item())


# -- others' accountants --------------------------------------------------------------------------------------------


def test_conversions_agree_with_dp_accounting():
    rdp = pytest.importorskip("dp_accounting.rdp")
    dp_accounting = pytest.importorskip("dp_accounting")
    accountant = rdp.RdpAccountant(orders=list(ORDERS))
    accountant.compose(dp_accounting.GaussianDpEvent(1 / math.sqrt(2 * 0.05)), 7)
    ours = to_epsilon(compose([zcdp_curve(0.05)] * 7), 1e-6)
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-6)


def test_discrete_laplace_agrees_with_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    law = pld.from_discrete_laplace_mechanism(1 / 32, sensitivity=32)
    assert law.get_epsilon_for_delta(0.0) == pytest.approx(1.0, abs=1e-3)


def test_discrete_laplace_agrees_with_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    assert dp.m.make_laplace(*space, scale=32.0).map(d_in=32) == pytest.approx(1.0, abs=1e-9)
