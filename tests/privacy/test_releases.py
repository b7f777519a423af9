"""Release times of private means, and the lemma on their cost, equal their formulas."""

import math

import numpy as np
import pytest
from scipy import special

from hushbandits.privacy.laplace import compose_releases, lemma, release_counts


@pytest.mark.parametrize("epsilon", [0.1, 0.37, 1.0, 3.0])
@pytest.mark.parametrize("v", [1.01, 1.1, 1.9])
def test_a_mean_is_released_when_its_interval_is_full(epsilon, v):
    found, last = [], 0
    for x in range(1, 301):
        if sum(i ** (-v / 2) for i in range(last + 1, x + 1)) >= x ** (-v / 2) / epsilon * (1 - 1e-13):
            found.append(x)
            last = x
    assert release_counts(epsilon, v, 300).tolist() == found
    assert found[0] <= math.ceil(1 / epsilon)


@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.9])
def test_releases_compose_as_the_smaller_of_two_bounds(delta):
    pure, squares = np.array([1.0, 50.0, 3.0]), np.array([2.0, 0.3, 1e-4])
    strong = squares / 2 + np.sqrt(2 * squares * -math.log(delta))
    np.testing.assert_allclose(compose_releases(pure, squares, delta), np.where(strong < pure, strong, pure))


@pytest.mark.parametrize(("epsilon", "v", "delta"), [(0.2, 1.5, 1e-6), (1.0, 1.4, 0.1), (0.05, 1.2, 1e-3)])
def test_the_lemma_is_the_smaller_of_its_branches(epsilon, v, delta):
    t = np.array([1.0, 10.0, 1e4, 1e12])
    first = epsilon * t ** (1 - v / 2) / (1 - v / 2)
    tail = 2 * epsilon * special.zeta(v)
    second = tail + math.sqrt(tail * math.log(1 / delta))
    assert first[0] < second < first[-1]
    np.testing.assert_allclose(lemma(epsilon, v, t, delta), np.minimum(first, second))
