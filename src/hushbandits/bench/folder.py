"""A run folder to look at: the same face as `Results`, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.looks import words
from hushbandits.bench.declare.misread import picked
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.compare import Sample, sample
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

__all__ = ["RunFolder", "open_run"]


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
        return RunFolder(path, store.experiments, store.seed)


@dataclass(frozen=True, eq=False, repr=False)
class RunFolder:
    """A run folder, or the part of it that `select` picked.

    Iterating gives its lines at each point of a sweep, one by one; each has the methods of `Results`.  It holds no
    file open: every call reads what is there then.

    Parameters
    ----------
    path : Path
    experiments : tuple of Experiment
        What it holds, or what was selected of that.
    seed : int
        The master seed.
    """

    path: Path
    experiments: tuple[Experiment, ...]
    seed: int

    def __repr__(self) -> str:
        parts = (f"{e.name} ({_places(e)}, {words(e.looks, e.runs)})" for e in self.experiments)
        return f"RunFolder {self.path}: {', '.join(parts)}"

    def __len__(self) -> int:
        return sum(len(e.cells()) for e in self.experiments)

    def __iter__(self) -> Iterator[RunFolder]:
        for experiment in self.experiments:
            for cell in experiment.cells():
                yield replace(self, experiments=(_only(experiment, [cell]),))

    @property
    def lines(self) -> list[str]:
        """Labels of the lines."""
        return list(dict.fromkeys(cell.line for e in self.experiments for cell in e.cells()))

    @property
    def metrics(self) -> list[str]:
        """Metrics that some run has."""
        with self._reading() as store:
            names = dict.fromkeys(n for e in self.experiments for c in e.cells() for n in store.metrics(c))
        return list(names)

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
        chosen = list(self.experiments)
        if experiment is not None:
            names = [e.name for e in chosen]
            if experiment not in names:
                raise ValueError(
                    f"{self.path} holds no experiment {shown(experiment)}{nearest(str(experiment), names)}"
                )
            chosen = [e for e in chosen if e.name == experiment]
        if at:
            wanted = {key: v if isinstance(v, (list, tuple)) else [v] for key, v in at.items()}
            known = [e for e in chosen if all(key in e.sweep for key in wanted)]
            if not known:
                swept: dict[str, Sequence[object]] = {k: v for e in chosen for k, v in e.sweep.items()}
                picked(f"{self.path}: at", wanted, swept)
                raise ValueError(f"{self.path}: no experiment sweeps {' and '.join(wanted)} together")
            for e in known:
                picked(f"{e.name}: at", wanted, e.sweep)
            chosen = [_only(e, [c for c in e.cells() if _stands(c, wanted)]) for e in known]
        labels = [line] if isinstance(line, str) else line
        if labels is not None:
            there = list(dict.fromkeys(c.line for e in chosen for c in e.cells()))
            for label in labels:
                if label not in there:
                    raise ValueError(f"{self.path} holds no line {shown(label)}{nearest(str(label), there)}")
            chosen = [_only(e, [c for c in e.cells() if c.line in labels]) for e in chosen]
        return replace(self, experiments=tuple(e for e in chosen if e.cells()))

    def final(self, metric: str) -> Array:
        """``(runs,)`` values of `metric` at the end, of one line; NaN where a run has none."""
        experiment, cell = self._one()
        with self._reading() as store:
            self._known(store, cell, metric)
            return store.final(cell, metric, experiment.runs)

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Checkpoints ``(C,)`` and values ``(runs, C)`` of `metric`, of one line; ``ValueError`` for none."""
        experiment, cell = self._one()
        with self._reading() as store:
            times, values = store.curve(cell, metric, experiment.runs)
            if not len(times):
                self._known(store, cell, metric)
                raise ValueError(f"no curve of {metric!r} was recorded")
            return times, values

    def to_frame(self) -> pd.DataFrame:
        """All rows, a ``pandas.DataFrame``: experiment, cell, line, swept values, run, metric, time, value."""
        import pandas as pd

        with self._reading() as store:
            return pd.DataFrame(tidy(store))

    @property
    def privacy(self) -> Protection:
        """Who was protected from whom in one line, as it was told when that was played, and what its runs spent."""
        experiment, cell = self._one()
        with self._reading() as store:
            told = groups(store, _only(experiment, [cell]))
            finals = {name: store.final(cell, name, experiment.runs) for name in ("epsilon", "epsilon_delta", "delta")}
        if not told:
            raise ValueError(
                f"{self.path} does not say what {cell.label} promises: that is noted of first cells alone; ask "
                f"hushbandits.privacy(env, agent)"
            )
        rows = tuple(_Told(*row) for row in told[0][1])
        return _Noted(printable(f"{cell.env.name} with {cell.label}"), rows, spent(finals))  # type: ignore[arg-type]

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

        if len(self.experiments) != 1:
            raise ValueError(f"{len(self.experiments)} experiments are here: {_names(self.experiments)}; select one")
        (experiment,) = self.experiments
        cells = experiment.cells()
        with self._reading() as store:
            metrics = list(dict.fromkeys(n for c in cells for n in store.metrics(c)))
            first = metric or next((m for m in experiment.metrics if m in metrics), None)
            fixed = {k: v[0] for k, v in experiment.sweep.items() if len(v) == 1}
            along = next((k for k in experiment.sweep if k not in fixed), None)
            if "x" not in shown and along is not None:
                shown = {"x": along, **shown}
            if (x := shown.get("x", "time")) not in ("time", "runs", *metrics) and x not in experiment.sweep:
                raise ValueError(f"x={x!r} is not swept here{nearest(str(x), ['time', 'runs', *experiment.sweep])}")
            if (by := shown.get("by", "")) not in ("", *experiment.sweep):
                raise ValueError(f"by={by!r} is not swept here{nearest(str(by), experiment.sweep)}")
            names = [first] if first else metrics
            curves = [n for n in names if len(store.curve(cells[0], n, experiment.runs)[0])]
            figure = figure_of(first, shown, curves, metrics)
            figure = replace(figure, at={**{k: v for k, v in fixed.items() if k != figure.x}, **figure.at})
            return drawn(store, experiment, [figure])

    def samples(self, metric: str) -> list[Sample]:
        """The runs' values of `metric`, line by line, with what their seeds were made of, for a comparison."""
        found = []
        several = len({canonical(c.point) for e in self.experiments for c in e.cells()}) > 1
        many = len(self.experiments) > 1
        with self._reading() as store:
            for e in self.experiments:
                for cell in e.cells():
                    self._known(store, cell, metric)
                    label = cell.label if several else cell.line
                    found.append(sample(store, e, cell, metric, f"{e.name}: {label}" if many else label))
        return found

    # -- inside -----------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        """The open store, which holds nothing but what is selected."""
        with Store(self.path / FILE, readonly=True) as store:
            keys = {c.key for e in store.experiments for c in e.cells()}
            if store.seed != self.seed or not all(c.key in keys for e in self.experiments for c in e.cells()):
                raise StoreError(f"{self.path} holds something else by now; open it anew")
            store.experiments = self.experiments
            yield store

    def _one(self) -> tuple[Experiment, Cell]:
        cells = [(e, c) for e in self.experiments for c in e.cells()]
        if len(cells) == 1:
            return cells[0]
        if len(self.experiments) > 1:
            raise ValueError(
                f"{len(self.experiments)} experiments are here: {_names(self.experiments)}; select one line"
            )
        some = "; ".join(c.label for _, c in cells[:8]) + ("; …" if len(cells) > 8 else "")
        raise ValueError(f"{len(cells)} lines are here: {some}; select one of them, and one point of the sweep (at=)")

    def _known(self, store: Store, cell: Cell, metric: str) -> None:
        known = store.metrics(cell)
        if metric not in known:
            raise ValueError(
                f"no metric is named {metric!r}{nearest(str(metric), known) if known else '; no run is there'}"
            )


