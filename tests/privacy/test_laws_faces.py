"""Every method of a noise law agrees with its probabilities, also for a user-defined law that has nothing else."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from noises import check_law
from scipy import special, stats

from hushbandits.privacy.divergence import law_profile
from hushbandits.privacy.noise import NoiseLaw, tail_quantile
from hushbandits.privacy.plans import ExtraBits
from hushbandits.privacy.samplers import (
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    PolyaDifference,
    Skellam,
    TruncatedGeometric,
)


def polya_pmf(law):
    """Return probabilities of the difference of two negative binomials, by convolution."""
    k = np.arange(1200)
    one = stats.nbinom.pmf(k, law.r, -math.expm1(-1 / law.b))
    both = np.convolve(one, one[::-1])
    return lambda x: both[np.asarray(x) + len(k) - 1]


@pytest.mark.parametrize(
    "law",
    [
        *(law(s) for law in (DiscreteLaplace, Skellam, DiscreteGaussian) for s in (0.4, 3.0, 9.0)),
        *(TruncatedGeometric(b, top) for b, top in ((3.0, 7), (20.0, 3), (0.5, 40))),
    ],
    ids=repr,
)
def test_every_law_is_its_pmf(law):
    check_law(law)


@pytest.mark.parametrize("law", [PolyaDifference(1 / 3, 4.0), PolyaDifference(0.1, 2.0)], ids=repr)
def test_polya_shares_are_two_negative_binomials(law):
    check_law(law, polya_pmf(law))


@pytest.mark.parametrize("law", [ExtraBits(3, 0.25), ExtraBits(1, 0.01), ExtraBits(2, 0.5)], ids=repr)
def test_bits_are_binomial(law):
    check_law(law, lambda x: stats.binom.pmf(x, law.k, law.q), exact=False)


@dataclass(frozen=True)
class Bare(NoiseLaw):
    """A user-defined law with probabilities only."""

    kind: str
    b: float

    def pmf(self, x):
        if self.kind == "skellam":
            return special.ive(np.abs(x), self.b)
        if self.kind == "gaps":  # on multiples of three alone
            return np.where(np.asarray(x) % 3 == 0, DiscreteLaplace(self.b).pmf(np.asarray(x) // 3), 0.0)
        return DiscreteLaplace(self.b).pmf(x)


@pytest.mark.parametrize("law", [Bare("skellam", 5.0), Bare("laplace", 3.0), Bare("gaps", 2.0)], ids=repr)
def test_probabilities_alone_make_a_law(law):
    check_law(law, exact=False, n=2)


@pytest.mark.parametrize("b", [0.7, 3.0, 40.0])
def test_tails_of_a_law_of_ones_own_reach_as_far_as_its_own(b):
    """They were cut at twelve deviations, and what was cut off counted as δ."""
    for n in (1, 5):
        own, shipped = (law_profile(law, n, 4) for law in (Bare("laplace", b), DiscreteLaplace(b)))
        x = np.array([4 / b * (1 + 1e-9)])
        assert own(x)[0] < 1e-12  # what rounding may add
        assert own(x)[0] <= shipped(x)[0] + 1e-12
    assert tail_quantile(Bare("laplace", b), 3, 1e-6) == tail_quantile(DiscreteLaplace(b), 3, 1e-6)


def test_a_law_that_is_none_says_so():
    class Half(NoiseLaw):
        def pmf(self, x):
            return np.where(np.asarray(x) == 0, 0.5, 0.0)

    class Heavy(NoiseLaw):
        def pmf(self, x):
            return 1 / (1.0 + np.asarray(x, float) ** 2)

    with pytest.raises(ValueError, match=r"probabilities of .* add up to 0.5 on -8 … 8, not to 1"):
        _ = Half().variance
    with pytest.raises(NotImplementedError, match="beyond"):
        Heavy().far()
    assert Laplace(2.0).profile(2, 1) is None  # of one draw alone
