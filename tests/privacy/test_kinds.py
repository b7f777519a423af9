"""Numbers of blocks by kind: each kind is computed once, in every reading; and a ledger of many runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.privacy.ledger import Kinds, Ledger, Noises, Spent
from hushbandits.privacy.plans import decode, distributed_pure
from hushbandits.privacy.samplers import DiscreteGaussian, PolyaDifference, Skellam

SIZES = st.lists(st.one_of(st.integers(0, 40), st.integers(4090, 4100), st.integers(0, 10**12)), min_size=1)


@settings(deadline=None)
@given(st.lists(SIZES, min_size=1))
def test_every_kind_is_asked_once(rounds):
    asked = []

    def numbers(n):
        asked.append(n)
        return 3 * n, -n

    kinds = Kinds(numbers, np.int64)
    for sizes in rounds:
        expected = [[3 * n, -n] for n in sizes]
        assert kinds.by_size(np.array(sizes)).T.tolist() == expected
    assert sorted(asked) == sorted({n for sizes in rounds for n in sizes})


def test_noise_of_two_draws_is_said_in_numbers():
    planned, left = np.array([[4], [0], [9]]), np.array([[3], [0], [9]])
    known, share, p = Noises(lambda n: PolyaDifference(1 / n, 2.0)).pair(planned, left)
    np.testing.assert_allclose(share, [[0.75], [0.0], [1.0]])
    np.testing.assert_allclose(p[planned > 0], -np.expm1(-0.5))
    assert known.all()
    _, share, p = Noises(lambda n: Skellam(n)).pair(planned, left)
    assert share[planned > 0].tolist() == [3 * 2.0, 9 * 4.5]
    assert np.isnan(p[planned > 0]).all()
    known, share, _ = Noises(lambda n: Skellam(2) if n < 9 else DiscreteGaussian(2)).pair(planned, left)
    assert known[planned > 0].tolist() == [True, False]
    assert share[~known].tolist() == [0.0]


class Louder(PolyaDifference):
    """A mechanism with its own sums: the shared draw for many blocks must not replace it."""

    def total(self, rng, n):
        return 10**6


def test_a_law_with_sums_of_its_own_is_asked_for_them():
    known, share, _ = Noises(lambda n: Louder(1.0, 2.0)).pair(np.array([[4]]), np.array([[4]]))
    assert not known.any()
    assert not share.any()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 1), st.integers(-(10**6), 10**9)), min_size=1, max_size=30)
)
def test_blocks_are_decoded_as_their_plans_would(drawn):
    plans = [distributed_pure(n, 0.7, 0.1) for n, _, _ in drawn]
    left = np.array([[int(share * n)] for n, share, _ in drawn])
    y = np.array([[number] for *_, number in drawn])
    g, tau, modulus = (np.array([[getattr(plan, name)] for plan in plans]) for name in ("g", "tau", "modulus"))
    z = np.zeros(y.shape)
    decode(y, left, g, tau, modulus, z)
    for plan, sum_, users, found in zip(plans, y[:, 0].tolist(), left[:, 0].tolist(), z[:, 0].tolist(), strict=True):
        assert found == (plan.decode(sum_ % plan.modulus, users) if users else 0.0)


def book(runs):
    return Ledger(lambda n, s: Spent(n / s, 1 / n), lambda n: {}, runs)


@pytest.mark.parametrize("runs", [2, 20])
@pytest.mark.parametrize("lost", [0, 1])
def test_blocks_of_a_round_are_written_down_as_one_by_one(runs, lost, monkeypatch):
    monkeypatch.setattr("hushbandits.privacy.ledger._LONG", 300)
    rng, whole, single = np.random.default_rng(0), book(runs), book(runs)
    for step in range(25):
        n = rng.integers(0, 6, (runs, 2))
        survivors = np.maximum(n - lost * rng.integers(0, 2, n.shape), 0)
        whole.use(n, survivors)
        for block in np.ndindex(n.shape):
            alone = np.zeros_like(survivors)
            alone[block] = survivors[block]
            single.use(n, alone)
        if step % 7 == 3:
            for ledger in (whole, single):
                ledger.reset(np.array([1, 0]))
    np.testing.assert_array_equal(whole.worst, single.worst)
    np.testing.assert_array_equal(whole.worst_delta, single.worst_delta)
    assert [whole.rows(r) for r in range(runs)] == [single.rows(r) for r in range(runs)]
    assert whole.returning(0, 3, 1e-6) == single.returning(0, 3, 1e-6)


def test_a_batch_writes_down_what_its_runs_do_alone():
    core = hb.make_batched("DistDP-Train-v0", 9)
    hb.rollout(core, hb.make_team("Commit-Blocks"), 3)
    alone = hb.make_batched("DistDP-Train-v0", 1)
    hb.rollout(alone, hb.make_team("Commit-Blocks"), hb.spawn_seeds(3, 1, 4))
    assert core.mechanism.ledger.rows(4) == alone.mechanism.ledger.rows(0)
    assert core.mechanism.ledger.rows(4)
