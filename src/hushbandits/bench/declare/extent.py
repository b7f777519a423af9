"""How many cells a stored declaration describes: counted before one of them is made."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.validate import shown

__all__ = ["afford_cells"]

#: Bytes of a cell as an object, measured and rounded up.
_CELL = 8_000
#: Cells that any folder may describe, and those that it may for each cell that it holds rows of.
_ANY, _EACH = 20_000, 50
#: Lines of one experiment: each is compared with all others.
_LINES = 2_000


def afford_cells(tables: object, held: int) -> None:
    """Raise ``ValueError`` if stored declarations describe more than a folder with so many cells should.

    A file of some kilobytes can describe cells without end.  The environment variable ``HUSHBANDITS_MEMORY`` (GiB)
    allows what fits into it.

    Examples
    --------
    >>> afford_cells([{"agents": [{}], "sweep": {"env.a": [1, 2], "env.b": [1, 2, 3]}}], 6)
    >>> afford_cells([{"agents": [{}], "sweep": {f"env.{name}": [*range(60)] for name in "abcd"}}], 240)
    Traceback (most recent call last):
        ...
    ValueError: its experiments describe 12,960,000 cells, and it holds 240; HUSHBANDITS_MEMORY (GiB) allows more
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"{shown(tables)} is no list of experiments")
    lines = [_length(t.get("agents")) * _choices(t.get("wrappers")) for t in tables]
    cells = sum(n * _points(t.get("sweep")) for n, t in zip(lines, tables, strict=True))
    if os.environ.get("HUSHBANDITS_MEMORY"):
        affordable(f"{cells:,} cells", float(cells) * _CELL)
    elif cells > max(_ANY, _EACH * held):
        raise ValueError(
            f"its experiments describe {cells:,} cells, and it holds {held:,}; HUSHBANDITS_MEMORY (GiB) allows more"
        )
    if max(lines, default=0) > _LINES:
        raise ValueError(f"an experiment has {max(lines):,} lines, more than {_LINES:,}")


def _length(value: object) -> int:
    return len(value) if isinstance(value, Sequence) else 1


def _choices(value: object) -> int:
    return max(1, len(value)) if isinstance(value, dict) else 1


def _points(sweep: object) -> int:
    return math.prod(map(_length, sweep.values())) if isinstance(sweep, dict) else 1