@dataclass(frozen=True)
class _Told:
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
        return tuple(asdict(self).values())


class _Noted(Protection):
    """A privacy table that was noted in words."""

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([asdict(line) for line in self.lines])


def _only(experiment: Experiment, cells: Sequence[Cell]) -> Experiment:
    """The experiment with these of its cells alone: labels stay, and the sweep has the values that are left."""
    sweep = {
        key: tuple(v for v in values if any(canonical(c.point[key]) == canonical(v) for c in cells))
        for key, values in experiment.sweep.items()
    }
    part = replace(experiment, sweep=sweep if all(sweep.values()) else experiment.sweep, varied=True)
    part.__dict__["_cells"] = list(cells)  # in the place of those that it would expand to
    return part


def _stands(cell: Cell, wanted: Mapping[str, Sequence[object]]) -> bool:
    return all(canonical(cell.point[key]) in map(canonical, values) for key, values in wanted.items())


def _names(experiments: Sequence[Experiment]) -> str:
    return ", ".join(e.name for e in experiments)


def _places(experiment: Experiment) -> str:
    lines = len({c.line for c in experiment.cells()})
    swept = "".join(f" × {len(v)} {symbol(k)}" for k, v in experiment.sweep.items() if len(v) > 1)
    return f"{lines} line{'s' * (lines != 1)}{swept}"
