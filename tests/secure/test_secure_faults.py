"""Every fault ends in a named abort, never in a wrong sum; a refused message leaves no trace."""

import tracemalloc

import numpy as np
import pytest
from refusals import rows
from secure_play import VARIANTS, M, X, body, forged, parties, play, resealed

import hushbandits as hb
from hushbandits.secure import primitives
from hushbandits.secure.arithmetic import SHARE, expand, recover
from hushbandits.secure.bonawitz import SecureSum
from hushbandits.secure.messages import DIGEST, LARGEST, Abort, Fault, Kind, length_of, lists, parse_vector
from hushbandits.secure.parties import MASK


def on(kind, change, to=None, times=1):
    """A line that changes the first message of a kind to the server (or to user `to`), and counts."""
    left = [times]

    def line(name, data):
        if name == to and data[3] == kind and left[0]:
            left[0] -= 1
            got = change(data)
            return got if isinstance(got, list) else [got]
        return [data]

    return line


def cut(data, size):
    return forged(data, body(data)[:-size])


def flipped(data, at):
    changed = bytearray(body(data))
    changed[at] ^= 1
    return forged(data, bytes(changed))


#: Faults of the specification: the message, its receiver (None: the server), the change, and the fault's name.
FAULTS = {
    "a share too short": (Kind.UNMASK, None, lambda d: cut(d, 1), Fault.SHARE),
    "a share with another index": (Kind.UNMASK, None, lambda d: flipped(d, DIGEST + 4 + 2), Fault.SHARE),
    "a share of the other secret": (Kind.UNMASK, None, lambda d: flipped(d, DIGEST + 4), Fault.SHARE),
    "a share beyond the field": (Kind.UNMASK, None, lambda d: forged(d, body(d)[: DIGEST + 7] + b"\xff" * 33
                                                                     + body(d)[DIGEST + 40 :]), Fault.SHARE),
    "a share that is false": (Kind.UNMASK, None, lambda d: flipped(d, DIGEST + 30), Fault.SHARE),
    "shares of fewer users": (Kind.UNMASK, None, lambda d: cut(d, 40), Fault.NAME),
    "boxes too short": (Kind.SHARES, None, lambda d: cut(d, 3), Fault.SHARE),
    "boxes for fewer users": (Kind.SHARES, None, lambda d: cut(d, 88), Fault.NAME),
    "a box that does not open": (Kind.INBOX, 1, lambda d: flipped(d, -1), Fault.BOX),
    "a box from somebody else": (Kind.INBOX, 1, lambda d: forged(d, b"\0\0\0\x07" + body(d)[4:]), Fault.NAME),
    "a name that comes twice": (Kind.ROSTER, 0, lambda d: forged(d, body(d) + body(d)), Fault.NAME),
    "a roster with oneself": (Kind.ROSTER, 1, lambda d: forged(d, b"\0\0\0\1" + body(d)[4:]), Fault.NAME),
    "a key of low order": (Kind.ROSTER, 1, lambda d: forged(d, body(d)[:4] + bytes(32) + body(d)[36:]), Fault.KEY),
    "a user that nobody knows": (Kind.KEYS, None, lambda d: forged(d, sender=77), Fault.NAME),
    "keys too long": (Kind.KEYS, None, lambda d: forged(d, body(d) + b"x"), Fault.FORMAT),
    "a message of another session": (Kind.MASKED, None, lambda d: forged(d, session=b"s" * 16), Fault.SESSION),
    "a message of another round": (Kind.MASKED, None, lambda d: forged(d, kind=Kind.UNMASK), Fault.ROUND),
    "a message that comes twice": (Kind.MASKED, None, lambda d: [d, d], Fault.NAME),
    "an answer to something else": (Kind.MASKED, None, lambda d: flipped(d, 0), Fault.ROUND),
    "a vector too short": (Kind.MASKED, None, lambda d: cut(d, 8), Fault.VALUE),
    "a vector out of range": (Kind.MASKED, None, lambda d: forged(d, body(d)[:-8] + b"\xff" * 8), Fault.VALUE),
    "bits behind a vector": (Kind.MASKED, None, lambda d: flipped(d, -1), Fault.VALUE),
    "lists that overlap": (Kind.LISTS, 0, lambda d: forged(d, lists(5, range(5), [1])), Fault.LISTS),
    "lists without oneself": (Kind.LISTS, 0, lambda d: forged(d, lists(4, [1, 2, 3, 4], [0])), Fault.LISTS),
    "lists without a neighbour": (Kind.LISTS, 0, lambda d: forged(d, lists(5, range(4), [])), Fault.LISTS),
    "lists out of order": (Kind.LISTS, 0, lambda d: forged(d, body(d)[:8] + body(d)[:7:-1]), Fault.LISTS),
    "fewer survivors than are listed": (Kind.LISTS, 0, lambda d: forged(d, lists(4, range(5), [])), Fault.LISTS),
    "lists that are none": (Kind.LISTS, 0, lambda d: forged(d, body(d)[:4] + b"\0\0\0\xff"), Fault.FORMAT),
    "too few in the lists": (Kind.LISTS, 0, lambda d: forged(d, lists(3, range(3), [3, 4])), Fault.DROPOUT),
    "a second request": (Kind.LISTS, 0, lambda d: [d, d], Fault.ROUND),
    "bytes that are no message": (Kind.KEYS, None, lambda d: b"x" * 60, Fault.FORMAT),
    "a digest that does not fit": (Kind.KEYS, None, lambda d: d[:-1] + bytes([d[-1] ^ 1]), Fault.FORMAT),
    "another version": (Kind.KEYS, None, lambda d: resealed(d[:2] + b"\1" + d[3:]), Fault.FORMAT),
    "a kind that is none": (Kind.KEYS, None, lambda d: forged(d, kind=99), Fault.FORMAT),
    "a message cut off": (Kind.KEYS, None, lambda d: d[:40], Fault.FORMAT),
    "a server that is none": (Kind.LISTS, 0, lambda d: forged(d, sender=3), Fault.NAME),
}  # fmt: skip


