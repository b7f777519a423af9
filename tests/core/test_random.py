"""Random streams are a pure function of key, name, run and step, with NumPy's bits."""

import itertools

import numpy as np
import pytest
from chance import LEVEL, chi_square
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from twin_streams import Steps, generator

from hushbandits.core import Streams, jit, spawn_seeds
from hushbandits.core.random import gauss, names, streams
from hushbandits.core.random.btpe import add_multinomials, numpy_binomial
from hushbandits.core.random.philox import fill, philox
from hushbandits.core.random.rewards import ClippedGaussian
from hushbandits.core.random.samplers import binomial, gamma, negative_binomial, normal, poisson
from hushbandits.core.random.streams import Draws, generator_at

DRAWS = 10**6
WORDS = st.integers(0, 2**64 - 1)


def test_philox_gives_random123s_reference_vectors():
    """The file kat_vectors, ``philox4x64 10``: counter, key, words."""
    ones = [2**64 - 1] * 6
    pi = [
        0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89, 0x452821E638D01377,
        0xBE5466CF34E90C6C,
    ]  # fmt: skip
    for (*counter, k0, k1), expected in (
        ([0] * 6, "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b"),
        (ones, "87b092c3013fe90b 438c3c67be8d0224 9cc7d7c69cd777b6 a09caebf594f0ba0"),
        (pi, "a528f45403e61d95 38c72dbd566e9788 a5a1610e72fd18b5 57bd43b5e52b7fe6"),
    ):
        i, step, run, name = map(np.uint64, counter)
        found = philox(np.uint64(k0), np.uint64(k1), i, step, run, name)
        assert " ".join(f"{int(word):016x}" for word in found) == expected


@settings(deadline=None)
@given(st.lists(WORDS, min_size=3, max_size=3), st.integers(0, 2**62), st.integers(1, 11), st.text())
def test_the_bits_are_those_of_numpys_philox(seed, step, width, name):
    seeds = np.array([seed], np.uint64)
    expected = generator(seed, name.replace("/", "|"), step).random(width)
    rng, part = Streams(seeds), name.replace("/", "|")
    np.testing.assert_array_equal(rng.uniforms(step, (width,), part)[0], expected)
    np.testing.assert_array_equal(rng.generator(0, step, part).random(width), expected)
    cursors, read = rng.cursors(part=part), np.empty(width)
    cursors[:, 4] = step
    fill(cursors, 0, read)
    np.testing.assert_array_equal(read, expected)


def _step(seed, t, width):
    return Steps(seed, "x").random((t + 1, width))[t]


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.data())
def test_a_reader_reads_steps_whatever_starts_beside_it(runs, width, data):
    """All runs at once, many steps ahead, one run separately, and runs after a reset."""
    seeds, steps = spawn_seeds(3, runs), np.zeros(runs, int)
    reader = Streams(seeds).reader((width,), "x")
    for how in data.draw(st.lists(st.sampled_from(["next", "rows", "take", "start"]), max_size=12)):
        if how == "next":
            read, steps = reader.next(), steps + 1
            expected = [_step(seed, t - 1, width) for seed, t in zip(seeds, steps, strict=True)]
        elif how == "rows":
            read, steps = reader.rows(2)[1], steps + 2
            expected = [_step(seed, t - 1, width) for seed, t in zip(seeds, steps, strict=True)]
        elif how == "take":
            r = data.draw(st.integers(0, runs - 1))
            read, steps[r] = reader.take(r, 3)[2], steps[r] + 3
            expected = _step(seeds[r], steps[r] - 1, width)
        else:
            rows = np.array(data.draw(st.lists(st.integers(0, runs - 1), min_size=1, unique=True)))
            fresh = spawn_seeds(data.draw(st.integers(4, 9)), len(rows))
            seeds[rows], steps[rows] = fresh, 0
            reader[rows] = Streams(fresh).reader((width,), "x")
            continue
        np.testing.assert_array_equal(read, expected)


def test_another_key_name_run_or_step_is_another_stream():
    found = [
        Streams(spawn_seeds(seed, 1, run, world)).uniforms(step, (3,), name).tolist()[0]
        for seed, run, world, step, name in itertools.product((0, 1), (0, 1), ("", "a"), (0, 1), ("x", "y"))
    ]
    assert len({u for row in found for u in row}) == 3 * len(found)
    below = [Streams(spawn_seeds(0, 1)).below(name).uniforms(0).item() for name in ("agent/A", "agent/B", "wrapper/A")]
    assert len({*below, Streams(spawn_seeds(0, 1)).uniforms(0).item()}) == 4


