"""What is left to do: tasks in the order of the declaration, and chunks of them that are worth a journey."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence

from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.play.batch import BATCH, split
from hushbandits.bench.play.store import Store
from hushbandits.bench.play.task import Task
from hushbandits.core.ground.validate import shown

__all__ = ["CHUNK", "Queue", "Shard", "declared", "missing", "parse_shard", "part", "wanted"]

#: Seconds of work that a chunk should hold.
CHUNK = 15.0

#: Which of how many parts, from 1.
Shard = tuple[int, int]


def parse_shard(text: str) -> Shard:
    """Read ``"2/5"``, the second of five parts.

    Raises
    ------
    ValueError
        The text is no shard.

    Examples
    --------
    >>> parse_shard("2/5")
    (2, 5)
    """
    left, slash, right = text.partition("/")
    if slash and left.isascii() and left.isdigit() and right.isascii() and right.isdigit():
        i, n = int(left[:10]), int(right[:10])
        if 1 <= i <= n <= 1_000_000:
            return i, n
    raise ValueError(f"shard={shown(text)} must read i/n with 1 ≤ i ≤ n ≤ 1,000,000, such as 2/5")


def part(runs: int, cell: int, shard: Shard) -> range:
    """Return the runs of the cell numbered `cell` that a shard plays: consecutive ones, as many as its fellows'.

    Which shard gets the remainder turns with the cell, so cells of one run spread over all shards.

    Examples
    --------
    >>> [list(part(5, 0, (i, 2))) for i in (1, 2)], [list(part(5, 1, (i, 2))) for i in (1, 2)]
    ([[0, 1], [2, 3, 4]], [[2, 3, 4], [0, 1]])
    """
    i, n = shard
    k = (i - 1 + cell) % n
    return range(runs * k // n, runs * (k + 1) // n)


def declared(store: Store) -> dict[str, int]:
    """Return the runs that each experiment declares, by its name."""
    return {e.name: e.runs for e in store.experiments}


def wanted(
    store: Store, shard: Shard = (1, 1), asked: Mapping[str, int] | None = None
) -> dict[str, tuple[Cell, range]]:
    """Return all cells that are not skipped, in the order of the declaration, and their runs that the shard is to play.

    By key.  `asked`: how many runs of each experiment, by its name; default: `declared`.
    """
    asked = declared(store) if asked is None else asked
    cells: dict[str, tuple[Cell, int]] = {}
    for experiment in store.experiments:
        for cell in experiment.cells():
            known = cells.get(cell.key, (cell, 0))
            cells[cell.key] = known[0], max(known[1], asked[experiment.name])
    numbered = enumerate(cells.items())
    return {key: (cell, part(runs, i, shard)) for i, (key, (cell, runs)) in numbered if key not in store.skipped}


def missing(
    store: Store,
    jobs: int,
    batch: int = BATCH,
    shard: Shard = (1, 1),
    asked: Mapping[str, int] | None = None,
    but: Container[tuple[str, int]] = (),
) -> list[Task]:
    """Return the tasks that are left, in the order of the declaration, without the runs (key, number) in `but`."""
    done = store.done()
    left = [
        (cell, [r for r in runs if r not in done[key] and (key, r) not in but])
        for key, (cell, runs) in wanted(store, shard, asked).items()
    ]
    left = [(cell, runs) for cell, runs in left if runs]
    total = sum(len(runs) for _, runs in left)
    # Runs of one batch share NumPy's overhead, so cells stay whole while there are enough of them for all jobs.
    share = jobs if total <= 2 * jobs * batch else 1
    return [
        Task.of(cell, store.seed, runs)
        for cell, numbers in left
        for piece in _consecutive(numbers)
        for runs in split(piece, share, batch)
    ]


def _consecutive(runs: Sequence[int]) -> list[list[int]]:
    groups = itertools.groupby(enumerate(runs), lambda pair: pair[1] - pair[0])
    return [[run for _, run in group] for _, group in groups]


class Queue:
    """Tasks that are left, handed out in chunks that grow to `CHUNK` seconds, by what tasks turn out to take.

    The last ones are small again, so that all workers end together.

    Parameters
    ----------
    tasks : iterable of Task
    width : int
        Chunks that are played at once.
    dear : bool
        Chunks cost much before they begin: few of them, and no small ones at first.

    Examples
    --------
    >>> queue = Queue(range(100), width=2)
    >>> first = queue.take()
    >>> queue.took(1, seconds=0.001)
    >>> first, queue.take(), len(queue)
    ([0], [1, 2], 97)
    """

    def __init__(self, tasks: Iterable[Task], width: int, dear: bool = False):
        self._left, self._shares = deque(tasks), width if dear else 2 * width
        self._size = -(-len(self._left) // (2 * width)) if dear else 1

    def __len__(self) -> int:
        return len(self._left)

    def take(self) -> list[Task]:
        """Return the next chunk."""
        size = min(self._size, -(-len(self._left) // self._shares))
        return [self._left.popleft() for _ in range(size)]

    def back(self, tasks: Sequence[Task]) -> None:
        """Take back tasks that nobody has played."""
        self._left.extendleft(reversed(tasks))

    def took(self, tasks: int, seconds: float) -> None:
        """Learn how long so many tasks of one chunk took."""
        fitting = int(CHUNK * tasks / max(seconds, 1e-9))
        self._size = max(1, min(fitting, max(2 * tasks, self._size)))
