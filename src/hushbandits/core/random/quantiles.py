"""Tables of quantile functions: interpolating polynomials on intervals that get shorter towards 0 and 1."""

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.polynomial import chebyshev

from hushbandits.core.random.rewards import Law, Smooth
from hushbandits.core.utils import Array, jit

_OCTAVES, _PIECES, _DEGREE = 20, 16, 5  # 2⁻²¹ ≤ min(u, 1 − u) ≤ ½, each octave in 16 pieces
_LEAST = 2.0**-21
_NEAR = 5e-11  # a table is at most this far from the quantile function, or there is none
#: Bytes of a table.
TABLE = 2 * _OCTAVES * _PIECES * (_DEGREE + 1) * 8
#: Pulls of an arm that are worth one, which takes 6 ms.
WORTH = 20_000


@lru_cache(maxsize=1024)
def _table(law: Smooth, location: float) -> Array | None:
    """Return coefficients of polynomials for the quantile function; ``None`` if their error exceeds 5·10⁻¹¹.

    Their shape is ``(2, octaves, pieces, degree + 1)``.
    """
    at = np.array(location)
    ends = partial(law.quantile, location=at), partial(law.upper, location=at)
    octave = 2.0 ** -(np.arange(_OCTAVES) + 2.0)[:, None]
    left = octave * (1 + np.arange(_PIECES) / _PIECES)
    half = octave / (2 * _PIECES)
    nodes, between = chebyshev.chebpts1(_DEGREE + 1), np.linspace(-1, 1, 11)
    inverse = np.linalg.inv(np.vander(nodes, _DEGREE + 1))

    def spread(x: Array) -> Array:
        return np.minimum((left + half)[..., None] + half[..., None] * x, 0.5)

    table = np.stack([end(spread(nodes)) @ inverse.T for end in ends])
    for coefficients, end in zip(table, ends, strict=True):
        stated = np.einsum("opd,xd->opx", coefficients, np.vander(between, _DEGREE + 1))
        if not np.abs(stated - end(spread(between))).max() <= _NEAR:  # NaN: not near
            return None
    return table


@lru_cache(maxsize=2)
def _tables(law: Smooth, locations: tuple[float, ...]) -> tuple[Array, Array]:
    """Return the `locations` for which an accurate table exists, and these tables."""
    found = {location: table for location in locations if (table := _table(law, location)) is not None}
    return np.array(list(found)), np.array(list(found.values())).reshape(-1, 2, _OCTAVES, _PIECES, _DEGREE + 1)


@jit
def _look_up(u, location, levels, tables, low, high, out):
    """Write tabulated quantiles to `out`, or NaN where no table covers location and `u`; return the number of NaN."""
    missing, known = 0, np.zeros(location.shape[1], np.int64)
    for i in range(u.size):
        v, octave = min(u[i], 1.0 - u[i]), 0
        beyond = v < _LEAST
        while v < 0.25 and not beyond:  # v in [¼, ½]
            octave, v = octave + 1, 2.0 * v
        place = _PIECES * (4.0 * v - 1.0)
        piece, half = min(int(place), _PIECES - 1), 1 if u[i] > 0.5 else 0
        x = 2.0 * (place - piece) - 1.0
        for k in range(known.size):
            which = known[k]
            if which == levels.size or levels[which] != location[i, k]:
                which = known[k] = np.searchsorted(levels, location[i, k])
            if beyond or which == levels.size or levels[which] != location[i, k]:
                out[i, k] = np.nan
                missing += 1
                continue
            total, coefficients = 0.0, tables[which, half, octave, piece]
            for d in range(_DEGREE + 1):
                total = total * x + coefficients[d]
            out[i, k] = min(max(total, low), high)
    return missing


@dataclass(frozen=True)
class Tabled(Law):
    """A smooth law whose quantile function is tabulated at fixed locations, with errors of at most 5·10⁻¹¹.

    Elsewhere it is the law itself.

    Parameters
    ----------
    law : Smooth
    fixed : tuple of float
        Locations that are worth a table, ascending.

    Notes
    -----
    Whether a number comes from a table depends on the law, the location and u alone.
    """

    law: Smooth
    fixed: tuple[float, ...]

    def __post_init__(self) -> None:
        """Skip the checks of the base class, because `law` has passed them already."""

    def quantile(self, u: Array, location: Array) -> Array:
        """Return quantiles from the tables, or from `law` where no table covers location and `u`."""
        full = np.broadcast_shapes(np.shape(u), np.shape(location))
        arms = full[-1] if np.shape(u)[-1:] == (1,) else 1  # of one u
        location = np.broadcast_to(location, full).reshape(-1, arms)
        rows = np.broadcast_to(u, (*full[:-1], 1) if arms > 1 else full).ravel()
        out = np.empty(location.shape)
        low, high = (0.0, 1.0) if self.law.unit_interval else (-np.inf, np.inf)
        if _look_up(rows, location, *_tables(self.law, self.fixed), low, high, out):
            left = np.isnan(out)
            out[left] = self.law.quantile(np.broadcast_to(rows[:, None], out.shape)[left], location[left])
        return out.reshape(full)


def tabled(law: Law, locations: Array) -> Law:
    """Return a smooth law with tables at `locations`; return any other law unchanged."""
    return Tabled(law, tuple(np.unique(locations).tolist())) if isinstance(law, Smooth) else law
