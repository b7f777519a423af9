"""Shuffle: messages arrive in a uniform order, without their senders."""

from __future__ import annotations

from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.payload import Payload
from hushbandits.core.types import Seeds
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper

__all__ = ["Shuffle"]


class Shuffle(Wrapper):
    """An ideal shuffler between senders and receivers: the multiset of messages, and nothing else.

    Network: each receiver's arrivals of a round in a uniform order, ``who`` and delays gone (so an agent that
    needs senders, such as QuACK, is refused).  Exploration: the votes of a window of activations, as counts per
    arm.  Feedback: the messages of a block of users; a pool of like users is its own shuffle.

    Parameters
    ----------
    window : int, optional
        Exploration only, and needed there: activations per shuffle.
    min_cohort : int
        Exploration only: fewest different agents per window.
    name : str, optional

    Examples
    --------
    >>> import hushbandits as hb
    >>> sorted(hb.make_core("CoopNetwork-v0", wrappers=[Shuffle()]).inbox_fields)
    ['arm', 'reward']
    """

    verbs = ("shuffle",)

    def __init__(self, window: int | None = None, min_cohort: int = 2, *, name: str | None = None):
        super().__init__(name=name)
        self.window, self.min_cohort = window, min_cohort

    def sends(self, fields: Fields, env: World) -> Fields:
        """As the setting's shuffle does."""
        self._channel = env.payload.shuffled(self, env)
        return self._channel.sends(fields, env)

    def hears(self, fields: Fields, env: World) -> Fields:
        """Without the sender's name."""
        return self._channel.hears(fields, env)

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open the tape."""
        self._channel.reset(env, seeds)

    def send(self, message: Payload, env: World) -> Payload:
        """Gather a window's votes (exploration); permute a block's users (feedback)."""
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Hide senders and order (network)."""
        return self._channel.deliver(inbox, env)

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        """Anonymity among the cohort; no differential privacy by itself."""
        return (
            Guarantee(
                mechanism="ideal shuffle: a uniform permutation, senders removed",
                epsilon=float("inf"),
                delta=0.0,
                adjacency="none: it hides who said what, not what was said",
                view="the receiver sees the multiset of messages of a cohort",
                assumptions=("the shuffler is trusted", "seeded permutations are a simulation"),
                source="Cheu et al. 2019",
            ),
        )
