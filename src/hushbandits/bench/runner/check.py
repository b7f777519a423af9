"""What is asked for is checked before anything runs: can it be afforded, and does everybody meet?"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence, Sized

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.points import check_claims, check_declared
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.runner.instantiation import Instance, Instances, joined
from hushbandits.bench.runner.plan import BATCH
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.validate import integer, nearest

__all__ = ["afford", "afford_points", "check"]

# Measured bytes, rounded up: of a cell as an object, of one run's bookkeeping, of a checkpoint's Python number.
_CELL, _RUN, _POINT = 8_000, 200, 100
_CURVES = 8  # metrics that have curves, about


def afford_points(checkpoints: int | Sequence[int] | None, runs: int) -> None:
    """Raise ``ValueError`` if curves at so many checkpoints, of so many runs at once, take too much memory."""
    if isinstance(checkpoints, Sized) and not isinstance(checkpoints, str):
        points = len(checkpoints)
    else:
        points = 0 if checkpoints is None else integer("checkpoints", checkpoints, 0)
    affordable(f"checkpoints={points}", points * (_POINT + 8.0 * runs * _CURVES))


def afford(experiment: Experiment) -> None:
    """Raise ``ValueError`` if an experiment has more cells, runs or checkpoints than the memory limit allows."""
    cells = len(experiment.lines()) * math.prod(map(len, experiment.sweep.values()))
    what = f"experiment {experiment.name} with runs={experiment.runs} of {cells:,} cells"
    affordable(what, float(cells) * (_CELL + _RUN * experiment.runs))
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
        met, invalid = _met(experiment, skip_invalid, instances)
        skipped |= invalid
        check_claims(experiment, joined(experiment.name, met.values()))
        finals = {who: found.finals for who, found in met.items()}
        curves = {who: found.curves for who, found in met.items()}
        for name in experiment.metrics:
            _had(experiment.name, "no metric is named", name, finals)
        for figure in experiment.figures:
            _had(experiment.name, "a figure shows", figure.y, curves if figure.x == "time" else finals)
            if figure.x not in ("time", "runs", *experiment.sweep):
                _had(experiment.name, "a figure runs along", figure.x, finals, experiment.sweep)
        for effect in (c.effect for c in experiment.claims):
            _had(experiment.name, "a claim is about", effect.metric, finals if effect.time is None else curves)
    return skipped


def _met(
    experiment: Experiment, skip_invalid: bool, instances: Instances
) -> tuple[dict[tuple[str, str], Instance], dict[str, str]]:
    """Let everybody meet; return what is measured by env and agent, and why cells cannot be played, by their keys."""
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
            break  # that is enough to say what is wrong, and that others meet
    if errors and not (skip_invalid and met):
        leaves = met and isinstance(errors[0], ValueError) and all(map(_known, experiment.cells()))
        way = "; --skip-invalid (skip_invalid=True) leaves out the cells that cannot meet" if leaves else ""
        raise type(errors[0])(next(iter(invalid.values())) + way) from errors[0]
    return met, invalid


def _known(cell: Cell) -> bool:
    """Whether all that a cell names is there: what is misspelt is no cell that cannot meet."""
    try:
        ENVS.find(cell.env.name), AGENTS.find(cell.agent.name), [WRAPPERS.find(w.name) for w in cell.wrappers]
    except ValueError:
        return False
    return True


def _had(
    experiment: str, what: str, name: str, by: Mapping[tuple[str, str], frozenset[str]], swept: Collection[str] = ()
) -> None:
    """Raise ``ValueError`` unless all envs and agents have a metric."""
    lacking = [who for who, names in by.items() if name not in names]
    having = [who for who in by if who not in lacking]
    if lacking and not having:
        raise ValueError(f"{experiment}: {what} {name!r}{nearest(name, [*swept, *by[lacking[0]]])}")
    if lacking:
        (one, other) = (f"{agent} on {env}" for env, agent in (having[0], lacking[0]))
        raise ValueError(
            f"{experiment}: {name!r} must be a metric of all lines: {one} has it, {other} does not; leave it out (each "
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
