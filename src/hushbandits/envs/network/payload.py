"""Reports that travel over a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hushbandits.core import Channel, Sealing, Shuffling, World
from hushbandits.envs.network.channels import SealedTallies, ShuffledSlots
from hushbandits.envs.rounds.reports import Reports


class GraphReports(Reports):
    """Reports whose receivers have slots: they can be shuffled, added up, and changed by those who pass them on.

    Examples
    --------
    >>> sorted(GraphReports.verbs)
    ['add', 'drop', 'map', 'relay', 'replace', 'seal', 'shuffle']
    """

    verbs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **Reports.verbs, "relay": ("reward",), "shuffle": (), "seal": ("arm", "reward"),
    }  # fmt: skip

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """Each receiver's arrivals of a round in a uniform order, without their senders."""
        return ShuffledSlots(by)

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """Of each receiver's arrivals of a round, the pulls and reward sums per arm."""
        return SealedTallies(by)
