"""Transport of messages over TCP between parties on any machines."""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import BinaryIO

from hushbandits.secure.messages import HEADER, Abort, Fault, Kind, length_of
from hushbandits.secure.server import Server
from hushbandits.secure.user import User


def serve(server: Server, listener: socket.socket, seconds: float = 10.0) -> None:
    """Run the server over TCP in a new event loop until the sum is done or aborted.

    A user drops out if it is silent for `seconds` after a round begins, or if its connection ends.  Of a
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
    asyncio.run(_Links(server).play(listener, seconds))


def answer(user: User, address: tuple[str, int], seconds: float = 60.0) -> None:
    """Run a user over TCP until its last message; raise `Abort` if the server is gone or silent.

    Parameters
    ----------
    user : User
    address : (str, int)
        Of the server.
    seconds : float
        For each message.
    """
    try:
        with socket.create_connection(address, timeout=seconds) as link, link.makefile("rb") as stream:
            link.sendall(user.start())
            while not user.done:
                header = _read(stream, HEADER)
                rest = length_of(header, user.parameters.longest) - HEADER
                link.sendall(user.receive(header + _read(stream, rest)))
    except OSError as error:
        raise Abort(Fault.LINK, f"from user {user.name} to the server ({type(error).__name__})") from None


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionResetError
    return data


class _Links:
    """The TCP connections of a server."""

    def __init__(self, server: Server):
        self._server, self._room = server, server.parameters.n
        self._names: dict[asyncio.StreamWriter, int | None] = {}  # whose each is, once it has spoken
        self._news = asyncio.Event()
        self._fault: Exception | None = None

    async def play(self, listener: socket.socket, seconds: float) -> None:
        """Run all rounds of the secure sum."""
        server = self._server
        listening = await asyncio.start_server(self._hear, sock=listener.dup(), backlog=self._room)
        try:
            while server.total is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._collect()
                if self._fault is not None:
                    raise self._fault
                self._send(server.advance())
        finally:
            self._room = 0
            self._send({})
            with suppress(NotImplementedError):  # on Windows
                for its in listening.sockets:  # a server that closes forgets connections that it has just accepted
                    asyncio.get_running_loop().remove_reader(its)
            while len(asyncio.all_tasks()) > 1:  # who hears a link that is cut ends by itself
                await asyncio.sleep(0)
            listening.close()

    async def _collect(self) -> None:
        """Wait for a message from every connected user."""
        server = self._server
        while self._fault is None and server.waiting:
            if server.round is not Kind.KEYS and not server.waiting.intersection(self._names.values()):
                return
            self._news.clear()
            await self._news.wait()

    def _send(self, mail: Mapping[int, bytes]) -> None:
        """Queue the messages in `mail`, and disconnect users without a message."""
        for link, name in [*self._names.items()]:
            if name is not None and name in mail:
                link.write(mail[name])
            else:
                self._cut(link)

    def _cut(self, link: asyncio.StreamWriter) -> None:
        self._names.pop(link, None)
        link.transport.abort()

    async def _hear(self, stream: asyncio.StreamReader, link: asyncio.StreamWriter) -> None:
        """Process the messages of a connection until the connection ends."""
        server, longest = self._server, self._server.parameters.longest
        if len(self._names) < self._room and server.round is Kind.KEYS:
            self._names[link] = None
        try:
            while link in self._names:
                header = await stream.readexactly(HEADER)
                data = header + await stream.readexactly(length_of(header, longest) - HEADER)
                if link in self._names:
                    name = server.receive(data)
                    if self._names[link] not in (None, name):
                        raise Abort(Fault.NAME, f"user {self._names[link]} sent a message under the name {name}")
                    self._names[link] = name
                    self._news.set()
        except (OSError, EOFError):  # gone
            pass
        except Exception as error:  # an Abort, or a fault of ours: it ends the sum
            self._fault = error
        finally:
            self._cut(link)
            self._news.set()
