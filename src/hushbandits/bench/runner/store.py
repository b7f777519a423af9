"""A results folder: the declaration, a Parquet file per finished batch, and JSON for failures and sessions."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import shipped
from hushbandits.bench.runner.errors import StoreError, unwritable
from hushbandits.bench.runner.files import digest_of, remove_leftovers, write_whole
from hushbandits.bench.runner.rows import Foreign, Rows, Runs, decoded, encoded
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.measure import Measure

__all__ = ["DECLARATION", "Measures", "Store"]

DECLARATION = "experiment.json"
_FORMAT = 1
#: Small batches wait for others until they have so many rows, or for so many seconds.
_ROWS, _SECONDS = 20_000, 0.5
#: Hex digits of a cell's key in names of files.
_KEY = 16
#: A batch's file: key, first and last run, digest.
_BATCH = re.compile(rf"([0-9a-f]{{{_KEY}}})-(\d+)-(\d+)-[0-9a-f]{{16}}\.parquet")


class Measures(dict[str, Measure]):
    """What metrics are, by name; a metric that nobody declared may be any number.

    Examples
    --------
    >>> Measures()["new_one"]
    Measure(label='new one', nature='measure')
    """

    def __missing__(self, name: str) -> Measure:
        return Measure.of(name)


@cache
def shipped_measures() -> Measures:
    """Return what the metrics are of what ships."""
    return Measures(shipped())


class Store:
    """A results folder.

    Every file is written whole, under a name that says what it is, and nothing in it depends on who wrote it: several
    processes may write to one folder, and folders of one declaration and seed are merged by copying their files.

    Parameters
    ----------
    path : path
        The folder.
    experiments : sequence of Experiment, optional
        What it holds; default: what its ``experiment.json`` says.
    seed : int
        Master seed, with `experiments`.

    Attributes
    ----------
    problems : list of str
        A sentence for each file that is damaged or foreign; such files are not read.

    Raises
    ------
    StoreError
        There are no results, or the folder holds another declaration or seed.
    """

    def __init__(self, path: Path | str, experiments: Sequence[Experiment] | None = None, seed: int = 0):
        self.path = Path(path)
        self.problems: list[str] = []
        there = self._declared()
        if experiments is None:
            if there is None:
                raise StoreError(f"there are no results in {self.path}: it has no {DECLARATION}")
            self.seed, self.experiments = there
        else:
            self.seed, self.experiments = seed, tuple(experiments)
            if there is not None and (other := _difference(there, (self.seed, self.experiments))):
                raise StoreError(f"{self.path} holds another run: {other}; choose another --out, or delete that folder")
        self._waiting: list[tuple[Cell, Runs, Mapping[str, Measure]]] = []
        self._rows_waiting, self._flushed = 0, 0.0
        #: Why cells are left out, by key: env, wrappers and agent cannot meet there.
        self.skipped: dict[str, str] = {}

    def _declared(self) -> tuple[int, tuple[Experiment, ...]] | None:
        file = self.path / DECLARATION
        try:
            told = _told(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise StoreError(f"{file} cannot be read ({error}): restore it, or choose another folder") from None
        try:
            if told["format"] != _FORMAT:
                raise ValueError(f"format {told['format']} is not {_FORMAT}")
            return int(told["seed"]), tuple(map(Experiment.from_dict, told["experiments"]))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{file} is no declaration of this version ({error}): choose another folder") from None

    def declares(self) -> bool:
        """Whether the folder's file holds this very declaration, titles, figures and claims included."""
        there = self._declared()
        asked = [e.to_dict() for e in self.experiments]
        return there is not None and canonical([e.to_dict() for e in there[1]]) == canonical(asked)

    # -- reading ------------------------------------------------------------------------------------------------------

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """All cells by key, in the order of the declaration."""
        return {cell.key: cell for experiment in self.experiments for cell in experiment.cells()}

    @cached_property
    def _read(self) -> tuple[Rows, dict[str, dict[str, Measure]], list[Path]]:
        """All rows, what the metrics of each cell are, and the files that they are from."""
        self.problems = []
        for _ in range(3):
            found = self._tables()
            if found is not None:
                break
        else:
            raise StoreError(f"files of {self.path} vanish while they are read: read it again when nobody writes there")
        measures: dict[str, dict[str, Measure]] = {}
        for _, table, told in found:
            known = Measures(told)
            for key in table["cell"].unique().to_pylist():
                measures.setdefault(key, known)
        return Rows([table for _, table, _ in found]), measures, [path for path, _, _ in found]

    def _tables(self) -> list[tuple[Path, Any, dict[str, Measure]]] | None:
        """Read every file of rows; ``None``: one went in between, because it was merged into another."""
        found = []
        for path in sorted((self.path / "rows").glob("*.parquet"), key=_longest_first):
            try:
                found.append((path, *decoded(path, self.seed)))
            except Foreign as error:
                self.problems.append(
                    f"{path} is damaged or foreign ({error}): delete it and run the same command again"
                )
            except FileNotFoundError:
                return None
            except OSError as error:
                self.problems.append(f"{path} cannot be read ({error.strerror or error})")
        return found

    def numbers(self, cell: Cell, runs: int | None = None) -> Array:
        """``(n,)`` numbers of the runs of a cell that are there, below `runs`."""
        found = self._read[0].numbers(cell.key)
        return found if runs is None else found[found < runs]

    @property
    def rows(self) -> Rows:
        """All rows."""
        return self._read[0]

    def runs(self, cell: Cell, runs: int) -> Runs:
        """Return the first `runs` runs of a cell, as far as they are there."""
        return self._read[0].runs(cell.key).first(runs)

    def measures(self, cell: Cell) -> Mapping[str, Measure]:
        """Return what the metrics of a cell are, as its files say; without rows: as what ships says."""
        found = self._read[1].get(cell.key)
        return shipped_measures() if found is None else found

    def reread(self) -> None:
        """Forget what was read, so that the next call reads the files again."""
        self.__dict__.pop("_read", None)

    def never(self) -> dict[str, str]:
        """Return why cells can never be played, by their keys, as the sessions noted it."""
        noted = [session.get("skipped") for session in self.sessions()]
        told = {k: str(why) for kept in noted if isinstance(kept, dict) for k, why in kept.items()}
        return told | self.skipped

    def failures(self) -> list[dict[str, Any]]:
        """Return cell, label, runs, seed and error of every batch that raised and was not played since."""
        return [told for told in self._json("failures") if told.get("cell") in self.cells]

    def sessions(self) -> list[dict[str, Any]]:
        """Return when and where rows were made, in order of time."""
        return self._json("sessions")

    def _json(self, folder: str) -> list[dict[str, Any]]:
        found = []
        for path in sorted((self.path / folder).glob("*.json")):
            try:
                found.append(_told(path))
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                self.problems.append(f"{path} cannot be read ({error}): delete it")
        return found

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self, versions: Mapping[str, str]) -> None:
        """Write the declaration, and remove what killed writers left."""
        told = {
            "format": _FORMAT,
            "seed": self.seed,
            "versions": dict(versions),
            "experiments": [e.to_dict() for e in self.experiments],
        }
        remove_leftovers(self._parts)
        self._write(Path(DECLARATION), _text(told))
        self._rows_folder()

    def _rows_folder(self) -> None:
        try:
            (self.path / "rows").mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(self.path, error) from None

    def note(self, started: str, about: Params) -> None:
        """Write where the rows to come are made."""
        told = {"started": started, **about}
        self._write(Path("sessions", f"{time.time_ns()}-{secrets.token_hex(4)}.json"), _text(told))

    def add(self, cell: Cell, runs: Runs, measures: Mapping[str, Measure]) -> None:
        """Take a batch of consecutive runs; it is written at once, or soon together with other small ones (`flush`)."""
        if any(waiting.get(name, m) != m for _, _, waiting in self._waiting for name, m in measures.items()):
            self.flush()  # a file says once what a metric is
        self._waiting.append((cell, runs, measures))
        self._rows_waiting += runs.rows
        if self._rows_waiting >= _ROWS or time.monotonic() - self._flushed > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits into one file; shorter batches within it, and its failures, go."""
        waiting, self._waiting, self._rows_waiting = self._waiting, [], 0
        self._flushed = time.monotonic()
        if not waiting:
            return
        known = {name: m for _, _, measures in waiting for name, m in measures.items()}
        content = encoded(((cell.key, cell.label, runs) for cell, runs, _ in waiting), self.seed, known)
        spans = [(cell.key[:_KEY], int(runs.numbers[0]), int(runs.numbers[-1])) for cell, runs, _ in waiting]
        stem = "-".join(map(str, spans[0])) if len(spans) == 1 else "several"
        new = Path("rows", f"{stem}-{digest_of(content)}.parquet")
        self._write(new, content)
        for key, first, last in spans:
            for name in self._batches.get(key, ()):
                match = _BATCH.fullmatch(name)
                if match and name != new.name and first <= int(match[2]) and int(match[3]) <= last:
                    (self.path / "rows" / name).unlink(missing_ok=True)
            (self.path / "failures" / f"{key}-{first}-{last}.json").unlink(missing_ok=True)

    @cached_property
    def _batches(self) -> dict[str, list[str]]:
        """Files of batches that were there when the first batch was added, by the beginning of their cell's key."""
        found: dict[str, list[str]] = {}
        for path in (self.path / "rows").glob("*.parquet"):
            if match := _BATCH.fullmatch(path.name):
                found.setdefault(match[1], []).append(path.name)
        return found

    def fail(self, cell: Cell, runs: Sequence[int], error: str) -> None:
        """Write that a batch raised."""
        told = {"cell": cell.key, "label": cell.label, "runs": [runs[0], runs[-1]], "seed": self.seed, "error": error}
        self._write(Path("failures", f"{cell.key[:_KEY]}-{runs[0]}-{runs[-1]}.json"), _text(told))

    def compact(self) -> None:
        """Merge the rows into one file per experiment; only files that were read and merged are deleted."""
        self.reread()
        rows, measures, files = self._read
        taken: set[str] = set()
        kept = set()
        for experiment in self.experiments:
            cells = [c for c in experiment.cells() if c.key in rows and c.key not in taken]
            taken |= {c.key for c in cells}
            if not cells:
                continue
            mine = {name: m for c in cells for name, m in measures[c.key].items()}
            content = encoded(((c.key, c.label, rows.runs(c.key)) for c in cells), self.seed, mine)
            path = Path("rows", f"{experiment.name}-{digest_of(content)}.parquet")
            kept.add(path.name)
            if not (self.path / path).exists():
                self._write(path, content)
        for path in files:
            if path.name not in kept:
                path.unlink(missing_ok=True)
        self.reread()

    @property
    def _parts(self) -> Path:
        return self.path / ".parts"

    def _write(self, name: Path, content: bytes) -> None:
        try:
            write_whole(self.path / name, content, self._parts)
        except OSError as error:
            raise unwritable(self.path, error) from None


