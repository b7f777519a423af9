"""The class `Results`, which holds the results of runs, and functions that read them from a results folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.bench.comparison import Comparison, compare
from hushbandits.bench.parts import Part, among, figure_of, same
from hushbandits.bench.runner.check import picked
from hushbandits.bench.runner.configuration import Configuration, configurations, recorded
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.experiment import Experiment
from hushbandits.core import Array, Env, Params, Team, nearest, shown
from hushbandits.core.random.seed_text import canonical
from hushbandits.guarantee_table import PrivacyReport, protection

if TYPE_CHECKING:
    import pandas as pd

    from hushbandits.bench.report.figures import Picture


def load_results(path: Path | str) -> Results:
    """Return the results of a folder, without importing the classes that the folder names.

    Parameters
    ----------
    path : path
        The folder, such as ``"runs/quickstart"``.

    Raises
    ------
    StoreError
        The folder has no results.

    Examples
    --------
    >>> import tempfile
    >>> import hushbandits as hb
    >>> tiny = hb.Experiment(name="tiny", title="Tiny", env=hb.Component("CoopNetwork-v0", n_agents=4, horizon=20),
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
    """Return the results of all experiments in `store`."""
    parts = tuple(Part(e, tuple(configurations(store, e))) for e in store.experiments)
    return Results(parts, path=store.path, tables=recorded(store))


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Results of one or several configurations, returned by `evaluate`, `run` and `load_results`.

    Iterating yields the results of one configuration each.  Two results are equal if their numbers are.  Pickling
    replaces env and agent by their names and their table of guarantees.

    Parameters
    ----------
    parts : tuple of Part
        Experiments with their configurations.
    path : Path, optional
        The results folder.
    met : (Env, Team), optional
        Env and agent of `evaluate`.
    tables : mapping of str to PrivacyReport
        Tables of guarantees, by the key of a cell.

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
    tables: Mapping[str, PrivacyReport] = field(default_factory=dict, kw_only=True)

    # -- content ------------------------------------------------------------------------------------------------------

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
        return len(mine) == len(yours) and all(map(same, mine, yours))

    __hash__ = None  # type: ignore[assignment]  # arrays can be written to

    def __getstate__(self) -> dict[str, object]:
        # Other processes may not know the class of the env or agent; the guarantees are plain data.
        if self.met is None:
            return dict(vars(self))
        state = {k: v for k, v in vars(self).items() if k != "privacy"}
        return {**state, "met": None, "tables": {self.only.cell.key: self._table}}

    @property
    def configurations(self) -> list[Configuration]:
        """Return all configurations."""
        return [c for part in self.parts for c in part.configurations]

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """Return the experiments."""
        return tuple(part.experiment for part in self.parts)

    @property
    def labels(self) -> list[str]:
        """Return the labels of the configurations, each once."""
        return list(dict.fromkeys(c.label for c in self.configurations))

    @property
    def metrics(self) -> list[str]:
        """Return the names of all metrics that have a value at the end of a run."""
        return list(dict.fromkeys(name for c in self.configurations for name in c.data.finals))

    def select(
        self, label: str | Sequence[str] | None = None, *, experiment: str | None = None, at: Params | None = None
    ) -> Results:
        """Return the results selected by labels, experiment name and values of swept parameters.

        Parameters
        ----------
        label : str or sequence of str, optional
            Labels, as in the table.
        experiment : str, optional
            Name of an experiment.
        at : mapping, optional
            Values of swept parameters: ``{"env.n_agents": 4}``, or several of one: ``{"env.n_agents": [4, 16]}``.

        Raises
        ------
        ValueError
            No configuration matches.
        """
        labels = None if label is None else [label] if isinstance(label, str) else list(label)
        wanted = {key: v if isinstance(v, (list, tuple)) else [v] for key, v in (at or {}).items()}
        if experiment is not None:
            among("experiment", experiment, [e.name for e in self.experiments])
        for name in labels or ():
            among("label", name, self.labels)
        sweeps = [part.sweep for part in self.parts]
        keys = [key for sweep in sweeps for key in sweep]
        picked("at", wanted, {key: [v for sweep in sweeps for v in sweep.get(key, ())] for key in keys})
        texts = {key: set(map(canonical, values)) for key, values in wanted.items()}

        def chosen(c: Configuration) -> bool:
            there = all(key in c.cell.point and canonical(c.cell.point[key]) in texts[key] for key in texts)
            return there and (labels is None or c.label in labels)

        parts = [part for part in self.parts if experiment in (None, part.experiment.name)]
        kept = [replace(part, configurations=tuple(filter(chosen, part.configurations))) for part in parts]
        if not any(part.configurations for part in kept):
            given = f"label={shown(label)}, at={shown(at)}, experiment={shown(experiment)}"
            raise ValueError(f"no configuration has {given}")
        return replace(self, parts=tuple(part for part in kept if part.configurations))

    # -- numbers ------------------------------------------------------------------------------------------------------

    def final(self, metric: str) -> Array:
        """Return the final values of a metric of the only configuration: ``(runs,)``, or ``(runs, M)`` if per agent.

        Raises
        ------
        ValueError
            An unknown metric, or several configurations.
        """
        known = self.only.data.finals
        return known[among("metric", metric, known)]

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Return the checkpoints ``(C,)`` and values ``(runs, C)`` of a metric of the only configuration.

        Raises
        ------
        ValueError
            There is no such curve, or there are several configurations.
        """
        known = self.only.data.curves
        if metric not in known:
            why = nearest(str(metric), known) if known else "; no curves were recorded: ask for checkpoints"
            raise ValueError(f"no curve is named {shown(metric)}{why}")
        return known[metric]

    def to_frame(self) -> pd.DataFrame:
        """Return a long-format ``pandas.DataFrame``, one row per run, metric and time.

        Results of a folder also have the columns experiment, cell, agent and swept parameters.

        ``time`` is NaN for values at the end of a run.
        """
        import pandas as pd

        frames = []
        for part in self.parts:
            for c in part.configurations:
                whose = {"experiment": part.experiment.name, "cell": c.cell.key, "agent": c.cell.line, **c.cell.point}
                head = {} if self.path is None else whose
                for metric, run, time, value in c.data.long():
                    whole = {name: [one] * len(run) for name, one in head.items()}  # a swept value may be a list
                    frames.append(pd.DataFrame({**whole, "run": run, "metric": metric, "time": time, "value": value}))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def table(self, metrics: Sequence[str] = ()) -> pd.DataFrame:
        """Return a ``pandas.DataFrame`` with means, medians and 95 % intervals, a row per configuration and metric.

        Parameters
        ----------
        metrics : sequence of str
            Default: the metrics that the experiments show, or all.
        """
        import pandas as pd

        from hushbandits.bench.report.tables import frame

        frames = [frame(p.configurations, p.experiment, metrics or p.experiment.metrics) for p in self.parts]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def to_latex(self, metrics: Sequence[str] = ()) -> str:
        """Return the `table` of `metrics` in LaTeX, with special characters escaped."""
        return str(self.table(metrics).to_latex(index=False, escape=True, float_format="%.4g"))

    def compare(self, metric: str | None = None, **how: Any) -> Comparison:
        """Return a `Comparison` of all pairs of configurations; the options are those of `hushbandits.compare`."""
        return compare(self, metric=metric, **how)

    def ends(self, metric: str) -> list[Configuration]:
        """Return the configurations, with labels made unique; each must have one number per run for `metric`."""
        for c in self.configurations:
            if metric not in c.metrics():
                has = ", ".join(c.metrics()) or "no runs"
                raise ValueError(f"metric={shown(metric)} must have one number per run everywhere; {c.label} has {has}")
        swept = len({canonical(c.cell.point) for c in self.configurations}) > 1
        found = []
        for part in self.parts:
            head = f"{part.experiment.name}: " if len(self.parts) > 1 else ""
            found += [replace(c, label=head + (c.cell.label if swept else c.label)) for c in part.configurations]
        return found

    # -- guarantees and pictures --------------------------------------------------------------------------------------

    @cached_property
    def privacy(self) -> PrivacyReport:
        """Return the guarantees of the only configuration, with the ε measured in its runs.

        A folder has those of an experiment's first cells.
        """
        table = self._table
        return replace(table, notes=(*table.notes, *spent(self.only.data.finals)))

    @property
    def _table(self) -> PrivacyReport:
        if self.met is not None:
            return protection(*self.met)
        cell = self.only.cell
        if cell.key not in self.tables:
            raise ValueError(f"guarantees of {cell.label} are not stored; call hushbandits.privacy_report(env, agent)")
        return self.tables[cell.key]

    def plot(self, metric: str | None = None, **figure: object) -> Picture:
        """Return a figure of a metric of one experiment, over time, over runs, or along ``x="env.…"``.

        Parameters
        ----------
        metric : str, optional
            Default: the first metric that the experiment shows.
        **figure
            Fields of a `Figure`; default: along the swept parameter, else over time or runs.

        Returns
        -------
        Picture
            A Matplotlib figure; ``.save("regret.pdf")`` writes it.

        Raises
        ------
        ValueError
            There are several experiments, or the metric was not recorded.
        """
        from hushbandits.bench.report.figures import drawn

        if len(self.parts) != 1:
            names = ", ".join(part.experiment.name for part in self.parts)
            raise ValueError(f"there are {len(self.parts)} experiments, {names}; choose one with select(experiment=…)")
        (part,) = self.parts
        return drawn(part.configurations, part.experiment, figure_of(part, metric, figure))

    # -- internal -----------------------------------------------------------------------------------------------------

    @property
    def only(self) -> Configuration:
        """Return the only configuration; raise ``ValueError`` if there is none or more than one."""
        found = self.configurations
        if len(found) != 1:
            some = "; ".join(c.cell.label for c in found[:8]) + ("; …" if len(found) > 8 else "")
            raise ValueError(f"there are {len(found)} configurations, {some}; choose one with select(label, at=…)")
        return found[0]


def spent(finals: Mapping[str, Array]) -> tuple[str, ...]:
    """Return a tuple with a sentence on the privacy loss measured in the runs; empty if no run measured it.

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
