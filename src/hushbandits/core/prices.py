"""What messages, bits and ε take off everyone's reward when they are spent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hushbandits.core.env_view import World
from hushbandits.core.measure import gathered
from hushbandits.core.utils import Array, real, shown

__all__ = ["Prices"]

#: Metrics that may have a price.
_PRICED = ("bits", "epsilon", "messages")


class Prices:
    """What each run has been charged for, and what it owes.

    Parameters
    ----------
    core : World
        What spends.
    price : mapping of str to float, optional
        As `Task` takes it.

    Raises
    ------
    ValueError
        No such price, one of what is not measured here, or of a promise that does not hold here.
    """

    def __init__(self, core: World, price: Mapping[str, float] | None):
        if not isinstance(price, Mapping | None):
            raise ValueError(f"price={shown(price)} must be a dict, such as {{'messages': 0.01}}")
        known = [cost for cost in _PRICED if cost in core.measures] if price else []
        for name in price or {}:
            if name not in known:
                raise ValueError(f"price={shown(price)}: {shown(name)} has no price here; {', '.join(known)} may have")
            for wrapper in core.wrappers:
                if name in wrapper.spends and name in gathered(wrapper) and core.vain(wrapper):
                    raise ValueError(f"price[{name!r}] has nothing to count: {wrapper.name} promises nothing here")
        self._core = core
        self._each = {name: real(f"price[{name!r}]", value, 0, closed="low") for name, value in (price or {}).items()}
        self._billed: dict[str, Array] = {}

    def start(self, rows: Array | None = None) -> None:
        """Owe nothing for what all runs, or the runs `rows`, have spent so far."""
        for name, value in self._bill().items():
            if rows is None:
                self._billed[name] = value
            else:
                self._billed[name][rows] = value[rows]

    def charged(self, reward: Array) -> Array:
        """Return rewards ``(R, M)`` less the price of what was spent since the last call."""
        if not self._each:
            return reward
        for name, value in self._bill().items():
            reward = reward - self._each[name] * (value - self._billed[name])[:, None]
            self._billed[name] = value
        return reward

    def _bill(self) -> dict[str, Array]:
        if not self._each:
            return {}
        metrics = self._core.metrics()
        return {name: np.array(metrics[name], float) for name in self._each}
