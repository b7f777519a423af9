"""The progress bar of runs, which also moves inside a batch: the process that plays the batch notes its progress."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hushbandits.bench.runner.batch import Batch, Watch

#: Seconds between two notes of a process.
_EVERY = 0.2
#: Expected clock at the end of a run, by the key of its cell.
LENGTHS: dict[str, float] = {}
#: Expected CPU seconds of a run, by the key of its cell.
SECONDS: dict[str, float] = {}


class Bar:
    """Counts finished runs, and the finished shares of batches that are being played.

    Parameters
    ----------
    update : callable
        Shows what has changed: ``update(description=…)`` or ``update(completed=…)``.
    folder : Path, optional
        Where processes note their progress, a file per batch; without it, only whole batches count.
    """

    def __init__(self, update: Callable[..., object], folder: Path | None = None):
        self._update, self._folder = update, folder
        self._done = 0
        self._played: dict[Path, tuple[Batch, float]] = {}  # with the share that is played

    def __call__(self, advance: int = 0, description: str | None = None) -> None:
        """Add finished runs, or name what is being played."""
        if description is not None:
            self._update(description=description)
        self._done += advance
        self.look()

    def begin(self, batch: Batch) -> Path | None:
        """Name the batch that is played next; return the file in which its progress is noted, if anybody looks."""
        self(description=batch.label)
        if self._folder is None:
            return None
        file = self._folder / str(id(batch))
        self._played[file] = batch, 0.0
        return file

    def end(self, batch: Batch) -> None:
        """Count the runs of a batch that has been played."""
        if self._folder is not None:
            self._played.pop(self._folder / str(id(batch)), None)
        self(advance=len(batch.runs))

    def look(self) -> None:
        """Show the progress that is noted."""
        for file, (batch, _) in list(self._played.items()):
            with contextlib.suppress(OSError, ValueError):  # nothing is noted, or just being noted
                progress = float(file.read_text())
                length = 1.0 if progress >= 0 else -LENGTHS.get(batch.key, math.inf)
                self._played[file] = batch, min(1.0, progress / length)
        self._update(completed=self._done + sum(len(b.runs) * share for b, share in list(self._played.values())))


def noting(file: Path | None) -> Watch | None:
    """Return a function that notes the progress of a batch in `file`, unless it has just done so."""
    if file is None or not file.parent.exists():  # on another machine
        return None
    last = -math.inf

    def watch(progress: float) -> None:
        nonlocal last
        if time.monotonic() > last + _EVERY:
            file.write_text(str(progress))
            last = time.monotonic()

    return watch


@contextlib.contextmanager
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
    if not (shown and sys.stderr.isatty()):
        yield Bar(lambda **_: None)
        return
    from rich.console import Console, RenderableType
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    class Watching(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            if self.tasks:
                bar.look()  # whenever it is drawn anew
            yield from super().get_renderables()

    columns = BarColumn(24), TextColumn("{task.completed:.1f}/{task.total} runs ·"), TimeRemainingColumn()
    what = TextColumn("left · {task.description}", markup=False)
    # A long cell may finish nothing for minutes: average the speed over a long window.
    how = {"console": Console(stderr=True), "transient": True, "speed_estimate_period": 1800}
    with TemporaryDirectory() as folder, Watching(*columns, what, **how) as live:  # type: ignore[arg-type]
        bar = Bar(lambda **change: live.update(live.task_ids[0], **change), Path(folder))
        live.add_task("", total=total)
        yield bar
