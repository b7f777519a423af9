"""A progress bar on stderr: finished runs, time left, current cell."""

from __future__ import annotations

import sys
from typing import Self

from hushbandits.core.utils import extra

__all__ = ["Bar"]


class Bar:
    """Progress bar with finished runs, time left and current cell; only on a terminal.

    Parameters
    ----------
    total : int
        Number of runs.
    shown : bool
        Whether to show the bar.

    Examples
    --------
    >>> with Bar(2) as bar:
    ...     bar.at("UCB1, N = 4")
    ...     bar.advance(2)
    """

    def __init__(self, total: int, shown: bool = True):
        with extra("bench"):
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = BarColumn(24), MofNCompleteColumn(), TextColumn("runs ·"), TimeRemainingColumn()
        what = TextColumn("left · {task.description}", markup=False)
        # A long cell may finish nothing for minutes: average the speed over a long window.
        how = {"console": Console(stderr=True), "transient": True, "speed_estimate_period": 1800}
        self._bar = Progress(*columns, what, disable=not (shown and sys.stderr.isatty()), **how)  # type: ignore[arg-type]
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def at(self, what: str) -> None:
        """Set the current cell."""
        self._bar.update(self._task, description=what)

    def advance(self, runs: int) -> None:
        """Advance the bar by finished runs."""
        self._bar.advance(self._task, runs)
