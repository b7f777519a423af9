"""Batches of many senders through mixes in R runs: whose keys, and what it all costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from hushbandits.core import Array
from hushbandits.core.luck.tapes import streams
from hushbandits.core.measure import Measure
from hushbandits.core.rows import set_rows
from hushbandits.secure.mixnet import Mixnet

__all__ = ["MIXED", "Batches", "mixed_words"]

#: What `Batches.metrics` measures.
MIXED: Mapping[str, Measure] = MappingProxyType(
    {
        "mixnet_messages": Measure("messages through mixes", "count"),
        "mixnet_bytes": Measure("bytes that a sender sends per message through mixes", "amount"),
    }
)


def mixed_words(hops: int, insecure_seed: bool) -> tuple[str, ...]:
    """Without what mixes hide nothing."""
    mixes = (
        "the mix follows the protocol, and" if hops == 1 else f"the {hops} mixes follow the protocol, and one at least"
    )
    senders = "all senders of a batch but one do not collude: who knows the others' messages knows the last"
    return (
        f"{mixes} tells nobody its order",
        senders,
        *(("keys and orders follow from the run's seed: a simulation",) if insecure_seed else ()),
    )


class Batches:
    """The batches of R runs, one after the other.

    Parameters
    ----------
    hops : int
        Mixes that each passes.
    insecure_seed : bool
        Whether keys and orders follow from a run's seed: a simulation.
    name : str
        Of the tapes.
    seeds : sequence of SeedSequence
        One per run.
    """

    _keys: list[np.random.Generator]
    _messages: Array
    _bytes: Array

    def __init__(self, hops: int, insecure_seed: bool, name: str, seeds: Sequence[np.random.SeedSequence]):
        self._hops, self._insecure, self._name = hops, insecure_seed, name
        self.reset(seeds)

    def reset(self, seeds: Sequence[np.random.SeedSequence], rows: Array | None = None) -> None:
        """Start R new runs, or the runs `rows` while the others go on."""
        n = len(seeds)
        keys = streams(seeds, f"{self._name}/keys")
        set_rows(self, rows, _keys=keys, _messages=np.zeros(n, np.int64), _bytes=np.zeros(n))

    def shuffle(self, run: int, messages: Sequence[bytes]) -> list[bytes]:
        """A batch behind the mixes."""
        seed = int.from_bytes(self._keys[run].bytes(16), "big") if self._insecure else None
        net = Mixnet(self._hops, seed)
        self._messages[run] += len(messages)
        self._bytes[run] += len(messages) * net.length(max(map(len, messages), default=0))
        return net.shuffle(messages)

    def order(self, run: int, messages: Sequence[bytes]) -> Array:
        """Which message stands where behind the mixes, ``(n,)``; of equal ones nobody can tell, and any may."""
        where: dict[bytes, list[int]] = {}
        for i, message in enumerate(messages):
            where.setdefault(message, []).append(i)
        return np.array([where[message].pop() for message in self.shuffle(run, messages)], np.int64)

    def count(self, run: int, votes: Array) -> Array:
        """Votes per arm ``(K,)`` of agents ``(n, K)``, of whom each sends a message for every arm, voted or not."""
        sent = [bytes((*arm.to_bytes(4, "big"), bit)) for row in votes.tolist() for arm, bit in enumerate(row)]
        total = np.zeros(votes.shape[1], np.int64)
        for message in self.shuffle(run, sent):
            total[int.from_bytes(message[:4], "big")] += message[4]
        return total

    def metrics(self) -> dict[str, Array]:
        """What is declared in `MIXED`, each ``(R,)``."""
        return {
            "mixnet_messages": self._messages.copy(),
            "mixnet_bytes": self._bytes / np.maximum(self._messages, 1),
        }
