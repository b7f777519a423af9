"""What a run's users spent: every use of a mechanism is written down."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hushbandits.core.types import Array
from hushbandits.core.validate import integer
from hushbandits.privacy.accounting import Curve, compose, to_epsilon

__all__ = ["Ledger", "Spent"]


@dataclass(frozen=True)
class Spent:
    """What one block costs each of its users.

    Parameters
    ----------
    epsilon, delta : float
        (ε, δ) of the block's release.
    curve : callable or None
        Its Rényi curve, for returning users; ``None``: only (ε, δ) is known.
    """

    epsilon: float
    delta: float = 0.0
    curve: Curve | None = None


@dataclass
class Ledger:
    """Uses of one mechanism, by run.

    A user takes part once, so blocks compose in parallel: the worst block is the worst user.

    Parameters
    ----------
    mechanism, adjacency, view : str
    assumptions : tuple of str
        As in the mechanism's `Guarantee`.
    price : callable
        ``price(n, survivors)`` → `Spent`, for a block planned for n users of whom some survived.
    details : callable
        ``details(n)`` → dict of the block's parameters (``g``, ``noise``).
    runs : int

    Examples
    --------
    >>> book = Ledger("Laplace", "one reward", "server", (), lambda n, s: Spent(0.5), lambda n: {"g": 1}, 1)
    >>> book.use(0, 0, 64, 64)
    >>> book.worst.tolist(), book.rows(0)[0]["blocks"]
    ([0.5], 1)
    """

    mechanism: str
    adjacency: str
    view: str
    assumptions: tuple[str, ...]
    price: Callable[[int, int], Spent]
    details: Callable[[int], dict[str, Any]]
    runs: int
    _uses: list[Counter[tuple[int, int, int]]] = field(init=False)
    _prices: dict[tuple[int, int], Spent] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._uses = [Counter() for _ in range(self.runs)]
        #: (R,) ε of the worst user so far.
        self.worst: Array = np.zeros(self.runs)

    def spent(self, n: int, survivors: int) -> Spent:
        """`price`, computed once."""
        if (n, survivors) not in self._prices:
            self._prices[n, survivors] = self.price(n, survivors)
        return self._prices[n, survivors]

    def use(self, run: int, server: int, n: int, survivors: int) -> None:
        """Write down one block."""
        self._uses[run][server, n, survivors] += 1
        self.worst[run] = max(self.worst[run], self.spent(n, survivors).epsilon)

    def rows(self, run: int) -> list[dict[str, Any]]:
        """One row per server and kind of block: planned and surviving users, parameters, (ε, δ), how many blocks."""
        out = []
        for (server, n, survivors), blocks in sorted(self._uses[run].items()):
            spent = self.spent(n, survivors)
            row = {"server": server, "planned": n, "survivors": survivors, "blocks": blocks, **self.details(n)}
            out.append({**row, "epsilon": spent.epsilon, "delta": spent.delta})
        return out

    def to_frame(self) -> Any:
        """All runs' rows as a ``pandas.DataFrame``."""
        import pandas as pd

        return pd.DataFrame([{"run": r, **row} for r in range(self.runs) for row in self.rows(r)])

    def returning(self, run: int, blocks: int, delta: float) -> tuple[float, float]:
        """(ε, δ) of a user who took part in `blocks` blocks, each as costly as the worst of the run.

        The better of adding up and of composing Rényi curves at the given δ.
        """
        integer("blocks", blocks, 1)
        worst = max((self.spent(n, s) for _, n, s in self._uses[run]), key=lambda s: s.epsilon, default=Spent(0.0))
        added = blocks * worst.epsilon, blocks * worst.delta
        if worst.curve is None or math.isinf(worst.epsilon):
            return added
        composed = to_epsilon(compose([worst.curve] * blocks), delta)
        return added if added[1] <= delta and added[0] <= composed else (composed, delta)
