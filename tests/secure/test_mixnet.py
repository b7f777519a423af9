"""Mixes lose and link no message, every fault has a name, and one honest hop is enough."""

from itertools import permutations

import numpy as np
import pytest
from refusals import rows
from scipy import stats

from hushbandits.secure import primitives
from hushbandits.secure.messages import Abort, Fault
from hushbandits.secure.mixnet import LAYER, Mixnet, onion, permutation

TEXTS = [b"one", b"two", b"three", b"", b"two"]


def begun(n_mixes=3, texts=TEXTS, size=8, seed=1):
    session, mixes = Mixnet(n_mixes, seed).parties()
    draw = primitives.source(seed, "users")
    return session, mixes, [onion(text, size, [hop.public for hop in mixes], session, draw) for text in texts]


@pytest.mark.parametrize("n_mixes", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", [None, 7])
def test_what_goes_in_comes_out(n_mixes, seed):
    net = Mixnet(n_mixes, seed)
    for texts in (TEXTS, [], [b"x"], [bytes([i]) * i for i in range(40)]):
        assert sorted(net.shuffle(texts)) == sorted(texts)


def test_all_onions_have_one_length_and_nothing_of_their_text():
    session, mixes, batch = begun(size=32, texts=[b"a" * 32, b"", b"b"])
    assert {len(data) for data in batch} == {4 + 32 + 3 * LAYER} == {Mixnet(3).length(32)}
    for i, hop in enumerate(mixes):
        assert not any(b"aaaa" in data for data in batch)
        before, batch = batch, hop.mix(batch, 3)
        assert {len(data) for data in batch} == {4 + 32 + (2 - i) * LAYER}
        assert not {data[j : j + 16] for data in before for j in range(0, 48, 16)} & {
            data[j : j + 16] for data in batch for j in range(0, len(data), 16)
        }
    assert any(b"aaaa" in data for data in batch)
    with pytest.raises(ValueError, match="message of 33 bytes must have at most 32"):
        onion(b"a" * 33, 32, [mixes[0].public], session, primitives.source(None, ""))


def test_orders_are_uniform_and_each_hop_has_its_own():
    draw = primitives.source(3, "orders")
    every = {order: i for i, order in enumerate(permutations(range(4)))}
    counts = np.bincount([every[tuple(permutation(4, draw).tolist())] for _ in range(12_000)], minlength=24)
    assert stats.chisquare(counts).pvalue > 1e-4
    drawn = [permutation(30, hop._draw).tolist() for hop in Mixnet(3, 5).parties()[1]]
    assert len({tuple(order) for order in drawn}) == 3


def test_the_order_that_comes_out_is_uniform():
    """Over sessions, all hops together shuffle uniformly; a net whose hops keep the order is detected."""
    texts = [b"a", b"b", b"c"]
    every = {order: i for i, order in enumerate(permutations(texts))}
    net = Mixnet(2, 11)
    counts = np.bincount([every[tuple(net.shuffle(texts))] for _ in range(600)], minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_batches_share_nothing():
    net = Mixnet(2, 4)
    first, second = net.parties(), net.parties()
    assert first[0] != second[0]
    assert not {hop.public for hop in first[1]} & {hop.public for hop in second[1]}
    assert Mixnet(2, 4).parties()[0] == first[0]
    assert Mixnet(2).parties()[0] != Mixnet(2).parties()[0]


def flipped(data, at):
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


FAULTS = {
    "a key that changed": (lambda b: [flipped(b[0], 3), *b[1:]], Fault.BOX),
    "a box that changed": (lambda b: [*b[:-1], flipped(b[-1], -1)], Fault.BOX),
    "a key of low order": (lambda b: [bytes(32) + b[0][32:], *b[1:]], Fault.KEY),
    "a message too short": (lambda b: [b[0][:-1], *b[1:]], Fault.FORMAT),
    "messages without a key": (lambda b: [bytes([i]) for i in range(len(b))], Fault.KEY),
    "a message that is missing": (lambda b: b[1:], Fault.DROPOUT),
    "a copy in place of another": (lambda b: [b[0], b[0], *b[2:]], Fault.DROPOUT),
    "a message too many": (lambda b: [*b, flipped(b[0], 40)], Fault.DROPOUT),
    "another session's": (lambda b: begun(seed=2)[2], Fault.BOX),
}


@rows("name", FAULTS)
def test_a_fault_of_a_batch_has_a_name(name):
    change, fault = FAULTS[name]
    _, mixes, batch = begun()
    with pytest.raises(Abort) as caught:
        mixes[0].mix(change(batch), len(batch))
    assert caught.value.fault is fault
    _, mixes, batch = begun()
    batch = mixes[0].mix(batch, len(batch))
    if name != "another session's":
        with pytest.raises(Abort) as caught:
            mixes[1].mix(change(batch), len(batch))
        assert caught.value.fault is fault


def test_copies_are_dropped_and_mark_nothing():
    """A copy of another user's message would come out twice."""
    _, mixes, batch = begun()
    assert len(mixes[0].mix([*batch, batch[2], batch[2]], len(batch))) == len(batch)


def test_a_hop_mixes_once_and_in_its_turn():
    _, mixes, batch = begun()
    with pytest.raises(Abort, match="cannot open a message"):
        mixes[1].mix(batch, len(batch))
    mixes[0].mix(batch, len(batch))
    with pytest.raises(Abort, match="hop 0 mixes one batch per session") as caught:
        mixes[0].mix(batch, len(batch))
    assert caught.value.fault is Fault.ROUND
