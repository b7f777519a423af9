"""How a store's file is opened: by its writer as it stands, by a reader so that nothing is written or recovered there.

A journal beside it is what a killed writer left.  SQLite rolls it back wherever it may write, and deletes a file that
the journal names; so whoever opens a store looks at the journal first.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import struct
import tempfile
from pathlib import Path
from typing import BinaryIO

from hushbandits.bench.play.errors import StoreError, damaged
from hushbandits.bench.play.lock import held
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.strangers import opened

__all__ = ["JOURNAL", "LOCK", "for_reading", "for_writing"]

#: What is added to the file's name for what lies beside it.
JOURNAL, LOCK = "-journal", ".lock"
_HEAD = 28  # bytes of a journal's head: magic, records, nonce, pages, sector, page
_MAGIC = bytes.fromhex("d9d505f920a163d7")  # begins a journal, and ends one that names another file
_TRIES = 20


def for_writing(path: Path, create: bool, timeout: float) -> sqlite3.Connection:
    """Open a store for its one writer; SQLite rolls back what a killed one had not committed.

    Raises
    ------
    StoreError
        It is a link, or what lies beside it is not what a killed writer leaves.
    """
    if path.is_symlink():
        raise StoreError(f"{path} is a link and is not written to; name the folder where that file lies")
    _look(path)
    return _connect(path, "mode=rwc" if create else "mode=rw", timeout)


def for_reading(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a store to look at: where it lies, or, if its writer was killed, a copy in which that is rolled back.

    Raises
    ------
    StoreError
        What lies beside it is not what a killed writer leaves.
    sqlite3.Error
        The file cannot be read.
    """
    path = Path(os.path.realpath(path))  # a journal lies beside the file, not beside a link to it
    for _ in range(_TRIES):
        # A writer in this process has looked; its locks would go if the file were opened and closed here.
        if not held(path.with_name(path.name + LOCK)):
            _look(path)
        db = _connect(path, "mode=ro", timeout)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return db
        except sqlite3.Error as error:
            db.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
        if (copy := _recovered(path, timeout)) is not None:
            return copy
    raise StoreError(f"{path} changes while it is read; try again when its writer has ended")


class _Connection(sqlite3.Connection):
    #: Of a copy: where the system keeps an open file's name, the folder goes when this is closed.
    folder = ""

    def close(self) -> None:
        super().close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def _connect(path: Path, how: str, timeout: float) -> _Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    db = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, factory=_Connection)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    return db


def _look(path: Path) -> None:
    """Raise unless SQLite can open the file without touching any other."""
    if os.path.lexists(f"{path}-wal"):
        raise _other_mode(path)
    try:
        with opened(path) as file:
            head, size = file.read(20), os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        head, size = b"", 0
    except OSError as error:
        raise StoreError(f"{path} cannot be opened ({(error.strerror or str(error)).lower()})") from None
    if head.startswith(b"SQLite format 3\0") and head[18:] != b"\1\1":
        raise _other_mode(path)
    journal = Path(f"{path}{JOURNAL}")
    if not os.path.lexists(journal):
        return
    try:
        if not stat.S_ISREG(journal.lstat().st_mode):
            raise damaged(path, f"{journal.name} is no file")
        with opened(journal) as file:
            _look_at_journal(path, size, file)
    except FileNotFoundError:
        return  # its writer has just committed
    except OSError as error:
        raise StoreError(f"{journal} cannot be opened ({(error.strerror or str(error)).lower()})") from None


def _look_at_journal(path: Path, size: int, journal: BinaryIO) -> None:
    """Raise where a journal names a file, or would make one larger than the pages that there are."""
    long = os.fstat(journal.fileno()).st_size
    head = journal.read(_HEAD)
    if long >= 16:
        journal.seek(-8, os.SEEK_END)
        if journal.read(8) == _MAGIC:
            raise damaged(path, f"{path.name}{JOURNAL} names another file, which whoever recovers it would delete")
    if len(head) == _HEAD and head.startswith(_MAGIC):
        pages, _, page = struct.unpack(">3I", head[16:])
        if pages * page > size + long:
            raise damaged(path, f"{path.name}{JOURNAL} asks for {pages:,} pages, more than there are")


def _other_mode(path: Path) -> StoreError:
    return StoreError(
        f"{path} is in a journal mode that another program has chosen; sqlite3 {path.name} "
        f"'PRAGMA journal_mode = DELETE' there takes it back"
    )


def _recovered(path: Path, timeout: float) -> _Connection | None:
    """Open a private copy in which a killed writer's journal is rolled back; ``None``: somebody writes again."""
    folder = tempfile.mkdtemp(prefix="hushbandits-")
    copy = Path(folder) / path.name
    try:
        if not _copied(path, copy):
            return None
        db = _connect(copy, "mode=rw", timeout)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # rolls back
        finally:
            db.close()
        found = _connect(copy, "mode=ro&immutable=1", timeout)
        found.folder = folder
        return found
    except ValueError as error:
        raise StoreError(str(error)) from None
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read: its writer was killed, and there is no place for a copy to recover "
            f"({(error.strerror or str(error)).lower()}); the command that made it goes on from there"
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(path: Path, copy: Path) -> bool:
    """Copy file and journal; whether both stayed what they were meanwhile."""
    journal = Path(f"{path}{JOURNAL}")
    try:
        before = _mark(path), _mark(journal)
        affordable(f"a copy of {path}, whose writer was killed,", float(before[0][1] + before[1][1]))
        for source, target in ((path, copy), (journal, Path(f"{copy}{JOURNAL}"))):
            with opened(source) as file, target.open("xb") as out:
                shutil.copyfileobj(file, out, 1 << 20)
        return before == (_mark(path), _mark(journal))
    except FileNotFoundError:
        return False


def _mark(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns
