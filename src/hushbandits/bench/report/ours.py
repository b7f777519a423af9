"""What is written into a folder: its page, and who says to have made the pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hushbandits.bench.runner.errors import StoreError
from hushbandits.bench.runner.store import DECLARATION

__all__ = ["MAKER", "PAGE", "check_ours"]

#: What a picture names as its maker.
MAKER = "hushbandits"
#: The page of a results folder.
PAGE = "report.html"


def check_ours(folder: Path, names: Iterable[str] = ()) -> None:
    """Raise ``StoreError`` where a first page, or pictures of these names, would replace somebody else's file."""
    for path in [folder / PAGE, *(folder / f"{name}.png" for name in names)]:
        if path.exists() and not (folder / DECLARATION).exists():
            raise StoreError(f"{path} was not made by hushbandits: move it away, or choose another folder (--out)")