def test_a_name_that_shares_its_word_is_refused(monkeypatch):
    monkeypatch.setitem(streams._NAMES, int(streams.word("one's")), "another's")
    streams.word.cache_clear()
    with pytest.raises(ValueError, match="one's"):
        Streams(spawn_seeds(0, 1)).uniforms(0, part="one's")


def test_no_two_streams_are_correlated():
    """Every pair of named streams, of seats, and of consecutive seeds and runs: |r| √n of 10⁶ draws below 5.6."""
    n = 10**6
    rng = Streams(spawn_seeds(5, 1))
    drawn = [rng.uniforms(0, (n,), getattr(names, name))[0] for name in dir(names) if name.isupper()]
    drawn += [rng.below(name).uniforms(0, (n,))[0] for name in ("agent/A", "agent/B", "wrapper/A")]
    drawn += [rng.uniforms(step, (n,), "reward")[0] for step in (1, 2)]
    drawn += [
        Streams(spawn_seeds(seed, 1, run)).uniforms(0, (n,), "reward")[0] for seed, run in ((5, 1), (5, 2), (6, 0))
    ]
    correlations = np.corrcoef(drawn)[np.triu_indices(len(drawn), 1)]
    assert np.abs(correlations).max() * np.sqrt(n) < 5.6  # 250 pairs: the error rate is below 10⁻⁵


@pytest.mark.parametrize("axis", ["steps", "runs", "seats"])
def test_runs_above_and_below_the_median_are_as_long_as_they_should_be(axis):
    """Wald and Wolfowitz 1940: the number of runs along steps, runs and seats, within 5 standard deviations."""
    n = 10**6
    if axis == "steps":
        u = Streams(spawn_seeds(1, 1)).reader((), "reward").rows(n).ravel()
    elif axis == "runs":
        u = Streams(spawn_seeds(1, n)).uniforms(0, (), "reward")
    else:
        u = Streams(spawn_seeds(1, 1)).uniforms(0, (n,), "reward").ravel()
    above = u >= 0.5
    count = 1 + np.count_nonzero(above[1:] != above[:-1])
    assert abs(count - (n / 2 + 0.5)) < 5 * np.sqrt(n / 4)


@jit
def _drawn(sampler, cursors, a, b, out):
    for i in range(out.size):
        if sampler == 0:
            out[i] = binomial(cursors, 0, int(a), b)
        elif sampler == 1:
            out[i] = poisson(cursors, 0, a)
        else:
            out[i] = negative_binomial(cursors, 0, a, b)


@pytest.mark.parametrize(("sampler", "a", "b"), [
    (0, 1, 0.3), (0, 20, 0.4), (0, 30, 0.34), (0, 1000, 0.5), (0, 1000, 0.0099), (0, 10**6, 0.3), (0, 50, 0.9),
    (0, 10**9, 1e-9), (0, 100, 0.1), (0, 1, 0.5), (0, 10**7, 1e-7), (0, 10**7, 1 - 1e-7), (0, 40, 0.5),
    (0, 10**5, 0.02), (1, 0.1, 0), (1, 9.99, 0), (1, 10.0, 0), (1, 100.0, 0), (1, 1e4, 0),
    (2, 1.0, 0.5), (2, 0.05, 0.3), (2, 0.001, 0.01), (2, 3.7, 0.2), (2, 50.0, 0.6),
])  # fmt: skip
def test_compiled_samplers_draw_from_their_laws(sampler, a, b):
    law = (stats.binom(int(a), b), stats.poisson(a), stats.nbinom(a, b or 0.5))[sampler]
    drawn = np.empty(DRAWS, np.int64)
    _drawn(sampler, Streams(spawn_seeds(7, 1)).cursors(part=f"{sampler} {a} {b}"), float(a), float(b), drawn)
    assert chi_square(drawn, law.pmf, np.arange(drawn.min(), drawn.max() + 1)) > LEVEL


def test_draws_of_a_run_depend_on_no_other_and_start_anew():
    n, p = np.full((5, 2), 1000), np.full((5, 2), 0.3)
    whole, alone = Draws(Streams(spawn_seeds(1, 5)), "x"), Draws(Streams(spawn_seeds(1, 1, 3)), "x")
    np.testing.assert_array_equal(whole.binomials(n, p)[3], alone.binomials(n[:1], p[:1])[0])
    np.testing.assert_array_equal(whole.differences(p, p)[3], alone.differences(p[:1], p[:1])[0])
    assert whole[3].random() == alone[0].random()
    rows = np.array([3, 1])
    fresh = Draws(Streams(spawn_seeds(2, 2)), "x")
    whole[rows] = fresh
    np.testing.assert_array_equal(whole.binomials(n, p)[rows], fresh.binomials(n[:2], p[:2]))
    assert whole[3].random() == Draws(Streams(spawn_seeds(2, 1)), "x")[0].random()


