"""How messages travel: in memory, all parties in one process; or over TCP, each where it likes."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Self

from hushbandits.secure.messages import HEADER, Abort, Fault, Kind, length_of
from hushbandits.secure.server import Server
from hushbandits.secure.user import User

__all__ = ["Traffic", "answer", "in_memory", "serve"]


@dataclass
class Traffic:
    """What went over the wires.

    Attributes
    ----------
    up, down : dict
        Bytes that each user sent and got, headers and all.
    rounds : int
        Rounds that ended.
    """

    up: dict[int, int] = field(default_factory=dict)
    down: dict[int, int] = field(default_factory=dict)
    rounds: int = 0


def in_memory(
    server: Server, users: Mapping[int, User], traffic: Traffic, silent: Mapping[Kind, Collection[int]]
) -> None:
    """Play all rounds in this process; an `Abort` ends it.

    Parameters
    ----------
    server : Server
    users : mapping
        By name.
    traffic : Traffic
        Is counted up.
    silent : mapping
        Who says nothing from that round on.
    """
    mail: Mapping[int, bytes] = dict.fromkeys(users, b"")
    gone: set[int] = set()
    while server.total is None:
        gone.update(silent.get(server.round, ()))
        for u in sorted(mail.keys() - gone):
            answer = users[u].receive(mail[u]) if mail[u] else users[u].start()
            traffic.up[u] = traffic.up.get(u, 0) + len(answer)
            server.receive(answer)
        mail = server.advance()
        traffic.rounds += 1
        for u, data in mail.items():
            traffic.down[u] = traffic.down.get(u, 0) + len(data)


def serve(server: Server, listener: socket.socket, seconds: float = 10.0) -> Traffic:
    """Play the server over TCP; an `Abort` ends it.

    Whoever has not spoken `seconds` after a round began has dropped out, and so has whose connection ends.  Of a
    message no more is read than the longest that is due may have, and connections beyond one per user are closed: that
    bounds the memory.  At the end, also by an error, all connections are closed; `listener` stays the caller's.  Who
    listens on a link sees no more than the server; who can change what goes over it needs to be kept out by TLS.

    Parameters
    ----------
    server : Server
    listener : socket
        Bound and listening.
    seconds : float
        Per round.
    """
    traffic = Traffic()
    with _Links(server, listener, traffic) as links:
        while server.total is None:
            links.collect(time.monotonic() + seconds)
            links.send(server.advance())
            traffic.rounds += 1
    return traffic


def answer(user: User, address: tuple[str, int], seconds: float = 60.0) -> None:
    """Play a user over TCP, until it has unmasked; an `Abort` where the server is gone or says nothing for so long.

    Parameters
    ----------
    user : User
    address : (str, int)
        Of the server.
    seconds : float
        For each message.
    """
    try:
        with socket.create_connection(address, timeout=seconds) as link:
            link.sendall(user.start())
            while not user.done:
                header = _read(link, HEADER)
                rest = length_of(header, user.parameters.longest) - HEADER
                link.sendall(user.receive(header + _read(link, rest)))
    except OSError as error:
        raise Abort(Fault.LINK, f"user {user.name} to the server: {type(error).__name__}") from None


def _read(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = link.recv(min(size - len(data), 1 << 16))
        if not part:
            raise ConnectionResetError
        data += part
    return bytes(data)


class _Link:
    """A connection: what has come, and what is still to go."""

    def __init__(self, sock: socket.socket):
        self.sock = sock
        self.name: int | None = None
        self.got, self.out = bytearray(), bytearray()


class _Links:
    """The connections of a server."""

    def __init__(self, server: Server, listener: socket.socket, traffic: Traffic):
        self._server, self._traffic, self._listener = server, traffic, listener
        self._longest = server.parameters.longest
        self._links: list[_Link] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Self:
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        return self

    def __exit__(self, *_: object) -> None:
        for link in [*self._links]:
            self._close(link)
        self._selector.close()

    def _close(self, link: _Link) -> None:
        self._selector.unregister(link.sock)
        link.sock.close()
        self._links.remove(link)

    def send(self, mail: Mapping[int, bytes]) -> None:
        """Lay out what each user is to get; it goes while answers are collected."""
        for link in [*self._links]:
            if link.name is None or link.name not in mail:
                self._close(link)
                continue
            link.out += mail[link.name]
            self._traffic.down[link.name] = self._traffic.down.get(link.name, 0) + len(mail[link.name])
            self._selector.modify(link.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, link)

    def collect(self, deadline: float) -> None:
        """Take the messages of a round, until all have spoken who still can."""
        while waiting := self._server.waiting:
            left = deadline - time.monotonic()
            begun = self._server.round is not Kind.KEYS
            if left <= 0 or (begun and not any(link.name in waiting for link in self._links)):
                return
            for key, ready in self._selector.select(left):
                if key.data is None:
                    self._accept()
                    continue
                try:
                    if ready & selectors.EVENT_WRITE:
                        self._write(key.data)
                    if ready & selectors.EVENT_READ:
                        self._take(key.data)
                except OSError:
                    self._close(key.data)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:  # gone again
            return
        if len(self._links) >= self._server.parameters.n or self._server.round is not Kind.KEYS:
            sock.close()
            return
        sock.setblocking(False)
        link = _Link(sock)
        self._links.append(link)
        self._selector.register(sock, selectors.EVENT_READ, link)

    def _write(self, link: _Link) -> None:
        sent = link.sock.send(memoryview(link.out)[: 1 << 16])
        link.out = link.out[sent:]
        if not link.out:
            self._selector.modify(link.sock, selectors.EVENT_READ, link)

    def _take(self, link: _Link) -> None:
        size = HEADER if len(link.got) < HEADER else length_of(bytes(link.got[:HEADER]), self._longest)
        part = link.sock.recv(min(size - len(link.got), 1 << 16))
        if not part:
            raise ConnectionResetError
        link.got += part
        if len(link.got) < HEADER or len(link.got) < length_of(bytes(link.got[:HEADER]), self._longest):
            return
        data, link.got = bytes(link.got), bytearray()
        name = self._server.receive(data)
        if link.name not in (None, name):
            raise Abort(Fault.NAME, f"the server got a message of {name} from {link.name}")
        link.name = name
        self._traffic.up[name] = self._traffic.up.get(name, 0) + len(data)
