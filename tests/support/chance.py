"""Statistical tests of laws: a correct law fails one of them with probability LEVEL."""

from contextlib import contextmanager
from unittest import mock

import numpy as np
from scipy import stats

from hushbandits.privacy import samplers

LEVEL = 1e-7  # a seeded test fails by chance with this probability


@contextmanager
def repeating(seed):
    """Let exact samplers draw from a seed instead of the operating system."""
    with mock.patch.object(samplers, "randbelow", Seeded(seed).below):
        yield


class Seeded:
    """Reproducible uniform integers, for exact samplers under test."""

    def __init__(self, seed):
        self._rng, self._pool, self._bits = np.random.default_rng(seed), 0, 0

    def below(self, n):
        """By rejection on the fewest bits that hold n − 1."""
        k = (n - 1).bit_length()
        while True:
            if self._bits < k:
                self._pool |= int.from_bytes(self._rng.bytes(64), "little") << self._bits
                self._bits += 512
                continue
            value, self._pool, self._bits = self._pool & ((1 << k) - 1), self._pool >> k, self._bits - k
            if value < n:
                return value


def chi_square(drawn, pmf, support):
    """p-value of integer draws against a pmf; cells of few are pooled with their neighbours."""
    expected = pmf(support) * len(drawn)
    found = dict(zip(*np.unique(drawn, return_counts=True), strict=True))
    counts = [float(found.get(x, 0)) for x in support]
    cells, seen, hoped = [], 0.0, 0.0
    for c, e in zip(counts, expected, strict=True):
        seen, hoped = seen + c, hoped + e
        if hoped >= 10:
            cells.append((seen, hoped))
            seen = hoped = 0.0
    rest = len(drawn) - sum(c for c, _ in cells), len(drawn) - sum(e for _, e in cells)
    cells.append(rest if rest[1] > 1 else (cells.pop()[0] + rest[0], 0))
    observed, hoped = np.array([c for c, _ in cells]), np.array([e for _, e in cells])
    hoped[-1] = len(drawn) - hoped[:-1].sum()
    return stats.chisquare(observed, hoped).pvalue


def two_sample(one, other):
    """p-value that two samples share a law, on at most 20 cells of their joint quantiles."""
    edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 21)))
    table = [np.histogram(x, np.concatenate([[-np.inf], edges[1:-1], [np.inf]]))[0] for x in (one, other)]
    return stats.chi2_contingency(np.array(table)).pvalue
