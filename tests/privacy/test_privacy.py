"""Noise laws equal their pmfs, both forms of a block agree, and audits catch mutants."""

import math

import numpy as np
import pytest
from chance import LEVEL, chi_square, two_sample
from helpers import cursors
from kinds import each_once
from scipy import stats
from wrapped_laplace import log_wrapped_discrete_laplace, worst_log_ratio

import hushbandits as hb
from hushbandits.core.random.rewards import Bernoulli, Beta, ClippedGaussian
from hushbandits.envs.feedback.pooled_users import Pooled
from hushbandits.envs.feedback.users import Individuals
from hushbandits.privacy.laplace import discrete_laplaces
from hushbandits.privacy.noise import NoiseLaw, chernoff
from hushbandits.privacy.plans import distributed_pure
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace, Laplace, PolyaDifference
from hushbandits.secure.split_and_mix import split_and_mix
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss

# -- sums of the users' noise -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 64, 1024])
def test_the_users_polya_noise_adds_up_to_discrete_laplace(n):
    plan = distributed_pure(n, 1.0, 0.1)
    rng = np.random.default_rng(n)
    sums = np.array([plan.noise.draw(rng, n).sum() for _ in range(4000)])
    law = DiscreteLaplace(plan.g)
    assert chi_square(sums, law.pmf, np.arange(-6 * plan.g, 6 * plan.g + 1)) > LEVEL
    totals = np.array([plan.noise.total(rng, n) for _ in range(20_000)])
    assert chi_square(totals, law.pmf, np.arange(-6 * plan.g, 6 * plan.g + 1)) > LEVEL
    # The gamma scale (1−p)/p with p = e^(−ε/g): the noise is far too small.
    assert (
        chi_square(np.array([mutant(plan).draw(rng, n).sum() for _ in range(500)]), law.pmf, np.arange(-60, 61)) < LEVEL
    )


def mutant(plan):
    """Erratum: the released code's Pólya sampler, β and 1 − β swapped."""
    beta = math.exp(-1 / plan.noise.b)
    return PolyaDifference(plan.noise.r, -1 / math.log(1 - beta))


def test_continuous_laplace_follows_its_law():
    law, rng = Laplace(2.5), np.random.default_rng(0)
    assert stats.kstest(law.draw(rng, 20_000), stats.laplace(scale=2.5).cdf).pvalue > LEVEL
    sums = np.array([law.total(rng, 30) for _ in range(5000)])
    assert two_sample(sums, law.draw(rng, 150_000).reshape(5000, 30).sum(1)) > LEVEL
    assert law.total(rng, 0) == 0
    u = (np.arange(200_000) + 0.5) / 200_000
    x = stats.laplace(scale=2.5).ppf(u)
    assert law.variance == pytest.approx((x**2).mean(), rel=1e-2)


class Ones(NoiseLaw):
    def draw(self, rng, size):
        return np.ones(size, np.int64)


@pytest.mark.parametrize("b", [0.4, 3.0, 40.0])
def test_discrete_laplace_at_uniforms_follows_its_law(b):
    u = (np.arange(200_000) + 0.5) / 200_000
    x, shares = np.unique(discrete_laplaces(u, b), return_counts=True)
    assert (np.diff(x) >= 1).all()
    np.testing.assert_allclose(shares / 200_000, DiscreteLaplace(b).pmf(x), atol=1e-5)  # two grid points at most


def test_a_sum_in_chunks_counts_every_user_once():
    rng, n = np.random.default_rng(0), 150_000
    assert Ones().total(rng, n) == n
    raw, mapped = (Pooled(np.array([[n]]), Beta(), np.array([[1.0]]), cursors(1)) for _ in range(2))
    assert raw.total().item() == n
    assert mapped.map(lambda x: x / 2).encode(np.array([[4]]), [rng]).total().item() == 2 * n


def test_chernoff_s_bound_of_a_gaussian_has_a_closed_form():
    for n, p in ((1, 0.1), (50, 1e-6)):
        assert chernoff(DiscreteGaussian(4.0), n, p) == pytest.approx(2 * math.sqrt(2 * n * math.log(2 / p)), rel=1e-9)


# -- pooled and per-user blocks -----------------------------------------------------------------------------------


def decoded(users, n, blocks, id="DistDP-v0", **env):
    """Blocks of fifty servers with separate noise: a server costs less than a run."""
    shape = blocks // 50, 50
    core = hb.make_batched(
        id, runs=shape[0], n_agents=shape[1], simulate_users=users, means=(0.3, 0.7), permute_arms=False, **env
    )
    core.reset(1 if users == "aggregate" else 2)
    core.pull((np.zeros(shape, int), np.full(shape, n)))
    return core.communicate().inbox.total("reward").ravel()


@each_once
@pytest.mark.parametrize("rewards", ["bernoulli", "clipped-gaussian", "beta"])
@pytest.mark.parametrize("n", [3, 64, 700])
def test_pooled_and_per_user_blocks_agree_in_law(rewards, n):
    one, other = (decoded(users, n, 1500, rewards=rewards) for users in ("aggregate", "individual"))
    assert two_sample(one, other) > LEVEL