@jit
def _smooth(sampler, cursors, shape, out):
    for i in range(out.size):
        out[i] = normal(cursors, 0) if sampler == 0 else gamma(cursors, 0, shape)


@pytest.mark.parametrize(
    ("sampler", "shape"), [(0, 0.0), *((1, shape) for shape in (0.05, 0.7, 1.0, 1.5, 40.0, 400.0))]
)
def test_compiled_normals_and_gammas_have_their_laws(sampler, shape):
    """Counts of 10⁶ draws between 200 quantiles, the last of them far in the tails."""
    law = stats.norm() if sampler == 0 else stats.gamma(shape)
    drawn = np.empty(DRAWS)
    _smooth(sampler, Streams(spawn_seeds(7, 1)).cursors(part=f"smooth {shape}"), shape, drawn)
    levels = np.concatenate([[1e-4], np.linspace(0, 1, 199)[1:-1], [1 - 1e-4]])
    seen = np.bincount(np.searchsorted(law.ppf(levels), drawn), minlength=len(levels) + 1)
    assert stats.chisquare(seen, DRAWS * np.diff([0.0, *levels, 1.0])).pvalue > 1e-6


@pytest.mark.parametrize("size", [0, 1, 255, 256, 1024, 1025, 200_000])
def test_normal_quantiles_have_the_bits_of_scipys(size):
    """Everywhere, and with as many values in the tails and where one approximation follows another."""
    chance = np.random.default_rng(size)
    edges = np.exp([[-2.0], [-32.0]]) * (1 + 2.0**-52 * chance.integers(-9, 10, size))
    for u in (chance.random(size), np.exp(-40 * chance.random(size)), *edges, 0.0 * edges[0]):
        for p in (u, 1 - 2.0**-53 - u):
            expected = special.ndtri(np.maximum(p, 2.0**-54))
            assert np.array_equal(gauss.normal(p), expected)
            assert np.array_equal(gauss.normal(p[None, ::2].T), expected[None, ::2].T)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) >= "2.5.0", reason="NumPy draws other binomials since 2.5")
@pytest.mark.parametrize("n", [1, 40, 10**4, 10**7])
@pytest.mark.parametrize("p", [1e-9, 0.001, 0.03, 0.4, 0.7, 1.0])
def test_binomials_and_multinomials_have_the_bits_of_numpys(n, p):
    cursors, pmf = Streams(spawn_seeds(n, 1)).cursors(), ClippedGaussian().rounding(p, 50)
    rng, total, (zero, g) = generator_at(cursors[0]), np.zeros(1, np.int64), np.array([[0], [50]])
    assert [numpy_binomial(cursors, 0, n, p) for _ in range(200)] == rng.binomial(n, p, 200).tolist()
    add_multinomials(cursors, zero, np.array([n]), zero, 0, g, np.append(0.0, pmf), total)
    assert total[0] == rng.multinomial(n, pmf) @ np.arange(51)


def test_geometric_differences_are_those_of_the_generators_in_any_order():
    ahead, plain, chance = *(Draws(Streams(spawn_seeds(1, 4))) for _ in range(2)), np.random.default_rng(0)
    for step in range(300):
        if step % 7 == 0:
            counts = chance.integers(0, 4, 4)
            uniforms = np.concatenate([rng.random(n) for rng, n in zip(plain, counts, strict=True)])
            assert np.array_equal(ahead.uniforms(counts), uniforms)
        shares = [0.4, 0, 0, 0, 0.3, 0.3] if step < 20 else [0.3, 0.01, 0.4, 0.27, 0.02, 0]  # first of uniforms alone
        p = chance.choice([0.0, 1e-9, 0.02, 0.3, 0.6, 1.0], (4, 2), p=shares)
        got = ahead.geometric_differences(p)
        assert got.tolist() == [[rng.geometric(x) - rng.geometric(x) if x else 0 for x in row]
                                for rng, row in zip(plain, p, strict=True)]  # fmt: skip
        if step % 9 == 0:
            assert ahead[step % 4].random() == plain[step % 4].random()
        if step % 50 == 49:
            for draws in (ahead, plain):
                draws[np.array([1, 3])] = Draws(Streams(spawn_seeds(step, 2)))
