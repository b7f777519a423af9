"""Accounting equals closed forms, numerical divergences, and third-party accountants if installed."""

import math

import numpy as np
import pytest
from kinds import each_once
from noises import polya_by_hand
from renyi import renyi_divergence
from wrapped_laplace import log_wrapped_discrete_laplace, worst_log_ratio

import hushbandits as hb
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.divergence import ORDERS, concentrated_sum, pure_curve, skellam_curve, to_epsilon, zcdp_curve
from hushbandits.privacy.ledger import Ledger, Spent
from hushbandits.privacy.plans import binomial_delta, distributed_pure, extra_bits
from hushbandits.privacy.samplers import DiscreteGaussian, Skellam
from hushbandits.secure.split_and_mix import shares_needed, shares_security
from hushbandits.wrappers.distributed_dp import DiscreteGaussian as Concentrated
from hushbandits.wrappers.distributed_dp import DiscreteLaplace as Pure
from hushbandits.wrappers.distributed_dp import Skellam as Renyi
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.shuffle_dp import ShuffledNoise
from hushbandits.wrappers.shuffled_sum import PROTOCOLS


@each_once
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("alpha", [1.5, 2, 8, 64])
def test_pure_curve_is_the_divergence_of_randomized_response(epsilon, alpha):
    p = 1 / (1 + math.exp(-epsilon))
    q = 1 - p
    divergence = math.log(p**alpha * q ** (1 - alpha) + q**alpha * p ** (1 - alpha)) / (alpha - 1)
    assert pure_curve(epsilon)(alpha) == pytest.approx(divergence, rel=1e-9)
    printed = (math.sinh(alpha * epsilon) - math.sinh((alpha - 1) * epsilon)) / math.sinh(epsilon)
    assert pure_curve(epsilon)(alpha) == pytest.approx(math.log(printed) / (alpha - 1), rel=1e-9)


@each_once
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
        # A whole shift leaves a theta series as it is: the bound is attained.
        exact = zcdp_curve(3**2 / (2 * sigma2))(alpha)
        assert renyi_divergence(law, 3, alpha) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "sigma2", "sensitivity", "first"), [(1024, 0.3, 32, True), (3, 0.25, 1, True), (1024, 1.0, 3, False)]
)
def test_a_sum_of_discrete_gaussians_costs_what_the_lemma_says(n, sigma2, sensitivity, first):
    epsilon = sensitivity / math.sqrt(n * sigma2)
    xi = 10 * sum(math.exp(-2 * math.pi**2 * sigma2 * k / (k + 1)) for k in range(1, n))
    either = math.sqrt(epsilon**2 + xi / 2), epsilon + xi
    assert (either[0] < either[1]) == first
    assert concentrated_sum(n, sigma2, sensitivity) == pytest.approx(min(either) ** 2 / 2, rel=1e-12)


def test_conversion_is_the_minimum_over_orders():
    curve = zcdp_curve(0.3)
    by_hand = min(0.3 * a + math.log(1 / (a * 1e-5)) / (a - 1) + math.log(1 - 1 / a) for a in ORDERS)
    assert to_epsilon(curve, 1e-5) == pytest.approx(by_hand, rel=1e-12)
    # Never better than the exact Gaussian trade-off, and not far from it.
    from scipy.stats import norm

    mu = math.sqrt(0.6)
    exact = norm.cdf(mu / 2 - by_hand / mu) - math.exp(by_hand) * norm.cdf(-mu / 2 - by_hand / mu)
    assert 0.1e-5 < exact <= 1e-5


def test_returning_users():
    rho, delta = 0.005, 1e-6
    for blocks in (1, 10, 100):
        book = Ledger(lambda n, s: Spent(1.0, 0.0, zcdp_curve(rho)), lambda n: {}, 1)
        book.use(np.array([[1]]), np.array([[1]]))
        composed = to_epsilon(zcdp_curve(rho * blocks), delta)
        assert book.returning(0, blocks, delta)[0] == pytest.approx(composed, rel=1e-9)


def test_split_and_mix_shares():
    assert shares_needed(32, 1 << 12) == math.ceil(2 + (80 + 12) / (5 - math.log2(math.e)))
    for n, m, security in ((19, 500, 40), (1024, 32961, 40), (1 << 20, 1 << 40, 80)):
        k = shares_needed(n, m, security)
        assert shares_security(k - 1, n, m) < security <= shares_security(k, n, m)