PROTOCOLS = {
    "DistRDP-v0": {"scale": 3.0},
    "DistRDP-v0 dropouts": {"min_participants": 0.5, "wrappers": [Loss(0.3)]},
    "DistCDP-v0": {},
    "DistDP-v0 dropouts": {"min_participants": 0.5, "wrappers": [Loss(0.3)]},
    "CentralDP-v0": {},
    "CentralDP-v0 discrete": {"discrete": True},
    "LocalDP-v0": {"wrappers": [Huber(0.2)]},
    "ShuffleDP-v0": {"wrappers": [LocalLaplace(3.0)]},
    "ShuffleDP-v0 pure": {"shuffle": "pure"},
    "ShuffleDP-v0 bits": {"shuffle": "binary-sum", "calibrate": "exact"},
}


@pytest.mark.parametrize("case", PROTOCOLS)
def test_pooled_and_per_user_blocks_agree_in_law_for_every_protocol(case):
    id, env = case.split()[0], PROTOCOLS[case]
    one, other = (
        decoded(users, 100, 1200, id, rewards="clipped-gaussian", **env) for users in ("aggregate", "individual")
    )
    assert two_sample(one, other) > LEVEL
    assert np.unique(one).size > 20


@each_once
@pytest.mark.parametrize("id", ["DistDP-v0", "DistRDP-v0", "DistCDP-v0", "CentralDP-v0", "LocalDP-v0"])
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_the_analyzer_s_error_stays_within_the_theorem_s_bound(id, epsilon):
    # |z − Σx| ≤ τ/g + √((n/2g²) ln(2/p)) but for probability 2p: the noise's tail, and Hoeffding on the rounding.
    p, n, shape = 0.05, 400, (12, 50)
    extra = {"discrete": True} if id == "CentralDP-v0" else {}
    core = hb.make_batched(
        id, runs=shape[0], n_agents=shape[1], epsilon=epsilon, confidence=p, simulate_users="individual", **extra
    )
    core.reset(7)
    core.pull((np.zeros(shape, int), np.full(shape, n)))
    exact = core._report()["reward"].total()
    error = np.abs(core.communicate().inbox.total("reward") - exact)
    plan = core.mechanism.planned(n)
    bound = plan.tau / plan.g + math.sqrt(n / 2 * math.log(2 / p)) / plan.g
    misses = (error > bound).sum()
    assert stats.binom.sf(misses - 1, error.size, 2 * p) > LEVEL
    assert np.median(error) > 0.05 * bound  # the bound is informative


@each_once
@pytest.mark.parametrize("law", [Bernoulli(), ClippedGaussian(), ClippedGaussian(0.4), Beta(3.0)], ids=repr)
@pytest.mark.parametrize("location", [0.02, 0.4, 1.0])
def test_the_law_of_an_encoded_reward_is_that_of_rounding(law, location):
    u = (np.arange(400_000) + 0.5) / 400_000
    x = law.quantile(u, np.array(location))
    for g in (1, 2, 9):
        by_hand = [np.maximum(1 - np.abs(x * g - j), 0).mean() for j in range(g + 1)]
        np.testing.assert_allclose(law.rounding(location, g), by_hand, atol=2e-5)
        assert law.rounding(location, g) @ np.arange(g + 1) == pytest.approx(
            g * float(law.mean(np.array(location))), abs=1e-9
        )
    alone = [[0.0, *law.rounding(location, g)] for g in (2, 9, 9)]
    np.testing.assert_array_equal(law.roundings(np.full(3, location), np.array([2, 9, 9])), np.concatenate(alone))


# -- through a shuffler -------------------------------------------------------------------------------------------


def test_shares_are_uniform_and_sum_to_their_message():
    rng, m = np.random.default_rng(0), 7
    split = np.array([split_and_mix(np.array([3]), 3, m, rng) for _ in range(7000)])
    assert (split.sum(1) % m == 3).all()
    for columns in ([0, 1], [0, 2], [1, 2]):  # any two of three reveal nothing
        counts = np.bincount(split[:, columns] @ [m, 1], minlength=m * m)
        assert stats.chisquare(counts).pvalue > LEVEL


def test_shuffled_shares_come_in_a_uniform_order():
    rng = np.random.default_rng(1)
    orders = np.array([split_and_mix(np.arange(4), 1, 5, rng) for _ in range(4800)])
    counts = np.unique(orders @ [64, 16, 4, 1], return_counts=True)[1]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > LEVEL


def test_sums_near_the_largest_modulus_do_not_overflow():
    m = (1 << 62) - 57
    y = np.random.default_rng(2).integers(m, size=100)
    expected = sum(y.tolist()) % m
    crowd = Individuals(y[None, None], np.array([[100]])).modulo(np.array([[m]]))
    assert crowd.total().item() == expected
    shares = split_and_mix(y, 20, m, np.random.default_rng(3))
    assert sum(shares.tolist()) % m == expected


# -- white box ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [2, 64, 1024])
def test_the_server_s_view_is_epsilon_private_to_1e_9(n, epsilon):
    plan = distributed_pure(n, epsilon, 0.1)
    log_pmf = log_wrapped_discrete_laplace(plan.noise.b, plan.modulus)
    measured = worst_log_ratio(log_pmf, plan.g)
    # The pmf is ∝ cosh((m/2 − d)/b): what wraps around takes a little off ε, and nothing once m ≫ b.
    half, b = plan.modulus / 2, plan.noise.b
    exact = np.logaddexp(half / b, -half / b) - np.logaddexp((half - plan.g) / b, (plan.g - half) / b)
    assert measured == pytest.approx(exact, abs=1e-9)
    assert 0.99 * epsilon < measured <= epsilon + 1e-9
    if half > 30 * b:
        assert measured == pytest.approx(epsilon, abs=1e-9)
    assert np.exp(log_pmf).sum() == pytest.approx(1, abs=1e-9)
