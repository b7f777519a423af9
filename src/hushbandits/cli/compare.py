"""``hushbandits compare FOLDER``: compare the configurations of a results folder."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.results import load_results
from hushbandits.bench.stats import STATISTICS
from hushbandits.bench.stats.pairs import comparisons
from hushbandits.cli.console import Several, assignments, print_pairs
from hushbandits.core import choice


def compare(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    metric: str | None = None,
    lines: Annotated[tuple[str, ...], arg(metavar="LABEL")] = (),
    experiment: Annotated[str | None, arg(metavar="NAME")] = None,
    at: Annotated[Several, arg(metavar="KEY=VALUE")] = (),
    statistic: Annotated[str, arg(metavar="mean|median|iqm")] = "mean",
) -> int:
    """Compare all pairs (A, B) of configurations in a results folder, at each point of a sweep.

    Runs with the same seed face the same arms, graphs and rewards, and are compared run by run. A row has the
    difference with its 95 % interval, the probability that a run of A exceeds a run of B, and two p-values: the second
    is adjusted for all pairs of the table (Holm). The last lines explain the sign of a difference. Examples:

      hushbandits compare runs/quickstart
      hushbandits compare runs/quickstart --experiment quickstart-network --lines Multi-UCB UCB1
      hushbandits compare runs/rio2023-fig1 --metric messages --at env.n_agents=64 --statistic median

    Parameters
    ----------
    folder
        A results folder, such as runs/quickstart.
    metric
        Metric to compare; default: the first metric of the experiment.
    lines
        Compare only configurations with these labels in the table.
    experiment
        Compare only configurations of this experiment.
    at
        Compare only at this point of a sweep, such as env.n_agents=64.
    statistic
        Statistic to compare: mean, median or iqm (the mean of the middle half).
    """
    choice("statistic", statistic, STATISTICS)
    chosen = load_results(folder).select(lines or None, experiment=experiment, at=assignments("--at", at))
    if metric is not None:
        choice("metric", metric, chosen.metrics)
    shown = False
    for part in chosen.parts:
        of = metric or next(iter(part.experiment.metrics), "")
        if found := comparisons(part.configurations, of, statistic, most=None):
            print_pairs(part.experiment.name, found)
            shown = True
    if not shown:
        raise ValueError(f"{folder} has no point of a sweep at which two configurations have runs")
    return 0
