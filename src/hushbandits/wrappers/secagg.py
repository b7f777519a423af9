"""Ideal secure aggregation: a modular sum, and nothing else.

What is added up depends on the setting: one channel per setting, in one table.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hushbandits.core.crowd import BlockInbox, Crowd
from hushbandits.core.env import Env
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Field, Fields, Inbox, require
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import integer
from hushbandits.core.wrapper import Wrapper

__all__ = ["SecAgg"]


class _Channel(Protocol):
    """What `SecAgg` does in one setting."""

    def accept(self, fields: Fields, env: Env) -> Fields: ...

    def reset(self, env: Env, seeds: Seeds) -> None: ...

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]: ...

    def deliver(self, inbox: Inbox, env: Env) -> Inbox: ...


class _Feedback:
    """A block of users: the sum mod m of their messages."""

    def __init__(self, wrapper: SecAgg):
        self._wrapper = wrapper

    def accept(self, fields: Fields, env: Env) -> Fields:
        require(self._wrapper.name, ("reward", "n"), fields)
        self._encodes = "modulus" not in fields  # no mechanism before it: raw rewards
        sealed = {k: f for k, f in fields.items() if k != "users"}
        return {**sealed, "reward": Field(dtype="i8"), "modulus": Field(dtype="i8")}

    def reset(self, env: Env, seeds: Seeds) -> None:
        self._rngs = self._wrapper.generators(seeds)

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]:
        crowd: Crowd = message["reward"]
        if self._encodes:
            grid = self._wrapper.grid
            crowd = crowd.encode(np.full(crowd.planned.shape, grid), self._rngs)
            modulus = crowd.planned * grid + 1
            message = {**message, "modulus": modulus, "bits": _bits(modulus)}
        keep = message["sent"] & (crowd.n >= self._wrapper.min_cohort)
        sealed = crowd.seal(crowd.total() % message["modulus"], keep, self._wrapper.name)
        return {**message, "reward": sealed, "sent": keep}

    def deliver(self, inbox: Inbox, env: Env) -> Inbox:
        if not self._encodes:
            return inbox
        assert isinstance(inbox, BlockInbox)
        return inbox.decoded(inbox.total("reward") / self._wrapper.grid)


def _bits(modulus: Array) -> Array:
    return np.array([[(m - 1).bit_length() for m in row] for row in modulus.tolist()])


#: What `SecAgg` adds up, by setting.
_CHANNELS: dict[str, type[_Feedback]] = {"feedback": _Feedback}


class SecAgg(Wrapper):
    """An ideal secure aggregation between senders and receivers: they get ``Σ y mod m`` and nothing else.

    Feedback: adds a block's messages up; a mechanism before it names the modulus, raw rewards are encoded on a
    fixed-point grid here.  A cohort smaller than `min_cohort` reveals nothing at all: its message is absent.

    Parameters
    ----------
    min_cohort : int
        Fewest messages that are added up, ≥ 2: the sum of one message is the message.
    grid : int
        Fixed-point steps per unit reward where no mechanism has encoded rewards.
    name : str, optional

    References
    ----------
    Bonawitz et al. 2017 (the protocol that this idealises).

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_vec("DistDP-v0", users="each")
    >>> env.inbox_fields.keys()
    dict_keys(['reward', 'n'])
    """

    settings = frozenset(_CHANNELS)
    aggregates = True

    def __init__(self, min_cohort: int = 2, grid: int = 1 << 16, *, name: str | None = None):
        super().__init__(name=name)
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        self.grid = integer("grid", grid, 1, 1 << 30)

    def accept(self, fields: Fields, env: Env) -> Fields:
        """Hide the individuals."""
        self._channel: _Channel = _CHANNELS[env.setting](self)
        return self._channel.accept(fields, env)

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Open the tape."""
        self._channel.reset(env, seeds)

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]:
        """Add up."""
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: Env) -> Inbox:
        """Decode what was encoded here."""
        return self._channel.deliver(inbox, env)

    def privacy(self, env: Env) -> tuple[Guarantee, ...]:
        """Hides messages among their cohort; the sum itself is not noised here."""
        return (
            Guarantee(
                mechanism=f"ideal modular sum over at least {self.min_cohort} messages",
                epsilon=float("inf"),
                delta=0.0,
                adjacency="any two sets of messages with the same sum",
                view="the receiver: the sum; it learns nothing else, and all of the sum",
                assumptions=("an ideal functionality: no collusion, no cryptography",),
                source="Bonawitz et al. 2017",
            ),
        )
