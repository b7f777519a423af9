"""Division of the runs of experiments into batches, and the batches with missing runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hushbandits.bench.runner.batch import Batch
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.core import shown

__all__ = ["Shard", "batches", "missing", "parse_shard"]

#: Runs of a batch: many enough to amortise a NumPy call, few enough to fit the caches.
BATCH = 25
#: Runs of a batch if an experiment has few cells, so that all cores have work.
SMALL, FEW_CELLS = 10, 10

#: Number of a shard, from 1, and number of shards.
Shard = tuple[int, int]


def parse_shard(text: str) -> Shard:
    """Return ``(i, n)`` for the text ``"i/n"``, shard i of n.

    Raises
    ------
    ValueError
        The text is not a shard.

    Examples
    --------
    >>> parse_shard("2/5")
    (2, 5)
    """
    match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
    if match and 1 <= int(match[1]) <= int(match[2]) <= 1_000_000:
        return int(match[1]), int(match[2])
    raise ValueError(f"shard={shown(text)} must read i/n with 1 ≤ i ≤ n ≤ 1,000,000, such as 2/5")


def batches(experiments: Sequence[Experiment], shard: Shard = (1, 1)) -> list[tuple[Cell, range]]:
    """Return the batches of `experiments` that belong to `shard`, each as a cell and its run numbers.

    The runs of a cell are cut at multiples of one number.  If more runs are requested later, they extend the last batch
    and add further ones.

    Examples
    --------
    >>> from hushbandits.bench.spec.experiment import Component
    >>> one = Experiment(name="one", title="One", env=Component("CoopNetwork-v0"), agents=[Component("UCB1")], runs=23)
    >>> [runs for _, runs in batches([one])], [runs for _, runs in batches([one], (2, 2))]
    ([range(0, 10), range(10, 20), range(20, 23)], [range(10, 20)])
    """
    asked: dict[str, tuple[Cell, int, int]] = {}
    for experiment in experiments:
        cells = experiment.cells()
        size = BATCH if len(cells) >= FEW_CELLS else SMALL
        for cell in cells:
            known = asked.get(cell.key, (cell, 0, size))
            asked[cell.key] = known[0], max(known[1], experiment.runs), min(known[2], size)
    i, n = shard
    every = [
        (cell, range(first, min(first + size, runs)))
        for cell, runs, size in asked.values()
        for first in range(0, runs, size)
    ]
    return every[i - 1 :: n]


def missing(store: Store, shard: Shard = (1, 1)) -> list[Batch]:
    """Return the batches of `shard` with a missing run, in the order of the declaration."""
    done = {key: set(store.rows.numbers(key).tolist()) for key in store.cells}
    return [
        Batch.of(cell, store.seed, runs)
        for cell, runs in batches(store.experiments, shard)
        if cell.key not in store.skipped and not done[cell.key].issuperset(runs)
    ]
