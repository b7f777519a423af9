"""An archive: the rows behind a paper's verdicts in one Parquet file, with a digest of each metric of each cell."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from hushbandits.bench.runner.batch import missing
from hushbandits.bench.runner.errors import StoreError
from hushbandits.bench.runner.rows import Rows, Runs, digest_of, parsed
from hushbandits.bench.runner.store import Measures, Store
from hushbandits.bench.spec.experiment import Experiment
from hushbandits.core import Params, shown
from hushbandits.core.utils.files import ROOT

_SUMS = "SHA256SUMS"


def header(paper: str, seed: int, quick: bool) -> Params:
    """Return the metadata that an archive must have: format, paper, seed and scale."""
    return {"format": 1, "paper": paper, "seed": seed, "scale": "quick" if quick else "full"}


def digests(runs: Runs) -> dict[str, str]:
    """Return a digest for each metric of a cell, computed from run numbers, times and values."""
    found: dict[str, str] = {}
    for name, *columns in runs.long():  # a curve follows the values at the end
        found[name] = digest_of(b"".join([found.get(name, "").encode(), *(each.tobytes() for each in columns)]))
    return found


def read_archive(path: Path, paper: str, experiments: Sequence[Experiment], seed: int, quick: bool) -> Store:
    """Return a `Store` with the rows in a paper's file, after comparing the rows with the digests.

    The SHA-256 of the file must be the one that the package lists.  The package lists the files of the released
    archive, which has full runs with seed 0.  For other files, the ``SHA256SUMS`` beside the file counts.

    Parameters
    ----------
    path : Path
        The file, or the folder with ``PAPER.parquet``.
    paper : str
        Name of the paper's module.
    experiments : sequence of Experiment
        Experiments of the paper; the file must have all of their runs.
    seed : int
        Master seed of the runs.
    quick : bool
        Whether the runs are those of ``--quick``.

    Raises
    ------
    StoreError
        The file is damaged or altered, lacks runs, or has another format, paper, seed or scale.
    """
    name = f"{paper}.parquet"
    path = path / name if path.is_dir() else path
    try:
        content, released = path.read_bytes(), "" if quick or seed else (ROOT / "data" / _SUMS).read_text()
        listed = released if name in released else path.with_name(_SUMS).read_text()
        table, measures, stated = parsed(content)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} cannot be read as an archive ({error})") from None
    for key, asked in header(paper, seed, quick).items():
        if stated.get(key) != asked:
            raise StoreError(f"{path} has {key}={shown(stated.get(key))}, not {shown(asked)}")
    store = Store(path, experiments, seed)
    store.contents = Rows([table]), dict.fromkeys(store.cells, Measures(measures)), [path]
    for batch in missing(store):
        raise StoreError(f"{path} lacks runs of {store.cells[batch.key].label} (cell {batch.key[:16]})")
    for key, cell in store.cells.items():
        found, archived = digests(store.rows.runs(key)), stated["digests"].get(key, {})
        for metric in {**archived, **found}:
            if found.get(metric) != archived.get(metric):
                raise StoreError(f"{path}: values of {metric} of {cell.label} (cell {key[:16]}) were altered")
    if f"{hashlib.sha256(content).hexdigest()}  {name}" not in listed.splitlines():
        raise StoreError(f"{path} is not the file listed in {_SUMS}: its SHA-256 differs")
    return store