@rows("name", FAULTS)
def test_a_fault_has_a_name(name):
    kind, to, change, fault = FAULTS[name]
    server, users = parties()
    with pytest.raises(Abort) as caught:
        play(server, users, line=on(kind, change, to))
    assert caught.value.fault is fault
    assert str(caught.value).startswith(f"{fault}: ")
    assert server.total is None


@pytest.mark.parametrize("part", ["channel", "mask"])
def test_a_key_that_changed_on_its_way_opens_no_box(part):
    """A forged mask key would leave masks in the sum."""
    at = 0 if part == "channel" else 32
    other = parties(seed=2)[1][0].start()

    def swap(data):
        theirs = body(data)
        return forged(data, theirs[:at] + body(other)[at : at + 32] + theirs[at + 32 :])

    server, users = parties()
    with pytest.raises(Abort, match="box that does not open"):
        play(server, users, line=on(Kind.KEYS, swap))


def test_no_other_session_s_message_passes():
    kept = []
    play(*parties(seed=1), line=lambda to, data: kept.append((to, data)) or [data])
    server, users = parties(seed=2)

    def line(to, data):
        for name, old in kept:
            if name == to:
                with pytest.raises(Abort, match="another session"):
                    (server if to is None else users[to]).receive(old)
        return [data]

    assert play(server, users, line=line).tolist() == (X.sum(0) % M).tolist()


# -- a server that lies ------------------------------------------------------------------------------------------


def test_signed_keys_are_no_one_else_s():
    other = parties("malicious", seed=2)[1][0].start()
    server, users = parties("malicious")
    with pytest.raises(Abort, match="keys that user 0 has not signed"):
        play(server, users, line=on(Kind.KEYS, lambda d: forged(d, body(other))))


def up_to_the_lists(server, users):
    """Return the survivors, as the server would announce them to each user."""
    mail = {u: user.start() for u, user in users.items()}
    while True:
        for data in mail.values():
            server.receive(data)
        mail = server.advance()
        if mail[0][3] == Kind.LISTS:
            return mail
        mail = {u: users[u].receive(data) for u, data in mail.items()}


def lie(mail):
    """Users 0 and 1 are informed that user 4 dropped out."""
    return {u: forged(data, lists(4, range(4), [4])) if u < 2 else data for u, data in mail.items()}


def test_different_lists_for_different_users_unmask_nothing():
    """No user gets enough signatures on its version, whatever the server forwards."""
    server, users = parties("malicious")
    mail = lie(up_to_the_lists(server, users))
    signed = {u: body(users[u].receive(data))[DIGEST:] for u, data in mail.items()}
    for u, data in mail.items():
        others = b"".join(v.to_bytes(4, "big") + its for v, its in signed.items() if v != u)
        with pytest.raises(Abort, match="too few valid signatures"):
            users[u].receive(forged(data, others, kind=Kind.SIGNATURES))


def test_without_signatures_the_threshold_alone_stands_between_a_lying_server_and_both_secrets():
    server, users = parties()
    mail = lie(up_to_the_lists(server, users))
    kinds = {u: rows_of(users[u].receive(data))[-1][4] for u, data in mail.items() if u != 4}
    assert kinds == {0: 1, 1: 1, 2: 0, 3: 0}  # two shares of the one secret of user 4, two of the other


