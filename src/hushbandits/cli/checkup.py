"""What a run folder holds, and whether it is whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hushbandits.bench.judge.stages import Stages, said
from hushbandits.bench.play.errors import DamagedError
from hushbandits.bench.play.opening import JOURNAL
from hushbandits.bench.play.schema import VERSION
from hushbandits.bench.play.store import FILE, Store
from hushbandits.core.ground.files import parts
from hushbandits.core.ground.strangers import printable

__all__ = ["checkup"]


def checkup(folder: Path) -> int:
    """Print what is in a folder, and compare every row with its checksum.

    Returns
    -------
    int
        0: whole; 1: damaged.

    Raises
    ------
    StoreError
        There is nothing that this version can read.
    """
    try:
        with Store(folder / FILE, readonly=True) as store:
            for line in _told(store, folder):
                print(printable(line))
    except DamagedError as error:
        print(f"hushbandits: {printable(error)}", file=sys.stderr)
        return 1
    return 0


def _told(store: Store, folder: Path) -> Iterator[str]:
    size = store.path.stat().st_size / 2**20
    yield f"{store.path}: seed {store.seed}, store version {VERSION}, {size:.1f} MiB"
    done = store.done()
    asked = Stages()(store)
    for experiment in store.experiments:
        runs = asked[experiment.name]
        keys = [cell.key for cell in experiment.cells()]
        wanted = runs * len(keys)
        present = sum(len({run for run in done[key] if run < runs}) for key in keys)
        missing = f", {wanted - present:,} missing" if present < wanted else ""
        yield f"{experiment.name}: {len(keys):,} cells, {present:,} of {wanted:,} runs{missing}"
        if text := said(store, experiment):
            yield f"{experiment.name}: {text}"
    labels = {cell.key: cell.label for experiment in store.experiments for cell in experiment.cells()}
    for key, first, runs, error in store.failures():
        last = (error.strip().splitlines() or ["?"])[-1]
        yield f"failed: {labels[key]}: runs {first}–{first + runs - 1}: {last}"
    for started, about in store.sessions():
        names = ("hushbandits", "numpy", "python", "sources", "machine", "jobs")
        yield f"session of {started}: " + ", ".join(f"{name} {about[name]}" for name in names if name in about)
    if os.path.lexists(f"{store.path}{JOURNAL}"):
        yield f"{FILE}{JOURNAL}: a writer is at work or was killed; what it had committed is here, its next one goes on"
    for part in parts(folder):
        yield f"{part.name}: part of a file whose writer was killed; it goes with the next report"
    rows = sum(count for _, count in store.verify())
    runs = sum(map(len, done.values()))
    yield f"whole: {rows:,} rows of {runs:,} runs match their checksums"
