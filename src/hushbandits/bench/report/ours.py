"""Recognise pages and figures that hushbandits wrote, so that no other file is overwritten."""

from collections.abc import Iterable
from pathlib import Path

from hushbandits.bench.runner.errors import StoreError

#: The creator in the metadata of a figure.
MAKER = "hushbandits"
#: The page of a results folder.
PAGE = "report.html"
#: A text in each figure that hushbandits writes, by file suffix.
_PICTURES = {
    ".png": b"tEXtSoftware\0hushbandits",
    ".svg": b"<dc:title>hushbandits</dc:title>",
    ".pdf": b"/Creator (hushbandits)",
}


def check_ours(folder: Path, names: Iterable[str] = ()) -> None:
    """Raise ``StoreError`` if a page or a figure would overwrite a file that hushbandits did not write."""
    marks = {PAGE: b"hushbandits</title>"}
    marks |= {f"{name}{ending}": mark for name in names for ending, mark in _PICTURES.items()}
    for path, mark in ((folder / file, mark) for file, mark in marks.items()):
        if path.is_file() and mark not in path.read_bytes():
            raise StoreError(f"{path} was not written by hushbandits: move it, or choose another folder (--out)")
