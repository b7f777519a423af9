"""Generators by the batch are NumPy's own, whatever their seeds are; and strangers find NumPy's seed behind them."""

import copy
import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hushbandits.core.luck.seeding import Seeded, _states, draw, grown, named, numbered, order, sown, spread
from hushbandits.core.luck.tapes import run_seeds, stream

ENTROPY = st.one_of(st.integers(0, 2**40), st.integers(2**90, 2**260), st.lists(st.integers(0, 2**40), max_size=6))
WORD = st.one_of(st.integers(0, 300), st.integers(2**31, 2**34))
#: Keys of as many words each, which are seeded together where they are many; and any.
KEYS = st.one_of(
    st.integers(0, 3).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=n, max_size=n), min_size=8, max_size=12)
    ),
    st.lists(st.lists(WORD, max_size=3), max_size=12),
)


@settings(deadline=None)
@given(ENTROPY, KEYS, st.sampled_from(["reward", "wrapper/ε", ""]))
def test_a_tapes_generator_is_numpys(entropy, keys, name):
    seeds = [np.random.SeedSequence(entropy, spawn_key=tuple(key)) for key in keys]
    for seed, rng in zip(seeds, named(seeds, name), strict=True):
        assert rng.bit_generator.state == stream(seed, name).bit_generator.state


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**63 - 1), max_size=20))
def test_a_numbered_generator_is_numpys(numbers):
    for n, rng in zip(numbers, numbered(np.array(numbers, np.int64)), strict=True):
        assert rng.bit_generator.state == np.random.PCG64(n).state


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**63 - 1), st.sampled_from([1, 3, 300])), max_size=20))
def test_uniforms_of_numbered_generators_are_numpys(asked):
    numbers, sizes = np.array(asked, np.int64).reshape(-1, 2).T
    each = [np.random.default_rng(n).random(size) for n, size in asked]
    np.testing.assert_array_equal(spread(numbers, sizes), np.concatenate([[], *each]))


@settings(deadline=None)
@given(ENTROPY, KEYS, st.integers(0, 9), st.integers(2, 40))
def test_a_generator_that_is_data_draws_as_numpys(entropy, keys, many, arms):
    keys = [tuple(key) for key in keys]
    pairs, seeds = [(entropy, key) for key in keys], [np.random.SeedSequence(entropy, spawn_key=key) for key in keys]
    words, twins = sown(Seeded(pairs), "reward"), [stream(seed, "reward") for seed in seeds]
    np.testing.assert_array_equal(words, sown(seeds, "reward"))
    uniforms, orders = np.empty((len(keys), many)), np.empty((len(keys), arms), np.int64)
    draw(words, uniforms)
    order(words, orders)
    for row, arranged, at, rng in zip(uniforms, orders, words, twins, strict=True):
        np.testing.assert_array_equal(row, rng.random(many))
        np.testing.assert_array_equal(arranged, rng.permutation(arms))
        # NumPy holds half a word back for the next small number; doubles begin at the next whole one
        assert grown(at).random() == rng.random()


def test_seeds_that_are_data_are_seeds():
    seeds = Seeded([(7, (1, 300)), np.random.SeedSequence(9)])
    before = sown(seeds, "reward")
    assert [seed.spawn_key for seed in seeds] == [(1, 300), ()]
    assert seeds[0] is seeds[0]
    assert seeds[-1:][0].entropy == 9
    others = seeds.replaced([0], [np.random.SeedSequence(3)])
    np.testing.assert_array_equal(sown(others, "reward")[0], sown([np.random.SeedSequence(3)], "reward")[0])
    np.testing.assert_array_equal(sown(others, "reward")[1], before[1])
    np.testing.assert_array_equal(sown(seeds, "reward"), before)


def test_the_seed_behind_it_is_whole():
    seeds = run_seeds(5, 20)
    seed, rng = seeds[3], named(seeds, "wrapper/Loss")[3]
    whole = stream(seed, "wrapper/Loss").bit_generator.seed_seq
    ancestry = rng.bit_generator.seed_seq
    assert (ancestry.entropy, ancestry.spawn_key) == (whole.entropy, whole.spawn_key)
    np.testing.assert_array_equal(ancestry.generate_state(7), whole.generate_state(7))
    for again in (pickle.loads(pickle.dumps(rng)), copy.deepcopy(rng)):
        assert again.bit_generator.state == rng.bit_generator.state
        assert again.spawn(2)[1].random() == stream(seed, "wrapper/Loss").spawn(2)[1].random()
    assert [g.random() for g in rng.spawn(1) + rng.spawn(1)] == [
        np.random.default_rng(child).random() for child in whole.spawn(2)
    ]


def test_it_is_the_same_uncompiled():
    words = np.random.default_rng(0).integers(0, 2**32, (3, 9), dtype=np.uint64)
    end = np.array([7, 300], np.uint64)
    np.testing.assert_array_equal(_states.py_func(words, end), _states(words, end))
