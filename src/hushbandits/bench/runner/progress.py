"""A progress bar on stderr: finished runs, time left, current cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from hushbandits.core.utils import extra

__all__ = ["Bar", "progress_bar"]

#: Updates a progress bar: ``bar(description=…)`` sets the current cell, ``bar(advance=…)`` adds finished runs.
Bar = Callable[..., None]


@contextmanager
def progress_bar(total: int, shown: bool = True) -> Iterator[Bar]:
    """Show a progress bar during the block, if stderr is a terminal: finished runs, time left, current cell.

    Parameters
    ----------
    total : int
        Number of runs.
    shown : bool
        Whether to show the bar.

    Examples
    --------
    >>> with progress_bar(2) as bar:
    ...     bar(description="UCB1, N = 4")
    ...     bar(advance=2)
    """
    with extra("bench"):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = BarColumn(24), MofNCompleteColumn(), TextColumn("runs ·"), TimeRemainingColumn()
    what = TextColumn("left · {task.description}", markup=False)
    # A long cell may finish nothing for minutes: average the speed over a long window.
    how = {"console": Console(stderr=True), "transient": True, "speed_estimate_period": 1800}
    with Progress(*columns, what, disable=not (shown and sys.stderr.isatty()), **how) as bar:  # type: ignore[arg-type]
        yield partial(bar.update, bar.add_task("", total=total))
