"""The server of a secure sum: it collects a message of each user per round, and answers them all at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from hushbandits.core import Array
from hushbandits.secure import primitives
from hushbandits.secure.graph import neighbourhoods
from hushbandits.secure.messages import (
    DIGEST,
    SERVER,
    Abort,
    Fault,
    Kind,
    Message,
    lists,
    parse_rows,
    parse_vector,
    rows,
)
from hushbandits.secure.parties import MASK, Parameters, Party, commitment, pair_key, self_key, signed_mask
from hushbandits.secure.sampling import expand, total
from hushbandits.secure.shamir import PRIME, SHARE, recover
from hushbandits.secure.user import PAIR

__all__ = ["Server"]

#: What users answer; the lists they sign first only where the server may be malicious.
_NEXT = {
    Kind.ROSTER: Kind.SHARES,
    Kind.INBOX: Kind.MASKED,
    Kind.LISTS: Kind.SIGNED,
    Kind.SIGNATURES: Kind.UNMASK,
}


class Server(Party):
    """The server: it collects one message of each user per round, and ends the round when told to.

    Parameters
    ----------
    parameters : Parameters

    References
    ----------
    Bonawitz et al. 2017, figure 4; Bell et al. 2020, algorithm 3.
    """

    def __init__(self, parameters: Parameters):
        super().__init__(parameters, SERVER)
        self.round = Kind.KEYS
        #: Whose messages this round takes; afterwards those whose came.
        self.alive: set[int] = set(range(parameters.n))
        self.total: Array | None = None
        self.survivors: list[int] = []
        self._graph: dict[int, list[int]] = {}
        self._sharers: set[int] = set()
        self._keys: dict[int, bytes] = {}
        self._commitments: dict[int, bytes] = {}
        self._y: Array = np.empty((0, parameters.length), dtype=np.uint64)
        self._got: dict[int, Any] = {}
        self._sent: dict[int, bytes] = {}  # digests of what each user is to answer

    @property
    def waiting(self) -> set[int]:
        """Who has not spoken in this round."""
        return self.alive - self._got.keys()

    def receive(self, data: bytes) -> int:
        """Take a user's message of this round, and return its name; an `Abort` where it is wrong."""
        message = Message.parse(data, self.parameters.session)
        if self.total is not None or message.kind != self.round:
            raise Abort(Fault.ROUND, f"the server got {message.kind.name}, which is not due")
        if message.sender not in self.waiting:
            raise Abort(
                Fault.NAME, f"the server got {message.kind.name} of {message.sender}, unknown, dropped or twice"
            )
        sent = self._sent.get(message.sender, b"")
        if message.body[: len(sent)] != sent:
            raise Abort(Fault.ROUND, f"{message.sender} answers another message than the server's")
        self._got[message.sender] = self._parse(message.sender, message.body[len(sent) :])
        return message.sender

    def _parse(self, u: int, body: bytes) -> Any:
        p = self.parameters
        if self.round is Kind.MASKED:
            return parse_vector(body, p.length, p.modulus)
        if self.round is Kind.SHARES:
            boxes = parse_rows(body[primitives.KEY :], PAIR + primitives.BOX, Fault.SHARE)
            if sorted(boxes) != self._graph[u]:
                raise Abort(Fault.NAME, f"user {u} shares with others than its neighbours")
            return body[: primitives.KEY], boxes
        if self.round is Kind.UNMASK:
            return self._parse_unmask(u, body)
        width = p.key_width if self.round is Kind.KEYS else primitives.SIGNATURE
        if len(body) != width:
            raise Abort(Fault.FORMAT, f"user {u} sent {len(body)} bytes; allowed are {width}")
        return body

    def _parse_unmask(self, u: int, body: bytes) -> dict[int, int]:
        found = parse_rows(body, 3 + SHARE, Fault.SHARE)
        if found.keys() != set(self._graph[u]) & self._sharers:
            raise Abort(Fault.NAME, f"user {u} unmasks others than its neighbours")
        survivors = set(self.survivors)
        for v, row in found.items():
            asked = bytes([v not in survivors]) + (self._graph[v].index(u) + 1).to_bytes(2, "big")
            if row[:3] != asked or int.from_bytes(row[3:], "big") >= PRIME:
                raise Abort(Fault.SHARE, f"user {u} sent of {v} a share that was not asked for, or is none")
        return {v: int.from_bytes(row[3:], "big") for v, row in found.items()}

    def advance(self) -> dict[int, bytes]:
        """End the round: who has not spoken has dropped.  The next messages by user; none after the last round."""
        got, self._got = self._got, {}
        self.alive = set(got)
        if self.round is not Kind.KEYS:
            self._enough()
        ends: dict[Kind, Callable[[Any], tuple[Kind, dict[int, bytes]]]] = {
            Kind.KEYS: self._roster,
            Kind.SHARES: self._inbox,
            Kind.MASKED: self._announce,
            Kind.SIGNED: self._signatures,
            Kind.UNMASK: self._sum,
        }
        sent, bodies = ends[self.round](got)
        plain = sent is Kind.LISTS and not self.parameters.malicious
        self.round = Kind.UNMASK if plain else _NEXT[sent]
        mail = {u: self.pack(sent, body) for u, body in bodies.items()}
        self._sent = {u: data[-DIGEST:] for u, data in mail.items()}
        return mail

    def _enough(self) -> None:
        t = self.parameters.threshold
        for u in self._sharers or self.alive:
            left = len(self.alive.intersection(self._graph[u]))
            if left < t:
                raise Abort(Fault.DROPOUT, f"{left} neighbours of user {u} are left, fewer than threshold={t}")
        # What is added up are the masked vectors; who unmasks afterwards may be fewer.
        fewest = 1 if self.round in (Kind.SIGNED, Kind.UNMASK) else self.parameters.fewest
        if len(self.alive) < fewest:
            raise Abort(Fault.DROPOUT, f"{len(self.alive)} users are left; allowed are {fewest} or more")

    def _roster(self, got: dict[int, bytes]) -> tuple[Kind, dict[int, bytes]]:
        p = self.parameters
        self._keys = got
        # Every user's keys go in.  Who sees all others before it sends its own can try keys until the graph suits it.
        seed = hashlib.sha256(p.tag + rows(got.items())).digest()
        self._graph = neighbourhoods(sorted(got), p.neighbours, seed)
        self._enough()
        return Kind.ROSTER, {u: rows((v, got[v]) for v in its) for u, its in self._graph.items()}

    def _inbox(self, got: dict[int, tuple[bytes, dict[int, bytes]]]) -> tuple[Kind, dict[int, bytes]]:
        self._sharers = set(got)
        self._commitments = {u: commitment for u, (commitment, _) in got.items()}
        return Kind.INBOX, {u: rows((v, got[v][1][u]) for v in self._graph[u] if v in got) for u in got}

    def _announce(self, got: dict[int, Array]) -> tuple[Kind, dict[int, bytes]]:
        self.survivors = sorted(got)
        self._y = np.stack([got[u] for u in self.survivors])
        near = {u: {u, *self._graph[u]} for u in got}  # of whom a user has shares, and itself
        gone = self._sharers - got.keys()
        return Kind.LISTS, {u: lists(len(got), its & got.keys(), its & gone) for u, its in near.items()}

    def _signatures(self, got: dict[int, bytes]) -> tuple[Kind, dict[int, bytes]]:
        return Kind.SIGNATURES, {u: rows((v, got[v]) for v in self._graph[u] if v in got) for u in got}

    def _sum(self, got: dict[int, dict[int, int]]) -> tuple[Kind, dict[int, bytes]]:
        p = self.parameters
        survivors = set(self.survivors)
        keys, negative = [], []
        for v in sorted(self._sharers):
            secret = self._recover(v, got)
            if v in survivors:
                if secret is None or commitment(p, secret, v) != self._commitments[v]:
                    raise Abort(Fault.SHARE, f"the shares of user {v} do not give what it committed to")
                keys.append(self_key(p, secret, v))
                negative.append(True)
                continue
            key = None if secret is None else primitives.private(secret)
            if key is None or primitives.public(key) != self._keys[v][MASK]:
                raise Abort(Fault.SHARE, f"the shares of user {v} do not give the secret of its public key")
            for u in survivors.intersection(self._graph[v]):
                shared = primitives.agree(key, self._keys[u][MASK])
                if shared is None:
                    raise Abort(Fault.KEY, f"the public key of user {u} is of low order")
                keys.append(pair_key(p, b"mask", shared, u, v))
                negative.append(v > u)  # u added it where v > u
        masks = signed_mask(expand(keys, p.length, p.modulus), np.array(negative), p.modulus)
        self.total = total(np.concatenate([self._y, masks[None]]), p.modulus)
        return Kind.SIGNATURES, {}

    def _recover(self, v: int, got: dict[int, dict[int, int]]) -> bytes | None:
        shares = {i + 1: got[u][v] for i, u in enumerate(self._graph[v]) if u in got}
        first = sorted(shares)[: self.parameters.threshold]
        return recover({i: shares[i] for i in first})
