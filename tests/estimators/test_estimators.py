"""Robust means equal naive twins, under contamination and up to breakdown; running structures equal naive ones."""

import math
import statistics

import numpy as np
import pytest
from helpers import estimates
from kinds import each_once
from naive_estimators import naive_catoni, naive_lugosi, naive_median_of_means, naive_trimmed, naive_truncated

from hushbandits.estimators.robust import Catoni, LugosiMendelson, Mean, MedianOfMeans, TrimmedMean, TruncatedMean
from hushbandits.estimators.running import Log, Sums, Tails, follow

# -- naive twins, written from the papers ---------------------------------------------------------------------------


LAWS = {
    "bernoulli": lambda rng, n: (rng.random(n) < 0.6).astype(float),
    "beta": lambda rng, n: rng.beta(2, 3, n),
    "three values": lambda rng, n: rng.choice([0.0, 0.5, 1.0], n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "constant": lambda rng, n: np.full(n, 0.3),
    "far contamination": lambda rng, n: np.where(rng.random(n) < 0.05, 1e9, rng.beta(2, 3, n)),
    "contaminated by turns": lambda rng, n: np.where(np.arange(n) % 6 == 0, 40.0, rng.beta(2, 3, n)),
}
SIZES = [1, 2, 3, 5, 40, 41, 130, 131, 150, 400, 1001]


@each_once
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-6])
def test_estimators_equal_their_twins(law, delta):
    rng = np.random.default_rng(5)
    for n in SIZES:
        x = LAWS[law](rng, n)
        sample = x.tolist()
        for epsilon in (0.0, 1e-3, 0.1, 0.4):
            assert TrimmedMean(epsilon)(x, delta) == naive_trimmed(sample, delta, epsilon)
            assert LugosiMendelson(epsilon)(x, delta) == naive_lugosi(sample, delta, epsilon)
        assert Mean()(x, delta) == statistics.fmean(sample)
        assert MedianOfMeans()(x, delta) == naive_median_of_means(sample, delta)
        assert TruncatedMean(2.0, 0.9)(x, delta) == naive_truncated(sample, delta, 2.0, 0.9)
        if law not in ("cauchy", "far contamination"):  # brentq's own error is relative to the bracket
            assert Catoni(0.25)(x, delta) == pytest.approx(naive_catoni(sample, delta, 0.25), abs=1e-10)


# -- what they promise ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimator", "points"), [
    (TrimmedMean(0.1), lambda n, d: min(q := kept(n, d, 0.1), n - q + 1)),
    (TrimmedMean(0.3), lambda n, d: min(q := kept(n, d, 0.3), n - q + 1)),
    (LugosiMendelson(0.01), lambda n, d: math.ceil(0.08 * n + 12 * math.log(4 / d))),
])  # fmt: skip
def test_breakdown_points_of_the_trimmed_means(estimator, points):
    """One bad point in Y below the breakdown point leaves the estimate in place; at the breakdown point it is gone."""
    n, delta = 1000, 0.1
    x = np.random.default_rng(1).random(2 * n)
    bad = points(n, delta)
    for many, broken in ((bad - 1, False), (bad, True)):
        sample = x.copy()
        sample[1 : 2 * many : 2] = 1e9  # the first of the Y
        sample[0 : 2 * many : 2] = 1e9
        assert (abs(estimator(sample, delta)) > 1e3) == broken


def kept(n, delta, epsilon):
    ell, alpha = math.log(4 / delta) / n, max(epsilon, math.log(1 / delta) / n)
    return math.floor(n * (1 - 2 * alpha - math.sqrt(2 * alpha * ell) - ell))


def test_bernoulli_may_collapse_to_a_point():
    """The rule for few-valued rewards: one value holds enough of Y, so that 𝒵 is that value."""
    x = np.repeat(np.tile([1.0, 1.0, 0.0], 50), 2)  # pairs, so that X and Y are equal: N = 150, 100 ones
    assert 0 < kept(150, 1e-5, 0.0) < 100 < kept(150, 0.5, 0.0)
    assert TrimmedMean(0.0)(x, 1e-5) == 1.0
    assert TrimmedMean(0.0)(x, 0.5) == pytest.approx(2 / 3)


