"""Comparisons of all pairs of configurations, as `Results.compare` and `hushbandits.compare` return them."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from hushbandits.bench.report.tables import heads, notes, rows
from hushbandits.bench.stats import STATISTICS
from hushbandits.bench.stats.pairs import Compared, against
from hushbandits.core import choice, integer, real, shown

if TYPE_CHECKING:
    import pandas as pd


class Comparison(Compared):
    """Comparison of all pairs of configurations; it prints as a table and renders in a notebook.

    ``.pairs`` holds each pair as data (`Pair`).

    Examples
    --------
    >>> import hushbandits as hb
    >>> world = {"n_agents": 4, "horizon": 100}
    >>> shared, alone = (hb.evaluate("CoopNetwork-v0", name, runs=4, env=world) for name in ("Multi-UCB", "UCB1"))
    >>> [(pair.a, pair.b, pair.runs, pair.paired) for pair in compare(shared, alone).pairs]
    [('Multi-UCB', 'UCB1', (4, 4), True)]
    """

    def __repr__(self) -> str:
        table = [heads(self.level), *rows(self)]
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(text.ljust(w) for text, w in zip(row, wide, strict=True)).rstrip() for row in table]
        return "\n".join([*lines, "", *notes(self)])

    def _repr_html_(self) -> str:
        import pandas as pd

        table = str(pd.DataFrame(rows(self), columns=list(heads(self.level))).to_html(index=False))
        return table + "".join(f"<p>{escape(note)}</p>" for note in notes(self))

    def to_frame(self) -> "pd.DataFrame":
        """Return a ``pandas.DataFrame`` with one row per pair; intervals are the columns ``…_low`` and ``…_high``."""
        import pandas as pd

        frame = pd.DataFrame(map(vars, self.pairs))
        for name, *two in (("runs", "a", "b"), ("interval", "low", "high"), ("improvement_interval", "low", "high")):
            frame[[f"{name}_{end}" for end in two]] = frame.pop(name).tolist()
        return frame


def compare(
    *lines: Any, metric: str | None = None, names: Sequence[str] | None = None, statistic: str = "mean",
    level: float = 0.95, seed: int = 0,
) -> Comparison:  # fmt: skip
    """Return a comparison of all pairs (A, B) of configurations by `metric`; effects are A − B.

    Runs that share seeds are compared run by run, all others as independent samples; the table names the method.

    Parameters
    ----------
    *lines : Results
        One or several configurations each.
    metric : str, optional
        The metric compared, at the end of each run; default: ``"regret"`` if every configuration has it, else the first
        metric that all have, such as the rounds of an exploration.
    names : sequence of str, optional
        Names of the configurations; default: the names or labels of their agents.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"``.
    level : float
        Confidence level of each interval, not adjusted for multiplicity.
    seed : int
        Seed of the resampling.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError, TypeError
        Fewer than two configurations, or an unknown metric.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 4, "horizon": 200}
    >>> together, alone = (hb.evaluate("CoopNetwork-v0", a, runs=12, env=env) for a in ("Multi-UCB", "UCB1"))
    >>> (pair,) = compare(together, alone).pairs
    >>> pair.paired, pair.difference < 0
    (True, True)
    """
    choice("statistic", statistic, STATISTICS)
    level, seed = real("level", level, 0, 1), integer("seed", seed, 0)
    if strange := [result for result in lines if not hasattr(result, "ends")]:
        raise TypeError(f"compare takes Results, not {shown(strange[0])}")
    if metric is None:
        first, *others = [one.metrics() for result in lines for one in result.configurations] or [[]]
        shared = [name for name in first if all(name in names for names in others)]
        metric = "regret" if "regret" in shared or not shared else shared[0]
    found = [one for result in lines for one in result.ends(metric)]
    if len(found) < 2:
        raise ValueError(f"compare needs at least two configurations, not {len(found)}")
    labels = [one.label for one in found] if names is None else list(names)
    if names is None:  # number equal names
        labels = [f"{x} ({labels[: i + 1].count(x)})" if labels.count(x) > 1 else x for i, x in enumerate(labels)]
    if len(labels) != len(found) or len(set(labels)) < len(labels):
        raise ValueError(f"names={shown(names)} must be {len(found)} different names, one for each configuration")
    named = [replace(one, label=label) for label, one in zip(labels, found, strict=True)]
    return Comparison(**vars(against(named, metric, statistic, level, seed)))
