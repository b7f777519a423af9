"""Archive of rows: one Parquet file per paper with the rows behind docs/reproduction.md, and their ``SHA256SUMS``.

Run: ``python -m benchmarks archive OUT [PAPER ...]`` (seconds), after ``hushbandits reproduce`` has played the runs.  A
file has all values at the end of runs, and the curves that claims are about.  The digests of the released files, with
seed 0, are in ``src/hushbandits/data/SHA256SUMS``.
"""

import argparse
import hashlib
from collections import defaultdict
from pathlib import Path

import numpy as np

from hushbandits.bench.reproduce import claiming, papers
from hushbandits.bench.runner.archive import digests, header
from hushbandits.bench.runner.batch import missing
from hushbandits.bench.runner.errors import StoreError
from hushbandits.bench.runner.files import replacing
from hushbandits.bench.runner.rows import Runs, encoded
from hushbandits.bench.runner.store import Store

VERSIONS = ("hushbandits", "sources", "python", "numpy", "scipy", "numba", "networkx")


def stores(paper, runs, seed, quick):
    """Yield each experiment of a paper with its run folder, which must be complete."""
    for experiment, folder in claiming(paper, runs, quick):
        store = Store(folder, [experiment], seed)
        for batch in missing(store):
            label = store.cells[batch.key].label
            raise StoreError(f"{folder} lacks runs of {label}: play them with hushbandits reproduce {paper}")
        yield experiment, store


def agree(some, others):
    """Return whether two `Runs` of a cell have the same values in their common runs."""
    n = min(len(some.numbers), len(others.numbers))
    return some.finals.keys() == others.finals.keys() and all(
        np.array_equal(values[:n], others.finals[name][:n], equal_nan=True) for name, values in some.finals.items()
    )


def archived(paper, runs, seed=0, quick=False):
    """Return the content of a paper's file, from the run folders in `runs`."""
    cells, timed, measures, versions = {}, defaultdict(set), {}, defaultdict(set)
    for experiment, store in stores(paper, runs, seed, quick):
        for cell in experiment.cells():
            mine = store.rows.runs(cell.key, experiment.runs)
            label, most = cells.get(cell.key, (f"{experiment.name}: {cell.label}", mine))
            if not agree(mine, most):
                raise StoreError(f"{store.path} has other values of {cell.label} than the folder of {label}")
            cells[cell.key] = label, max(mine, most, key=lambda some: len(some.numbers))
            timed[cell.key] |= {c.effect.metric for c in experiment.claims if c.effect.time is not None}
            for name in mine.finals.keys() | timed[cell.key]:
                metric = store.metrics_spec(cell)[name]
                if measures.setdefault(name, metric) != metric:
                    raise StoreError(f"{store.path} has another {name} than the folders before it: {metric}")
        for session in store.sessions():
            for name in VERSIONS:
                versions[name].add(session[name])
    kept = [
        (key, label, Runs(some.numbers, some.finals, {name: some.curves[name] for name in sorted(timed[key])}))
        for key, (label, some) in cells.items()
    ]
    marks = {key: digests(some) for key, _, some in kept}
    played = {name: sorted(found) for name, found in versions.items()}
    return encoded(kept, measures=measures, **header(paper, seed, quick), versions=played, digests=marks)


def main(*words):
    """Write the files of the named papers; default: all."""
    made = argparse.ArgumentParser("python -m benchmarks archive", description=__doc__.partition("\n")[0])
    made.add_argument("out", type=Path, help="folder of the archive; digests of other papers stay")
    made.add_argument("papers", nargs="*", metavar="PAPER", help="such as rio2023 (all)")
    made.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the run folders (runs)")
    made.add_argument("--seed", type=int, default=0, help="master seed of the runs (0)")
    made.add_argument("--quick", action="store_true", help="archive the runs of reproduce --quick")
    asked = made.parse_args(words)
    asked.out.mkdir(parents=True, exist_ok=True)
    sums = asked.out / "SHA256SUMS"
    listed = dict(line.split()[::-1] for line in sums.read_text().splitlines()) if sums.exists() else {}
    for paper in papers(asked.papers):
        try:
            content, path = archived(paper, asked.runs, asked.seed, asked.quick), asked.out / f"{paper}.parquet"
        except StoreError as error:
            made.exit(2, f"{error}\n")
        with replacing(path, binary=True) as file:
            file.write(content)
        listed[path.name] = hashlib.sha256(content).hexdigest()
        with replacing(sums) as file:
            file.writelines(f"{digest}  {name}\n" for name, digest in sorted(listed.items()))
        print(f"{path}: {len(content) / 1e6:.2f} MB", flush=True)
