"""What is asked for is checked before anything runs: can it be afforded, and does everybody meet?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Sized

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.points import check_claims, check_declared
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.runner.instantiation import Instances, join
from hushbandits.bench.runner.plan import BATCH
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.validate import integer, nearest
from hushbandits.core.measure import Measure

__all__ = ["afford", "afford_points", "check"]

# Measured bytes, rounded up: of a cell as an object, of one run's bookkeeping, of a checkpoint's Python number.
_CELL, _RUN, _POINT = 8_000, 200, 100
_CURVES = 8  # metrics that have curves, about


def afford_points(checkpoints: int | Sequence[int] | None, runs: int) -> None:
    """Raise ``ValueError`` if curves at so many checkpoints, of so many runs at once, take too much memory."""
    if checkpoints is None:
        return
    if isinstance(checkpoints, Sized) and not isinstance(checkpoints, str):
        points = len(checkpoints)
    else:
        points = integer("checkpoints", checkpoints, 0)
    affordable(f"checkpoints={points}", points * (_POINT + 8.0 * runs * _CURVES))


def afford(experiment: Experiment) -> None:
    """Raise ``ValueError`` if an experiment has more cells, runs or checkpoints than the memory limit allows."""
    cells = len(experiment.lines()) * math.prod(map(len, experiment.sweep.values()))
    affordable(f"experiment {experiment.name} with {cells:,} cells", float(cells) * _CELL)
    affordable(
        f"experiment {experiment.name} with runs={experiment.runs} of {cells:,} cells",
        float(cells) * experiment.runs * _RUN,
    )
    afford_points(experiment.checkpoints, min(BATCH, experiment.runs))


def check(
    experiments: Sequence[Experiment], *, skip_invalid: bool = False, instances: Instances | None = None
) -> dict[str, str]:
    """Let every env and team meet; of a large sweep, every line at each single value.

    Parameters
    ----------
    experiments : sequence of Experiment
    instances : Instances, optional
        Where the instances are kept.
    skip_invalid : bool
        Put up with cells that cannot meet, as long as some of their experiment can; then all cells are looked at.

    Returns
    -------
    dict of str
        Why such cells cannot meet, by their keys.

    Raises
    ------
    ValueError, TypeError
        Whatever a run would stumble over at its start, with the experiment's name.
    """
    instances = Instances(experiments) if instances is None else instances
    skipped: dict[str, str] = {}
    names = [e.name for e in experiments]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two experiments are called {name!r}")
    for experiment in experiments:
        check_declared(experiment)
        offered, kinds, invalid = _met(experiment, skip_invalid, instances)
        skipped |= invalid
        check_claims(experiment, kinds)
        finals = {who: names for who, (names, _) in offered.items()}
        curves = {who: names for who, (_, names) in offered.items()}
        for name in experiment.metrics:
            _had(experiment.name, "no metric is named", name, finals)
        for figure in experiment.figures:
            _had(experiment.name, "a figure shows", figure.y, curves if figure.x == "time" else finals)
            if figure.x in ("time", "runs", *experiment.sweep):
                continue
            offers = {name for names in finals.values() for name in names}
            if figure.x not in offers:
                what = f"which is neither swept nor a metric{nearest(figure.x, [*experiment.sweep, *offers])}"
                raise ValueError(f"{experiment.name}: a figure runs along {figure.x!r}, {what}")
            _had(experiment.name, "a figure runs along", figure.x, finals)
        for effect in (c.effect for c in experiment.claims):
            _had(experiment.name, "a claim is about", effect.metric, finals if effect.time is None else curves)
    return skipped


#: Metrics at the end and metrics with curves, by env and agent.
_Offered = dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]]


def _met(
    experiment: Experiment, skip_invalid: bool, instances: Instances
) -> tuple[_Offered, dict[str, Measure], dict[str, str]]:
    """Let everybody meet; return what is measured, what that is, and why cells cannot be played, by their keys."""
    offered: _Offered = {}
    kinds: dict[str, Measure] = {}
    invalid: dict[str, str] = {}
    first: ValueError | TypeError | None = None
    for cell in experiment.cells() if skip_invalid else _telling(experiment):
        try:
            met = instances.of(cell)
            players = cell.env.name, cell.agent.name
            if players not in offered:
                join(kinds, met.measures)
                offered[players] = met.finals, met.curves
        except (ValueError, TypeError) as error:
            told = f"{experiment.name}, {cell.label}: {error}"
            first = first or error
            invalid[cell.key] = told
        if first is not None and offered and not skip_invalid:
            break  # that is enough to say what is wrong, and that others meet
    if first is not None and not (skip_invalid and offered):
        meets = offered and not isinstance(first, TypeError) and all(map(_known, experiment.cells()))
        way = "; --skip-invalid (skip_invalid=True) leaves out the cells that cannot meet" if meets else ""
        raise type(first)(next(iter(invalid.values())) + way) from first
    return offered, kinds, invalid


def _known(cell: Cell) -> bool:
    """Whether all that a cell names is there: what is misspelt is no cell that cannot meet."""
    try:
        ENVS.find(cell.env.name), AGENTS.find(cell.agent.name), [WRAPPERS.find(w.name) for w in cell.wrappers]
    except ValueError:
        return False
    return True


def _had(experiment: str, what: str, name: str, by: Mapping[tuple[str, str], frozenset[str]]) -> None:
    """Raise ``ValueError`` unless all envs and agents have a metric."""
    lacking = next((who for who, names in by.items() if name not in names), None)
    if lacking is None:
        return
    having = next((who for who, names in by.items() if name in names), None)
    if having is None:
        raise ValueError(f"{experiment}: {what} {name!r}{nearest(name, by[lacking])}")
    one, other = (f"{agent} on {env}" if lacking[1] == having[1] else agent for env, agent in (having, lacking))
    raise ValueError(
        f"{experiment}: {name!r} must be a metric of all lines: {one} has it, {other} does not; leave it out (every "
        f"metric is stored all the same), or play the two in experiments of their own"
    )


def _telling(experiment: Experiment) -> list[Cell]:
    """All cells, or of very many those that show a line with a value for the first time."""
    cells = experiment.cells()
    if len(cells) <= 500:
        return cells
    seen: set[tuple[str, str, str]] = set()
    told = []
    for cell in cells:
        news = {(cell.line, key, canonical(value)) for key, value in cell.point.items()} - seen
        if news:
            seen |= news
            told.append(cell)
    return told
