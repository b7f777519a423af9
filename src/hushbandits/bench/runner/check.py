"""Checks before an experiment runs: memory, whether env, wrappers and agents fit, and points that claims select."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from typing import NamedTuple

from hushbandits.bench.runner.batch import BATCH, Batch, sampled
from hushbandits.bench.spec.claim import Claim, Difference, Slope, Value
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.bench.spec.vocabulary import place
from hushbandits.core import Metric, affordable, integer, nearest, shown, words
from hushbandits.core.random.seed_text import canonical
from hushbandits.core.rollout import begin, measured
from hushbandits.core.wrapper import gathered
from hushbandits.guarantee_table import HEADS, protection

# Measured bytes, rounded up: one cell object, the bookkeeping of one run, one checkpoint in all curves.
_CELL, _RUN, _POINT = 8_000, 200, 100


class Instance(NamedTuple):
    """Metrics and guarantees of a cell's env, agent and wrappers.

    Parameters
    ----------
    finals, curves : frozenset of str
        Metrics at the end of a run, and those with curves.
    metrics_spec : dict of Metric
        Specifications of the metrics.
    privacy : list of list of str
        The table of guarantees, a row each; recorded for an experiment's first cells only.
    """

    finals: frozenset[str]
    curves: frozenset[str]
    metrics_spec: dict[str, Metric]
    privacy: list[list[str]]


class Instances:
    """Cache with the `Instance` of each cell of some experiments, built on first use.

    Examples
    --------
    >>> from hushbandits.bench.spec.experiment import Component
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Component("CoopNetwork-v0"), agents=[Component("UCB1")])
    >>> found = Instances([tiny]).of(tiny.cells()[0])
    >>> found.metrics_spec["messages"].nature, "regret" in found.finals, [row[0] for row in found.privacy]
    ('count', True, ['nobody'])
    """

    #: Number of cells of an experiment whose guarantees are recorded.
    MOST = 400

    def __init__(self, experiments: Iterable[Experiment]):
        self._shown = {cell.key for e in experiments for cell in e.cells()[: self.MOST]}
        self._built: dict[str, Instance] = {}
        self._kinds: dict[tuple[str, ...], Instance] = {}

    def of(self, cell: Cell) -> Instance:
        """Return the `Instance` of a cell.

        Raises
        ------
        ValueError, TypeError
            An error that a run would raise at its start.
        """
        if cell.key in self._built:
            return self._built[cell.key]
        env, team = Batch.of(cell, 0, [0]).prepared()
        sampled(cell.checkpoints, env)
        privacy = []
        if cell.key in self._shown:
            try:
                privacy = [list(line.texts()) for line in protection(env, team).lines]
            except Exception as error:  # an error in a user-defined guarantee must not stop the run
                privacy = [[f"not known: {words(error)}", *[""] * (len(HEADS) - 1)]]
        kind = _kind(cell)
        if kind not in self._kinds:
            measures = gathered(env, team)
            begin(env, team, 0)
            finals = frozenset(measured(env, team, env.metrics()))
            self._kinds[kind] = Instance(finals, frozenset(env.logged_metrics), measures, [])
        self._built[cell.key] = self._kinds[kind]._replace(privacy=privacy)
        return self._built[cell.key]

    def metrics_spec(self, cell: Cell) -> Mapping[str, Metric]:
        """Return the metric specifications of a cell, built once for cells with equal names and text parameters."""
        return (self._kinds.get(_kind(cell)) or self.of(cell)).metrics_spec


def _kind(cell: Cell) -> tuple[str, ...]:
    # String parameters, such as the transport of messages, can change which metrics exist.
    chosen = [value for value in (*cell.env.params.values(), *cell.agent.params.values()) if isinstance(value, str)]
    return cell.env.name, cell.agent.name, *(w.name for w in cell.wrappers), *chosen


def joined(where: str, instances: Iterable[Instance]) -> dict[str, Metric]:
    """Return the metric specifications of all `instances`; raise ``ValueError`` if a metric has two natures."""
    found: dict[str, Metric] = {}
    for name, one in (item for instance in instances for item in instance.metrics_spec.items()):
        if (other := found.setdefault(name, one)).nature != one.nature:
            raise ValueError(f"{where}: metric {name!r} is declared as {one.nature} and as {other.nature}; rename one")
    return found


def afford_points(checkpoints: int | Sequence[int] | None, runs: int) -> None:
    """Raise ``ValueError`` if curves with these numbers of checkpoints and runs need too much memory."""
    if isinstance(checkpoints, Sized) and not isinstance(checkpoints, str):
        points = len(checkpoints)
    else:
        points = 0 if checkpoints is None else integer("checkpoints", checkpoints, 0)
    affordable(f"checkpoints={points}", points * _POINT * (1.0 + runs))


def afford(experiment: Experiment) -> None:
    """Raise ``ValueError`` if an experiment has more cells, runs or checkpoints than the memory limit allows."""
    cells = len(experiment.lines()) * math.prod(map(len, experiment.sweep.values()))
    what = f"experiment {experiment.name} with runs={experiment.runs} of {cells:,} cells"
    affordable(what, float(cells) * (_CELL + _RUN * experiment.runs))
    afford_points(experiment.checkpoints, min(BATCH, experiment.runs))


def check(
    experiments: Sequence[Experiment], *, skip_invalid: bool = False, instances: Instances | None = None
) -> dict[str, str]:
    """Check experiments before they run, and return the reasons why cells are incompatible, by cell key.

    Parameters
    ----------
    experiments : sequence of Experiment
    instances : Instances, optional
        Cache of the instances.
    skip_invalid : bool
        Accept incompatible cells, as long as some cells of their experiment are compatible; then all cells are checked.

    Returns
    -------
    dict of str
        Reasons of incompatibility, by the keys of the cells.

    Raises
    ------
    ValueError, TypeError
        An error that a run would raise at its start, with the experiment's name.
    """
    instances = Instances(experiments) if instances is None else instances
    skipped: dict[str, str] = {}
    names = [e.name for e in experiments]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two experiments have the name {twice[0]!r}; rename one experiment")
    for experiment in experiments:
        check_declared(experiment)
        met, invalid = _met(experiment, skip_invalid, instances)
        skipped |= invalid
        check_claims(experiment, joined(experiment.name, met.values()))
        finals = {who: found.finals for who, found in met.items()}
        curves = {who: found.curves for who, found in met.items()}
        for name in experiment.metrics:
            _had(experiment.name, "no metric is named", name, finals)
        for figure in experiment.figures:
            _had(experiment.name, "a figure has an unknown y,", figure.y, curves if figure.x == "time" else finals)
            if figure.x not in ("time", "runs", *experiment.sweep):
                _had(experiment.name, "a figure has an unknown x,", figure.x, finals, experiment.sweep)
        for effect in (c.effect for c in experiment.claims):
            _had(experiment.name, "no claim can be about", effect.metric, finals if effect.time is None else curves)
    return skipped


def _met(
    experiment: Experiment, skip_invalid: bool, instances: Instances
) -> tuple[dict[tuple[str, str], Instance], dict[str, str]]:
    """Return an `Instance` for each pair of env and agent, and the reasons why cells are invalid, by cell key."""
    met: dict[tuple[str, str], Instance] = {}
    invalid: dict[str, str] = {}
    errors: list[ValueError | TypeError] = []
    for cell in experiment.cells() if skip_invalid else _telling(experiment):
        try:
            met.setdefault((cell.env.name, cell.agent.name), instances.of(cell))
        except (ValueError, TypeError) as error:
            errors.append(error)
            invalid[cell.key] = f"{experiment.name}, {cell.label}: {error}"
        if errors and met and not skip_invalid:
            break  # enough to report one error and that other cells are compatible
    if errors and not (skip_invalid and met):
        # A name that is valid in another cell is not misspelt.
        leaves = any(cell.key in invalid and (cell.env.name, cell.agent.name) in met for cell in experiment.cells())
        way = "; --skip-invalid (skip_invalid=True) skips incompatible cells" if leaves else ""
        raise type(errors[0])(next(iter(invalid.values())) + way) from errors[0]
    return met, invalid


def _had(
    experiment: str, what: str, name: str, by: Mapping[tuple[str, str], frozenset[str]], swept: Collection[str] = ()
) -> None:
    """Raise ``ValueError`` unless each pair of env and agent in `by` has the metric `name`."""
    lacking = [who for who, names in by.items() if name not in names]
    having = [who for who in by if who not in lacking]
    if lacking and not having:
        raise ValueError(f"{experiment}: {what} {name!r}{nearest(name, [*swept, *by[lacking[0]]])}")
    if lacking:
        (one, other) = (f"{agent} on {env}" for env, agent in (having[0], lacking[0]))
        why = f"{one} has the metric {name!r}, but {other} does not"
        raise ValueError(f"{experiment}: {why}; leave the metric out, or declare two experiments")


def _telling(experiment: Experiment) -> list[Cell]:
    """Return all cells if they are at most 500; else the first cell of each line for each swept value."""
    cells = experiment.cells()
    if len(cells) <= 500:
        return cells
    stated: dict[tuple[str, str, str], Cell] = {}
    for cell in cells:
        for key, value in cell.point.items():
            stated.setdefault((cell.line, key, canonical(value)), cell)
    return list({cell.key: cell for cell in stated.values()}.values())


# -- points of a sweep that figures and claims select ----------------------------------------------------------------


def points(experiment: Experiment, claim: Claim) -> list[tuple[str, list[Cell]]]:
    """Return the sweep points at which a claim is judged, each as a name and the cells of the effect.

    Cells are ordered line by line; those of a slope point by point within a line.
    """
    effect, sweep, what = claim.effect, experiment.sweep, f"{experiment.name}, claim {claim.sentence!r}"
    along = [effect.along] if isinstance(effect, Slope) else []
    lines = [dict(line) if isinstance(line, Mapping) else {"agent": line} for line in effect.lines]
    labels = [str(line.pop("agent", "")) for line in lines]
    picked(what, dict.fromkeys([*effect.at, *along], ()), sweep)
    free = [key for key in sweep if key not in (*along, *lines[0])]
    found: dict[str, list[Cell]] = {}
    for label, fixed in zip(labels, lines, strict=True):
        if label not in experiment.lines():
            raise ValueError(f"{what}: no legend entry is {label!r}{nearest(label, experiment.lines())}")
        if fixed.keys() != lines[0].keys():
            raise ValueError(f"{what}: {label!r} fixes {[*fixed]}, but must fix {[*lines[0]]}, as {labels[0]!r} does")
        at = {key: [value] for key, value in fixed.items()}
        picked(what, at, sweep)
        texts = {key: set(map(canonical, values)) for key, values in {**effect.at, **at}.items()}
        for cell in experiment.cells():
            if cell.line == label and all(canonical(cell.point[key]) in texts[key] for key in texts):
                found.setdefault(canonical([cell.point[key] for key in free]), []).append(cell)
    return [(place({key: cells[0].point[key] for key in free}), cells) for cells in found.values()]


def check_claims(experiment: Experiment, measures: Mapping[str, Metric] | None = None) -> None:
    """Raise ``ValueError`` if a claim names an unknown line or point, or if an effect is impossible at a point.

    `measures`: metric specifications, as far as they are known.
    """
    for claim in experiment.claims:
        what, effect = f"{experiment.name}, claim {claim.sentence!r}", claim.effect
        picked(what, effect.at, experiment.sweep, experiment.varied)
        for _, cells in points(experiment, claim):
            at = [cell.point[effect.along] for cell in cells] if isinstance(effect, Slope) else []
            if not all(isinstance(value, (int, float)) and value > 0 for value in at):
                raise ValueError(f"{what}: a slope needs positive values of the swept parameter, not {shown(at)}")
        measure = (measures or {}).get(effect.metric)
        if measure is not None and measure.rate and not isinstance(effect, (Value, Difference)):
            raise ValueError(f"{what}: {effect.metric!r} is a rate, which only Value and Difference accept")


def check_declared(experiment: Experiment) -> None:
    """Raise ``ValueError`` if a figure selects a parameter that is not swept, or a value not in the sweep.

    In a variation (``--quick``, ``--set``), figures and claims may pick values that no longer exist.
    """
    for figure in experiment.figures:
        keys = [key for key in (figure.x, figure.by) if "." in key or key == figure.by != ""]  # others are metrics
        asked = {**{key: [value] for key, value in figure.at.items()}, **dict.fromkeys(keys, ())}
        picked(f"{experiment.name}: a figure", asked, experiment.sweep, experiment.varied)


def picked(
    what: str, at: Mapping[str, Sequence[object]], sweep: Mapping[str, Sequence[object]], varied: bool = False
) -> None:
    """Raise ``ValueError`` if `at` selects an unswept parameter, or a value outside its sweep (allowed if `varied`).

    Examples
    --------
    >>> picked("a figure", {"env.max_hops": [3]}, {"env.max_hops": (1, 2)})
    Traceback (most recent call last):
        ...
    ValueError: a figure picks env.max_hops=3, which is not in the sweep [1, 2]
    """
    for key, values in at.items():
        if key not in sweep:
            raise ValueError(f"{what} selects values of {shown(key)}, which is not swept{nearest(key, sweep)}")
        known = [canonical(v) for v in sweep[key]]
        for value in values:
            if canonical(value) not in known and not varied:
                raise ValueError(f"{what} picks {key}={shown(value)}, which is not in the sweep {shown([*sweep[key]])}")
