"""Reports that travel over a graph, and channels that shuffle or sum the messages of each receiver."""

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from hushbandits.core import Array, Field, Fields, Inbox, Streams, Uniforms, World, require, set_rows
from hushbandits.core.payload import Channel, Payload, Sealing, Shuffling
from hushbandits.core.random.names import ORDER
from hushbandits.envs.network.inbox import SlotInbox, TallyInbox
from hushbandits.envs.rounds.reports import Reports


def _by_sender(keys: Array, inbox: SlotInbox) -> Array:
    """Return the order of an inbox's slots by random keys of their senders, ``(R, M, S)``, with empty slots last."""
    sender = inbox._slots.sender
    by_slot = np.take_along_axis(keys, np.broadcast_to(sender, (len(keys), *sender.shape[1:])), 2)
    return np.argsort(np.where(inbox.arrived, by_slot, np.inf), axis=2)


class ShuffledSlots(Channel):
    """Channel that shuffles each receiver's messages of a round uniformly and hides senders and delays."""

    cohort = "that reach one receiver in one round"
    _uniforms: Uniforms
    _rngs: list[np.random.Generator]

    def __init__(self, by: Shuffling):
        self._by = by

    def inbox_fields(self, fields: Fields, env: World) -> Fields:
        """Return `fields` without ``sender``."""
        return {name: field for name, field in fields.items() if name != "sender"}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Open the random streams of the shuffle."""
        set_rows(self, rows, _uniforms=rng.reader((env.n_agents, env.n_agents), ORDER), _rngs=rng.generators())

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Return the inbox without senders, its slots in random order."""
        if isinstance(inbox, TallyInbox):  # a sum has neither senders nor an order
            return inbox
        assert isinstance(inbox, SlotInbox)
        if self._by.protocol is not None:
            return inbox._hide_senders(partial(np.argsort, self._mixed(inbox), axis=2))
        if inbox.several:  # keys by arrival
            arrived = inbox.arrived
            keys = np.full(arrived.shape, np.inf)
            for key, mine, rng in zip(keys, arrived, self._rngs, strict=True):
                key[mine] = rng.random(mine.sum())
            return inbox._hide_senders(partial(np.argsort, keys, axis=2))
        uniforms = self._uniforms.next()  # (R, M, M): a receiver's key for each possible sender, whatever the batch
        return inbox._hide_senders(partial(_by_sender, uniforms, inbox))  # for those who read slots

    def _mixed(self, inbox: SlotInbox) -> Array:
        """Return each slot's position after the protocol's mix servers have shuffled the messages, ``(R, M, S)``.

        Empty slots have position ∞.
        """
        arrived, values = inbox.arrived, [inbox[name] for name in inbox.fields if name != "sender"]
        places = np.full(arrived.shape, np.inf)
        for r, i in np.argwhere(arrived.any(2)).tolist():
            slots = np.flatnonzero(arrived[r, i])
            messages = [b"".join(value[r, i, s].tobytes() for value in values) for s in slots]
            places[r, i, slots[self._by.order(r, messages)]] = np.arange(len(slots))
        return places


