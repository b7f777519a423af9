"""Which files of a folder hushbandits made: pages and pictures say so themselves, and no others are written over."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hushbandits.bench.runner.errors import StoreError

__all__ = ["MAKER", "PAGE", "check_ours"]

#: What a picture names as its maker.
MAKER = "hushbandits"
#: The page of a results folder.
PAGE = "report.html"
#: What stands in every picture that we make, by its ending.
_PICTURES = {
    ".png": b"tEXtSoftware\0hushbandits",
    ".svg": b"<dc:title>hushbandits</dc:title>",
    ".pdf": b"/Creator (hushbandits)",
}


def check_ours(folder: Path, names: Iterable[str] = ()) -> None:
    """Raise ``StoreError`` where a page, or pictures of these names, would replace somebody else's file."""
    marks = {PAGE: b"hushbandits</title>"}
    marks |= {f"{name}{ending}": mark for name in names for ending, mark in _PICTURES.items()}
    for path, mark in ((folder / file, mark) for file, mark in marks.items()):
        if path.is_file() and mark not in path.read_bytes():
            raise StoreError(f"{path} was not made by hushbandits: move it away, or choose another folder (--out)")
