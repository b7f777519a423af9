"""Results of runs: one object, in memory or from a results folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.bench.comparison import Comparison, comparison
from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.points import picked
from hushbandits.bench.declare.spec import Cell, Experiment, Figure
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.pairs import ends
from hushbandits.bench.runner.configuration import Configuration, configurations
from hushbandits.bench.runner.privacy_table import recorded
from hushbandits.bench.runner.store import Store
from hushbandits.core.env import Env
from hushbandits.core.ground.extras import extra
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import nearest, shown
from hushbandits.core.measure import Measure
from hushbandits.core.team import Team
from hushbandits.protection import Protection, protection

if TYPE_CHECKING:
    import pandas as pd

    from hushbandits.bench.report.figures import Picture

__all__ = ["Part", "Results", "load_results"]


def load_results(path: Path | str) -> Results:
    """Read a results folder; nothing that it names is imported.

    Parameters
    ----------
    path : path
        The folder, such as ``"runs/quickstart"``.

    Raises
    ------
    StoreError
        There are no results.

    Examples
    --------
    >>> import tempfile
    >>> import hushbandits as hb
    >>> tiny = hb.Experiment(name="tiny", title="Tiny", env=hb.Use("CoopNetwork-v0", n_agents=4, horizon=20),
    ...                      agents=["Multi-UCB", "UCB1"], runs=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = hb.run(tiny, folder)
    ...     results = load_results(folder)
    >>> results.labels
    ['Multi-UCB', 'UCB1']
    >>> results.select("UCB1").final("regret").shape
    (2,)
    """
    return read(Store(path))


def read(store: Store) -> Results:
    """Return the results of an open folder."""
    parts = tuple(Part(e, tuple(configurations(store, e))) for e in store.experiments)
    tables = {key: rows for key, rows in recorded(store).items()}
    return Results(parts, path=store.path, tables=tables)


@dataclass(frozen=True, eq=False)
class Part:
    """An experiment, and those of its configurations that are looked at."""

    experiment: Experiment
    configurations: tuple[Configuration, ...]

    @property
    def labels(self) -> list[str]:
        """Labels of the configurations, each once."""
        return list(dict.fromkeys(c.label for c in self.configurations))

    @property
    def sweep(self) -> dict[str, list[object]]:
        """Swept parameters, with the values that its cells take."""
        taken = {key: {canonical(c.cell.point[key]) for c in self.configurations} for key in self.experiment.sweep}
        return {key: [v for v in self.experiment.sweep[key] if canonical(v) in some] for key, some in taken.items()}

    def at(self, wanted: Mapping[str, Sequence[object]]) -> Part:
        """Return the part where swept parameters take these values."""
        some = {key: {canonical(v) for v in values} for key, values in wanted.items()}
        kept = (c for c in self.configurations if all(canonical(c.cell.point[key]) in some[key] for key in some))
        return replace(self, configurations=tuple(kept))

    def of(self, labels: Sequence[str]) -> Part:
        """Return the part with these labels alone."""
        return replace(self, configurations=tuple(c for c in self.configurations if c.label in labels))

    def __str__(self) -> str:
        n = len(self.labels)
        swept = "".join(f" × {len(v)} {symbol(k)}" for k, v in self.sweep.items() if len(v) > 1)
        runs = self.experiment.runs
        named = f"{n} configuration{'s' * (n != 1)}" if n != 1 else self.labels[0]
        return f"{self.experiment.name} ({named}{swept}, {runs:,} run{'s' * (runs != 1)})"


def _instead(name: object, metrics: Sequence[str]) -> str:
    """Say what gives a number that was looked for on results themselves."""
    if name in metrics:
        return f": final({name!r}) has its values at the end, one per run, and curve({name!r}) along time"
    return f": final(metric) and curve(metric) return arrays; metrics are {', '.join(metrics)}" * bool(metrics)


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Results of some configurations, as `evaluate`, `run` and `load_results` return them.

    Iterating yields the results of one configuration each.  Two results are equal if their numbers are.  Results can be
    pickled: env and agent then become their names and their table of guarantees.

    Parameters
    ----------
    parts : tuple of Part
        Experiments with their configurations.
    path : Path, optional
        The folder that they are from.
    met : (Env, Team), optional
        Env and agent of `evaluate`.
    tables : mapping of str to Protection
        Tables of guarantees, by a cell's key.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 100})
    >>> results
    Results: Multi-UCB on CoopNetwork-v0, 2 runs; regret, agent_regret, messages
    >>> results.final("regret").shape
    (2,)
    """

    parts: tuple[Part, ...]
    path: Path | None = None
    met: tuple[Env, Team] | None = field(default=None, kw_only=True)
    tables: Mapping[str, Protection] = field(default_factory=dict, kw_only=True)

    # -- what there is ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return sum(len(part.configurations) for part in self.parts)

    def __iter__(self) -> Iterator[Results]:
        for part in self.parts:
            for configuration in part.configurations:
                yield replace(self, parts=(replace(part, configurations=(configuration,)),))

    def __repr__(self) -> str:
        if self.path is None and len(self) == 1:
            n = len(self.only.runs())
            what = f"{self.parts[0].experiment.title}, {n:,} run{'s' * (n != 1)}"
        else:
            what = f"{self.path or 'in memory'} ({', '.join(map(str, self.parts))})"
        return f"Results: {what}; {', '.join(self.metrics)}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Results):
            return NotImplemented
        mine, yours = self.configurations, other.configurations
        return len(mine) == len(yours) and all(map(_same, mine, yours))

    __hash__ = None  # type: ignore[assignment]  # arrays can be written to

    def __getattr__(self, name: str) -> object:
        metrics = self.metrics if "parts" in vars(self) else ()
        raise AttributeError(f"Results has no attribute {name!r}{_instead(name, metrics)}")

    def __getitem__(self, key: object) -> object:
        raise TypeError(f"Results[{shown(key)}]: results have no items{_instead(key, self.metrics)}")

    def __getstate__(self) -> dict[str, object]:
        # Env and agent may be of a class that no other process knows; their guarantees are data.
        if self.met is None:
            return dict(vars(self))
        state = {k: v for k, v in vars(self).items() if k != "privacy"}
        return {**state, "met": None, "tables": {self.only.cell.key: self._table}}

    @property
    def configurations(self) -> list[Configuration]:
        """All configurations."""
        return [c for part in self.parts for c in part.configurations]

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiments."""
        return tuple(part.experiment for part in self.parts)

    @property
    def labels(self) -> list[str]:
        """Labels of the configurations, each once."""
        return list(dict.fromkeys(c.label for c in self.configurations))

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics at the end of a run."""
        return list(dict.fromkeys(name for c in self.configurations for name in c.data.finals))

    @property
    def runs(self) -> int:
        """Number of runs of the only configuration."""
        return len(self.only.runs())

    @property
    def measures(self) -> Mapping[str, Measure]:
        """What the metrics of the only configuration are."""
        return self.only.measures

    def select(
        self, label: str | Sequence[str] | None = None, *, experiment: str | None = None, at: Params | None = None
    ) -> Results:
        """Return a part: configurations by their labels, an experiment by its name, a point of a sweep by its values.

        Parameters
        ----------
        label : str or sequence of str, optional
            Labels, as in the table.
        experiment : str, optional
            A name.
        at : mapping, optional
            Values of swept parameters: ``{"env.n_agents": 4}``, or several of one: ``{"env.n_agents": [4, 16]}``.

        Raises
        ------
        ValueError
            Nothing of that name.
        """
        chosen = list(self.parts)
        if experiment is not None:
            names = [part.experiment.name for part in chosen]
            if experiment not in names:
                raise ValueError(f"experiment={shown(experiment)} is not among these{nearest(str(experiment), names)}")
            chosen = [part for part in chosen if part.experiment.name == experiment]
        if at:
            chosen = _at(chosen, {key: v if isinstance(v, (list, tuple)) else [v] for key, v in at.items()})
        if label is not None:
            labels = [label] if isinstance(label, str) else label
            there = list(dict.fromkeys(name for part in chosen for name in part.labels))
            for name in labels:
                if name not in there:
                    raise ValueError(f"label={shown(name)} is not among these{nearest(str(name), there)}")
            chosen = [part.of(labels) for part in chosen]
        return replace(self, parts=tuple(part for part in chosen if part.configurations))

    # -- numbers ------------------------------------------------------------------------------------------------------

    def final(self, metric: str) -> Array:
        """Return a metric of the only configuration at the end, ``(runs,)``; of `evaluate`, per agent ``(runs, M)``.

        Raises
        ------
        ValueError
            No such metric, or several configurations.
        """
        return _having(self.only, metric).data.finals[metric]

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Return checkpoints ``(C,)`` and values ``(runs, C)`` of a metric of the only configuration.

        Raises
        ------
        ValueError
            There is no such curve, or there are several configurations.
        """
        one = self.only
        if metric not in one.data.curves:
            if not one.data.curves:
                raise ValueError(f"metric={shown(metric)}: no curves were recorded; ask for checkpoints")
            raise ValueError(f"no curve is named {metric!r}{nearest(str(metric), one.data.curves)}")
        return one.curve(metric)

    def to_frame(self) -> pd.DataFrame:
        """Return all rows in long form: experiment, cell, agent, swept values, run, metric, time, value.

        ``time`` is NaN for values at the end of a run.
        """
        with extra("bench"):
            import pandas as pd

        parts = [
            columns for part in self.parts for c in part.configurations
            for columns in _columns(part.experiment, c, alone=self.path is None)
        ]  # fmt: skip
        names = dict.fromkeys(name for columns in parts for name in columns)
        lengths = [len(columns["run"]) for columns in parts]  # type: ignore[arg-type]
        whole = {"run", "time", "value"}
        return pd.DataFrame(
            {
                name: np.concatenate([columns[name] for columns in parts])
                if name in whole
                else pd.Series([columns.get(name) for columns in parts]).repeat(lengths).to_numpy()
                for name in names
            }
        )

    def table(self, metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Means and medians with their 95 % intervals, a row per configuration and metric, a ``pandas.DataFrame``.

        Parameters
        ----------
        metrics : sequence of str
            Default: those that the experiments show, or all.
        """
        import pandas as pd

        from hushbandits.bench.report.tables import frame

        frames = [frame(p.configurations, p.experiment, metrics or p.experiment.metrics) for p in self.parts]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def to_latex(self, metrics: Sequence[str] = ()) -> str:
        """Return the table in LaTeX, names escaped."""
        return str(self.table(metrics).to_latex(index=False, escape=True, float_format="%.4g"))

    def compare(self, metric: str = "regret", **how: object) -> Comparison:
        """Compare all configurations with each other; options as of `hushbandits.compare`."""
        return comparison(self.ends(metric), metric, **how)  # type: ignore[arg-type]

    def ends(self, metric: str) -> list[Configuration]:
        """Return a metric's values at the end, configuration by configuration, under labels that tell them apart."""
        points = {canonical(c.cell.point) for c in self.configurations}
        found = []
        for part in self.parts:
            for c in part.configurations:
                if metric not in c.metrics():
                    raise ValueError(
                        f"metric={shown(metric)} must be one number a run that all have: {c.label} has "
                        f"{', '.join(c.metrics()) or 'no runs'}"
                    )
                label = c.cell.label if len(points) > 1 else c.label
                found.append(ends(c, metric, f"{part.experiment.name}: {label}" if len(self.parts) > 1 else label))
        return found

    # -- guarantees and pictures --------------------------------------------------------------------------------------

    @cached_property
    def privacy(self) -> Protection:
        """The table of guarantees of the only configuration, and the ε that its runs spent."""
        table = self._table
        return replace(table, notes=(*table.notes, *spent(self.only.data.finals)))

    @property
    def _table(self) -> Protection:
        if self.met is not None:
            return protection(*self.met)
        one = self.only
        if one.cell.key not in self.tables:
            raise ValueError(
                f"no guarantees of {one.cell.label} are recorded, only those of an experiment's first cells; ask "
                f"hushbandits.privacy(env, agent)"
            )
        return self.tables[one.cell.key]

    def plot(self, metric: str | None = None, **figure: object) -> Picture:
        """Draw a metric of one experiment: over time, over runs, or along ``x="env.…"``.

        Parameters
        ----------
        metric : str, optional
            Default: the first that the experiment shows.
        **figure
            Fields of a `Figure`; default: along what is swept, else over time or runs.

        Returns
        -------
        Picture
            A Matplotlib figure; ``.save("regret.pdf")`` writes it.

        Raises
        ------
        ValueError
            Several experiments are here, or what is asked for was not recorded.
        """
        from hushbandits.bench.report.figures import drawn

        if len(self.parts) != 1:
            raise ValueError(f"{len(self.parts)} experiments are here: {self._names()}; select one")
        (part,) = self.parts
        return drawn(part.configurations, part.experiment, _figure(part, metric, figure))

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def only(self) -> Configuration:
        """The only configuration; ``ValueError`` where there are several."""
        found = self.configurations
        if len(found) != 1:
            some = "; ".join(c.cell.label for c in found[:8]) + ("; …" if len(found) > 8 else "")
            raise ValueError(f"{len(found)} configurations are here: {some}; select one, with its label and at=")
        return found[0]

    def _names(self) -> str:
        return ", ".join(part.experiment.name for part in self.parts)


def _at(parts: Sequence[Part], wanted: Mapping[str, Sequence[object]]) -> list[Part]:
    """Return the parts that sweep these parameters, where they take these values."""
    known = [part for part in parts if all(key in part.sweep for key in wanted)]
    if not known:
        swept: dict[str, Sequence[object]] = {k: v for part in parts for k, v in part.sweep.items()}
        picked("at", wanted, swept)
        raise ValueError(f"at: no experiment sweeps {' and '.join(wanted)} together")
    for part in known:
        picked(f"{part.experiment.name}: at", wanted, part.sweep)
    return [part.at(wanted) for part in known]


def _having(one: Configuration, metric: str) -> Configuration:
    known = list(one.data.finals)
    if metric not in known:
        raise ValueError(
            f"no metric is named {metric!r}{nearest(str(metric), known) if known else ': no run is there'}"
        )
    return one


def _columns(experiment: Experiment, c: Configuration, alone: bool) -> Iterator[dict[str, object]]:
    """Columns of the rows of a configuration, metric by metric."""
    cell: Cell = c.cell
    head = {} if alone else {"experiment": experiment.name, "cell": cell.key, "agent": cell.line, **cell.point}
    for metric in c.metrics():
        values = c.final(metric)
        yield {**head, "run": c.runs(), "metric": metric, "time": np.full(len(values), np.nan), "value": values}
    for metric, (times, table) in c.data.curves.items():
        n, points = table.shape
        run, time = np.repeat(c.runs(), points), np.tile(np.asarray(times, float), n)
        yield {**head, "run": run, "metric": metric, "time": time, "value": table.ravel()}


def _figure(part: Part, metric: str | None, asked: Params) -> Figure:
    """Return the figure asked for: along what is swept, else over time where there is a curve, else over runs."""
    sweep = part.sweep
    finals = list(dict.fromkeys(name for c in part.configurations for name in c.metrics()))
    curves = list(dict.fromkeys(name for c in part.configurations for name in c.data.curves))
    fixed = {k: v[0] for k, v in sweep.items() if len(v) == 1}
    asked = dict(asked)
    along = next((k for k in sweep if k not in fixed and k != asked.get("by")), None)
    if "x" not in asked and along is not None:
        asked = {"x": along, **asked}
    if metric is None:
        metric = next((m for m in [*part.experiment.metrics, *curves, *finals] if m in (*finals, *curves)), "")
    x = asked.get("x", "time" if metric in curves else "runs")
    if x not in ("time", "runs", *finals, *sweep):
        raise ValueError(f"x={x!r} is not swept here{nearest(str(x), ['time', 'runs', *sweep])}")
    if (by := asked.get("by", "")) not in ("", *sweep):
        raise ValueError(f"by={by!r} is not swept here{nearest(str(by), sweep)}")
    known = curves if x == "time" else finals
    if metric not in known:
        what = "curve" if x == "time" else "metric of one number a run"
        raise ValueError(f"no {what} is named {metric!r}{nearest(str(metric), known) if known else ''}")
    log = {} if x == "time" else {"log": ""}
    try:
        figure = Figure(**{"y": metric, "x": x, **log, **asked})
    except TypeError:
        unknown = next(name for name in asked if name not in Figure.__dataclass_fields__ or name == "y")
        raise ValueError(f"a figure has no {unknown!r}{nearest(unknown, Figure.__dataclass_fields__)}") from None
    return replace(figure, at={**{k: v for k, v in fixed.items() if k != figure.x}, **figure.at})


def _same(one: Configuration, other: Configuration) -> bool:
    """Whether two configurations hold the same numbers, NaN equal to NaN."""
    a, b = one.data, other.data
    if a.finals.keys() != b.finals.keys() or a.curves.keys() != b.curves.keys():
        return False
    pairs = [(a.finals[k], b.finals[k]) for k in a.finals]
    pairs += [(x, y) for k in a.curves for x, y in zip(a.curves[k], b.curves[k], strict=True)]
    return all(np.array_equal(np.asarray(x, float), np.asarray(y, float), equal_nan=True) for x, y in pairs)


def spent(finals: Mapping[str, Array]) -> tuple[str, ...]:
    """Say in words what runs measured of ε, if they did.

    Examples
    --------
    >>> spent({"epsilon": np.array([0.5, 2.0])})
    ('Spent in these runs: ε up to 2 (metric epsilon).',)
    >>> spent({"epsilon": np.array([0.5, np.inf])})
    ('No ε holds in these runs (metric epsilon is ∞): what is promised above says why.',)
    """
    if np.isinf(finals.get("epsilon", np.zeros(0))).any():
        return ("No ε holds in these runs (metric epsilon is ∞): what is promised above says why.",)
    found = []
    for name, unit in (("epsilon", "ε"), ("epsilon_delta", "ε at the mechanism's δ"), ("delta", "δ")):
        values = finals.get(name)
        if values is not None and len(values) and (name != "delta" or values.max() > 0):
            found.append(f"{unit} up to {float(values.max()):.4g} (metric {name})")
    return (f"Spent in these runs: {'; '.join(found)}.",) if found else ()
