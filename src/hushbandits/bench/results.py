"""What an evaluation gave, and how people look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.bench.declare.vocabulary import shipped
from hushbandits.bench.judge.line import Held
from hushbandits.bench.play.natures import Measures
from hushbandits.core.entries import title
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array, Params, Seeds
from hushbandits.core.ground.validate import choice, nearest, shown
from hushbandits.core.measure import Measure, gathered
from hushbandits.core.team import Team
from hushbandits.protection import Protection, protection

if TYPE_CHECKING:
    import pandas as pd

    from hushbandits.bench.show.picture import Picture

__all__ = ["Results", "figure_of", "spent", "world_of"]


def _instead(name: object, finals: Mapping[str, Array]) -> str:
    """What gives a number that was looked for on results themselves, to end a sentence."""
    if name in finals:
        return f": final({name!r}) has its values at the end, one per run, and curve({name!r}) along time"
    return f": final(metric) and curve(metric) return arrays of numbers; metrics are {', '.join(finals)}" * bool(finals)


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Runs of one agent in one env; a line of a run folder (`open_run`) has the same methods.

    Two results are equal if their numbers are: the same metrics, checkpoints and values, NaN equal to NaN.  They can
    be pickled: who played travels as words, and what was promised as data.

    Parameters
    ----------
    finals : dict of (runs, …) arrays
        Every metric at the end.
    curves : dict of (runs, C) arrays
        Scalar metrics at the checkpoints.
    times : (C,) array
        Checkpoints, in the env's clock (rounds; users in feedback).
    met : (Env, Team), optional
        Who played, as they met.
    world : int, optional
        What the seeds of the runs were made of (the entropy of their ``SeedSequence``): results of equal worlds are
        compared run by run.
    names : (str, str), optional
        Env and agent, as they were asked for.
    faced : dict of str, optional
        The env's name and parameters, as they were asked for, in words: a comparison says where they differ.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 100})
    >>> results
    Results: Multi-UCB on CoopNetwork-v0, 2 runs; regret, agent_regret, messages; curves at 34 points up to 100
    >>> results.final("regret").shape
    (2,)
    """

    finals: dict[str, Array]
    curves: dict[str, Array]
    times: Array
    met: tuple[Env, Team] | None = None
    world: int | None = field(default=None, kw_only=True)
    names: tuple[str, str] | None = field(default=None, kw_only=True)
    faced: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(next(iter(self.finals.values()), ()))

    @cached_property
    def played(self) -> tuple[str, str]:
        """Names of env and agent; empty where nobody knows."""
        if self.names is not None or self.met is None:
            return self.names or ("", "")
        env, team = self.met
        return title(env.spec[0]) if env.spec is not None else type(env).__name__, team.name

    @cached_property
    def privacy(self) -> Protection:
        """Who was protected from whom, by how much, and what these runs really spent (`hushbandits.privacy`)."""
        if self.met is None:
            raise ValueError("these results do not know who played; ask hushbandits.privacy(env, agent)")
        table = protection(*self.met)
        return replace(table, notes=(*table.notes, *spent(self.finals)))

    @cached_property
    def measures(self) -> Mapping[str, Measure]:
        """What the metrics are, as env, wrappers and team declare it; empty where it is not known who played."""
        return {} if self.met is None else dict(gathered(*self.met))

    def __getstate__(self) -> dict[str, object]:
        # Who played may be of a class that no other process knows; what was promised is data.
        told = {} if self.met is None else {"privacy": self.privacy, "played": self.played, "measures": self.measures}
        return {**vars(self), **told, "met": None}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Results):
            return NotImplemented
        return _same({**self.finals, "": self.times}, {**other.finals, "": other.times}) and _same(
            self.curves, other.curves
        )

    __hash__ = None  # type: ignore[assignment]  # arrays can be written to

    def __repr__(self) -> str:
        env, agent = self.played
        who = f"{agent} on {env}, " if agent else ""
        n = len(self.times)
        along = f"; curves at {n} point{'s' * (n != 1)} up to {self.times[-1]:g}" if self.curves and n else ""
        return f"Results: {who}{self.runs} run{'s' * (self.runs != 1)}; {', '.join(self.finals)}{along}"

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"Results has no attribute {name!r}{_instead(name, vars(self).get('finals', {}))}")

    def __getitem__(self, key: object) -> object:
        raise TypeError(f"Results[{shown(key)}]: results have no items{_instead(key, self.finals)}")

    def final(self, metric: str) -> Array:
        """Return `metric` at the end, ``(runs,)`` (per agent: ``(runs, M)``); ``ValueError`` for an unknown name."""
        if metric not in self.finals:
            raise ValueError(f"no metric is named {metric!r}{nearest(str(metric), self.finals)}")
        return self.finals[metric]

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Return checkpoints ``(C,)`` and values ``(runs, C)`` of `metric`; ``ValueError`` where there are none."""
        if metric not in self.curves:
            if not self.curves:
                raise ValueError("no curves were recorded: pass checkpoints=[…] to evaluate")
            raise ValueError(f"no curve is named {metric!r}{nearest(str(metric), self.curves)}")
        return self.times, self.curves[metric]

    def to_frame(self) -> pd.DataFrame:
        """One tidy row per run and scalar metric, a ``pandas.DataFrame`` (run, metric, time, value)."""
        import pandas as pd

        rows = []
        for metric, values in self.finals.items():
            if values.ndim == 1:
                rows += [(r, metric, np.nan, float(v)) for r, v in enumerate(values)]
        for metric, values in self.curves.items():
            times = self.times.astype(float)
            rows += [(r, metric, t, float(v)) for r, row in enumerate(values) for t, v in zip(times, row, strict=True)]
        return pd.DataFrame(rows, columns=["run", "metric", "time", "value"])

    def plot(self, metric: str | None = None, **shown: object) -> Picture:
        """Draw a metric: its curve, or the distribution of the runs where there is none.

        Parameters
        ----------
        metric : str, optional
            Default: the first that there is.
        **shown
            As of a `Figure`: ``x`` (``"time"`` or ``"runs"``), ``log``, ``center``, ``band``, ``per_time``, ….

        Returns
        -------
        Picture
            A Matplotlib figure; ``.save("regret.pdf")`` writes it (PNG, SVG or PDF).

        Raises
        ------
        ValueError
            No such metric, or what a figure of one cell's runs does not have.
        """
        from hushbandits.bench.show.picture import drawn

        if "x" in shown:
            choice("x", shown["x"], ("time", "runs"))
        if many := [name for name in ("by", "at", "lines") if name in shown]:
            raise ValueError(f"{many[0]}= chooses among lines and cells of a folder, and these are the runs of one")
        scalars = [name for name, values in self.finals.items() if values.ndim == 1]
        figure = figure_of(metric, shown, list(self.curves), scalars)
        return drawn([self.line], self._alone, figure)

    @property
    def line(self) -> Held:
        """These runs as a line among others: what comparisons and pictures take."""
        (cell,) = self._alone.cells()
        measures = Measures(self.measures or shipped())
        curves = {name: (self.times, values) for name, values in self.curves.items()}
        return Held(cell, cell.line, measures, self.world, self.faced, self.finals, curves)

    @property
    def _alone(self) -> Experiment:
        """The experiment that has these runs alone."""
        env, agent = self.played
        return Experiment(
            name="results", title=f"{agent} on {env}" if agent else "Results", env=Use(env or "env"),
            agents=[Use(agent or "results")], runs=max(1, self.runs),
        )  # fmt: skip


def figure_of(metric: str | None, shown: Params, curves: list[str], finals: list[str]) -> Figure:
    """Return the figure that is asked for: over time where there is such a curve, else along `x`, or over runs."""
    if metric is None:
        metric = next(iter([*curves, *finals]), "")
    x = shown.get("x", "time" if metric in curves else "runs")
    known = curves if x == "time" else finals
    if metric not in known:
        what = "curve" if x == "time" else "metric of one number a run"
        raise ValueError(f"no {what} is named {metric!r}{nearest(str(metric), known) if known else ''}")
    log = {} if x == "time" else {"log": ""}
    try:
        return Figure(**{"y": metric, "x": x, **log, **shown})
    except TypeError:
        unknown = next(name for name in shown if name not in Figure.__dataclass_fields__ or name == "y")
        raise ValueError(f"a figure has no {unknown!r}{nearest(unknown, Figure.__dataclass_fields__)}") from None


def world_of(seeds: Seeds) -> int | None:
    """Return what the seeds of runs 0, 1, … were made of, where run r's is child r of one number.

    Examples
    --------
    >>> import hushbandits as hb
    >>> world_of(hb.run_seeds(7, 2)), world_of(hb.run_seeds(7, 2, first=1))
    (7, None)
    """
    entropy = seeds[0].entropy
    if isinstance(entropy, int) and all(s.entropy == entropy and s.spawn_key == (r,) for r, s in enumerate(seeds)):
        return entropy
    return None


def _same(one: Mapping[str, Array], other: Mapping[str, Array]) -> bool:
    if one.keys() != other.keys():
        return False
    pairs = [(np.asarray(one[k]), np.asarray(other[k])) for k in one]
    return all(np.array_equal(a, b, equal_nan="f" in (a.dtype.kind, b.dtype.kind)) for a, b in pairs)


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
