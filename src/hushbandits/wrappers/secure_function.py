"""Bases of secure functions: ideal, or a cryptographic protocol whose parties are all played in this process."""

from __future__ import annotations

import math
from abc import abstractmethod

from hushbandits.core import Adjacency, Channel, Fields, Guarantee, Inbox, Payload, Streams, World, Wrapper
from hushbandits.core.utils import Array, choice, flag, integer
from hushbandits.secure.bonawitz import Cohorts
from hushbandits.secure.mixnet import MIXED, MOST_HOPS, Batches, mixed_words
from hushbandits.secure.primitives import needed


class Played(Wrapper):
    """Base of secure functions: ideal, or played by a `protocol` that `_parties` makes anew for R runs."""

    protocol: str | None = None

    @abstractmethod
    def _parties(self, rng: Streams) -> Batches | Cohorts:
        """Return the parties of R new runs."""

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        if self.protocol is not None and rows is None:
            self._play = self._parties(rng)
        elif self.protocol is not None:
            self._play.reset(rng, rows)

    def metrics(self, env: World) -> dict[str, Array]:
        return {} if self.protocol is None else self._play.metrics()


class Passage(Played):
    """Base of secure functions whose way out and way in belong together."""

    @abstractmethod
    def channel(self, env: World) -> Channel:
        """Return a fresh channel of the env's setting."""

    def sends(self, fields: Fields, env: World) -> Fields:
        self._channel = self.channel(env)
        return self._channel.sends(fields, env)

    def hears(self, fields: Fields, env: World) -> Fields:
        return self._channel.hears(fields, env)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        super().reset(env, rng, rows)
        self._channel.reset(env, rng, rows)

    def send(self, message: Payload, env: World) -> Payload:
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        return self._channel.deliver(inbox, env)


def hides(mechanism: str, inputs: str, view: str, assumptions: tuple[str, ...], source: str) -> tuple[Guarantee, ...]:
    """Return what hides messages and promises no ε."""
    return (Guarantee(mechanism, math.inf, 0.0, Adjacency(inputs, "none"), view, assumptions, source),)


class Mixed(Played):
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

    _play: Batches

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
        return ("an honest shuffler",) if self.protocol is None else mixed_words(self.hops, self.insecure_seed)

    def _parties(self, rng: Streams) -> Batches:
        return Batches(self.hops, self.insecure_seed, rng)