def _longest_first(path: Path) -> tuple[int, str]:
    """Files of whole experiments first, then batches by length: of two that hold the same run the first is read."""
    match = _BATCH.fullmatch(path.name)
    return (int(match[2]) - int(match[3]) if match else -(2**62)), path.name


def _text(told: Params) -> bytes:
    """Return a table as JSON, with a digest of what it says."""
    return (json.dumps({**told, "digest": _stamp(told)}, indent=1, ensure_ascii=False) + "\n").encode()


def _told(path: Path) -> dict[str, Any]:
    """Read a file that `_text` wrote; ``ValueError`` where it says something else now."""
    told = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(told, dict) or told.pop("digest", "") != _stamp(told):
        raise ValueError("its content is not what was written")
    return told


def _stamp(told: Params) -> str:
    return digest_of(json.dumps(told, sort_keys=True).encode())


def _difference(there: tuple[int, Sequence[Experiment]], asked: tuple[int, Sequence[Experiment]]) -> str:
    """Say how the runs of two declarations differ; ``""``: they do not.

    Titles, labels, figures and claims may differ, and so may the number of runs where nothing is claimed: run r depends
    on r alone.
    """
    if there[0] != asked[0]:
        return f"it holds seed {there[0]}, asked for is {asked[0]}"
    names = [[e.name for e in experiments] for _, experiments in (there, asked)]
    if names[0] != names[1]:
        return f"it holds {', '.join(names[0])}; asked for is {', '.join(names[1])}"
    for mine, yours in zip(there[1], asked[1], strict=True):
        if mine.runs != yours.runs and (mine.claims or yours.claims):
            return f"{mine.name} has runs {mine.runs} there, {yours.runs} here, and makes claims"
        if [c.key for c in mine.cells()] == [c.key for c in yours.cells()]:
            continue
        old, new = mine.to_dict(), yours.to_dict()
        for key in ("luck", "paired", "env", "sweep", "wrappers", "checkpoints", "agents"):
            was, now = (canonical(table[key]) if key in table else "none" for table in (old, new))
            if was != now:
                short = max(len(was), len(now)) <= 160
                return f"{mine.name} has " + (f"{key} {was} there, {now} here" if short else f"other {key}")
    return ""
