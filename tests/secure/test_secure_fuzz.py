"""Thousands of messages that change on the way, by accident or forgery, never give a wrong sum."""

from contextlib import suppress

import numpy as np
import pytest
from secure_play import VARIANTS, M, X, body, forged, parties, play

from hushbandits.secure.bonawitz import SecureSum
from hushbandits.secure.messages import Abort, Kind


class Fuzz:
    """A line that changes messages: by accident, or as a forger who restores their digests.

    A masked vector that a forger replaces by another is a user's lie about its own input, and no protocol of this kind
    can tell: of these alone forgeries stay out of range.
    """

    def __init__(self, rng, old):
        self.rng, self.pool, self.old = rng, [], old
        self.changed = 0

    def noise(self, data):
        """Return bytes that no party accepts as a current message."""
        rng = self.rng
        way = rng.integers(7)
        if way == 0:
            at = int(rng.integers(len(data)))
            return data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :]
        if way == 1:
            return data[: int(rng.integers(len(data)))]
        if way == 2:
            return data + rng.bytes(int(rng.integers(1, 50)))
        if way == 3:
            return rng.bytes(int(rng.integers(200)))
        if way == 4:
            return forged(data, session=rng.bytes(16))
        if way == 5:
            return self.old[int(rng.integers(len(self.old)))]
        return forged(data, kind=int(rng.choice([k for k in range(256) if k != data[3]])))

    def forgery(self, data):
        rng, text = self.rng, bytearray(body(data))
        if data[3] == Kind.MASKED:
            return forged(data, bytes(text[:-8]) + b"\xff" * 8)
        way = rng.integers(5)
        if way == 0 and text:
            text[int(rng.integers(len(text)))] ^= int(rng.integers(1, 256))
        elif way == 1:
            del text[int(rng.integers(len(text) + 1)) :]
        elif way == 2:
            text += rng.bytes(int(rng.integers(1, 100)))
        elif way == 3:
            half = int(rng.integers(len(text) + 1))
            text = text[half:] + text[:half]
        else:
            return forged(data, sender=int(rng.integers(7)))
        return forged(data, bytes(text))


def fuzzed(rng, old, forge):
    """Play one sum on a noisy line; with `forge`, one message is forged, or replaced by another."""
    variant = "malicious" if rng.random() < 0.3 else "semi-honest"
    server, users = SecureSum(M, insecure_seed=int(rng.integers(2**31)), **VARIANTS[variant]).parties(X)
    fuzz, seen, at = Fuzz(rng, old), [], int(rng.integers(45)) if forge else -1
    gone = {Kind(int(rng.choice([1, 3, 5, 9]))): [int(rng.integers(5))]} if rng.random() < 0.5 else {}

    def line(to, data):
        party = server if to is None else users[to]
        for _ in range(4):
            noise = fuzz.noise(data)
            fuzz.changed += noise != data
            if noise != data:
                with pytest.raises(Abort):
                    party.receive(noise)
        seen.append((to, data))
        if len(seen) - 1 != at:
            return [data]
        fuzz.changed += 1
        others = [d for name, d in seen[:-1] if (name is None) == (to is None)]
        if rng.random() < 0.25 and others and data[3] != Kind.MASKED:
            return [others[int(rng.integers(len(others)))], data]
        return [fuzz.forgery(data)]

    with suppress(Abort):
        play(server, users, gone, line)
    if server.total is None:
        assert forge or gone
    else:
        assert server.total.tolist() == (X[server.survivors].sum(0) % M).tolist()
    return fuzz.changed


def many(count, seed):
    rng, old = np.random.default_rng(seed), []
    play(*parties(seed=99), line=lambda to, data: old.append(data) or [data])
    changed = 0
    while changed < count:
        changed += fuzzed(rng, old, forge=rng.random() < 0.9)


@pytest.mark.parametrize("count", [4000, pytest.param(100_000, marks=pytest.mark.weekly)])
def test_changed_messages_give_no_wrong_sum(count):
    many(count, 2)
