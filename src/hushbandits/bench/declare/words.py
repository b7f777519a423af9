"""What a paper's words are in numbers: regions of a claim, the same in every declaration.

The table is in ``docs/harness.md``, "Words in numbers".  Fixed before the runs; never changed because of a verdict.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from hushbandits.core.types import Params

__all__ = [
    "CLEARLY_LESS",
    "CLEARLY_MORE",
    "CONSIDERABLY_LESS",
    "LESS",
    "LINEARLY",
    "LITTLE",
    "MATCHES",
    "MATCHES_PER_TIME",
    "MORE",
    "MUCH_LESS",
    "NO_WORSE",
    "about",
]

#: ``above`` and ``below`` of a claim.
Region = Params


def _region(**ends: float) -> Region:
    return MappingProxyType(ends)


#: "better", "faster", "fewer", of a ratio: by any amount; and "worse", "more".
LESS: Final = _region(below=1)
MORE: Final = _region(above=1)
#: "much", "far", "by far", "significantly better", "a large improvement", "sharply": at most half.
MUCH_LESS: Final = _region(below=0.5)
#: "clearly", "a significant increase": half as much again, or the reverse.
CLEARLY_LESS: Final = _region(below=1 / 1.5)
CLEARLY_MORE: Final = _region(above=1.5)
#: "little", "slight", "close", "relatively stable": within a quarter, either way.
LITTLE: Final = _region(above=1 / 1.25, below=1.25)
#: "a considerable gain": more than little.
CONSIDERABLY_LESS: Final = _region(below=1 / 1.25)
#: "matches", "the same", "similar", "unchanged", "as good as", of a ratio: within 15 %, either way.
MATCHES: Final = _region(above=1 / 1.15, below=1.15)
#: "without degradation", "competitive with": no more than that worse.
NO_WORSE: Final = _region(below=MATCHES["below"])
#: The same of the difference of two time-averaged regrets, which both go to 0: within .01 (rewards are in [0, 1]).
MATCHES_PER_TIME: Final = _region(above=-0.01, below=0.01)
#: "linearly", of an exponent: within a fifth of 1.
LINEARLY: Final = _region(above=0.8, below=1.2)


def about(number: float) -> Region:
    """Return the region of a number that the paper says its curves have: `MATCHES`, times that number.

    Examples
    --------
    >>> {end: round(value) for end, value in about(800).items()}
    {'above': 696, 'below': 920}
    """
    return _region(**{end: ratio * number for end, ratio in MATCHES.items()})
