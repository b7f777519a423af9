"""How messages travel: in memory, in one process, or over TCP."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hushbandits.secure.messages import Kind
from hushbandits.secure.server import Server
from hushbandits.secure.user import User

__all__ = ["Traffic", "in_memory"]


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
