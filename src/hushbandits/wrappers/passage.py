"""What secure functions share: a channel that the setting knows, or mixes that play an ideal shuffler."""

from __future__ import annotations

from abc import abstractmethod

from hushbandits.core import Array, Seeds, choice, flag, integer
from hushbandits.core.env_view import World
from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.payload import Channel, Payload
from hushbandits.core.wrapper import Wrapper
from hushbandits.secure.mixnet import MIXED, MOST_HOPS, Batches, mixed_words
from hushbandits.secure.primitives import needed


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

    def reset(self, env: World, seeds: Seeds, rows: Array | None = None) -> None:
        self._channel.reset(env, seeds, rows)

    def send(self, message: Payload, env: World) -> Payload:
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        return self._channel.deliver(inbox, env)


class Mixed(Wrapper):
    """Base of shufflers: ideal, or with ``protocol="mixnet"`` a cascade of mixes.

    Parameters
    ----------
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.
    hops : int
        Mixes that each batch passes.
    insecure_seed : bool
        Whether keys and orders follow from the run's seed: a simulation.

    Raises
    ------
    ValueError
        A number out of its range, or a parameter of the protocol without it.
    """

    protocol: str | None = None

    def __init__(self, protocol: str | None, hops: int, insecure_seed: bool, *, name: str | None = None):
        super().__init__(name=name)
        hops, insecure_seed = integer("hops", hops, 1, MOST_HOPS), flag("insecure_seed", insecure_seed)
        if protocol is not None:
            self.protocol = choice("protocol", protocol, ("mixnet",))
            needed()
            self.hops, self.insecure_seed = hops, insecure_seed
            vars(self)["measures"] = dict(MIXED)  # an ideal shuffle measures nothing
        elif (hops, insecure_seed) != (3, True):
            raise ValueError(f'{self.name} is ideal: what the protocol is to be like needs protocol="mixnet"')

    @property
    def shuffler(self) -> tuple[str, ...]:
        """What its users trust in."""
        return () if self.protocol is None else mixed_words(self.hops, self.insecure_seed)

    def reset(self, env: World, seeds: Seeds, rows: Array | None = None) -> None:
        if self.protocol is not None:
            if rows is None:
                self._batches = Batches(self.hops, self.insecure_seed, f"wrapper/{self.name}", seeds)
            else:
                self._batches.reset(seeds, rows)
        super().reset(env, seeds, rows)

    def metrics(self, env: World) -> dict[str, Array]:
        return {} if self.protocol is None else self._batches.metrics()
