"""A secure sum played message by message, with a changeable line."""

import hashlib

import numpy as np

from hushbandits.secure.bonawitz import SecureSum
from hushbandits.secure.messages import DIGEST, HEADER

#: Inputs of five users, and protocols that add them.
M = (1 << 61) + 7
X = np.array([[1, 2], [30, 40], [500, 600], [7000, 8000], [90_000, 10]])
VARIANTS = {"semi-honest": {"threshold": 3}, "malicious": {"malicious": True}}


def parties(variant="semi-honest", seed=1):
    """Return the server and the users of one sum."""
    return SecureSum(M, insecure_seed=seed, **VARIANTS[variant]).parties(X)


def body(data):
    """Return the content of a message."""
    return data[HEADER:-DIGEST]


def play(server, users, silent=(), line=lambda to, data: [data]):
    """Play all rounds; ``line(to, data)`` returns the message that arrives, ``to`` a user's name or None.

    `silent` maps a stage (`Kind`) to those who say nothing from there on.
    """
    silent, gone = dict(silent), set()
    mail = dict.fromkeys(users, b"")
    while server.total is None:
        gone |= set(silent.get(server.round, ()))
        answers = []
        for u in sorted(mail.keys() - gone):
            if not mail[u]:
                answers.append(users[u].start())
            else:
                answers += [users[u].receive(data) for data in line(u, mail[u])]
        for answer in answers:
            for data in line(None, answer):
                server.receive(data)
        mail = server.advance()
    return server.total


def resealed(data):
    """Return the message with a valid digest, as a forger sends it."""
    return data[:-DIGEST] + hashlib.sha256(data[:-DIGEST]).digest()[:DIGEST]


def forged(data, body=None, kind=None, sender=None, session=None):
    """Return the message with other parts and a valid digest."""
    body = data[HEADER:-DIGEST] if body is None else body
    head = bytearray(data[:HEADER])
    if kind is not None:
        head[3] = kind
    if session is not None:
        head[4:20] = session
    if sender is not None:
        head[20:24] = sender.to_bytes(4, "big")
    head[24:28] = len(body).to_bytes(4, "big")
    return resealed(bytes(head) + body + bytes(DIGEST))
