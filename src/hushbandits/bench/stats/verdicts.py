"""Verdicts on claims: the interval of an effect is compared with the region in which a paper places the effect.

An effect is a statistic of runs, a difference or ratio of two, or a slope.  `intervals.PROCEDURES` chooses its
interval from the declaration (statistic and effect), never from the outcomes.

Several claims are judged together (Bonferroni).  With m claims, a claim holds if its interval at level ``1 − .05/m``
lies in the region at each of its P points.  It does not hold if at one point the interval at level ``1 − .05/(mP)``
lies outside.  See `ALPHA` for the error probability.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hushbandits.bench.runner.check import points
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.spec.catalog import family
from hushbandits.bench.spec.claim import ORIGINS, Claim, Effect, Origin, Value
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.bench.stats import Interval, shown_interval
from hushbandits.bench.stats.intervals import UNBOUNDED, Stratum, contrast, estimate, procedure
from hushbandits.core import Array

#: Level of the claims judged together.  Medians, interquartile means and rates: a verdict is wrong with at most this
#: probability, for every law of the runs.  Means: simulations confirm it for runs whose law is normal, exponential, of
#: two modes, or has a rare mode of probability 1/7 or more (table in ``docs/statistics.md``).  For a rarer mode or a
#: much more skewed law there is no guarantee: no interval of a mean has one.
ALPHA = 0.05


class Finding(NamedTuple):
    """The estimate and interval of an effect at one point of a sweep."""

    where: str
    effect: float
    interval: Interval
    runs: int
    procedure: str = ""


class Verdict(NamedTuple):
    """Verdict on a claim (``holds``, ``does not hold``, ``undecided``), with its findings."""

    claim: Claim
    experiment: Experiment
    verdict: str
    findings: tuple[Finding, ...]
    #: Whether the metric is a rate.
    rate: bool = False

    @property
    def effect(self) -> str:
        """Return the effect as text, such as ``ratio of medians``."""
        of = self.claim.effect
        return ("rate" if isinstance(of, Value) else f"{of.kind} of rates") if self.rate else of.words

    @property
    def worst(self) -> Finding | None:
        """Return the finding that contradicts the claim most; if none does, the finding nearest to a contradiction."""
        return min(self.findings, key=lambda f: _margin(self.claim, f.interval), default=None)

    @property
    def region(self) -> str:
        """Return the claimed region as text, such as ``< 0.5``."""
        low, high = self.claim.above, self.claim.below
        if low is None:
            return f"< {high:g}"
        return f"> {low:g}" if high is None else f"in ({low:g}, {high:g})"


def judge(lines: Sequence[Configuration], experiment: Experiment, claims: int | None = None) -> list[Verdict]:
    """Return the verdict on every claim of an experiment, from the runs of `lines`.

    Parameters
    ----------
    lines : sequence of Configuration
        All lines of the experiment; lines without runs, or missing points of a sweep, leave a claim undecided.
    experiment : Experiment
        The experiment with its claims.
    claims : int, optional
        m, the number of claims judged together; default: this experiment's.
    """
    m = len(experiment.claims) if claims is None else claims
    return [_judged(lines, experiment, claim, m) for claim in experiment.claims]


def _judged(lines: Sequence[Configuration], experiment: Experiment, claim: Claim, m: int) -> Verdict:
    """Return the verdict on one of m claims that are judged together."""
    places, effect = points(experiment, claim), claim.effect
    by = {line.cell.key: line for line in lines}
    measure = lines[0].metrics_spec[effect.metric]
    measure = measure.per_time() if effect.per_time else measure
    how, share = procedure(effect, measure), ALPHA / m
    findings, inside, outside = [], [], []
    for where, cells in places:
        strata = list(_strata(cells, [_rows(by[cell.key], effect) for cell in cells]))
        weights = contrast(effect, cells)
        runs = 0 if weights is None else min(len(s.values) for s in strata)
        found, near, far = math.nan, UNBOUNDED, UNBOUNDED
        if weights is not None and runs and all(np.isfinite(s.values).all() for s in strata):
            found, near = estimate(effect, measure, strata, weights), how.interval(strata, weights, 1 - share)
            far = how.interval(strata, weights, 1 - share / len(places)) if len(places) > 1 else near
            if isinstance(effect, Value):
                near, far = (shown_interval(ends, measure, strata[0].values) for ends in (near, far))
        findings.append(Finding(where, found, near, runs, how.name))
        inside.append(_margin(claim, near) > 0)
        low, high = far
        above, below = claim.above is not None and high < claim.above, claim.below is not None and low > claim.below
        outside.append(above or below)
    verdict = "holds" if inside and all(inside) else "does not hold" if any(outside) else "undecided"
    return Verdict(claim, experiment, verdict, tuple(findings), measure.rate)


def together(experiment: Experiment) -> int:
    """Return m, the number of claims judged together: all claims of the experiment's paper."""
    return max(family(experiment.name), len(experiment.claims))