def test_binary_sum_calibration():
    for n in (10, 500, 100_000):
        paper, exact = (extra_bits(n, 1.0, 1e-6, c) for c in ("paper", "exact"))
        tau = 96 * math.log(2e6)
        assert (paper.k, paper.q) == ((math.ceil(tau / n), 0.5) if n <= tau else (1, tau / (2 * n)))
        assert binomial_delta(n * exact.k, exact.q, 1.0) <= 1e-6
        fewer = (exact.k - 1, 0.5) if exact.q == 0.5 else (1, 0.999 * exact.q)
        assert binomial_delta(n * fewer[0], fewer[1], 1.0) > 1e-6  # the smallest
        assert 10 < paper.variance / exact.variance < 50
    for calibrate in ("paper", "exact"):
        assert extra_bits(400, 2.0, 1e-9, calibrate).variance < extra_bits(400, 1.0, 1e-9, calibrate).variance
    # The divergence of one fair bit, by hand: P(0) = ½ against 0.
    assert binomial_delta(1, 0.5, 3.0) == pytest.approx(0.5)
    assert binomial_delta(2, 0.5, 0.0) == pytest.approx(0.5)


def test_the_ledger_writes_down_every_block():
    env = hb.make_batched("DistRDP-v0", runs=2, n_agents=2, horizon=700, scale=10.0)
    final = hb.rollout(env, hb.make_team("Dist-RDP-SE"), 0)
    ledger = env.mechanism.ledger
    rows = ledger.rows(0)
    assert sum(row["planned"] * row["blocks"] for row in rows) == pytest.approx(1400, abs=2)  # blocks of 1 stay closed
    assert {row["server"] for row in rows} == {0, 1}
    assert max(row["epsilon"] for row in rows) == final["epsilon"][0]
    for row in rows:
        curve = skellam_curve(row["g"] ** 2, row["g"])  # ε = 1: the sum's variance is g²
        assert row["epsilon"] == pytest.approx(to_epsilon(curve, 1e-6))
        assert row["delta"] == 1e-6
    assert ledger.rows(1)
    once, often = ledger.returning(0, 1, 1e-6), ledger.returning(0, 9, 1e-6)
    assert 0.9 * final["epsilon"][0] < once[0] < final["epsilon"][0]  # exactly, and by its Rényi curve
    assert once[0] < often[0] < 9 * once[0]


def one_pays(n, survivors, g, epsilon, t):
    """ε of what is left of n Pólya shares 1/t: P(0)/P(g) of the difference of two negative binomials."""
    return max(epsilon, polya_by_hand(survivors / t, g / epsilon, g))


def renyi_pays(n, survivors, g, epsilon, t):
    return to_epsilon(skellam_curve(survivors * g**2 / (t * epsilon**2), g), 1e-6)


def concentrated_pays(n, survivors, g, epsilon, t):
    return to_epsilon(zcdp_curve(concentrated_sum(survivors, g**2 / (t * epsilon**2), g)), 1e-6)


def pays_epsilon(n, survivors, g, epsilon, t):
    return epsilon


@pytest.mark.parametrize(
    ("id", "env", "oracle", "always"),
    [
        ("DistDP-v0", {}, one_pays, False),
        ("DistRDP-v0", {"scale": 2.0}, renyi_pays, False),
        ("DistCDP-v0", {"scale": 1.0}, concentrated_pays, False),
        ("CentralDP-v0", {}, pays_epsilon, True),
        ("CentralDP-v0", {"discrete": True}, pays_epsilon, True),
        ("LocalDP-v0", {}, pays_epsilon, True),
    ],
)
def test_a_block_costs_what_its_survivors_noise_leaves(id, env, oracle, always):
    core = hb.make_batched(id, epsilon=0.8, horizon=1000, runs=2, wrappers=[Loss(0.3)], **env)
    final = hb.rollout(core, hb.make_team("Random"), 0)
    for run in range(2):
        rows = core.mechanism.ledger.rows(run)
        fewer = [row for row in rows if row["survivors"] < row["planned"]]
        assert fewer
        for row in rows:
            n = row["planned"]
            cost = oracle(n, row["survivors"], row["g"], 0.8, n)
            assert row["epsilon"] == pytest.approx(cost, rel=1e-6)
        promised = hb.make_batched(id, epsilon=0.8, horizon=1000, **env).guarantees()[0].epsilon  # without losses
        assert any(row["epsilon"] > promised + 1e-9 for row in fewer) != always
        assert final["epsilon"][run] == max(row["epsilon"] for row in rows)


