"""The server of a secure sum, which collects one message per user and round and answers all users."""

import hashlib
from collections.abc import Collection, Mapping

import numpy as np

from hushbandits.core import Array
from hushbandits.secure import messages, primitives
from hushbandits.secure.arithmetic import PRIME, SHARE, masked, recover
from hushbandits.secure.graph import neighbourhoods
from hushbandits.secure.messages import DIGEST, SERVER, Abort, Fault, Kind, lists, parse_rows, parse_vector, rows
from hushbandits.secure.parties import MASK, Parameters, Secretive
from hushbandits.secure.user import PAIR, User


class Server(Secretive):
    """The server of a secure sum, which collects one message per user until the caller ends the round.

    Parameters
    ----------
    parameters : Parameters

    Attributes
    ----------
    round : Kind
        Which messages it takes.
    alive : set of int
        Whose messages this round takes; afterwards those whose came.
    total : Array or None
        The sum of the `survivors`, once the last round is over.
    up, down : Array
        Bytes of each user's messages that it took, and of those to each, (n,).
    rounds : int
        Those that ended.

    References
    ----------
    Bonawitz et al. 2017, figure 4; Bell et al. 2020, algorithm 3.
    """

    def __init__(self, parameters: Parameters):
        self.parameters, self.name = parameters, SERVER
        self.round, self.rounds = Kind.KEYS, 0
        self.alive: set[int] = set(range(parameters.n))
        self.total: Array | None = None
        self.survivors: list[int] = []
        self.up, self.down = np.zeros((2, parameters.n), np.int64)
        self._sharers: set[int] = set()
        self._got: dict[int, object] = {}
        self._sent: dict[int, bytes] = {}  # digests of what each user is to answer

    @property
    def waiting(self) -> set[int]:
        """The users without a message in this round."""
        return self.alive - self._got.keys()

    def receive(self, data: bytes) -> int:
        """Process a user's message of this round and return the user's name, or raise `Abort` for a bad message."""
        kind, u, body = messages.parse(data, self.parameters.session)
        if self.total is not None or kind != self.round:
            raise Abort(Fault.ROUND, f"the server got {kind.name}, which it does not await")
        if u not in self.waiting:
            raise Abort(Fault.NAME, f"user {u} sent {kind.name}, but is unknown or dropped, or sent it before")
        sent = self._sent.get(u, b"")
        if body[: len(sent)] != sent:
            raise Abort(Fault.ROUND, f"user {u} does not answer the last message that it got from the server")
        self._got[u] = self._parse(u, body[len(sent) :])
        self.up[u] += len(data)
        return u

    def _parse(self, u: int, body: bytes) -> object:
        p = self.parameters
        if self.round is Kind.MASKED:
            return parse_vector(body, p.length, p.modulus)
        if self.round is Kind.SHARES:
            boxes = parse_rows(body[primitives.KEY :], PAIR + primitives.BOX, Fault.SHARE)
            if sorted(boxes) != self._graph[u]:
                raise Abort(Fault.NAME, f"user {u} must send shares to all its neighbours and to no other user")
            return body[: primitives.KEY], boxes
        if self.round is Kind.UNMASK:
            return self._parse_unmask(u, body)
        width = p.key_width if self.round is Kind.KEYS else primitives.SIGNATURE
        if len(body) != width:
            raise Abort(Fault.FORMAT, f"user {u} sent a body of {len(body)} bytes instead of {width}")
        return body

    def _parse_unmask(self, u: int, body: bytes) -> dict[int, int]:
        found = parse_rows(body, 3 + SHARE, Fault.SHARE)
        if found.keys() != set(self._graph[u]) & self._sharers:
            raise Abort(Fault.NAME, f"user {u} must send shares of all its neighbours and of no other user")
        survivors = set(self.survivors)
        for v, row in found.items():
            asked = bytes([v not in survivors]) + (self._graph[v].index(u) + 1).to_bytes(2, "big")
            if row[:3] != asked or int.from_bytes(row[3:], "big") >= PRIME:
                raise Abort(Fault.SHARE, f"user {u} sent a share of user {v} that was not requested or is invalid")
        return {v: int.from_bytes(row[3:], "big") for v, row in found.items()}

    def advance(self) -> dict[int, bytes]:
        """End the round, and drop silent users.  Return the next messages by user; none after the last round."""
        got, self._got = self._got, {}
        self.alive = set(got)
        if self.round is not Kind.KEYS:
            self._enough()
        bodies: dict[int, bytes] = getattr(self, f"_on_{self.round.name.lower()}")(got)
        session = self.parameters.session
        mail = {u: messages.pack(Kind(self.round + 1), session, SERVER, body) for u, body in bodies.items()}
        self._sent = {u: data[-DIGEST:] for u, data in mail.items()}
        for u, data in mail.items():
            self.down[u] += len(data)
        # lists are signed only where the server may be malicious
        unsigned = self.round is Kind.MASKED and not self.parameters.malicious
        self.round = Kind.UNMASK if unsigned else Kind(min(self.round + 2, Kind.UNMASK))
        self.rounds += 1
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

    def _on_keys(self, got: dict[int, bytes]) -> dict[int, bytes]:
        p = self.parameters
        self._keys = got
        # Every user's keys go in.  Who sees all others before it sends its own can try keys until the graph suits it.
        seed = hashlib.sha256(p.tag + rows(got.items())).digest()
        self._graph = neighbourhoods(sorted(got), p.neighbours, seed)
        self._enough()
        return {u: rows((v, got[v]) for v in its) for u, its in self._graph.items()}

    def _on_shares(self, got: dict[int, tuple[bytes, dict[int, bytes]]]) -> dict[int, bytes]:
        self._sharers = set(got)
        self._commitments = {u: commitment for u, (commitment, _) in got.items()}
        return {u: rows((v, got[v][1][u]) for v in self._graph[u] if v in got) for u in got}

    def _on_masked(self, got: dict[int, Array]) -> dict[int, bytes]:
        self.survivors = sorted(got)
        self._y = np.stack([got[u] for u in self.survivors])
        near = {u: {u, *self._graph[u]} for u in got}  # of whom a user has shares, and itself
        gone = self._sharers - got.keys()
        return {u: lists(len(got), its & got.keys(), its & gone) for u, its in near.items()}

    def _on_signed(self, got: dict[int, bytes]) -> dict[int, bytes]:
        return {u: rows((v, got[v]) for v in self._graph[u] if v in got) for u in got}

    def _on_unmask(self, got: dict[int, dict[int, int]]) -> dict[int, bytes]:
        p, survivors = self.parameters, set(self.survivors)
        keys, negative = [], []
        for v in sorted(self._sharers):
            shares = [(i + 1, got[u][v]) for i, u in enumerate(self._graph[v]) if u in got]
            secret = recover(dict(shares[: p.threshold]))
            if v in survivors:
                if secret is None or p.key(b"commitment", secret, v) != self._commitments[v]:
                    raise Abort(Fault.SHARE, f"the shares of user {v} differ from its commitment")
                keys.append(p.key(b"self", secret, v))
                negative.append(True)
                continue
            key = None if secret is None else primitives.private(secret)
            if key is None or primitives.public(key) != self._keys[v][MASK]:
                raise Abort(Fault.SHARE, f"the shares of user {v} do not give the secret of its public key")
            for u in survivors.intersection(self._graph[v]):
                shared = primitives.agree(key, self._keys[u][MASK], f"the public key of user {u} is of low order")
                keys.append(p.key(b"mask", shared, u, v))
                negative.append(v > u)  # u added it where v > u
        self.total = masked(self._y, keys, negative, p.modulus)
        return {}


def play(server: Server, users: Mapping[int, User], silent: Mapping[Kind, Collection[int]]) -> None:
    """Run all rounds; the users in ``silent[kind]`` send no messages of this kind or of later kinds."""
    mail: Mapping[int, bytes] = dict.fromkeys(users, b"")
    gone: set[int] = set()
    while server.total is None:
        gone.update(silent.get(server.round, ()))
        for u in sorted(mail.keys() - gone):
            server.receive(users[u].receive(mail[u]) if mail[u] else users[u].start())
        mail = server.advance()
