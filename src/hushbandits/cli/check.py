"""``hushbandits check FOLDER``: summarise a results folder and verify its files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.report.terminal import printable
from hushbandits.bench.runner.again import play_again
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.run import this_machine
from hushbandits.bench.runner.store import Store
from hushbandits.cli.console import Played, Workers, note
from hushbandits.core import Params


def check(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    replay: Annotated[str | None, arg(metavar="1/N")] = None,
    workers: Played = Workers(),  # noqa: B008 - frozen
) -> int:
    """Summarise a results folder, and verify that every file is intact.

    The digest in the name of each file of rows is verified. Without --replay, nothing is run or imported; nothing is
    ever written. The exit code is 0 if all files are intact, even if runs are missing. The exit code is 1 if a file is
    damaged, if a value differs from its replay, or if a batch cannot be replayed. To repair a folder, delete damaged
    files and repeat the command that made the folder. Examples:

      hushbandits check runs/quickstart
      hushbandits check received --replay 1/8
      for folder in runs/*; do hushbandits check $folder || echo $folder; done

    Parameters
    ----------
    folder
        A results folder, such as runs/quickstart.
    replay
        Play a random share of the batches again, such as 1/8, and compare every value bit for bit. This imports and
        runs the modules that the folder names. On another platform or with other versions, last digits may differ.
    """
    store = Store(folder)
    for line in _said(store):
        print(printable(line))
    problems = list(store.problems)
    if replay is not None:
        here = this_machine()
        print(f"here: {_named(here)}")
        if other := {name for about in store.sessions() for name in here if about.get(name) != here[name]}:
            print(f"not as in every session: {', '.join(sorted(other))}; so last digits may differ")
        again = play_again(store, replay, RunOptions(**vars(workers)))
        print(f"played again: {again.batches:,} batches, {again.runs:,} runs, {again.values:,} values")
        problems += again.problems
    for problem in problems:
        note(problem)
    return 1 if problems else 0


def _said(store: Store) -> Iterator[str]:
    files = list((store.path / "rows").glob("*.parquet"))
    size = sum(path.stat().st_size for path in files) / 2**20
    yield f"{store.path}: seed {store.seed}, {len(files):,} files of rows, {size:.1f} MiB"
    for experiment in store.experiments:
        cells = experiment.cells()
        wanted = experiment.runs * len(cells)
        present = sum(len(store.rows.numbers(cell.key, experiment.runs)) for cell in cells)
        missing = f", {wanted - present:,} missing" if present < wanted else ""
        yield f"{experiment.name}: {len(cells):,} cells, {present:,} of {wanted:,} runs{missing}"
    for stated in store.failures():
        last = (str(stated["error"]).strip().splitlines() or ["?"])[-1]
        yield f"failed: {stated['label']}: runs {stated['runs'][0]}–{stated['runs'][1]}: {last}"
    for about in store.sessions():
        yield f"session of {about.get('started')}: {_named(about)}"


def _named(about: Params) -> str:
    """Return versions and machine of a session as text."""
    names = ("hushbandits", "numpy", "python", "sources", "machine", "jobs")
    return ", ".join(f"{name} {about[name]}" for name in names if name in about)