# -- growing samples ------------------------------------------------------------------------------------------------


def grow(estimator, law, rounds, slots, seed, most_delta):
    """Feed a structure by rounds of up to `slots` arrivals to two arms; yield it with the samples as lists."""
    rng = np.random.default_rng(seed)
    shape = (2, 3, 2)
    running = follow(estimator, shape, rounds * slots, most_delta)
    samples = [[[[] for _ in range(2)] for _ in range(3)] for _ in range(2)]
    for t in range(1, rounds + 1):
        arm = (rng.random((2, 3, slots)) < 0.8).astype(int)
        reward = LAWS[law](rng, 6 * slots).reshape(2, 3, slots)
        arrived = rng.random((2, 3, slots)) < 0.7
        running.add(arm, reward, arrived)
        for r, m, s in zip(*np.nonzero(arrived), strict=True):
            samples[r][m][arm[r, m, s]].append(float(reward[r, m, s]))
        yield t, running, samples


@each_once
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("estimator", [
    TrimmedMean(0.0), TrimmedMean(0.02), TrimmedMean(0.3), LugosiMendelson(0.0), LugosiMendelson(0.01),
    Mean(), MedianOfMeans(), Catoni(), TruncatedMean(),
])  # fmt: skip
def test_running_estimates_equal_the_naive_ones_exactly(estimator, law):
    rounds, slots = 60, 11
    delta = 1e-3 if isinstance(estimator, LugosiMendelson) else 1e-5
    out = np.full((2, 3, 2), np.nan)
    for t, running, samples in grow(estimator, law, rounds, slots, 3, -math.log(delta)):
        d = max(delta, 1 / (t + 1) ** 2)
        estimates(running, -math.log(d), out)
        for r, m, k in np.ndindex(2, 3, 2):
            sample = samples[r][m][k]
            if sample and (t % 7 == 0 or t < 10):
                assert out[r, m, k] == estimator(np.array(sample), d)


@pytest.mark.parametrize("estimator", [TrimmedMean(0.0), TrimmedMean(0.02), LugosiMendelson(0.0)], ids=str)
def test_estimates_that_are_not_made_anew_stay_exact(estimator):
    """Few arrivals, mostly between the tails, with a δ that moves and rests: every shortcut is taken."""
    rng = np.random.default_rng(5)
    running = follow(estimator, (1, 1, 3), 2000, 4.0)
    samples, out = [[], [], []], np.zeros((1, 1, 3))
    for t in range(300):
        many = 60 if t % 50 == 0 else int(rng.integers(3))
        arm, reward = rng.choice(3, size=many, p=(0.6, 0.35, 0.05)), rng.beta(5, 5, many)
        running.add(arm[None, None], reward[None, None], np.ones((1, 1, many), bool))
        for k, x in zip(arm, reward, strict=True):
            samples[k].append(float(x))
        for d in (math.exp(-4.0), math.exp(-4.0 + (t // 20) / 10), math.exp(-2.5)):
            estimates(running, -math.log(d), out)
            for k in range(3):
                if samples[k]:
                    assert out[0, 0, k] == estimator(np.array(samples[k]), d)


def test_the_tails_stay_short():
    """The memory of the trimmed mean does not grow with the sample."""
    *_, (_, running, samples) = grow(TrimmedMean(0.0), "beta", 250, 60, 0, -math.log(1e-2))
    assert isinstance(running, Tails)
    assert max(len(s) for s in samples[0][0]) > 7000
    size = running._lists.size.reshape(-1, 2)
    assert (running.keep == 25).all()
    unsorted = running.state.new.size
    assert size[:, 0].max() <= 2 * 25 + unsorted
    assert size[:, 1].max() < 3 * 25 + unsorted
    assert type(follow(Mean(), (1, 1, 1), 10, 1.0)) is Sums
    assert type(follow(Catoni(), (1, 1, 1), 10, 1.0)) is Log
