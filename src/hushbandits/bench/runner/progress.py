"""A progress bar on stderr: runs done, time left, the cell at work."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Bar"]


class Bar:
    """Runs done, time left, and the cell at work; only on a terminal.

    Parameters
    ----------
    total : int
        Runs.
    after : float
        Seconds before it appears: quick calls stay quiet.
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

    def __init__(self, total: int, after: float = 0.0, unit: str = "runs", shown: bool = True):
        self._total, self._after, self._unit, self._shown = total, after, unit, shown
        self._done, self._what = 0, ""
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._timer: threading.Timer | None = None
        self._over = False

    def __enter__(self) -> Self:
        if self._shown and sys.stderr.isatty():
            if self._after > 0:
                self._timer = threading.Timer(self._after, self._show)
                self._timer.daemon = True
                self._timer.start()
            else:
                self._show()
        return self

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._over:
                return
            columns = (
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn(f"{self._unit} ·"),
                TimeRemainingColumn(elapsed_when_finished=True),
                TextColumn("left · [cyan]{task.description}"),
            )
            # A long cell may finish nothing for minutes: keep a long window for the speed.
            self._bar = Progress(*columns, console=Console(file=sys.stderr), transient=True, speed_estimate_period=1800)
            self._task = self._bar.add_task(self._what, total=self._total, completed=self._done)
            self._bar.start()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()

    def at(self, what: str) -> None:
        """Name the work."""
        with self._lock:
            self._what = what
            if self._bar is not None:
                from rich.markup import escape

                self._bar.update(self._task, description=escape(what))

    def advance(self, runs: int) -> None:
        """Count runs done."""
        with self._lock:
            self._done += runs
            if self._bar is not None:
                self._bar.advance(self._task, runs)

    def of(self, total: int) -> None:
        """Say of how many, where that was not known before."""
        with self._lock:
            self._total = total
            if self._bar is not None:
                self._bar.update(self._task, total=total)
