"""Shuffle: messages arrive in a uniform order, without their senders."""

from __future__ import annotations

from hushbandits.core.ground.validate import integer
from hushbandits.core.guarantee import Adjacency, Guarantee
from hushbandits.core.payload import Channel
from hushbandits.core.world import World
from hushbandits.wrappers.passage import Passage

__all__ = ["Shuffle"]


class Shuffle(Passage):
    """An ideal shuffler between senders and receivers: the multiset of messages, and nothing else.

    Network: each receiver's arrivals of a round in a uniform order, ``who`` and delays gone (so an agent that
    needs senders, such as QuACK, is refused).  Exploration: the votes of a window of activations, as counts per
    arm.  Feedback: the messages of a block of users; a pool of like users is its own shuffle.  Source of the model:
    Bittau et al. 2017.

    Parameters
    ----------
    window : int, optional
        Exploration only, and needed there: activations per shuffle.
    min_cohort : int
        Exploration only: fewest different agents per window.

    Examples
    --------
    >>> import hushbandits as hb
    >>> sorted(hb.make_core("CoopNetwork-v0", wrappers=[Shuffle()]).inbox_fields)
    ['arm', 'reward']
    """

    verbs = ("shuffle",)

    def __init__(self, window: int | None = None, min_cohort: int = 2, *, name: str | None = None):
        super().__init__(name=name)
        self.window = None if window is None else integer("window", window, 2)
        self.min_cohort = integer("min_cohort", min_cohort, 2)

    def channel(self, env: World) -> Channel:
        return env.payload.shuffled(self, env)

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        return (
            Guarantee(
                mechanism="ideal shuffle: a uniform permutation, senders removed",
                epsilon=float("inf"),
                delta=0.0,
                adjacency=Adjacency("none: it hides who said what, not what was said", "none"),
                view="the receiver sees the multiset of messages of a cohort",
                assumptions=("the shuffler is trusted", "seeded permutations are a simulation"),
                source="Cheu et al. 2019",
            ),
        )
