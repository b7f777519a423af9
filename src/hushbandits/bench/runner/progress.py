"""A progress bar on stderr: runs done, time left, the cell at work."""

from __future__ import annotations

import sys
from typing import Self

from hushbandits.core.utils import extra

__all__ = ["Bar"]


class Bar:
    """Runs done, time left, and the cell at work; only on a terminal.

    Parameters
    ----------
    total : int
        Runs.
    unit : str
        What is counted.
    shown : bool
        Whether it may appear at all.

    Examples
    --------
    >>> with Bar(2) as bar:
    ...     bar.at("UCB1, N = 4")
    ...     bar.advance(2)
    """

    def __init__(self, total: int, unit: str = "runs", shown: bool = True):
        with extra("bench"):
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = BarColumn(24), MofNCompleteColumn(), TextColumn(f"{unit} ·"), TimeRemainingColumn()
        what = TextColumn("left · {task.description}", markup=False)
        # A long cell may finish nothing for minutes: keep a long window for the speed.
        how = {"console": Console(stderr=True), "transient": True, "speed_estimate_period": 1800}
        self._bar = Progress(*columns, what, disable=not (shown and sys.stderr.isatty()), **how)  # type: ignore[arg-type]
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def at(self, what: str) -> None:
        """Name the work."""
        self._bar.update(self._task, description=what)

    def advance(self, runs: int) -> None:
        """Count runs done."""
        self._bar.advance(self._task, runs)