def _margin(claim: Claim, interval: Interval) -> float:
    """Return the distance by which the interval lies inside the region; negative if a part lies outside."""
    low, high = interval
    if math.isnan(low) or math.isnan(high):
        return -math.inf
    above = math.inf if claim.above is None else low - claim.above
    return min(above, math.inf if claim.below is None else claim.below - high)


# -- findings -------------------------------------------------------------------------------------------------


def _rows(line: Configuration, effect: Effect) -> tuple[Array, Array]:
    runs = line.runs()
    if effect.time is None:
        return runs, line.final(effect.metric)
    times, values = line.curve(effect.metric)
    if not len(times) or not times[0] <= effect.time <= times[-1]:
        return runs[:0], np.empty(0)
    x = np.array([np.interp(effect.time, times, row) for row in values])
    return runs, x / effect.time if effect.per_time else x


def _strata(cells: Sequence[Cell], samples: Sequence[tuple[Array, Array]]) -> Iterator[Stratum]:
    """Yield one stratum for each group of cells with equal `shared_runs`, with the runs that all these cells have."""
    worlds: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        worlds.setdefault(cell.shared_runs, []).append(i)
    for columns in worlds.values():
        shared = sorted(set.intersection(*(set(samples[i][0].tolist()) for i in columns)))
        values = [samples[i][1][np.isin(samples[i][0], shared)] for i in columns]
        yield Stratum(columns, np.stack(values, axis=1))


# -- counts ---------------------------------------------------------------------------------------------------

#: Verdicts in the order of pages, with the words for a count.
VERDICTS = {"holds": "hold", "does not hold": "do not hold", "undecided": "undecided"}


def counted(verdicts: Mapping[str, int]) -> str:
    """Return as text how many claims got each verdict; a dash without claims.

    Examples
    --------
    >>> counted({"undecided": 1, "holds": 2}), counted({})
    ('2 hold, 1 undecided', '–')
    """
    said = (f"{verdicts[verdict]} {words}" for verdict, words in VERDICTS.items() if verdicts.get(verdict))
    return ", ".join(said) or "–"


def tally(found: Iterable[tuple[Origin, str]]) -> dict[Origin, Counter[str]]:
    """Return the numbers of claims by origin and verdict; all three origins are keys.

    Examples
    --------
    >>> {origin: counted(by) for origin, by in tally([("paper", "holds"), ("own", "undecided")]).items()}
    {'paper': '1 hold', 'reading': '–', 'own': '1 undecided'}
    """
    several = list(found)
    return {origin: Counter(verdict for its, verdict in several if its == origin) for origin in ORIGINS}


def sentence(by: Mapping[Origin, Mapping[str, int]]) -> str:
    """Return the counts of `tally` as text, origin by origin; ``""`` without claims.

    Examples
    --------
    >>> sentence(tally([("paper", "holds"), ("own", "undecided")]))
    "the paper's: 1 hold; own addition: 1 undecided"
    """
    return "; ".join(f"{ORIGINS[origin]}: {counted(verdicts)}" for origin, verdicts in by.items() if verdicts)
