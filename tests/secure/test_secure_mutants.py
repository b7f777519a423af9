"""Broken variants of the protocol are each caught by the named check; the real one passes all."""

import numpy as np
import pytest
from secure_play import forged, play

from hushbandits.secure import arithmetic, parties, primitives, user
from hushbandits.secure.bonawitz import SecureSum
from hushbandits.secure.messages import DIGEST, HEADER, Abort, Kind, lists, parse_vector
from hushbandits.secure.server import Server
from hushbandits.secure.user import User

M = 1 << 40
X = np.array([[5], [6], [7], [8]])


def session(seed=None, x=X, modulus=M, **options):
    return SecureSum(modulus, insecure_seed=seed, **options).parties(x)


def sent(kind, server, users, to=None):
    """The bodies of one kind of message, by sender (or receiver)."""
    bodies = {}

    def line(name, data):
        if data[3] == kind and (name is None) == (to is None):
            bodies[int.from_bytes(data[20:24], "big") if name is None else name] = data[HEADER:-DIGEST]
        return [data]

    play(server, users, line=line)
    return bodies


def masked(*session_):
    found = {u: body[DIGEST:] for u, body in sent(Kind.MASKED, *session_).items()}
    return {u: parse_vector(body, len(body) // 5, M).astype(object) for u, body in found.items()}  # of 40 bits each


# -- a mask that is used again ---------------------------------------------------------------------------------------


def masks_are_new():
    """The difference of two sums' masked vectors is not the difference of the inputs."""
    first, second = masked(*session()), masked(*session(x=X + 3))
    return all((second[u][0] - first[u][0]) % M != 3 for u in first)


def test_a_reused_mask_is_caught(monkeypatch):
    real = arithmetic.expand
    monkeypatch.setattr(arithmetic, "expand", lambda keys, count, m: real([bytes(32)] * len(keys), count, m))
    assert not masks_are_new()


# -- both shares -----------------------------------------------------------------------------------------------------


def one_share_each():
    """A user answers with one share per neighbour: of b where it survived, else of the mask secret."""
    server, users = session(3, threshold=2)
    answers = {}

    def line(to, data):
        if to is None and data[3] == Kind.UNMASK:
            answers[data[20:24]] = data[HEADER + DIGEST : -DIGEST]
        return [data]

    try:
        play(server, users, {Kind.MASKED: [3]}, line)
    except Abort:
        return False
    rows = [[body[i : i + 40] for i in range(0, len(body), 40)] for body in answers.values()]
    return [[row[4] for row in its] for its in rows] == [[0, 0, 1]] * 3


def test_both_shares_revealed_are_caught(monkeypatch):
    def both(self):
        rows = ((v, bytes([0]) + pair) for v, pair in sorted(self._pairs.items()))
        return self.pack(Kind.UNMASK, b"".join(v.to_bytes(4, "big") + row for v, row in rows))

    monkeypatch.setattr(User, "_unmask", both)
    assert not one_share_each()


# -- a constant b ----------------------------------------------------------------------------------------------------


def own_masks_differ():
    """No two users of a session, and no user in two, commit to the same b."""
    bodies = [body[DIGEST : DIGEST + 32] for _ in range(2) for body in sent(Kind.SHARES, *session()).values()]
    pairs = [u._b for _ in range(2) for u in session()[1].values()]
    return len(set(bodies)) == 8 and len(set(pairs)) == 8


def test_a_constant_b_is_caught(monkeypatch):
    class Constant(User):
        def __init__(self, *args):
            super().__init__(*args)
            self._b = bytes(32)

    monkeypatch.setattr("hushbandits.secure.bonawitz.User", Constant)
    assert not own_masks_differ()


# -- no session in the derivation ------------------------------------------------------------------------------------


def sessions_bind():
    """The same secrets give other masks and boxes in another session."""

    def first(name):
        p = parties.Parameters(4, M, 1, 3, 3, name * 16)
        return masked(Server(p), {u: User(p, u, X[u], b"", "the same") for u in range(4)})

    a, b = first(b"a"), first(b"b")
    return all(a[u][0] != b[u][0] for u in a)


def test_no_session_in_the_derivation_is_caught(monkeypatch):
    def derive(secret, info, real=primitives.derive):
        return real(secret, info[: info.index(b" ", 12)])

    monkeypatch.setattr(primitives, "derive", derive)
    assert not sessions_bind()


# -- a nonce that is used twice --------------------------------------------------------------------------------------


def nonces_are_new(monkeypatch):
    """No two boxes of a session share a key and a nonce."""
    used = []
    real = primitives.seal
    monkeypatch.setattr(
        primitives, "seal", lambda key, nonce, *rest: used.append((key, nonce)) or real(key, nonce, *rest)
    )
    try:
        play(*session(7))
    except Abort:
        return False
    assert len(used) == 12
    return len(set(used)) == 12


def test_nonces_are_new(monkeypatch):
    assert nonces_are_new(monkeypatch)


def test_a_nonce_used_twice_is_caught(monkeypatch):
    real = primitives.unseal
    monkeypatch.setattr(primitives, "unseal", lambda key, _, *rest: real(key, 0, *rest))
    monkeypatch.setattr(user.User, "_box", lambda self, v, text: primitives.seal(
        self._channels[v], 0, text, self._names(self.name, v)))  # fmt: skip
    assert not nonces_are_new(monkeypatch)


# -- unchecked lists -------------------------------------------------------------------------------------------------


def lists_are_checked():
    """A user answers nothing if the server claims that this user, or all others, dropped out."""
    refused = 0
    for shown in (lists(3, [1, 2, 3], [0]), lists(1, [0], [1, 2, 3]), lists(4, range(4), [1])):
        server, users = session(8)

        def line(to, data, shown=shown):
            wrong = to == 0 and data[3] == Kind.LISTS
            return [forged(data, shown)] if wrong else [data]

        try:
            play(server, users, line=line)
        except Abort as abort:
            refused += "user 0 got" in str(abort)
    return refused == 3


def test_lists_that_are_not_checked_are_caught(monkeypatch):
    def believe(self, body):
        self._lists = body
        return self._unmask()

    monkeypatch.setattr(User, "_on_lists", believe)
    assert not lists_are_checked()


# -- seeds of 32 bits ------------------------------------------------------------------------------------------------


def seeds_have_all_their_bits():
    """Over 64 users' seeds each of 256 bits takes both values, and no two users' seeds are equal."""
    users = session(None, np.zeros((64, 1), int), neighbours=2)[1]
    for secrets in ([u._b for u in users.values()], [u._mask_secret for u in users.values()]):
        numbers = [int.from_bytes(secret, "big") for secret in secrets]
        both = ~(~0 << 256)
        ones, zeros = 0, 0
        for number in numbers:
            ones, zeros = ones | number, zeros | ~number & both
        if ones != both or zeros != both or len(set(numbers)) < 64:
            return False
    return True


def test_a_seed_of_32_bits_is_caught(monkeypatch):
    def short(insecure_seed, name, real=primitives.source):
        draw = real(insecure_seed, name)
        return lambda size: bytes(size - 4) + draw(4) if size == 32 else draw(size)

    monkeypatch.setattr(primitives, "source", short)
    assert not seeds_have_all_their_bits()


@pytest.mark.parametrize(
    "check",
    [masks_are_new, one_share_each, own_masks_differ, sessions_bind, lists_are_checked, seeds_have_all_their_bits],
    ids=lambda check: check.__name__,
)
def test_the_protocol_itself_passes(check):
    assert check()


def test_the_right_sum_finds_none_of_them(monkeypatch):
    """All secrets are equal and public, and the sum is right."""
    monkeypatch.setattr(primitives, "source", lambda *_: lambda size: b"\x01" * size)
    assert play(*session()).tolist() == [26]
