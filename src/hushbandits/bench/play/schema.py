"""The tables of a store, how they are made, and whether a file holds them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.extent import afford_cells
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.play.errors import StoreError, damaged
from hushbandits.bench.play.integrity import text_sum
from hushbandits.core.ground.strangers import parsed
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import shown
from hushbandits.shipped import EXPERIMENTS

__all__ = ["HELD", "VERSION", "create", "described", "identify", "write_spec"]

#: The one version that is read; a change of the tables makes it another.
VERSION = 3
#: What has one checksum as a whole: its columns, and the name under which that stands in ``spec``.
HELD = {
    "sessions": ("id, started, about", "checksum of sessions"),
    "failures": ("cell, first, runs, error", "checksum of failures"),
}
_APPLICATION = 0x48757368  # "Hush"

_STATISTICS = re.compile(r"CREATE TABLE sqlite_stat[14]\([a-z,]+\)")  # of ANALYZE

_TABLES = {
    "spec": "(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "cells": "(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, spec TEXT NOT NULL)",
    "runs": "(cell INTEGER NOT NULL REFERENCES cells, run INTEGER NOT NULL, PRIMARY KEY (cell, run)) WITHOUT ROWID",
    "finals": """(cell INTEGER NOT NULL REFERENCES cells, metric TEXT NOT NULL, run INTEGER NOT NULL, value REAL,
        PRIMARY KEY (cell, metric, run)) WITHOUT ROWID""",
    "curves": """(cell INTEGER NOT NULL REFERENCES cells, metric TEXT NOT NULL, run INTEGER NOT NULL,
        time REAL NOT NULL, value REAL, PRIMARY KEY (cell, metric, run, time)) WITHOUT ROWID""",
    "sums": """(cell INTEGER NOT NULL REFERENCES cells, metric TEXT NOT NULL, run INTEGER NOT NULL,
        final INTEGER, curve INTEGER, PRIMARY KEY (cell, metric, run)) WITHOUT ROWID""",
    "failures": """(cell INTEGER NOT NULL REFERENCES cells, first INTEGER NOT NULL, runs INTEGER NOT NULL,
        error TEXT NOT NULL, PRIMARY KEY (cell, first)) WITHOUT ROWID""",
    "sessions": "(id INTEGER PRIMARY KEY, started TEXT NOT NULL, about TEXT NOT NULL)",
}


def create(db: sqlite3.Connection, experiments: Sequence[Experiment], seed: int) -> None:
    """Make the tables in an empty file, in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    for name, columns in _TABLES.items():
        db.execute(f"CREATE TABLE {name} {columns}")
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    write_spec(db, experiments, seed)
    db.executemany("INSERT INTO spec VALUES (?, '0')", [(name,) for _, name in HELD.values()])
    specs = {cell.key: cell.spec for experiment in experiments for cell in experiment.cells()}
    rows = ((i, key, canonical(spec)) for i, (key, spec) in enumerate(specs.items(), 1))
    db.executemany("INSERT INTO cells VALUES (?, ?, ?)", rows)
    db.execute("COMMIT")


def _plain(sql: str) -> str:
    return " ".join(str(sql).split())


def write_spec(db: sqlite3.Connection, experiments: Sequence[Experiment], seed: int) -> None:
    """Note what is run; the caller has begun a transaction."""
    spec = {"experiments": canonical([e.to_dict() for e in experiments]), "seed": canonical(seed)}
    spec["checksum"] = str(text_sum(spec["experiments"], spec["seed"]))
    db.executemany("INSERT OR REPLACE INTO spec VALUES (?, ?)", spec.items())


def identify(db: sqlite3.Connection, path: Path) -> None:
    """Look whether a store is whole as far as SQLite can tell.

    Raises
    ------
    StoreError
        It is another program's file, of another version, or damaged.
    """
    ((application,),) = db.execute("PRAGMA application_id")
    ((version,),) = db.execute("PRAGMA user_version")
    if application != _APPLICATION:
        raise StoreError(f"{path} is no results file of hushbandits; move it away, or choose another folder")
    newer = f"{path} was written by a newer hushbandits ({{}}); upgrade hushbandits, or choose another folder"
    if version > VERSION:
        raise StoreError(newer.format(f"store version {version}, this one reads {VERSION}"))
    if 0 < version < VERSION:
        raise StoreError(
            f"{path} has store version {version}, which was never released, and this hushbandits reads version "
            f"{VERSION}; play it again in another folder"
        )
    made = [_plain(sql) for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    made = [sql for sql in made if not _STATISTICS.fullmatch(sql)]
    names = [match[1] for sql in made if (match := re.match(r"CREATE TABLE ['\"]?(\w+)", sql))]
    if unknown := sorted(set(names) - set(_TABLES)):
        raise StoreError(newer.format(f"this one knows no table {shown(unknown[0])}"))
    known = {name: _plain(f"CREATE TABLE {name} {columns}") for name, columns in _TABLES.items()}
    if version != VERSION:
        raise damaged(path, f"there is no store version {version}")
    if sorted(made) != sorted(known.values()):
        # A view, a trigger or an index computes what was not written, and may never end.
        raise damaged(path, "its tables are not those that were made")
    ((found,), *_) = db.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise damaged(path, str(found).replace("*** in database main ***", "").replace("\n", " ").strip())


def described(db: sqlite3.Connection, path: Path) -> tuple[tuple[Experiment, ...], int, dict[str, int]]:
    """Return experiments, seed, and the number of each cell by its key."""
    spec: dict[str, object] = dict(db.execute("SELECT name, value FROM spec"))
    texts = [text for name in ("experiments", "seed") if isinstance(text := spec.get(name), str)]
    if len(texts) < 2:
        raise damaged(path, "the declaration is missing")
    if spec.get("checksum") != str(text_sum(*texts)):
        raise damaged(path, "the declaration does not match its checksum")
    if not {name for _, name in HELD.values()} <= spec.keys():
        raise damaged(path, "checksums of sessions or failures are missing")
    ids = dict(db.execute("SELECT key, id FROM cells"))
    try:
        tables, seed = map(parsed, texts)
        afford_cells(tables, len(ids))
        experiments = tuple(Experiment.from_dict(_moved(table)) for table in tables)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        said = str(error).replace("\n", " ")
        raise StoreError(
            f"{path} holds a declaration that this hushbandits cannot read ({said}); it was probably written by a "
            f"newer one: upgrade hushbandits, or choose another folder"
        ) from None
    keys = {cell.key for experiment in experiments for cell in experiment.cells()}
    if ids.keys() != keys or sorted(ids.values()) != [*range(1, len(keys) + 1)]:
        raise damaged(path, "its cells are not those of its declaration")
    return experiments, seed, ids


def _moved(table: Params) -> Params:
    """Name the bounds of shipped figures as they are called now: their modules once stood in `bench`."""
    for figure in table.get("figures", ()):
        for name, path in figure.get("bounds", {}).items():
            figure["bounds"][name] = path.replace("hushbandits.bench.experiments.", f"{EXPERIMENTS}.")
    return table