def rows_of(data):
    rows = body(data)[DIGEST:]
    return [rows[i : i + 40] for i in range(0, len(rows), 40)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_nobody_gives_both_secrets_of_one_user(variant):
    """A user ignores all requests of a server after the first one."""
    server, users = parties(variant)
    lists = {}

    def line(to, data):
        if to is not None:
            lists[to] = [*lists.get(to, []), data]
        return [data]

    play(server, users, {Kind.MASKED: [4]}, line)
    for u in range(4):
        for data in lists[u]:
            for changed in (data, forged(data, body(data)[:-4])):
                with pytest.raises(Abort, match="another round"):
                    users[u].receive(changed)


@pytest.mark.parametrize("named", [4, 5])
def test_a_liar_cannot_make_up_survivors(named):
    """A sum of few must not look like one of many, by name or by number."""

    def line(to, data):
        made_up = to == 0 and data[3] == Kind.LISTS
        return [forged(data, lists(5, range(named), []))] if made_up else [data]

    server, users = parties("malicious")
    with pytest.raises(Abort, match="user 0 got lists"):
        play(server, users, {Kind.KEYS: [4]}, line)


def test_signatures_of_too_few_are_not_enough():
    server, users = parties("malicious")
    with pytest.raises(Abort, match="fewer than 3 from its neighbours") as caught:
        play(server, users, line=on(Kind.SIGNATURES, lambda d: cut(d, 2 * 68), to=0))
    assert caught.value.fault is Fault.SIGNATURE


# -- errors and memory -----------------------------------------------------------------------------------------------


def test_a_length_that_is_announced_reserves_nothing():
    """The longest body is refused by its header, and a long one with a false length costs only its bytes."""
    data = parties()[1][0].start()
    header = data[:24] + (LARGEST + 1).to_bytes(4, "big")
    with pytest.raises(Abort, match=f"a body of {LARGEST + 1} bytes; at most {LARGEST} are"):
        length_of(header)
    server, _ = parties()
    tracemalloc.start()
    for size in (LARGEST, LARGEST - 1):
        with pytest.raises(Abort, match="bytes are not what the header announces"):
            server.receive(data[:24] + size.to_bytes(4, "big") + data[28:])
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_aborts_and_parties_say_no_secret():
    secret = 1_234_567_890_123
    server, users = SecureSum(M, insecure_seed=1).parties(np.full((5, 1), secret))
    texts = []

    def line(to, data):
        for changed in (forged(data, body(data)[:-1]), forged(data, b""), data + b"x", forged(data, sender=9)):
            if to is None:
                with pytest.raises(Abort) as caught:
                    server.receive(changed)
                texts.append(str(caught.value))
        return [data]

    play(server, users, line=line)
    said = " ".join([*texts, *map(repr, users.values()), repr(server)])
    assert len(texts) == 4 * 5 * 4
    assert str(secret) not in said
    for user in users.values():
        for mine in (user._b, user._mask_secret):
            assert mine.hex()[:8] not in said
            assert repr(mine)[2:10] not in said


def two_stories(threshold):
    """Return a server's view of user 0 among nine, if it informs half of the others that user 0 dropped out."""
    x = np.arange(1, 10)[:, None] * 1000
    server, users = SecureSum(M, threshold=threshold, insecure_seed=3).parties(x)
    seen = {}

    def line(to, data):
        if to is None:
            seen[data[3], int.from_bytes(data[20:24], "big")] = body(data)
            return [] if data[3] == Kind.UNMASK else [data]
        if data[3] == Kind.LISTS and 1 <= to <= 4:
            return [forged(data, lists(8, range(1, 9), [0]))]
        return [data]

    with pytest.raises(Abort):  # our server gets no answers, and aborts
        play(server, users, line=line)
    p, own, others = server.parameters, {}, {}
    for u in range(1, 9):
        kind, index, share = next(row for v, row in answers(seen[Kind.UNMASK, u]) if v == 0)
        (others if kind else own)[index] = share
    if min(len(own), len(others)) < threshold:
        return None
    b, secret = (recover(dict([*found.items()][:threshold])) for found in (own, others))
    key = primitives.private(secret)
    theirs = {u: seen[Kind.KEYS, u][MASK] for u in range(9)}
    if primitives.public(key) != theirs[0]:
        return None
    y = parse_vector(seen[Kind.MASKED, 0][DIGEST:], p.length, p.modulus)
    pairs = [p.key(b"mask", primitives.agree(key, theirs[u], ""), 0, u) for u in range(1, 9)]
    masks = expand([p.key(b"self", b, 0), *pairs], p.length, p.modulus)
    return (int(y[0]) - sum(masks[:, 0].tolist())) % p.modulus


def answers(text):
    """Return the user and secret of each share in a message of the last round."""
    for at in range(DIGEST, len(text), 4 + 3 + SHARE):
        row = text[at + 4 : at + 7 + SHARE]
        yield (
            int.from_bytes(text[at : at + 4], "big"),
            (row[0], int.from_bytes(row[1:3], "big"), int.from_bytes(row[3:], "big")),
        )


@pytest.mark.parametrize("threshold", range(2, 7))
def test_two_stories_give_an_input_away_where_the_promise_says_so(threshold):
    """Eight neighbours: four of each version are enough up to a threshold of four."""
    read = two_stories(threshold)
    assert read == (1000 if threshold <= 4 else None)
    said = hb.make_wrapper("SecAgg", protocol="bonawitz", neighbours=8, threshold=threshold)
    (line,) = hb.make_batched("CoopNetwork-v0", wrappers=[said]).guarantees()
    assert any("a lie reads an input" in words for words in line.assumptions) == (threshold <= 4)
