"""What is asked for is checked before anything runs: can it be afforded, and does everybody meet?"""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.misread import check_declared
from hushbandits.bench.declare.points import check_claims
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.play.batch import BATCH, prepare, sampled
from hushbandits.bench.play.natures import join
from hushbandits.core.face import Face
from hushbandits.core.limits import affordable
from hushbandits.core.measure import Measure, gathered
from hushbandits.core.play import measured
from hushbandits.core.validate import integer, nearest
from hushbandits.registry import make_wrapper

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


def afford(experiment: Experiment, batch: int = BATCH) -> None:
    """Raise ``ValueError`` if an experiment has more cells, runs or checkpoints than the memory limit allows."""
    cells = len(experiment.lines()) * math.prod(map(len, experiment.sweep.values()))
    affordable(f"experiment {experiment.name} with {cells:,} cells", float(cells) * _CELL)
    affordable(
        f"experiment {experiment.name} with runs={experiment.runs} of {cells:,} cells",
        float(cells) * experiment.runs * _RUN,
    )
    afford_points(experiment.checkpoints, min(batch, experiment.runs))


def check(experiments: Sequence[Experiment]) -> None:
    """Build every env and team once and let them meet; of a large sweep, every line at each single value.

    Raises
    ------
    ValueError, TypeError
        Whatever a run would stumble over at its start, with the experiment's name.
    """
    names = [e.name for e in experiments]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two experiments are called {name!r}")
    for experiment in experiments:
        check_declared(experiment)
        offered: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
        kinds: dict[str, Measure] = {}
        for cell in _telling(experiment):
            try:
                wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
                env, team = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
                sampled(cell.checkpoints, env)
                players = cell.env.name, cell.agent.name
                if players not in offered:
                    join(kinds, gathered(env, team))
                    env.reset(0)
                    team.reset(Face(env), env.seeds)
                    offered[players] = {*measured(env, team, env.metrics())}, set(env.curve_metrics)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{experiment.name}, {cell.label}: {error}") from error
        for finals, curves in offered.values():
            for name in experiment.metrics:
                if name not in finals:
                    raise ValueError(f"{experiment.name}: no metric is named {name!r}{nearest(name, finals)}")
            for figure in experiment.figures:
                known = curves if figure.x == "time" else finals
                if figure.y not in known:
                    raise ValueError(f"{experiment.name}: a figure shows {figure.y!r}{nearest(figure.y, known)}")
                offers = {name for names, _ in offered.values() for name in names}
                if figure.x not in ("time", "runs", *experiment.sweep, *offers):
                    what = f"which is neither swept nor a metric{nearest(figure.x, [*experiment.sweep, *offers])}"
                    raise ValueError(f"{experiment.name}: a figure runs along {figure.x!r}, {what}")
            check_claims(experiment, kinds)
            for effect in (c.effect for c in experiment.claims):
                known = finals if effect.time is None else curves
                if effect.metric not in known:
                    raise ValueError(
                        f"{experiment.name}: a claim is about {effect.metric!r}{nearest(effect.metric, known)}"
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
