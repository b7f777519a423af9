"""``hushbandits compare FOLDER``: its lines against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, UseAppendAction, arg

from hushbandits.cli.console import assignments, bad_input_is_a_sentence, escape, make_console

__all__ = ["compare"]


def compare(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    metric: str | None = None,
    lines: Annotated[tuple[str, ...], arg(metavar="LABEL")] = (),
    experiment: Annotated[str | None, arg(metavar="NAME")] = None,
    at: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="KEY=VALUE")] = (),
    statistic: Annotated[str, arg(metavar="mean|median|iqm")] = "mean",
) -> int:
    """Compare the lines of a run folder: every pair A − B, at each point of a sweep.

    Runs of one seed faced the same arms, graphs and rewards, and are compared run by run. A row has the difference
    with its 95 % interval, the probability that a run of A exceeds one of B, and a p-value, alone and adjusted for all
    pairs of the table (Holm). The last lines say which sign speaks for whom. Examples:

      hushbandits compare runs/quickstart
      hushbandits compare runs/quickstart --experiment quickstart-network --lines Multi-UCB UCB1
      hushbandits compare runs/rio2023-fig1 --metric messages --at env.n_agents=64 --statistic median

    Parameters
    ----------
    folder
        Such as runs/quickstart.
    metric
        By default the first that an experiment shows.
    lines
        Only these, by their labels in the table.
    experiment
        Only this one.
    at
        Only this point of a sweep, such as env.n_agents=64 (repeatable).
    statistic
        mean, median or iqm (the mean of the middle half).
    """
    from hushbandits.bench.judge.line import lines as lines_of
    from hushbandits.bench.judge.pairs import comparisons
    from hushbandits.bench.judge.stats import STATISTICS
    from hushbandits.bench.opened import open_run
    from hushbandits.bench.play.store import FILE, Store
    from hushbandits.bench.show.compared import heads, notes, rows
    from hushbandits.bench.show.terminal import print_table
    from hushbandits.core.ground.validate import choice

    console = make_console()
    with bad_input_is_a_sentence():
        choice("statistic", statistic, STATISTICS)
        part = open_run(folder).select(lines or None, experiment=experiment, at=assignments("--at", at))
        known = part.metrics
        if metric is not None and metric not in known:
            from hushbandits.core.ground.validate import nearest

            raise ValueError(f"no metric is named {metric!r}{nearest(metric, known)}")
        shown = 0
        with Store(folder / FILE, readonly=True) as store:
            for one in part.parts:
                shows = metric or next(iter(one.experiment.metrics), "")
                played = lines_of(store, one.experiment, one.cells)
                found = comparisons(played, shows, statistic, most=None)
                for compared in found:
                    where = f", {compared.where}" if compared.where else ""
                    title = f"{one.experiment.name}{where}: {compared.metric}"
                    print_table(console, title, heads(compared.level), rows(compared), named=2, left=(0, 1))
                    shown += 1
                for note in notes(found) if found else ():
                    console.print(escape(note))
        if not shown:
            raise ValueError(f"{folder} has no two lines with runs to compare at one point")
    return 0
