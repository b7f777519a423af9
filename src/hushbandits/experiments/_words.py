"""What a paper's words are in numbers: regions of a claim, the same in every declaration.

The table is in ``docs/statistics.md``, "Words in numbers".  Fixed before the runs; never changed because of a verdict.
`WORDS` says which word is read how; a word has one reading, whoever uses it, and it is the same up and down.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hushbandits.core import Params

#: ``above`` and ``below`` of a claim.
Region = Params


def _region(**ends: float) -> Region:
    return MappingProxyType(ends)


#: A comparison without an adverb, of a ratio: by any amount.
LESS: Final = _region(below=1)
MORE: Final = _region(above=1)
#: A comparison by much: at most half, or at least double.
MUCH_LESS: Final = _region(below=0.5)
MUCH_MORE: Final = _region(above=2)
#: A comparison that meets the eye: half as much again, or the reverse.
CLEARLY_LESS: Final = _region(below=1 / 1.5)
CLEARLY_MORE: Final = _region(above=1.5)
#: Nearly level: within a quarter, either way.
LITTLE: Final = _region(above=1 / 1.25, below=1.25)
#: More than that.
CONSIDERABLY_LESS: Final = _region(below=1 / 1.25)
#: No difference: a ratio within 15 %, either way.
MATCHES: Final = _region(above=1 / 1.15, below=1.15)
#: No difference for the worse.
NO_WORSE: Final = _region(below=MATCHES["below"])
#: Of the difference of two time-averaged regrets (rewards are in [0, 1]).  Both go to 0, so that this says little
#: where T is large: a claim that has it stands beside one that has `MATCHES` of the ratio.
MATCHES_PER_TIME: Final = _region(above=-0.01, below=0.01)
#: Of the same order: within a factor of ten, either way.
ORDERWISE: Final = _region(above=0.1, below=10)
#: An exponent within a fifth of 1.
LINEARLY: Final = _region(above=0.8, below=1.2)

#: Words of the papers, as they stand in a sentence, and the regions that each may have (down, up; of a slope, itself).
WORDS: Final[Mapping[str, tuple[Region, ...]]] = MappingProxyType(
    dict.fromkeys(("significant increase",), (CLEARLY_LESS, CLEARLY_MORE))
    | dict.fromkeys(("order-wise",), (ORDERWISE,))
    | dict.fromkeys(("much", "far", "sharp", "significant", "large improvement"), (MUCH_LESS, MUCH_MORE))
    | dict.fromkeys(("clear",), (CLEARLY_LESS, CLEARLY_MORE))
    | dict.fromkeys(("little", "slight", "close to", "level", "stable"), (LITTLE,))
    | dict.fromkeys(("considerable",), (CONSIDERABLY_LESS,))
    | dict.fromkeys(("match", "same", "similar", "unchanged"), (MATCHES, MATCHES_PER_TIME))
    | dict.fromkeys(("degradation", "competitive"), (NO_WORSE,))
    | dict.fromkeys(("linearly",), (LINEARLY,))
    | dict.fromkeys(("better", "faster", "fewer", "less", "smaller", "outperform", "beat"), (LESS,))
    | dict.fromkeys(("worse", "worst", "more", "larger", "hurt"), (MORE,))
)


def about(number: float) -> Region:
    """Return the region of a number that the paper says its curves have: `MATCHES`, times that number.

    Examples
    --------
    >>> {end: round(value) for end, value in about(800).items()}
    {'above': 696, 'below': 920}
    """
    return _region(**{end: ratio * number for end, ratio in MATCHES.items()})