def test_what_dropouts_cost_through_a_shuffler():
    env = hb.make_batched("ShuffleDP-v0", min_participants=0.75)
    env.reset(0)
    mechanism = env.mechanism
    plan = mechanism.planned(64)
    assert mechanism.price(64, 64) == mechanism.price(64, 48)
    assert (mechanism.price(64, 48).epsilon, mechanism.price(64, 48).curve) == (1.0, None)
    assert mechanism.price(64, 48).delta == pytest.approx((1 + math.e) * 2.0**-40)
    k = shares_needed(48, plan.modulus)
    env.pull((np.zeros((1, 1), int), np.full((1, 1), 64)))
    env.communicate()
    assert env.metrics()["bits_per_user"].item() == k * plan.bits
    # Fewer than t_min: less noise, and fewer to hide the shares among.
    cost = one_pays(64, 30, plan.g, 1.0, 48)
    assert mechanism.price(64, 30).epsilon == pytest.approx(cost, rel=1e-6)
    weaker = ((k - 2) * (math.log2(30) - math.log2(math.e)) - math.log2(plan.modulus)) / 2
    assert weaker < 40
    assert mechanism.price(64, 30).delta == pytest.approx((1 + math.exp(cost)) * 2.0**-weaker, rel=1e-6)

    env = hb.make_batched("ShuffleDP-v0", shuffle="pure", min_participants=0.75)
    env.reset(0)
    assert env.mechanism.price(64, 48).epsilon == pytest.approx(1.0)
    half = one_pays(64, 30, env.mechanism.planned(64).g, 0.5, 48)
    assert env.mechanism.price(64, 30).epsilon == pytest.approx(half + 0.5, rel=1e-6)

    env = hb.make_batched("ShuffleDP-v0", shuffle="binary-sum", delta=1e-5)
    env.reset(0)
    bits = env.mechanism.planned(64).noise
    spent = env.mechanism.price(64, 64), env.mechanism.price(64, 30)
    assert [s.epsilon for s in spent] == [1.0, 1.0]
    assert [s.delta for s in spent] == [1e-5, binomial_delta(30 * bits.k, bits.q, 1.0)]
    assert spent[1].delta != 1e-5


@pytest.mark.parametrize(
    "mechanism", [Pure(), Renyi(), Concentrated(), *(ShuffledNoise(shuffle=name) for name in PROTOCOLS)], ids=repr
)
def test_a_mechanism_without_a_secure_function_spends_everything(mechanism):
    env = Feedback(wrappers=[mechanism], horizon=300)
    (promise,) = env.guarantees()
    assert math.isinf(promise.epsilon)
    assert "every user's" in promise.view
    assert math.isinf(hb.rollout(env, hb.make_team("Random"))["epsilon"].item())


# -- others' accountants --------------------------------------------------------------------------------------------


def test_conversions_agree_with_dp_accounting():
    rdp = pytest.importorskip("dp_accounting.rdp")
    dp_accounting = pytest.importorskip("dp_accounting")
    accountant = rdp.RdpAccountant(orders=list(ORDERS))
    accountant.compose(dp_accounting.GaussianDpEvent(1 / math.sqrt(2 * 0.05)), 7)
    ours = to_epsilon(zcdp_curve(7 * 0.05), 1e-6)
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-6)


def test_discrete_laplace_agrees_with_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    plan = distributed_pure(1000, 0.7, 0.1)
    law = pld.from_discrete_laplace_mechanism(1 / plan.noise.b, sensitivity=plan.g)
    ours = worst_log_ratio(log_wrapped_discrete_laplace(plan.noise.b, plan.modulus), plan.g)
    assert law.get_epsilon_for_delta(0.0) == pytest.approx(ours, abs=1e-3)


def test_discrete_laplace_agrees_with_opendp():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    plan = distributed_pure(1000, 0.7, 0.1)
    ours = worst_log_ratio(log_wrapped_discrete_laplace(plan.noise.b, plan.modulus), plan.g)
    assert dp.m.make_laplace(*space, scale=plan.noise.b).map(d_in=plan.g) == pytest.approx(ours, abs=1e-9)
