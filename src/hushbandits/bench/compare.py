"""Compare results."""

from __future__ import annotations

from collections.abc import Sequence

from hushbandits.bench.comparison import Comparison, comparison
from hushbandits.bench.results import Results
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.core.ground.validate import shown

__all__ = ["compare"]


def compare(
    *lines: Results,
    metric: str = "regret",
    names: Sequence[str] | None = None,
    statistic: str = "mean",
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare all pairs of configurations: A − B.

    Runs that drew from the same seeds are compared run by run, others as independent ones; the table says which.

    Parameters
    ----------
    *lines : Results
        One or several configurations each.
    metric : str
        What is compared, at the end of each run.
    names : sequence of str, optional
        What to call them; default: their agents' names, or labels.
    statistic : str
        ``"mean"``, ``"median"`` or ``"iqm"``.
    level : float
        Of each interval by itself.
    seed : int
        Of the resampling.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError, TypeError
        Fewer than two lines, or no such metric.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 4, "horizon": 200}
    >>> together, alone = (hb.evaluate("CoopNetwork-v0", a, runs=12, env=env) for a in ("Multi-UCB", "UCB1"))
    >>> (pair,) = compare(together, alone).pairs
    >>> pair.paired, pair.difference < 0
    (True, True)
    """
    found: list[Configuration] = []
    for result in lines:
        if not isinstance(result, Results):
            raise TypeError(f"compare takes Results, not {shown(result)}")
        found += result.ends(metric)
    return comparison(found, metric, names, statistic, level, seed)
