"""Messages of a linear bandit, sums of feature products and of rewards, and channels that shuffle or sum them."""

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from hushbandits.core import Array, Channel, Fields, Law, Payload, Streams, Uniforms, World, set_rows
from hushbandits.core.payload import OPERATIONS, Sealing, Shuffling
from hushbandits.core.random.names import ORDER
from hushbandits.envs.linear.server import FIELDS
from hushbandits.estimators.ridge import picked


class SealedUploads(Channel):
    """Channel that releases the sum of a round's uploads, mod m and on a fixed-point grid.

    The sum takes the place of one upload, and zeros that of the others: the server learns who uploads, and the sum.
    """

    cohort = "that are uploaded in one round"

    def __init__(self, by: Sealing, env: World):
        served(by.name, env, "differences")
        self._by, n = by, int(env.n_agents)
        self._modulus = 2 * n * math.ceil(by.quantization_levels * by.bound) + 1
        by.room(n, n * self._modulus)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Do nothing: a sum needs no state."""

    def send(self, message: Payload, env: World) -> Payload:
        """Sum the uploads of each run; those of fewer than `min_cohort` agents are lost."""
        by, m, sent = self._by, self._modulus, message["sent"].copy()
        parts = [np.reshape(message[name], (*sent.shape, -1)) for name in FIELDS]
        values = np.concatenate(parts, 2).astype(float)
        largest = float(np.abs(values[sent]).max(initial=0.0))
        if not largest <= by.bound:
            raise ValueError(f"{by.name}: an upload holds {largest:.4g}, but must be at most bound={by.bound:g}")
        totals = np.zeros_like(values)
        for r in np.flatnonzero(sent.any(1)).tolist():
            agents = np.flatnonzero(sent[r])
            sent[r] = False
            if len(agents) < by.min_cohort:
                continue
            codes = np.rint(values[r, agents] * by.quantization_levels).astype(np.int64) % m
            total, left = codes.sum(0) % m, np.ones(len(agents), bool)
            if by.protocol is not None:
                total, left = by.add_up(r, codes, m)
            if left.any():
                sent[r, agents[left]] = True
                totals[r, agents[left][0]] = np.where(total > m // 2, total - m, total) / by.quantization_levels
        for name, x in zip(FIELDS, np.split(totals, np.cumsum([x.shape[2] for x in parts])[:-1], 2), strict=True):
            message = message.with_fields(**{name: x.reshape(message[name].shape).astype(message[name].dtype)})
        return message.with_fields(sent=sent)


class ShuffledUploads(Channel):
    """Channel that deals a round's uploads out to their senders in a uniform order: the server learns no sender."""

    cohort = "that are uploaded in one round"
    _rngs: list[np.random.Generator]

    def __init__(self, by: Shuffling, env: World):
        self._by = by
        served(by.name, env, "answer", "differences")

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Open the random streams of the shuffle."""
        set_rows(self, rows, _rngs=rng.generators(ORDER))

    def send(self, message: Payload, env: World) -> Payload:
        """Shuffle the uploads of each run."""
        sent, found = message["sent"], {name: message[name].copy() for name in message if name != "sent"}
        for r in np.flatnonzero(sent.any(1)).tolist():
            agents = np.flatnonzero(sent[r])
            if self._by.protocol is None:
                order = self._rngs[r].permutation(len(agents))
            else:
                order = self._by.order(r, [b"".join(x[r, a].tobytes() for x in found.values()) for a in agents])
            for value in found.values():
                value[r, agents] = value[r, agents[order]]
        return message.with_fields(**found)


def served(name: str, env: World, *personal: str) -> None:
    """Raise ``ValueError`` if agents flood their increments over a graph, or for a server with a rule of `personal`."""
    if env.server in personal:
        raise ValueError(f"server={env.server!r} of the env goes by who uploads what, which {name} hides")
    if env._server.rule == "flood":
        raise ValueError(f"graph= of the env must be None for {name}, which stands before a server")


class Replaced:
    """Stream by which rewards of pulls are replaced, and what that changes in Σ r x that agents have not uploaded."""

    def __init__(self, env: World, rng: Streams):
        self.env, self.moment = env, np.zeros((len(rng), env.n_agents, env.n_features))
        self.uniforms = rng.reader((2, env.active_agents.shape[1]), "replace")

    def __setitem__(self, rows: Array, fresh: "Replaced") -> None:
        self.uniforms[rows], self.moment[rows] = fresh.uniforms, fresh.moment


class Increments(Payload):
    """Payload of one upload per agent and round: ``gram`` Σ x xᵀ, ``moment`` Σ r x, and ``pulls``, their number.

    Examples
    --------
    >>> sorted(Increments.operations)
    ['drop', 'replace', 'seal', 'shuffle']
    """

    noun = "sums of features and rewards"
    operations: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(("drop", "replace", "shuffle", "seal"), FIELDS)

    @classmethod
    def follows(cls, name: str, verb: str, fields: Fields, before: Collection[str]) -> None:
        """Raise ``ValueError`` if an earlier wrapper changes who sends which pulls, whose rewards `name` replaces."""
        if verb == "replace" and before:
            raise ValueError(f"{name} must replace rewards before uploads are {OPERATIONS[min(before)]}: put it first")

    @classmethod
    def stream(cls, verb: str, env: World, rng: Streams) -> "Uniforms | Replaced":
        """Return a reader of the uniform samples for the operation `verb`, one row per round."""
        cls.answers(verb)
        return Replaced(env, rng) if verb == "replace" else rng.reader((env.active_agents.shape[1],), verb)

    def drop(self, rate: Array | float, stream: Uniforms) -> Self:
        """Drop each upload with probability `rate`."""
        return self.with_fields(sent=self["sent"] & (stream.next() >= rate))

    def replace(self, rate: Array | float, law: Law, location: float, stream: "Replaced") -> Self:
        """Replace the reward of each pull with probability `rate` by a sample from `law`, in what is uploaded of it."""
        env, sent = stream.env, self["sent"][..., None]
        at = np.arange(len(sent))[:, None], env.active_agents
        coin, u = np.moveaxis(stream.uniforms.next(), -2, 0)
        hit = coin < np.broadcast_to(rate, stream.moment.shape[:2])[at]
        off = np.where(hit, law.quantile(u, np.array(location)) - env.own_reward, 0.0)
        moment = stream.moment[at] + off[..., None] * picked(env.features, env._arm)
        stream.moment[at] = np.where(sent, 0.0, moment)
        return self.with_fields(moment=self["moment"] + np.where(sent, moment, 0.0))

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """Return the channel that shuffles a round's uploads."""
        return ShuffledUploads(by, env)

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """Return the channel that releases the sum of a round's uploads."""
        return SealedUploads(by, env)


def tree_of(env: World) -> Any:
    """Return the wrapper of `env` that keeps a tree of noisy sums; raise ``ValueError`` if there is none.

    Examples
    --------
    >>> import hushbandits as hb
    >>> tree_of(hb.make_batched("PrivateFedLinear-v0")).depth
    9
    """
    found = next((wrapper for wrapper in env.wrappers if hasattr(wrapper, "depth")), None)
    if found is None:
        raise ValueError("the env needs a tree of noisy sums, such as wrappers=['TreeGaussian'] or PrivateFedLinear-v0")
    return found
