"""What a round's messages are: a report per agent, what wrappers may do to it, and channels on named fields."""

import math
from collections.abc import Callable, Mapping
from typing import ClassVar, Self

import numpy as np

from hushbandits.core import Array, Channel, Law, Payload, PointNoise, Streams, Uniforms, World, set_rows, shown
from hushbandits.core.payload import Sealing, Shuffling
from hushbandits.core.random.names import ORDER


class Reports(Payload):
    """Payload of one report per agent and round; a lost report reaches no receiver."""

    noun = "reports"
    operations: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "drop": (), "replace": ("reward",), "map": ("reward",), "add": ("reward",),
    }  # fmt: skip

    @classmethod
    def stream(cls, verb: str, env: World, rng: Streams) -> Uniforms:
        """Return a reader of the uniform samples for an operation, `verb`.

        It reads one row per round, even if no report is sent.
        """
        cls.answers(verb)
        acting = env.active_agents.shape[1]
        return rng.reader((2, acting) if verb == "replace" else (acting,), verb)

    def _next(self, stream: Uniforms) -> Array:
        """Return the uniforms of this round; if arrays have a first axis of rounds, those of all rounds."""
        return stream.next() if self["sent"].ndim == 2 else stream.rows(len(self["sent"]))

    def drop(self, rate: Array | float, stream: Uniforms) -> Self:
        """Drop each report with probability `rate`."""
        return self.with_fields(sent=self["sent"] & (self._next(stream) >= rate))

    def with_fields(self, **changes: object) -> Self:
        """Return a copy in which the fields named in `changes` are replaced by arrays of their shape, or added."""
        for name, value in changes.items():
            if name in self and np.asarray(value).shape != (shape := np.shape(self[name])):
                raise ValueError(f"field {name!r} of a message must have the shape {shape}, not {shown(value)}")
        return super().with_fields(**changes)

    def replace(self, rate: Array | float, law: Law, location: float, stream: Uniforms) -> Self:
        """Replace the reward of each report with probability `rate` by a sample from `law`."""
        coin, u = np.moveaxis(self._next(stream), -2, 0)
        hit, reward = coin < rate, np.array(self["reward"], float)
        reward[hit] = law.quantile(u[hit], np.array(location))
        return self.with_fields(reward=reward)

    def map(self, function: Callable[[Array], Array]) -> Self:
        """Apply `function` to every reported reward."""
        if not callable(function):
            raise TypeError(f"map takes a function of rewards, such as np.abs, not {shown(function)}")
        return self.with_fields(reward=function(self["reward"]))

    def add(self, noise: Callable[[int], PointNoise], stream: Uniforms) -> Self:
        """Add independent noise to every reported reward."""
        return self.with_fields(reward=noise(1).onto(self["reward"], stream.next()))


class ShuffledFields(Channel):
    """Channel that deals a round's messages out to their senders in a uniform order: receivers learn no sender.

    Parameters
    ----------
    by : Shuffling
        The wrapper.
    fields : tuple of str
        The fields of a message.
    """

    cohort = "of one round"
    _rngs: list[np.random.Generator]

    def __init__(self, by: Shuffling, fields: tuple[str, ...]):
        self._by, self._fields = by, fields

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Open the random streams of the shuffle."""
        set_rows(self, rows, _rngs=rng.generators(ORDER))

    def send(self, message: Payload, env: World) -> Payload:
        """Shuffle the messages of each run."""
        found = {name: message[name].copy() for name in self._fields}
        for r in np.flatnonzero(message["sent"].any(1)).tolist():
            agents = np.flatnonzero(message["sent"][r])
            if self._by.protocol is None:
                order = self._rngs[r].permutation(len(agents))
            else:
                order = self._by.order(r, [b"".join(x[r, a].tobytes() for x in found.values()) for a in agents])
            for value in found.values():
                value[r, agents] = value[r, agents[order]]
        return message.with_fields(**found)


class SealedFields(Channel):
    """Channel that releases the sum of a round's messages, mod m and on a fixed-point grid.

    The sum takes the place of one message, and zeros that of the others: receivers learn who sends, and the sum.

    Parameters
    ----------
    by : Sealing
        The wrapper.
    fields : tuple of str
        The fields that are added up.
    n_agents : int
        The most messages of a round.
    """

    cohort = "of one round"

    def __init__(self, by: Sealing, fields: tuple[str, ...], n_agents: int):
        self._by, self._fields = by, fields
        self._modulus = 2 * n_agents * math.ceil(by.quantization_levels * by.bound) + 1
        by.room(n_agents, n_agents * self._modulus)

    def send(self, message: Payload, env: World) -> Payload:
        """Sum the messages of each run; those of fewer than `min_cohort` agents are lost."""
        by, m, sent = self._by, self._modulus, message["sent"]
        parts = [np.reshape(message[name], (*sent.shape, -1)) for name in self._fields]
        values, opened = np.concatenate(parts, 2).astype(float), np.zeros_like(sent)
        if not (largest := np.abs(values[sent]).max(initial=0.0)) <= by.bound:
            raise ValueError(f"{by.name}: a message holds {largest:.4g}, but must be at most bound={by.bound:g}")
        sums = np.zeros_like(values)
        for r in np.flatnonzero(sent.sum(1) >= by.min_cohort).tolist():
            agents = np.flatnonzero(sent[r])
            total, left = by.add_up(r, np.rint(values[r, agents] * by.quantization_levels).astype(np.int64) % m, m)
            if left.any():
                opened[r, agents[left]] = True
                sums[r, agents[left][0]] = np.where(total > m // 2, total - m, total) / by.quantization_levels
        found = zip(self._fields, np.split(sums, np.cumsum([x.shape[2] for x in parts])[:-1], 2), strict=True)
        put = {name: x.reshape(message[name].shape).astype(message[name].dtype) for name, x in found}
        return message.with_fields(**put, sent=opened)
