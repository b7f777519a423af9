"""What `Shuffle` and `SecAgg` share: messages pass through a channel that the setting knows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from hushbandits.core.env_view import World
from hushbandits.core.ground.strangers import begins
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.payload import Channel, Payload
from hushbandits.core.wrapper import Wrapper


class Passage(Wrapper):
    """Base of wrappers whose way out and way in belong together."""

    @abstractmethod
    def channel(self, env: World) -> Channel:
        """Return a fresh channel of the env's setting."""

    def sends(self, fields: Fields, env: World) -> Fields:
        self._channel = self.channel(env)
        return self._channel.sends(fields, env)

    def hears(self, fields: Fields, env: World) -> Fields:
        return self._channel.hears(fields, env)

    def reset(self, env: World, seeds: Seeds) -> None:
        self._channel.reset(env, seeds)

    @property
    def _in_place(self) -> bool:
        return super()._in_place and begins(self._channel)

    def _begin(self, env: World, seeds: Seeds, rows: Array) -> None:
        channel: Any = self._channel
        channel._begin(env, seeds, rows)

    def send(self, message: Payload, env: World) -> Payload:
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        return self._channel.deliver(inbox, env)
