"""Votes on their way to the coordinator, and what can be done to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from hushbandits.core import Array, Channel, Gathering, Payload, Sealing, Seeds, Shuffling, Uniforms, World
from hushbandits.envs.exploration.window import PlayedWindow, VoteWindow


class Votes(Payload):
    """The active agent's votes: one bit per arm.

    Examples
    --------
    >>> votes = Votes(vote=np.array([[[True, False]]]), sent=np.array([[True]]))
    >>> votes.map(np.sqrt)
    Traceback (most recent call last):
        ...
    ValueError: votes cannot be mapped reward by reward
    """

    noun = "votes"
    verbs: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(("drop", "shuffle", "seal"), ("vote",))

    @classmethod
    def luck(cls, verb: str, name: str, env: World, seeds: Seeds) -> Uniforms:
        """A tape that only who votes reads on."""
        cls.answers(verb)
        return Uniforms(seeds, f"wrapper/{name}/votes")

    def drop(self, rate: Array | float, luck: Uniforms) -> Self:
        """Vote by vote, not ballot by ballot."""
        vote = self["vote"] & self["sent"][:, :, None]
        for r in np.flatnonzero(vote.any((1, 2))):  # only who votes has something to lose
            vote[r, 0] &= luck.take(int(r), vote.shape[2]) >= rate
        return self.but(vote=vote)

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """The votes of a window of activations, as counts per arm."""
        return _window(by, env)

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """The votes per arm of a window of activations; an agent votes once per arm, so a sum stays below N + 1."""
        return _window(by, env)


def _window(by: Gathering, env: World) -> Channel:
    return VoteWindow(by, env) if by.protocol is None else PlayedWindow(by, env)
