"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a fresh name beside `path` to write to; on success it takes the place of `path`, else it is removed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.html"
    ...     with replacing(page) as part:
    ...         _ = part.write_text("all of it")
    ...     page.read_text(), len(os.listdir(folder))
    ('all of it', 1)
    """
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.part")  # two writers never share one
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
