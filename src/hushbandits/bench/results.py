"""What an evaluation gave, and how people look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core.env import Env
from hushbandits.core.team import Team
from hushbandits.core.types import Array
from hushbandits.core.validate import nearest
from hushbandits.protection import Protection, protection

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "spent"]


@dataclass(frozen=True)
class Results:
    """Rows of one evaluation.

    Parameters
    ----------
    finals : dict of (runs, …) arrays
        Every metric at the end.
    curves : dict of (runs, C) arrays
        Scalar metrics at the checkpoints.
    times : (C,) array
        Checkpoints, in the env's clock (rounds; users in feedback).
    met : (Env, Team), optional
        Who played, as they met.
    """

    finals: dict[str, Array]
    curves: dict[str, Array]
    times: Array
    met: tuple[Env, Team] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def privacy(self) -> Protection:
        """Who was protected from whom, by how much, and what these runs really spent (`hushbandits.privacy`)."""
        if self.met is None:
            raise ValueError("these results do not know who played; ask hushbandits.privacy(env, agent)")
        table = protection(*self.met)
        return replace(table, notes=(*table.notes, *spent(self.finals)))

    def __getstate__(self) -> dict[str, object]:
        # Who played may be of a class that no other process knows; what was promised is data.
        told = {} if self.met is None else {"privacy": self.privacy}
        return {**vars(self), **told, "met": None}

    def final(self, metric: str) -> Array:
        """``(runs,)`` values at the end (``(runs, M)`` for per-agent metrics)."""
        if metric not in self.finals:
            raise ValueError(f"no metric is named {metric!r}{nearest(metric, self.finals)}")
        return self.finals[metric]

    def curve(self, metric: str) -> tuple[Array, Array]:
        """Return checkpoints ``(C,)`` and values ``(runs, C)``."""
        if metric not in self.curves:
            if not self.curves:
                raise ValueError("no curves were recorded: pass checkpoints=[…] to evaluate")
            raise ValueError(f"no curve is named {metric!r}{nearest(metric, self.curves)}")
        return self.times, self.curves[metric]

    def to_frame(self) -> pd.DataFrame:
        """One tidy row per run and scalar metric, a ``pandas.DataFrame`` (run, metric, time, value)."""
        import pandas as pd

        rows = []
        for metric, values in self.finals.items():
            if values.ndim == 1:
                rows += [(r, metric, np.nan, float(v)) for r, v in enumerate(values)]
        for metric, values in self.curves.items():
            times = self.times.astype(float)
            rows += [(r, metric, t, float(v)) for r, row in enumerate(values) for t, v in zip(times, row, strict=True)]
        return pd.DataFrame(rows, columns=["run", "metric", "time", "value"])


def spent(finals: Mapping[str, Array]) -> tuple[str, ...]:
    """Say in words what runs measured of ε, if they did.

    Examples
    --------
    >>> spent({"epsilon": np.array([0.5, 2.0])})
    ('Spent in these runs: ε up to 2 (metric epsilon).',)
    """
    found = []
    for name, unit in (("epsilon", "ε"), ("epsilon_delta", "ε at the mechanism's δ"), ("delta", "δ")):
        values = finals.get(name)
        if values is not None and len(values) and (name != "delta" or values.max() > 0):
            found.append(f"{unit} up to {float(values.max()):.4g} (metric {name})")
    return (f"Spent in these runs: {'; '.join(found)}.",) if found else ()
