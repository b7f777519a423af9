"""Fields that the experiments of a paper share, and regions of claims for recurring phrases, such as "much less".

The table of phrases is in ``docs/statistics.md``, "Words in numbers".  It was fixed before the runs; no verdict changes
it.  A phrase has one reading in all papers, the same up and down.
"""

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from hushbandits.bench.spec.experiment import Experiment
from hushbandits.core import Params


def _region(**ends: float) -> Params:
    return MappingProxyType(ends)


#: A comparison of a ratio without an adverb: by any amount.
LESS: Final = _region(below=1)
MORE: Final = _region(above=1)
#: A comparison by much: at most half, or at least double.
MUCH_LESS: Final = _region(below=0.5)
MUCH_MORE: Final = _region(above=2)
#: A visible difference: at least 1.5 times, or the reverse.
CLEARLY_LESS: Final = _region(below=1 / 1.5)
CLEARLY_MORE: Final = _region(above=1.5)
#: Nearly level: within a quarter, either way.
LITTLE: Final = _region(above=1 / 1.25, below=1.25)
#: More than nearly level.
CONSIDERABLY_LESS: Final = _region(below=1 / 1.25)
#: No difference: a ratio within 15 %, either way.
MATCHES: Final = _region(above=1 / 1.15, below=1.15)
#: No increase beyond 15 %.
NO_WORSE: Final = _region(below=MATCHES["below"])
#: For the difference of two time-averaged regrets (rewards are in [0, 1]).  Both go to 0, so this says little for
#: large T: a claim with it stands beside one with `MATCHES` on the ratio.
MATCHES_PER_TIME: Final = _region(above=-0.01, below=0.01)
#: Of the same order: within a factor of ten, either way.
ORDERWISE: Final = _region(above=0.1, below=10)
#: An exponent within a fifth of 1.
LINEARLY: Final = _region(above=0.8, below=1.2)


def about(number: float) -> Params:
    """Return the region for a quantity of about `number`: the region `MATCHES` times `number`.

    Examples
    --------
    >>> {end: round(value) for end, value in about(800).items()}
    {'above': 696, 'below': 920}
    """
    return _region(**{end: ratio * number for end, ratio in MATCHES.items()})


def declaring(name: str, cited: str, **shared: Any) -> Callable[..., Experiment]:
    """Return a function that declares a paper's experiments: ``declare(part, title, where, own=False, **fields)``.

    The source of an experiment and of its claims is `where` in the paper, or our own addition to that.  Its fields
    override the shared ones.

    Examples
    --------
    >>> declare = declaring("else1999", "Somebody Else 1999", env="CoopNetwork-v0", agents=["UCB1"], runs=100)
    >>> more = declare("fig2", "Alone", "figure 2", runs=20)
    >>> more.name, more.source, more.runs
    ('else1999-fig2', 'Somebody Else 1999, figure 2', 20)
    """

    def declare(part: str, title: str, where: str, own: bool = False, **fields: Any) -> Experiment:
        source = f"{'own addition to ' if own else ''}{cited}, {where}"
        if own:
            fields["claims"] = [replace(claim, origin="own") for claim in fields.get("claims", ())]
        return Experiment(name=f"{name}-{part}", title=title, source=source, **{**shared, **fields})

    return declare
