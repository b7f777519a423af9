"""Which files of a folder hushbandits made: pages and pictures say so themselves, and no others are written over."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hushbandits.bench.runner.errors import StoreError

__all__ = ["MAKER", "PAGE", "check_ours"]

#: What a picture names as its maker.
MAKER = "hushbandits"
#: The page of a results folder.
PAGE = "report.html"

#: What stands in every file that we make, by its ending.
_MARKS = {
    ".html": b"hushbandits</title>",
    ".png": b"tEXtSoftware\0hushbandits",
    ".svg": b"<dc:title>hushbandits</dc:title>",
    ".pdf": b"/Creator (hushbandits)",
}


def check_ours(folder: Path, names: Collection[str] = ()) -> None:
    """Refuse a folder in which a page or a picture would take the place of a file that hushbandits did not make.

    Parameters
    ----------
    folder : Path
    names : collection of str
        Of the experiments whose pictures are drawn there.

    Raises
    ------
    StoreError
        Names the file.
    """
    files = [PAGE, *(f"{name}{ending}" for name in names for ending in _MARKS if ending != ".html")]
    for path in (folder / file for file in files):
        try:
            ours = not path.is_file() or _MARKS[path.suffix] in path.read_bytes()
        except OSError as error:
            raise StoreError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
        if not ours:
            raise StoreError(
                f"{path} is there and was not made by hushbandits: move it away, or choose another folder (--out)"
            )
