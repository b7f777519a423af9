"""`check_law`: every method of a noise law agrees with its probabilities."""

import math

import numpy as np
import pytest
from chance import LEVEL, chi_square, repeating, two_sample
from scipy import stats

from hushbandits.privacy.divergence import law_profile
from hushbandits.privacy.samplers import Exact, PolyaDifference


def hockey_stick(pmf, shift, epsilon):
    """Return δ between a law and its shift, from the definition, in the worse direction."""
    p, q = np.append(pmf, np.zeros(shift)), np.append(np.zeros(shift), pmf)
    return max(np.maximum(one - math.exp(epsilon) * other, 0).sum() for one, other in ((p, q), (q, p)))


def renyi(pmf, shift, alpha):
    """Return the Rényi divergence between a law and its shift, where both have mass."""
    p, q = pmf[shift:], pmf[: len(pmf) - shift]
    both = (p > 1e-250) & (q > 1e-250)
    return float(np.logaddexp.reduce(alpha * np.log(p[both]) + (1 - alpha) * np.log(q[both]))) / (alpha - 1)


def check_law(law, pmf=None, exact=True, n=3, shift=2):
    """Compare a law's sampler, sums, moments, transforms and divergences with ``pmf(x)`` (by default its own)."""
    pmf = pmf or law.pmf
    x = np.arange(-400, 401)
    p = pmf(x)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    many = p
    for _ in range(n - 1):
        many = np.convolve(many, p)
    line = np.arange(-400 * n, 400 * n + 1)

    rng = np.random.default_rng(11)
    drawn = law.draw(rng, 30_000)
    assert drawn.dtype == np.int64
    assert law.integer
    assert chi_square(drawn, pmf, x) > LEVEL
    totals = np.array([law.total(rng, n) for _ in range(4000)])
    assert two_sample(totals, law.draw(rng, 4000 * n).reshape(4000, n).sum(1)) > LEVEL
    assert law.total(rng, 0) == 0
    if exact:
        with repeating(11):
            one = Exact(law)
            assert chi_square(one.draw(None, 4000), pmf, x) > LEVEL
            exactly = np.array([one.total(None, n) for _ in range(1500)])
        assert two_sample(exactly, totals) > LEVEL
    else:
        with pytest.raises(ValueError, match="has no exact sampler"):
            Exact(law)

    assert law.mean == pytest.approx(p @ x, abs=1e-9)
    assert law.variance == pytest.approx(p @ (x - law.mean) ** 2, rel=1e-9)
    if (found := law.line(n)) is not None:
        np.testing.assert_allclose(found, many[400 * n :][: len(found)], atol=1e-13)
        assert many[: 400 * n].sum() == 0
    else:
        wrapped = np.bincount(line % 2001, weights=many, minlength=2001)
        np.testing.assert_allclose(law.wrapped_pmf(n, 2001), wrapped, atol=1e-13)
        np.testing.assert_allclose(law.cf(np.array([0.3, 2.0])), [p @ np.cos(t * x) for t in (0.3, 2.0)], atol=1e-12)
        for t in (0.02, 0.5 * min(law.t_max, 1 / math.sqrt(law.variance))):
            attained = math.log(p @ np.exp(t * x))
            assert attained - 1e-9 <= law.log_mgf(t) <= 1.1 * attained + 1e-9  # a close bound

    for epsilon in (0.0, 0.3, 1.0, 2.5):
        found = float(law_profile(law, n, 1 if law.mean else shift)(np.array([epsilon]))[0])
        attained = hockey_stick(many, 1 if law.mean else shift, epsilon)
        assert found >= attained - 1e-12  # never too small
        if not isinstance(law, PolyaDifference):
            assert found == pytest.approx(attained, rel=1e-6, abs=1e-13)
    if (curve := law.curve(n, shift)) is not None:
        for alpha in (2, 3, 5):
            assert curve(alpha) >= renyi(many, shift, alpha) - 1e-9


def polya_by_hand(shape, b, g):
    """``ln P(0)/P(g)`` of a difference of two Pólya draws, added up from SciPy's law."""
    k = np.arange(round(60 * b) + g)
    one, other = stats.nbinom.logpmf([k, k + g], shape, -math.expm1(-1 / b))
    return np.logaddexp.reduce(2 * one) - np.logaddexp.reduce(one + other)
