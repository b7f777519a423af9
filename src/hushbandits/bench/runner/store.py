"""A results folder: the declaration, Parquet files of rows, and JSON files of failures and sessions."""

import json
import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from hushbandits.bench.runner.errors import StoreError, unwritable
from hushbandits.bench.runner.files import replacing
from hushbandits.bench.runner.rows import Cells, Rows, Runs, decoded, digest_of, encoded
from hushbandits.bench.spec.experiment import Cell, Experiment
from hushbandits.bench.spec.vocabulary import shipped
from hushbandits.core import Metric, Params, shown
from hushbandits.core.random.seed_text import canonical, plain

DECLARATION = "experiment.json"
_FORMAT = 1
#: Seconds that small batches wait for others.
_SECONDS = 0.5


class Measures(dict[str, Metric]):
    """Specifications of metrics by name; undeclared metrics have the built-in specification, or the default one.

    Examples
    --------
    >>> Measures()["new_one"]
    Metric(label='new one', nature='measure')
    """

    def __missing__(self, name: str) -> Metric:
        return shipped().get(name) or Metric.of(name)


class Store:
    """Results folder, with its declaration, rows, failures and sessions.

    Every file is written atomically under a name that describes it, and its content does not depend on the writer.
    Several processes may write to one folder; to merge folders of one declaration and seed, copy their files.

    Parameters
    ----------
    path : path
        The folder.
    experiments : sequence of Experiment, optional
        Experiments of the folder; default: those of its ``experiment.json``.
    seed : int
        Master seed, used with `experiments`.

    Attributes
    ----------
    declared : bool
        Whether its declaration equals `experiments`, including titles, figures and claims.
    problems : list of str
        A sentence for each file that is damaged or foreign; these files are ignored.

    Raises
    ------
    StoreError
        The folder has no results, or has another declaration or seed.
    """

    def __init__(self, path: Path | str, experiments: Sequence[Experiment] | None = None, seed: int = 0):
        if not isinstance(path, str | Path):
            raise TypeError(f"{shown(path)} must be the path of a results folder, such as 'runs/mine'")
        self.path = Path(path)
        self.problems: list[str] = []
        there = self._stated()
        asked = there if experiments is None else (seed, tuple(experiments))
        if asked is None:
            raise StoreError(f"there are no results in {self.path}, because {DECLARATION} is missing")
        self.seed, self.experiments = asked
        if there is not None and (other := _difference(there, asked)):
            raise StoreError(f"{self.path} has other results: {other}; choose another --out, or delete that folder")
        self.declared = there is not None and canonical(there[1]) == canonical(self.experiments)
        self._waiting: list[tuple[Cell, Runs]] = []
        self._measures: dict[str, Metric] = {}
        self._flushed = 0.0
        #: Reasons why cells are skipped, by key: env, wrappers and agent are incompatible.
        self.skipped: dict[str, str] = {}

    def _stated(self) -> tuple[int, tuple[Experiment, ...]] | None:
        file = self.path / DECLARATION
        try:
            stated = _read_json(file)
            if stated["format"] != _FORMAT:
                raise ValueError(f"format {stated['format']} cannot be read: this version reads format {_FORMAT}")
            return int(stated["seed"]), tuple(map(Experiment.from_dict, stated["experiments"]))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{file} cannot be read as a declaration ({error}): choose another folder") from None

    # -- reading ------------------------------------------------------------------------------------------------------

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """Return all cells by key, in the order of the declaration."""
        return {cell.key: cell for experiment in self.experiments for cell in experiment.cells()}

    @cached_property
    def contents(self) -> tuple[Rows, dict[str, Measures], list[Path]]:
        """Return all rows, the metric specifications of each cell, and the files that were read."""
        tables, measures, files = [], dict[str, Measures](), []
        self.problems = []
        for path in sorted((self.path / "rows").glob("*.parquet")):
            try:
                table, stated = decoded(path, self.seed)
            except ValueError as error:
                self.problems.append(f"{path} is damaged or foreign ({error}): delete it and run the command again")
            except FileNotFoundError:  # merged into another file meanwhile: start again
                return self.contents
            except OSError as error:
                self.problems.append(f"{path} cannot be read ({error.strerror or error})")
            else:
                tables.append(table)
                files.append(path)
                measures |= dict.fromkeys(table["cell"].unique().to_pylist(), Measures(stated))
        return Rows(tables), measures, files

    @property
    def rows(self) -> Rows:
        """Return all rows."""
        return self.contents[0]

    def metrics_spec(self, cell: Cell) -> Mapping[str, Metric]:
        """Return the metric specifications of a cell from the row files; without rows, the built-in specifications."""
        return self.contents[1].get(cell.key) or Measures()

    def reread(self) -> None:
        """Clear the cache, so that the next call reads the files again."""
        self.__dict__.pop("contents", None)

    def failures(self) -> list[Params]:
        """Return cell, label, runs, seed and error of every failed batch that has not been played since."""
        return [stated for stated in self._json("failures") if stated["cell"] in self.cells]

    def sessions(self) -> list[Params]:
        """Return the recorded sessions, with time and machine, in order of time."""
        return list(self._json("sessions"))

    def _json(self, folder: str) -> Iterator[Params]:
        for path in sorted((self.path / folder).glob("*.json")):
            try:
                yield _read_json(path)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                self.problems.append(f"{path} cannot be read ({error}): delete it")

    # -- writing ------------------------------------------------------------------------------------------------------

    def begin(self, versions: dict[str, str]) -> None:
        """Write the declaration."""
        stated = {"format": _FORMAT, "seed": self.seed, "versions": versions, "experiments": plain(self.experiments)}
        self._write(Path(DECLARATION), _text(stated))
        (self.path / "rows").mkdir(exist_ok=True)

    def note(self, started: str, about: Params) -> None:
        """Write the session file, which records the machine and versions of the rows that follow."""
        name = f"{time.time_ns()}-{secrets.token_hex(4)}.json"
        self._write(Path("sessions", name), _text({"started": started, **about}))

    def add(self, cell: Cell, runs: Runs, measures: Mapping[str, Metric]) -> None:
        """Add a batch of consecutive runs, which is written at once or together with later batches."""
        if any(self._measures.get(name, m) != m for name, m in measures.items()):
            self.flush()  # a file has one specification per metric
        self._waiting.append((cell, runs))
        self._measures |= measures
        if time.monotonic() - self._flushed > _SECONDS:
            self.flush()

    def copy(self, others: Iterable["Store"]) -> None:
        """Copy the runs of shared cells from `others`, where these have more of them, from 0 on without a gap."""
        asked = {cell.key: experiment.runs for experiment in self.experiments for cell in experiment.cells()}
        for other in others:
            for key in self.cells.keys() & other.cells.keys():
                found = other.rows.runs(key, asked[key])
                last = len(found.numbers) - 1
                if last >= len(self.rows.numbers(key)) and found.numbers[last] == last:
                    self.add(self.cells[key], found, other.metrics_spec(self.cells[key]))
        self.flush()
        self.reread()

    def flush(self) -> None:
        """Write the waiting batches to one file, and delete older files of the same runs.

        These are failure files, and row files of shorter batches.
        """
        waiting, self._waiting, self._flushed = self._waiting, [], time.monotonic()
        measures, self._measures = self._measures, {}
        spans = [(cell.key[:16], int(runs.numbers[0]), int(runs.numbers[-1])) for cell, runs in waiting]
        if not waiting:
            return
        stem = "-".join(map(str, spans[0])) if len(spans) == 1 else "several"
        new = self._write_rows(stem, [(c.key, c.label, runs) for c, runs in waiting], measures)
        for (key, first, last), (cell, _) in zip(spans, waiting, strict=True):
            (self.path / "failures" / f"{key}-{first}-{last}.json").unlink(missing_ok=True)
            for old in (self.path / "rows").glob(f"{key}-{first}-*.parquet") if cell.key in self.rows else ():
                if old.name != new and int(old.name.split("-")[2]) <= last:
                    old.unlink(missing_ok=True)

    def fail(self, cell: Cell, runs: Sequence[int], error: str) -> None:
        """Write a failure file with the error of a batch."""
        stated = {"cell": cell.key, "label": cell.label, "runs": [runs[0], runs[-1]], "seed": self.seed, "error": error}
        self._write(Path("failures", f"{cell.key[:16]}-{runs[0]}-{runs[-1]}.json"), _text(stated))

    def compact(self) -> None:
        """Merge the rows into one file per experiment, and delete the files that were merged."""
        rows, measures, files = self.contents
        there = {path.name for path in files}
        left, kept = {key for key in self.cells if key in rows}, set()
        for experiment in self.experiments:
            cells = {cell.key: (cell.label, rows.runs(cell.key)) for cell in experiment.cells() if cell.key in left}
            left -= cells.keys()
            if cells:
                about = {name: m for key in cells for name, m in measures[key].items()}
                parts = [(key, *part) for key, part in cells.items()]
                kept.add(self._write_rows(experiment.name, parts, about, there))
        for name in there - kept:
            (self.path / "rows" / name).unlink(missing_ok=True)
        self.reread()

    def _write_rows(self, stem: str, cells: Cells, measures: Mapping[str, Metric], there: Collection[str] = ()) -> str:
        """Write a file with the rows of `cells`, as in `encoded`, unless an intact copy exists; return its name."""
        content = encoded(cells, self.seed, measures)
        name = f"{stem}-{digest_of(content)}.parquet"
        if name not in there:
            self._write(Path("rows", name), content)
        return name

    def _write(self, name: Path, content: bytes) -> None:
        path = self.path / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path, binary=True) as out:
                out.write(content)
        except OSError as error:
            raise unwritable(self.path, error) from None


