"""A secure sum played message by message, with somebody on the line."""

import hashlib

from hushbandits.secure.messages import DIGEST, HEADER


def play(server, users, silent=(), line=lambda to, data: [data]):
    """Play all rounds; ``line(to, data)`` says what arrives in place of a message, ``to`` a user's name or None.

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
    """The message with a digest that fits: what a forger sends."""
    return data[:-DIGEST] + hashlib.sha256(data[:-DIGEST]).digest()[:DIGEST]


def forged(data, body=None, kind=None, sender=None, session=None):
    """The message with other parts, whole again."""
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
