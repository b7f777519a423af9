"""Wrappers act on messages on their way."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from hushbandits.core.guarantee import Promising
from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.tapes import Uniforms, streams
from hushbandits.core.types import Array, Seeds
from hushbandits.core.world import World

__all__ = ["Wrapper"]


class Wrapper(Promising):
    """Base of all wrappers; this one changes nothing.

    A wrapper is configured by its constructor and holds a run's state only after `reset`; an env works on
    its own copy, so one instance may be handed to several envs.  ``send`` meets messages as they leave their
    senders, in the order in which the wrappers were given; ``deliver`` meets inboxes, in reverse order.

    Parameters
    ----------
    name : str, optional
        Unique among the wrappers of an env; also names the tape that it draws from.  Default: the class name.

    Examples
    --------
    >>> class Mute(Wrapper):
    ...     def send(self, message, env):
    ...         return {**message, "sent": message["sent"] & False}
    >>> Mute().name
    'Mute'
    """

    #: Settings it works in; empty: all.
    settings: ClassVar[frozenset[str]] = frozenset()
    #: Feedback: it privatizes rewards and decodes their sum (R and A of a protocol).
    decodes: ClassVar[bool] = False
    #: Feedback: it adds messages up and hides the individual ones (S of a protocol).
    aggregates: ClassVar[bool] = False

    #: Whether messages (users) can get lost here, and with them the noise that they carry.
    loses: bool = False

    #: Scalar metrics of `metrics` worth a curve.
    curve_metrics: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, name: str | None = None):
        self.name = name or type(self).__name__

    def accept(self, fields: Fields, env: World) -> Fields:
        """Fields after this wrapper, given those before it; raises ``ValueError`` where one is missing."""
        return fields

    def reset(self, env: World, seeds: Seeds) -> None:
        """Start R new runs."""

    def tell(self, reward: Array, env: World) -> Array:
        """Return what the agents are told of their own rewards (R, A)."""
        return reward

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]:
        """Return the message that leaves the senders' side."""
        return message

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Return the inbox that the receivers see."""
        return inbox

    def metrics(self, env: World) -> dict[str, Any]:
        """What this wrapper measures, each ``(R, …)``; a setting may add it to its own metrics."""
        return {}

    @property
    def vote_loss(self) -> tuple[float, str] | None:
        """If all it does in exploration is to lose single votes at the source: the rate, and its tape's name."""
        return None

    # -- for subclasses -------------------------------------------------------------------------------------

    def uniforms(self, seeds: Seeds, shape: tuple[int, ...], part: str = "") -> Uniforms:
        """Return this wrapper's own tape, read `shape` per run and step (`part`: where it needs several)."""
        return Uniforms(seeds, f"wrapper/{self.name}{part}", shape)

    def generators(self, seeds: Seeds) -> list[np.random.Generator]:
        """Return this wrapper's own tape as one generator per run."""
        return streams(seeds, f"wrapper/{self.name}")

    def __repr__(self) -> str:
        pairs = (f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_") and k != "name")
        return f"{type(self).__name__}({', '.join(pairs)})"
