"""Generators of a batch: what compiled code draws from them is NumPy's, and so is what is drawn after it."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushbandits.core.luck import native
from hushbandits.core.luck.batch import Generators, together
from hushbandits.core.luck.seeding import named, planted
from hushbandits.core.luck.tapes import run_seeds

RUNS = 8  # so many are data
shown = pytest.mark.skipif(not native.found, reason="this build of NumPy shows none of its functions, or Numba is off")


def table(values):
    return st.lists(st.lists(values, min_size=2, max_size=2), min_size=RUNS, max_size=RUNS).map(np.array)


CHANCE = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
#: Small numbers are drawn by inversion, large ones by rejection; shapes from far below 1 up.
WHOLE = st.one_of(st.integers(0, 40), st.integers(0, 10**9))
SHAPE = st.one_of(st.just(0.0), st.floats(1e-3, 2), st.floats(0, 1e4))


@shown
@settings(deadline=None)
@given(table(WHOLE), table(CHANCE))
def test_binomials_are_numpys(n, p):
    rngs, twins = Generators(run_seeds(5, RUNS), "noise"), named(run_seeds(5, RUNS), "noise")
    draws, (words,) = together(rngs)
    expected = [[int(rng.binomial(n[r, c], p[r, c])) for c in range(2)] for r, rng in enumerate(twins)]
    assert draws.binomials(words, n, p).tolist() == expected
    assert [rng.random() for rng in rngs] == [twin.random() for twin in twins]


@shown
@settings(deadline=None)
@given(table(SHAPE), table(st.one_of(st.just(np.nan), st.floats(1e-3, 1))))
def test_differences_are_numpys(a, p):
    rngs, twins = Generators(run_seeds(6, RUNS), "noise"), named(run_seeds(6, RUNS), "noise")

    def one(rng, shape, chance):
        return int(rng.poisson(shape) if np.isnan(chance) else rng.negative_binomial(shape, chance)) if shape else 0

    draws, (words,) = together(rngs)
    pairs = np.stack([a, p], -1)
    expected = [[one(rng, *pair) - one(rng, *pair) for pair in pairs[r]] for r, rng in enumerate(twins)]
    assert draws.differences(words, a, p).tolist() == expected
    assert [rng.random() for rng in rngs] == [twin.random() for twin in twins]


@shown
def test_numbered_generators_draw_as_data():
    numbers = np.arange(40) * 10**15
    n, p = np.full((40, 1), 1000), np.full((40, 1), 0.3)
    drawn = native.binomials(planted(numbers), n, p)[:, 0]
    assert drawn.tolist() == [int(np.random.default_rng(x).binomial(1000, 0.3)) for x in numbers.tolist()]


@pytest.mark.parametrize("runs", [RUNS - 1, RUNS])
def test_whoever_asks_gets_numpys_own(runs):
    seeds = run_seeds(1, runs)
    rngs, twins = Generators(seeds, "noise"), named(seeds, "noise")
    assert (len(rngs), rngs.words is None) == (runs, runs < RUNS)
    kept = copy.deepcopy(rngs), pickle.loads(pickle.dumps(rngs))
    assert rngs[3].random() == twins[3].random()
    assert together(rngs) is None
    assert rngs[3] is rngs[3]
    assert rngs[2].spawn(1)[0].random() == twins[2].spawn(1)[0].random()
    for copied in kept:  # as it stood then
        assert copied[3].random() == named(seeds, "noise")[3].random()


@pytest.mark.parametrize("asked", [False, True])
def test_runs_start_among_the_others(asked):
    rngs, other = Generators(run_seeds(1, RUNS), "noise"), run_seeds(2, 2)
    if asked:
        rngs[0].random(3)
    rngs.reset(other, np.array([6, 1]))
    rngs[np.array([2])] = Generators(run_seeds(3, 1), "noise")
    twins = named(run_seeds(1, RUNS), "noise")
    twins[6], twins[1] = named(other, "noise")
    twins[2] = named(run_seeds(3, 1), "noise")[0]
    if asked:
        twins[0].random(3)
    assert [rng.random() for rng in rngs] == [twin.random() for twin in twins]


def test_where_numpy_shows_nothing_runs_are_asked_one_by_one(monkeypatch):
    rngs = Generators(run_seeds(1, RUNS), "noise")
    monkeypatch.setattr(native, "found", False)
    assert together(rngs) is None
    assert rngs.words is not None