def _text(stated: Params) -> bytes:
    """Return a dict as JSON, with a digest of its content."""
    return (json.dumps({**stated, "digest": _stamp(stated)}, indent=1, ensure_ascii=False) + "\n").encode()


def _read_json(path: Path) -> Params:
    """Read a JSON file written by `_text`, or raise ``ValueError`` if its content has changed."""
    stated = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(stated, dict) or stated.pop("digest", "") != _stamp(stated):
        raise ValueError("the content does not match the digest in the file")
    return stated


def _stamp(stated: Params) -> str:
    return digest_of(json.dumps(stated, sort_keys=True).encode())


def _difference(there: tuple[int, Sequence[Experiment]], asked: tuple[int, Sequence[Experiment]]) -> str:
    """Return as text how the runs of two declarations differ; ``""`` if they are equal.

    Titles, labels, figures and claims may differ.  Without claims, the number of runs may differ too: run r depends on
    r alone.
    """
    if there[0] != asked[0]:
        return f"it has seed {there[0]}, not {asked[0]}"
    names = [[e.name for e in experiments] for _, experiments in (there, asked)]
    if names[0] != names[1]:
        return f"it has {', '.join(names[0])}, not {', '.join(names[1])}"
    for mine, yours in zip(there[1], asked[1], strict=True):
        keys = ["runs"] if mine.claims or yours.claims else []
        if [c.key for c in mine.cells()] != [c.key for c in yours.cells()]:
            keys += ["seed_group", "paired", "env", "sweep", "wrappers", "checkpoints", "agents"]
        old, new = mine.to_dict(), yours.to_dict()
        for key in keys:
            if canonical(old.get(key)) != canonical(new.get(key)):
                return f"{mine.name} has {key}={shown(old.get(key))}, not {shown(new.get(key))}"
    return ""
