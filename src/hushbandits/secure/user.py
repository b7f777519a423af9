"""A user of a secure sum, which answers each message of the server once and in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushbandits.core import Array
from hushbandits.secure import messages, primitives
from hushbandits.secure.arithmetic import SHARE, masked, split
from hushbandits.secure.messages import DIGEST, SERVER, Abort, Fault, Kind, lists, parse_lists, parse_rows, rows, vector
from hushbandits.secure.parties import MASK, Parameters, Secretive

#: Bytes of a pair of shares as a neighbour gets it: the index, b's and the mask secret's.
PAIR = 2 + 2 * SHARE


class User(Secretive):
    """A user of the protocol of Bonawitz et al., which answers each message of the server once and in order.

    Parameters
    ----------
    parameters : Parameters
    name : int
    vector : Array
        uint64 residues.
    signing : bytes
        Its secret Ed25519 key, where the parameters have a directory.
    insecure_seed : int or str, optional
        For a simulation: all its other secrets follow from this and its name.
    agree : callable
        What two X25519 keys share.

    Raises
    ------
    ValueError
        A name that is none; a vector of another length, or with numbers that are no residues; a signing key that the
        directory does not know.

    References
    ----------
    Bonawitz et al. 2017, figure 4; Bell et al. 2020, algorithm 2.
    """

    def __init__(
        self,
        parameters: Parameters,
        name: int,
        vector: Array,
        signing: bytes = b"",
        insecure_seed: int | str | None = None,
        agree: Callable[[primitives.Private, bytes, str], bytes] = primitives.agree,
    ):
        self.parameters, self.name = parameters, name
        if not 0 <= name < parameters.n:
            raise ValueError(f"name={name} must lie in 0 … {parameters.n - 1}")
        self._x = np.asarray(vector, dtype=np.uint64)
        if self._x.shape != (parameters.length,) or (self._x >= parameters.modulus).any():
            raise ValueError(f"vector of user {name} must be {parameters.length} integers ≥ 0 below the modulus")
        if parameters.malicious:
            self._signing = primitives.signing(signing)
            if primitives.public(self._signing) != parameters.directory[name]:
                raise ValueError(f"signing must be the private key for the public key of user {name} in the directory")
        self._draw = primitives.source(insecure_seed, name)
        self._agree, self._weak = agree, f"user {name} got a public key of low order"
        self._mask_secret, self._b = self._draw(primitives.KEY), self._draw(primitives.KEY)
        self._channel_key = primitives.private(self._draw(primitives.KEY))
        self._mask_key = primitives.private(self._mask_secret)
        self._public = primitives.public(self._channel_key) + primitives.public(self._mask_key)
        self._channels: dict[int, bytes] = {}
        self._pairs: dict[int, bytes] = {}
        self._lists = self._answered = b""
        self._awaited: Kind | None = Kind.ROSTER

    @property
    def done(self) -> bool:
        """Whether the user has sent its last message."""
        return self._awaited is None

    def start(self) -> bytes:
        """Return the first message: the public keys."""
        p, keys = self.parameters, self._public
        signature = self._signing.sign(p.bound(b"keys", self.name) + keys) if p.malicious else b""
        return self.pack(Kind.KEYS, keys + signature)

    def pack(self, kind: Kind, body: bytes) -> bytes:
        """Return a message to the server, which answers its last one."""
        return messages.pack(kind, self.parameters.session, self.name, self._answered + body)

    def receive(self, data: bytes) -> bytes:
        """Return the answer to a message of the server; raise `Abort` if this message is unexpected or invalid."""
        kind, sender, body = messages.parse(data, self.parameters.session)
        if sender != SERVER:
            raise Abort(Fault.NAME, f"user {self.name} got a message of {sender}, which is not the server")
        if kind != self._awaited:
            raise Abort(Fault.ROUND, f"user {self.name} got {kind.name}, which it does not await")
        self._awaited = None  # whatever follows, never again
        self._answered = data[-DIGEST:]
        return getattr(self, f"_on_{kind.name.lower()}")(body)

    def _on_roster(self, body: bytes) -> bytes:
        p, u = self.parameters, self.name
        self._keys = parse_rows(body, p.key_width)
        if u in self._keys or any(v >= p.n for v in self._keys):
            raise Abort(Fault.NAME, f"user {u} got a roster with itself or an unknown user on it")
        if len(self._keys) < p.threshold:
            raise Abort(Fault.DROPOUT, f"user {u} has {len(self._keys)} neighbours, fewer than threshold={p.threshold}")
        for v, keys in self._keys.items() if p.malicious else ():
            both, signature = keys[: 2 * primitives.KEY], keys[2 * primitives.KEY :]
            if not primitives.verify(p.directory[v], signature, p.bound(b"keys", v) + both):
                raise Abort(Fault.SIGNATURE, f"user {u} got keys that user {v} has not signed")
        shares = [split(s, p.threshold, len(self._keys), self._draw) for s in (self._b, self._mask_secret)]
        boxes = []
        for i, (v, keys) in enumerate(self._keys.items()):
            shared = self._agree(self._channel_key, keys[: primitives.KEY], self._weak)
            self._channels[v] = p.key(b"channel", shared, u, v)
            text = (i + 1).to_bytes(2, "big") + b"".join(its[i].to_bytes(SHARE, "big") for its in shares)
            boxes.append((v, self._box(v, text)))
        self._awaited = Kind.INBOX
        return self.pack(Kind.SHARES, p.key(b"commitment", self._b, u) + rows(boxes))

    def _box(self, v: int, text: bytes) -> bytes:
        # A channel's key serves for one box each way: the direction is its nonce.
        u = self.name
        return primitives.seal(self._channels[v], int(u > v), text, self._names(u, v))

    def _names(self, sender: int, receiver: int) -> bytes:
        """Return the data that a box authenticates: the parameters' digest, and both users' names and public keys."""
        ends = ((v, self._public if v == self.name else self._keys[v][: len(self._public)]) for v in (sender, receiver))
        return self.parameters.tag + b"".join(v.to_bytes(4, "big") + keys for v, keys in ends)

    def _on_inbox(self, body: bytes) -> bytes:
        p, u = self.parameters, self.name
        boxes = parse_rows(body, PAIR + primitives.BOX, Fault.SHARE)
        if not boxes.keys() <= self._keys.keys():
            raise Abort(Fault.NAME, f"user {u} got shares of an unknown user")
        if len(boxes) < p.threshold:
            raise Abort(Fault.DROPOUT, f"user {u} got shares of {len(boxes)} neighbours, fewer than {p.threshold}")
        keys = [p.key(b"self", self._b, u)]
        for v, box in boxes.items():
            fault = f"user {u} cannot open the box from user {v}"
            self._pairs[v] = primitives.unseal(self._channels[v], int(v > u), box, self._names(v, u), fault)
            shared = self._agree(self._mask_key, self._keys[v][MASK], self._weak)
            keys.append(p.key(b"mask", shared, u, v))
        self._awaited = Kind.LISTS
        y = masked(self._x[None], keys, [False, *(v < u for v in boxes)], p.modulus)
        return self.pack(Kind.MASKED, vector(y, p.modulus))

    def _on_lists(self, body: bytes) -> bytes:
        p, u = self.parameters, self.name
        count, survivors, dropped = parse_lists(body)
        alive, gone = set(survivors), set(dropped)
        sound = body == lists(count, alive, gone) and not alive & gone and u in alive and count >= len(alive)
        # Of nobody else has it shares; where all are neighbours, the count says no more than the list.
        if not sound or alive | gone != self._pairs.keys() | {u} or (p.malicious and count > len(alive)):
            raise Abort(Fault.LISTS, f"user {u} got lists that overlap, or that have wrong users or a wrong count")
        if len(alive) <= p.threshold or count < p.fewest:
            few = f"fewer than {p.threshold} surviving neighbours, or fewer than {p.fewest} users"
            raise Abort(Fault.DROPOUT, f"user {u} got lists with {few}")
        self._lists = body
        if not p.malicious:
            return self._unmask()
        self._awaited = Kind.SIGNATURES
        return self.pack(Kind.SIGNED, self._signing.sign(p.bound(b"lists") + body))

    def _on_signatures(self, body: bytes) -> bytes:
        p = self.parameters
        found = parse_rows(body, primitives.SIGNATURE, Fault.SIGNATURE)
        text = p.bound(b"lists") + self._lists
        valid = [v for v, its in found.items() if v in self._keys and primitives.verify(p.directory[v], its, text)]
        if len(valid) < p.threshold:
            raise Abort(Fault.SIGNATURE, f"user {self.name} got fewer than {p.threshold} from its neighbours")
        return self._unmask()

    def _unmask(self) -> bytes:
        alive = set(parse_lists(self._lists)[1])
        answer = []
        for v, pair in self._pairs.items():  # b's share of a survivor, the mask secret's of another: never both
            first = 2 if v in alive else 2 + SHARE
            answer.append((v, bytes([v not in alive]) + pair[:2] + pair[first : first + SHARE]))
        return self.pack(Kind.UNMASK, rows(answer))


def remembering() -> Callable[[primitives.Private, bytes, str], bytes]:
    """Return a key agreement that computes the shared secret of two users only once, if both are in this process."""
    known: dict[frozenset[bytes], bytes] = {}

    def agree(key: primitives.Private, other: bytes, fault: str) -> bytes:
        pair = frozenset((primitives.public(key), other))
        if pair in known:
            return known.pop(pair)
        return known.setdefault(pair, primitives.agree(key, other, fault))

    return agree
