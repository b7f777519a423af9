"""Sums by the protocol are the ideal sums for all dropouts; below the threshold there is none."""

import copy
import os
import pickle

import numpy as np
import pytest

from hushbandits.secure.bonawitz import STAGES, SecureSum, traffic
from hushbandits.secure.messages import Fault
from hushbandits.secure.mixnet import Mixnet

#: A user that is silent from this stage on is not in the sum.
BEFORE = STAGES[:3]


def ideal(x, modulus, survivors):
    return [sum(column) % modulus for column in x[sorted(survivors)].T.tolist()]


def configuration(rng, largest):
    """Draw a sum and its dropouts; every second one stays above the threshold."""
    n = int(rng.integers(2, largest + 1))
    malicious = bool(3 <= n <= 40 and rng.random() < 0.25)
    neighbours = None if malicious or (n <= 40 and rng.random() < 0.5) else int(rng.integers(1, min(n, 25)))
    k = n - 1 if neighbours is None else min(neighbours + neighbours % 2, n - 1)
    threshold = int(rng.integers(n // 2 + 1 if malicious else 1, (neighbours or k) + 1))
    modulus = int(rng.choice([2, 3, 2**62, 2 ** int(rng.integers(1, 63)), int(rng.integers(2, 2**62))]))
    x = rng.integers(0, modulus, size=(n, int(rng.integers(1, 51))), dtype=np.uint64)
    few = min(k - threshold, n - 2)
    gone = rng.permutation(n)[: int(rng.integers(0, few + 1)) if rng.random() < 0.5 else int(rng.integers(0, n))]
    dropouts = {stage: set() for stage in STAGES}
    for u in gone.tolist():
        dropouts[STAGES[int(rng.integers(5))]].add(u)
    if not malicious:
        dropouts["unmask"] |= dropouts.pop("signed")
    return SecureSum(modulus, neighbours, threshold, malicious, insecure_seed=int(rng.integers(2**31))), x, dropouts


def check(rng, largest):
    """Play one configuration; return whether there was a sum."""
    protocol, x, dropouts = configuration(rng, largest)
    n, gone = len(x), sum(map(len, dropouts.values()))
    survivors = set(range(n)).difference(*(dropouts[stage] for stage in BEFORE))
    k = n - 1 if protocol.neighbours is None else min(protocol.neighbours + protocol.neighbours % 2, n - 1)
    before = x.copy()
    outcome = protocol.sum(x, dropouts)
    assert (x == before).all()
    if outcome.aborted is None:
        assert outcome.survivors == tuple(sorted(survivors))
        assert outcome.total.dtype == np.uint64
        assert outcome.total.tolist() == ideal(x, protocol.modulus, survivors)
        assert outcome.rounds == (5 if protocol.malicious else 4)
    else:
        assert outcome.aborted.fault is Fault.DROPOUT
        assert outcome.total is None
        assert outcome.survivors == ()
        assert gone > min(k - protocol.threshold, n - 2)
    if k == n - 1:  # with all users as neighbours, the survivors of each stage decide
        left, enough = n, True
        for stage in STAGES:
            left -= len(dropouts.get(stage, ()))
            enough &= left > protocol.threshold and (left >= 2 or stage not in BEFORE)
        assert enough == (outcome.aborted is None)
    return outcome.aborted is None


def test_sums_are_the_ideal_sums():
    rng = np.random.default_rng(28)
    summed = sum(check(rng, 24) for _ in range(40))
    assert 16 < summed < 39


@pytest.mark.weekly
def test_a_thousand_sums_are_the_ideal_sums():
    rng = np.random.default_rng(2017)
    summed = sum(check(rng, 200) for _ in range(1000))
    assert 500 < summed < 950


@pytest.mark.parametrize("malicious", [False, True])
def test_the_same_sum_from_any_keys(malicious):
    x = np.arange(12).reshape(6, 2)
    sums = [SecureSum(50, malicious=malicious, insecure_seed=seed).sum(x, {"masked": {2}}) for seed in (None, 1, 2)]
    assert {tuple(outcome.total.tolist()) for outcome in sums} == {(26, 31)}
    assert sums[0].up.tolist() == sums[1].up.tolist()


def test_a_seed_repeats_and_sums_share_nothing():
    """The second sum of one object has a session and keys of its own, and so has the first without a seed."""

    def sent(protocol):
        return [user.start() for user in protocol.parties(np.ones((3, 1), int))[1].values()]

    first, again = SecureSum(9, insecure_seed=5), SecureSum(9, insecure_seed=5)
    messages = sent(first)
    assert messages == sent(again)
    assert not set(messages) & set(sent(first))
    assert not set(sent(SecureSum(9))) & set(sent(SecureSum(9)))


def test_who_is_silent_costs_nothing_from_then_on():
    outcome = SecureSum(9, threshold=2).sum(np.ones((6, 1), int), {"keys": {0}, "shares": {1}, "masked": {2}})
    up, down = outcome.up.tolist(), outcome.down.tolist()
    assert up[0] == down[0] == 0
    assert 0 < up[1] < up[2] < up[3] == up[4] == up[5]
    assert 0 < down[1] < down[2] < down[3]
    assert outcome.total.tolist() == [3]


@pytest.mark.parametrize("malicious", [False, True])
@pytest.mark.parametrize(("n", "length", "neighbours"), [(3, 1, None), (12, 7, None), (30, 2, 4), (30, 2, 5)])
def test_a_sum_sends_what_is_said_beforehand(n, length, neighbours, malicious):
    neighbours = None if malicious else neighbours
    outcome = SecureSum(9, neighbours, malicious=malicious).sum(np.ones((n, length), int))
    assert {*zip(outcome.up.tolist(), outcome.down.tolist(), strict=True)} == {
        traffic(n, length, 9, neighbours, malicious)
    }


def test_too_few_users_are_an_abort_before_anybody_speaks():
    for n, protocol in ((1, SecureSum(9)), (4, SecureSum(9, fewest=5)), (4, SecureSum(9, threshold=4)),
                        (2, SecureSum(9, malicious=True))):  # fmt: skip
        outcome = protocol.sum(np.ones((n, 1), int))
        assert outcome.aborted.fault is Fault.DROPOUT
        assert outcome.rounds == outcome.up.sum() == outcome.down.sum() == 0


def test_against_a_liar_a_majority_unmasks():
    outcome = SecureSum(9, threshold=2, malicious=True).sum(np.ones((8, 1), int), {"unmask": {0, 1, 2, 3}})
    assert str(outcome.aborted).endswith("are left, fewer than threshold=5")


def test_a_sum_of_fewer_than_asked_is_not_opened():
    x = np.ones((8, 1), int)
    protocol = SecureSum(99, threshold=2, fewest=6)
    assert protocol.sum(x, {"masked": {0, 1}}).total.tolist() == [6]
    assert protocol.sum(x, {"masked": {0, 1}, "unmask": {2}}).total.tolist() == [6]
    refused = protocol.sum(x, {"masked": {0, 1, 2}})
    assert refused.aborted.fault is Fault.DROPOUT
    assert refused.rounds == 2  # no user was asked to unmask


def test_secrets_are_in_no_repr_and_no_pickle():
    secret = 0x1234_5678_9ABC
    server, users = SecureSum(1 << 60, insecure_seed=1).parties(np.full((3, 1), secret))
    users[0].start()
    for party in (server, *users.values(), *Mixnet(1).parties()[1]):
        assert repr(party) == f"{type(party).__name__}({party.name})"
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="contains secrets and cannot be pickled"):
                attempt(party)


def test_keys_are_the_operating_system_s_without_a_seed(monkeypatch):
    asked = []

    def urandom(size, real=os.urandom):
        asked.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", urandom)
    SecureSum(9, insecure_seed=3).sum(np.ones((3, 1), int))
    assert asked == []
    SecureSum(9).sum(np.ones((3, 1), int))
    assert sum(asked) >= 3 * 3 * 32 + 16
