"""Shuffle: messages arrive in a uniform order, without their senders."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core.world import World
from hushbandits.envs.network.flood import FloodInbox
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Fields, Inbox
from hushbandits.envs.network.slots import SlotInbox
from hushbandits.core.types import Array, Seeds
from hushbandits.envs.exploration.window import VoteWindow
from hushbandits.core.wrapper import Wrapper

__all__ = ["Shuffle"]


class _Order:
    """Slots by luck, empty ones last; worked out when it is first asked for.

    Parameters
    ----------
    keys : (R, M, S) array
        Luck by slot, or, with an inbox, by sender.
    inbox : SlotInbox, optional
        Whose senders' luck it is.
    """

    def __init__(self, keys: Array, inbox: SlotInbox | None = None):
        self._keys, self._inbox = keys, inbox
        self._drawn: Array | None = None

    def __call__(self) -> Array:
        if self._drawn is None:
            keys, inbox = self._keys, self._inbox
            if inbox is not None:
                sender = inbox._slots.sender
                by_slot = np.take_along_axis(keys, np.broadcast_to(sender, (len(keys), *sender.shape[1:])), 2)
                keys = np.where(inbox.arrived, by_slot, np.inf)
            self._drawn = np.argsort(keys, axis=2)
        return self._drawn


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

    def __init__(self, window: int | None = None, min_cohort: int = 2, *, name: str | None = None):
        super().__init__(name=name)
        self.window, self.min_cohort = window, min_cohort

    def accept(self, fields: Fields, env: World) -> Fields:
        """Remove the sender's name."""
        if env.setting == "exploration":
            self._votes = VoteWindow(self.name, self.window, self.min_cohort, env)
            return self._votes.accept(self.name, fields, env)
        return {k: f for k, f in fields.items() if k != "who"}

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open the tape."""
        if env.setting == "exploration":
            self._votes.reset(env, len(seeds))
        elif env.setting == "network":
            self._luck = self.uniforms(seeds, (env.n_agents, env.n_agents), "/order")
        self._users = self.generators(seeds)

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]:
        """Gather a window's votes (exploration); permute a block's users (feedback)."""
        if env.setting == "exploration":
            return {"tally": self._votes.add(message, env), "sent": message["sent"]}
        if env.setting == "feedback":
            return {**message, "reward": message["reward"].shuffle(self._users)}
        return message

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Hide senders and order (network)."""
        if not isinstance(inbox, SlotInbox):
            return inbox
        if isinstance(inbox, FloodInbox):  # several posts of one sender may come at once: luck by arrival
            arrived = inbox.arrived
            keys = np.full(arrived.shape, np.inf)
            for key, mine, rng in zip(keys, arrived, self._users, strict=True):
                key[mine] = rng.random(mine.sum())
            return inbox._hide_senders(_Order(keys))
        luck = self._luck.next()  # (R, M, M): a receiver's luck for each possible sender, whoever else is in the batch
        return inbox._hide_senders(_Order(luck, inbox))

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