class SealedTallies(Channel):
    """Channel that releases the sum mod m of the encoded reports that reach a receiver in a round."""

    cohort = "of one arm, to one receiver in one round"
    #: Leakage of a protocol beyond that of the ideal sum.
    played = ("the receiver that adds up drops unread what it sees of an arm that fewer than min_cohort report",)

    def __init__(self, by: Sealing):
        self._by = by

    def message_fields(self, fields: Fields, env: World) -> Fields:
        """Return the message's only field, ``code``, which replaces the arm and the reward."""
        by = self._by
        require(by.name, ("arm", "reward"), fields)
        noised = [wrapper for wrapper in env.wrappers if wrapper.noise_range]
        most = 1 + sum(wrapper.noise_range for wrapper in noised)
        if noised and by.bound < most:
            raise ValueError(
                f"{by.name} encodes rewards up to bound={by.bound:g}, but {noised[0].name} may return "
                f"{most:.4g}: give {by.name} bound={math.ceil(most)}"
            )
        if hasattr(env, "slots"):  # otherwise the graph is not drawn yet
            self._enough(env)
        self._k, arrivals = env.n_arms, int(env.most_arrivals)
        # Large enough that the sum of all arrivals, of either sign, never wraps.
        self._modulus = 2 * arrivals * math.ceil(by.quantization_levels * by.bound) + 1
        by.room(arrivals, arrivals * self._modulus)
        return {"code": Field((2 * self._k,), "i8", low=0, high=self._modulus - 1)}

    def inbox_fields(self, fields: Fields, env: World) -> Fields:
        """Return the inbox's only field, ``tally``: pull counts and reward sums per arm."""
        return {"tally": Field((2, env.n_arms))}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Raise ``ValueError`` unless at least `min_cohort` agents reach each agent."""
        self._enough(env)

    def _enough(self, env: World) -> None:
        degree, least = env.slots.degree, self._by.min_cohort
        for m in np.argwhere(degree < least)[:, 1].tolist():
            raise ValueError(f"min_cohort={least} is too large for agent {m}: only {degree[:, m].min()} reach it")

    def send(self, message: Payload, env: World) -> Payload:
        """Encode each report as two vectors over the arms, which are 0 except at the pulled arm.

        There they hold 1 and the reward, rounded to an integer number of steps.
        """
        by, arm, sent = self._by, message["arm"], message["sent"]
        reward = np.where(sent, message["reward"], 0.0)
        if not (np.abs(reward) <= by.bound).all():  # the message must not reveal the value
            r, m = np.argwhere(~(np.abs(reward) <= by.bound))[0].tolist()
            raise ValueError(
                f"reward of agent {m} in run {r} must be at most bound={by.bound:g} of {by.name} in absolute value; "
                f"give {by.name} a larger bound"
            )
        hot = np.arange(self._k) == arm[..., None]
        steps = np.rint(reward * by.quantization_levels)[..., None].astype(np.int64)
        return Payload(code=np.concatenate([hot, hot * steps], 2) % self._modulus, sent=sent)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Return an inbox with the decoded sums of the arms with at least `min_cohort` reports."""
        m, by = self._modulus, self._by
        total = inbox.total("code") % m if by.protocol is None else self._play(inbox)
        # The minimum holds per arm: an arm with fewer contributions looks like an arm without any.
        opened = total[..., : self._k] >= by.min_cohort
        lifted = np.where(total > m // 2, total - m, total)
        pulls, sums = lifted[..., : self._k], lifted[..., self._k :] / by.quantization_levels
        return TallyInbox(np.where(opened[:, :, None], np.stack([pulls, sums], 2), 0.0), np.asarray(opened.any(2)))

    def _play(self, inbox: Inbox) -> Array:
        code, arrived = inbox["code"], inbox.arrived
        total = np.zeros((*arrived.shape[:2], 2 * self._k), np.int64)
        for r, i in np.argwhere(arrived.sum(2) >= self._by.min_cohort).tolist():
            total[r, i], _ = self._by.add_up(r, code[r, i, arrived[r, i]], self._modulus)
        return total


class GraphReports(Reports):
    """Payload of reports on a graph, which wrappers can shuffle, sum per receiver, or change at relays.

    Examples
    --------
    >>> sorted(GraphReports.operations)
    ['add', 'drop', 'map', 'relay', 'replace', 'seal', 'shuffle']
    """

    operations: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **Reports.operations, "relay": ("reward",), "shuffle": (), "seal": ("arm", "reward"),
    }  # fmt: skip

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """Return the channel that shuffles each receiver's messages of a round and hides their senders."""
        return ShuffledSlots(by)

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """Return the channel that releases pull counts and reward sums per arm for each receiver."""
        return SealedTallies(by)
