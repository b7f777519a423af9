"""Votes for the coordinator: operations of wrappers on votes, and windows that sum the votes of several agents."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from hushbandits.core import Array, Field, Fields, Streams, World, integer, require, set_rows
from hushbandits.core.payload import Channel, Gathering, Payload
from hushbandits.core.random.philox import fill


class VoteWindow(Channel):
    """Channel that sums votes over windows of activations; each window has at least `min_cohort` different agents.

    A window has at least `batch_window` activations.  Every agent that acts takes part, with zeros if it casts no vote.
    A vote counts once: an agent remembers its votes.  When no agent is left to act, a window with enough agents closes
    early; the sum of any other window is never released.

    Parameters
    ----------
    by : Gathering
        The wrapper.  Its `batch_window` counts activations; ``None`` raises, because a round of exploration has one
        agent and a sum would reveal its vote.  Its `min_cohort` is the fewest different agents per window.
    """

    def __init__(self, by: Gathering, env: World):
        if by.batch_window is None:
            raise ValueError(f"{by.name} needs batch_window=, such as 64, because one agent acts at a time")
        self._by = by
        self.batch_window = integer("batch_window", by.batch_window, 2)
        self.min_cohort = integer("min_cohort", by.min_cohort, 2)
        if env.n_agents < self.min_cohort:
            raise ValueError(f"min_cohort={by.min_cohort} must be at most n_agents={env.n_agents}")

    cohort = "that are added up"
    _cast: Array
    _cohort: Array
    _pending: Array
    _seen: Array

    def message_fields(self, fields: Fields, env: World) -> Fields:
        """Return the fields of the output: the number of votes per arm."""
        require(self._by.name, ("vote",), fields)
        return {"tally": Field((env.n_arms,), "i8", low=0, high=env.n_agents)}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Start with empty windows in all runs, or in the runs `rows`."""
        n, m, k = len(rng), env.n_agents, env.n_arms
        set_rows(
            self, rows, _cast=np.zeros((n, m, k), bool), _cohort=np.zeros((n, m), bool),
            _pending=np.zeros((n, k), np.int64), _seen=np.zeros(n, np.int64),
        )  # fmt: skip
        self._runs = np.arange(env.runs)

    def send(self, message: Payload, env: World) -> Payload:
        """Add the round's votes to the window; return the sums ``(R, 1, K)`` of windows that close now, else 0."""
        seat = self._runs, env.active_agents[:, 0]
        vote = message["vote"][:, 0] & (message["sent"][:, 0] & env.running)[:, None]
        self._take(seat, vote & ~self._cast[seat])
        self._cast[seat] |= vote
        self._cohort[seat] |= env.running
        self._seen += env.running
        due = (self._seen >= self.batch_window) | env.deserted
        opened = due & (self._cohort.sum(1) >= self.min_cohort)
        sums = self._open(opened, env)
        self._seen[opened] = 0
        return Payload(tally=sums[:, None], sent=message["sent"])

    def _take(self, seat: tuple[Array, Array], vote: Array) -> None:
        self._pending += vote

    def _open(self, opened: Array, env: World) -> Array:
        sums = np.where(opened[:, None], self._pending, 0)
        self._pending[opened] = 0
        self._cohort[opened] = False
        return sums


class PlayedWindow(VoteWindow):
    """A `VoteWindow` that runs the wrapper's protocol; agents missing from a sum take part in the next window.

    Parameters
    ----------
    by : Gathering
        The wrapper.
    """

    _fresh: Array  # (R, N, K) votes that were cast and are in no sum yet

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Start with empty windows in all runs, or in the runs `rows`."""
        super().reset(env, rng, rows)
        set_rows(self, rows, _fresh=np.zeros((len(rng), env.n_agents, env.n_arms), bool))

    def _take(self, seat: tuple[Array, Array], vote: Array) -> None:
        self._fresh[seat] |= vote

    def _open(self, opened: Array, env: World) -> Array:
        sums = np.zeros((len(opened), env.n_arms), np.int64)
        for r in np.flatnonzero(opened & env.running).tolist():
            agents = np.flatnonzero(self._cohort[r])
            sums[r], present = self._by.add_up(r, self._fresh[r, agents].astype(np.int64), env.n_agents + 1)
            self._fresh[r, agents[present]] = False
            self._cohort[r, agents[present]] = False
        return sums


class Votes(Payload):
    """Payload of the active agent's votes, one bit per arm.

    Examples
    --------
    >>> votes = Votes(vote=np.array([[[True, False]]]), sent=np.array([[True]]))
    >>> votes.map(np.sqrt)
    Traceback (most recent call last):
        ...
    ValueError: votes cannot be mapped reward by reward
    """

    noun = "votes"
    operations: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(("drop", "shuffle", "seal"), ("vote",))

    @classmethod
    def stream(cls, verb: str, env: World, rng: Streams) -> Array:
        """Return cursors of random streams, one per run, which advance only in rounds with votes."""
        cls.answers(verb)
        return rng.cursors(part=verb)

    def drop(self, rate: Array | float, stream: Array) -> Self:
        """Drop each vote with probability `rate`, independently of the agent's other votes."""
        vote, u = self["vote"] & self["sent"][:, :, None], np.empty(self["vote"].shape[2])
        for r in np.flatnonzero(vote.any((1, 2))):  # only agents that vote can lose votes
            fill(stream, r, u)
            vote[r, 0] &= u >= rate
        return self.with_fields(vote=vote)

    @classmethod
    def shuffled(cls, by: Gathering, env: World) -> Channel:
        """Return the channel that releases the number of votes per arm in each window."""
        return VoteWindow(by, env) if by.protocol is None else PlayedWindow(by, env)

    sealed = shuffled
