"""What wrappers, teams and promises may count on in the env that they meet."""

from __future__ import annotations

from typing import Any, Protocol

from hushbandits.core.messages import Fields
from hushbandits.core.rewards import Law
from hushbandits.core.types import Array

__all__ = ["World"]


class World(Protocol):
    """An env, or the face of one: sizes, time, and what messages hold."""

    @property
    def setting(self) -> str:
        """The room that it comes from."""

    @property
    def n_agents(self) -> int:
        """M."""

    @property
    def n_arms(self) -> int:
        """K."""

    @property
    def runs(self) -> int:
        """R."""

    @property
    def horizon(self) -> Any:
        """T, in ticks of the clock; ``None``: without an end."""

    @property
    def law(self) -> Law:
        """Family of the reward laws."""

    @property
    def fields(self) -> Fields:
        """What a team sends."""

    @property
    def inbox_fields(self) -> Fields:
        """What a team may read."""

    @property
    def wrappers(self) -> tuple[Any, ...]:
        """On messages' way, outermost first."""

    @property
    def live(self) -> Array:
        """``(R,)`` bool."""

    def __getattr__(self, name: str, /) -> Any:
        """What a setting has besides: a graph, a mechanism, a threshold."""
