"""A run folder to look at: the same face as `Results`, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.looks import words
from hushbandits.bench.declare.points import picked
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.line import Held, Line, lines
from hushbandits.bench.judge.pairs import ends
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.promised import groups
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.results import figure_of, spent
from hushbandits.bench.show.export import tidy
from hushbandits.core.ground.strangers import printable
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import nearest, shown
from hushbandits.protection import Protection

if TYPE_CHECKING:
    import pandas as pd

    from hushbandits.bench.show.picture import Picture

__all__ = ["Part", "RunFolder", "open_run"]


def open_run(path: Path | str) -> RunFolder:
    """Look at a run folder: read only, nothing that it names is imported, and it may still be written to.

    Parameters
    ----------
    path : path
        The folder, such as ``"runs/quickstart"``.

    Raises
    ------
    StoreError
        There are no results, or they are damaged.

    Examples
    --------
    >>> import tempfile
    >>> import hushbandits as hb
    >>> tiny = hb.Experiment(name="tiny", title="Tiny", env=hb.Use("CoopNetwork-v0", n_agents=4, horizon=20),
    ...                      agents=["Multi-UCB", "UCB1"], runs=2)
    >>> folder = tempfile.TemporaryDirectory()
    >>> hb.run(tiny, folder.name, progress=False).store.close()
    >>> runs = open_run(folder.name)
    >>> runs.lines
    ['Multi-UCB', 'UCB1']
    >>> runs.select("UCB1").final("regret").shape
    (2,)
    >>> folder.cleanup()
    """
    path = Path(path)
    with Store(path / FILE, readonly=True) as store:
        return RunFolder(path, tuple(Part(e, tuple(e.cells())) for e in store.experiments), store.seed)


@dataclass(frozen=True, eq=False)
class Part:
    """What is looked at of an experiment: some of its cells."""

    experiment: Experiment
    cells: tuple[Cell, ...]

    def __str__(self) -> str:
        n = len(self.lines)
        swept = "".join(f" × {len(v)} {symbol(k)}" for k, v in self.sweep.items() if len(v) > 1)
        runs = words(self.experiment.looks, self.experiment.runs)
        return f"{self.experiment.name} ({n} line{'s' * (n != 1)}{swept}, {runs})"

    @property
    def lines(self) -> list[str]:
        """Labels of its lines."""
        return list(dict.fromkeys(cell.line for cell in self.cells))

    @property
    def sweep(self) -> dict[str, list[object]]:
        """Swept parameters, with the values that its cells take."""
        taken = {key: {canonical(c.point[key]) for c in self.cells} for key in self.experiment.sweep}
        return {key: [v for v in self.experiment.sweep[key] if canonical(v) in some] for key, some in taken.items()}

    def at(self, wanted: Mapping[str, Sequence[object]]) -> Part:
        """Return the part where swept parameters take these values."""
        some = {key: {canonical(v) for v in values} for key, values in wanted.items()}
        cells = (c for c in self.cells if all(canonical(c.point[key]) in some[key] for key in some))
        return replace(self, cells=tuple(cells))

    def of(self, labels: Sequence[str]) -> Part:
        """Return the part with these lines alone."""
        return replace(self, cells=tuple(c for c in self.cells if c.line in labels))


@dataclass(frozen=True, eq=False, repr=False)
class RunFolder:
    """A run folder, or the part of it that `select` picked.

    Iterating gives its lines at each point of a sweep, one by one; each has the methods of `Results`.  It holds no
    file open: every call reads what is there then.

    Parameters
    ----------
    path : Path
    parts : tuple of Part
        The experiments that it holds, or what was selected of them.
    seed : int
        The master seed.
    """

    path: Path
    parts: tuple[Part, ...]
    seed: int

    def __repr__(self) -> str:
        return f"RunFolder {self.path}: {', '.join(map(str, self.parts))}"

    def __len__(self) -> int:
        return sum(len(part.cells) for part in self.parts)

    def __iter__(self) -> Iterator[RunFolder]:
        for part in self.parts:
            for cell in part.cells:
                yield replace(self, parts=(replace(part, cells=(cell,)),))

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiments that something is selected of."""
        return tuple(part.experiment for part in self.parts)

    @property
    def lines(self) -> list[str]:
        """Labels of the lines."""
        return list(dict.fromkeys(label for part in self.parts for label in part.lines))

    @property
    def metrics(self) -> list[str]:
        """Metrics that some run has."""
        with self._reading() as played:
            return list(dict.fromkeys(name for _, line in played for name in line.metrics()))

    def select(
        self,
        line: str | Sequence[str] | None = None,
        *,
        experiment: str | None = None,
        at: Params | None = None,
    ) -> RunFolder:
        """Return a part: lines by their labels, an experiment by its name, a point of the sweep by its values.

        Parameters
        ----------
        line : str or sequence of str, optional
            Labels, as in the table.
        experiment : str, optional
            A name.
        at : mapping, optional
            Values of swept parameters: ``{"env.n_agents": 4}``, or several of one: ``{"env.n_agents": [4, 16]}``.

        Raises
        ------
        ValueError
            Nothing of that name; the sentence has the nearest.
        """
        chosen = list(self.parts)
        if experiment is not None:
            names = [part.experiment.name for part in chosen]
            if experiment not in names:
                raise ValueError(
                    f"{self.path} holds no experiment {shown(experiment)}{nearest(str(experiment), names)}"
                )
            chosen = [part for part in chosen if part.experiment.name == experiment]
        if at:
            wanted = {key: v if isinstance(v, (list, tuple)) else [v] for key, v in at.items()}
            known = [part for part in chosen if all(key in part.sweep for key in wanted)]
            if not known:
                swept: dict[str, Sequence[object]] = {k: v for part in chosen for k, v in part.sweep.items()}
                picked(f"{self.path}: at", wanted, swept)
                raise ValueError(f"{self.path}: no experiment sweeps {' and '.join(wanted)} together")
            for part in known:
                picked(f"{part.experiment.name}: at", wanted, part.sweep)
            chosen = [part.at(wanted) for part in known]
        labels = [line] if isinstance(line, str) else line
        if labels is not None:
            there = list(dict.fromkeys(label for part in chosen for label in part.lines))
            for label in labels:
                if label not in there:
                    raise ValueError(f"{self.path} holds no line {shown(label)}{nearest(str(label), there)}")
            chosen = [part.of(labels) for part in chosen]
        return replace(self, parts=tuple(part for part in chosen if part.cells))

    def final(self, metric: str) -> Array:
        """``(runs,)`` values of `metric` at the end, of one line; NaN where a run has none."""
        with self._one() as (_, line):
            return _known(line, metric).final(metric)

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Checkpoints ``(C,)`` and values ``(runs, C)`` of `metric`, of one line; ``ValueError`` for none."""
        with self._one() as (_, line):
            times, values = line.curve(metric)
            if not len(times):
                _known(line, metric)
                raise ValueError(f"no curve of {metric!r} was recorded")
            return times, values

    def to_frame(self) -> pd.DataFrame:
        """All rows, a ``pandas.DataFrame``: experiment, cell, line, swept values, run, metric, time, value."""
        import pandas as pd

        with self._open() as store:
            return pd.DataFrame(tidy(store, [(part.experiment, part.cells) for part in self.parts]))

    @property
    def privacy(self) -> Protection:
        """Who was protected from whom in one line, as it was told when that was played, and what its runs spent."""
        with self._one() as (store, line):
            told = groups(store, [line.cell])
            finals = {name: line.final(name) for name in ("epsilon", "epsilon_delta", "delta")}
        if not told:
            raise ValueError(
                f"{self.path} does not say what {line.cell.label} promises: that is noted of first cells alone; ask "
                f"hushbandits.privacy(env, agent)"
            )
        rows = tuple(_Told(*row) for row in told[0][1])
        return Protection(printable(f"{line.cell.env.name} with {line.cell.label}"), rows, spent(finals))  # type: ignore[arg-type]

    def plot(self, metric: str | None = None, **shown: object) -> Picture:
        """Draw a metric of the lines of one experiment: over time, over runs, or along ``x="env.…"``.

        Parameters
        ----------
        metric : str, optional
            Default: the first that the experiment shows.
        **shown
            As of a `Figure`; default: along what is swept, else over time or runs.

        Returns
        -------
        Picture
            A Matplotlib figure; ``.save("regret.pdf")`` writes it (PNG, SVG or PDF).

        Raises
        ------
        ValueError
            Several experiments are here, or what is asked for was not played.
        """
        from hushbandits.bench.show.picture import drawn

        if len(self.parts) != 1:
            raise ValueError(f"{len(self.parts)} experiments are here: {self._names()}; select one")
        (part,) = self.parts
        experiment, sweep = part.experiment, part.sweep
        with self._reading() as found:
            played = [line for _, line in found]
            metrics = list(dict.fromkeys(name for line in played for name in line.metrics()))
            first = metric or next((m for m in experiment.metrics if m in metrics), None)
            fixed = {k: v[0] for k, v in sweep.items() if len(v) == 1}
            along = next((k for k in sweep if k not in fixed and k != shown.get("by")), None)
            if "x" not in shown and along is not None:
                shown = {"x": along, **shown}
            if (x := shown.get("x", "time")) not in ("time", "runs", *metrics) and x not in sweep:
                raise ValueError(f"x={x!r} is not swept here{nearest(str(x), ['time', 'runs', *sweep])}")
            if (by := shown.get("by", "")) not in ("", *sweep):
                raise ValueError(f"by={by!r} is not swept here{nearest(str(by), sweep)}")
            curves = [n for n in ([first] if first else metrics) if len(played[0].curve(n)[0])]
            figure = figure_of(first, shown, curves, metrics)
            figure = replace(figure, at={**{k: v for k, v in fixed.items() if k != figure.x}, **figure.at})
            return drawn(played, experiment, figure)

    def held(self, metric: str) -> list[Held]:
        """The runs' values of `metric` at the end, line by line, in memory and under labels that tell them apart."""
        several = len({canonical(cell.point) for part in self.parts for cell in part.cells}) > 1
        many = len(self.parts) > 1
        with self._reading() as played:
            return [
                ends(_known(line, metric), metric, f"{e.name}: {label}" if many else label)
                for e, line in played
                for label in [line.cell.label if several else line.label]
            ]

    def played(self) -> tuple[Cell, list[int]]:
        """Return the only cell that is selected, and the numbers of its runs."""
        with self._one() as (_, line):
            return line.cell, [int(run) for run in line.runs()]

    # -- inside -----------------------------------------------------------------------------------------------

    @contextmanager
    def _open(self) -> Iterator[Store]:
        """The open store, which still holds what is selected."""
        with Store(self.path / FILE, readonly=True) as store:
            keys = {c.key for e in store.experiments for c in e.cells()}
            if store.seed != self.seed or not all(c.key in keys for part in self.parts for c in part.cells):
                raise StoreError(f"{self.path} holds something else by now; open it anew")
            yield store

    @contextmanager
    def _reading(self) -> Iterator[list[tuple[Experiment, Line]]]:
        """The lines that are selected, as long as the store is open, each with its experiment."""
        with self._open() as store:
            yield [(e, line) for part in self.parts for e in [part.experiment] for line in lines(store, e, part.cells)]

    @contextmanager
    def _one(self) -> Iterator[tuple[Store, Line]]:
        """The only line that is selected, as long as its store is open."""
        if len(self.parts) > 1:
            raise ValueError(f"{len(self.parts)} experiments are here: {self._names()}; select one line")
        if len(self) != 1:
            cells = [cell for part in self.parts for cell in part.cells]
            some = "; ".join(c.label for c in cells[:8]) + ("; …" if len(cells) > 8 else "")
            raise ValueError(
                f"{len(cells)} lines are here: {some}; select one of them, and one point of the sweep (at=)"
            )
        (part,) = self.parts
        with self._open() as store:
            (line,) = lines(store, part.experiment, part.cells)
            yield store, line

    def _names(self) -> str:
        return ", ".join(part.experiment.name for part in self.parts)


def _known(line: Line, metric: str) -> Line:
    """Return the line, if it has such a metric."""
    known = line.metrics()
    if metric not in known:
        raise ValueError(
            f"no metric is named {metric!r}{nearest(str(metric), known) if known else '; no run is there'}"
        )
    return line


class _Told(NamedTuple):
    """A line of a privacy table as it was noted, under `HEADS`."""

    promise: str
    protected: str
    against: str
    one_reward: str
    whole_run: str
    counts: str
    provided_that: str
    source: str

    def texts(self) -> tuple[str, ...]:
        return tuple(self)
