"""Inbox of one message per agent, as a server or a coordinator sends them."""

from collections.abc import Mapping

import numpy as np

from hushbandits.core import Array, Inbox


class OneSlot(Inbox):
    """An inbox with one slot per agent.

    Parameters
    ----------
    values : dict of (R, A or 1, …) arrays
        What there is for each agent or all, by field.
    arrived : (R, A) bool
        Who receives it; the slots of all others hold 0.
    everyone : bool
        Whether `arrived` is known to be true everywhere.
    """

    def __init__(self, values: Mapping[str, Array], arrived: Array, everyone: bool = False):
        self._values, self._arrived, self._everyone, self.fields = values, arrived, everyone, (*values,)

    @property
    def arrived(self) -> Array:
        return self._arrived[..., None].copy()

    def __getitem__(self, field: str) -> Array:
        if field not in self._values:
            raise KeyError(f"no field {field!r} in this inbox; its fields: {', '.join(self.fields)}")
        value, shape = self._values[field], self._arrived.shape
        if value.shape[1] < shape[1] or not (self._everyone or self._arrived.all()):
            value = np.zeros((*shape, *value.shape[2:]), value.dtype)
            value[self._arrived] = self.arrivals(field)
            return value[:, :, None]
        return value[:, :, None].copy()

    def total(self, field: str, weight: str | None = None) -> Array:
        """Return the values of `field`, ``(R, A, …)``."""
        if weight is not None or field not in self._values:
            return super().total(field, weight)
        return self[field][:, :, 0]

    def arrivals(self, field: str) -> Array:
        """Return the values that arrived, ``(n, …)``, in the order of ``arrived[..., 0].nonzero()``."""
        value, (r, a) = self._values[field], self._arrived.nonzero()
        return value[r, a % value.shape[1]]
