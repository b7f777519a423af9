"""Some runs start afresh, the others go on: a restarted row reads what a fresh run reads, bit for bit."""

import dataclasses
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.core.luck import tapes
from hushbandits.core.luck.arms import Arms
from hushbandits.core.luck.rewards import UniformMeans
from hushbandits.core.luck.tapes import Uniforms, run_seeds, stream
from hushbandits.core.rows import put_attributes, put_rows
from hushbandits.envs.feedback.env import Feedback
from hushbandits.envs.feedback.ltr import LTR

RUNS = 4
SOME = st.sets(st.integers(0, RUNS - 1), min_size=1, max_size=RUNS - 1).map(sorted)
#: A row of all runs, a block of rows, what one run takes, what a compiled reader takes of all runs.
READS = st.one_of(
    st.just(("next", 0)),
    st.tuples(st.just("some"), st.integers(1, 9)),
    st.tuples(st.integers(0, RUNS - 1), st.integers(0, 40)),
    st.tuples(st.just("store"), st.integers(0, 40)),
)


#: Some runs start afresh: by a tape that has been read, or in place, where they read so many rows at once.
STARTS = st.one_of(st.tuples(SOME, st.lists(READS, max_size=4)), st.tuples(SOME, st.integers(0, 3)))


@pytest.mark.parametrize("runs", [RUNS, 9])  # few are NumPy's own generators, many are data
@settings(deadline=None)
@given(st.lists(READS | STARTS, max_size=40), st.sampled_from([(), (2,), (3, 2)]))
def test_a_tape_reads_on_however_it_is_read_and_restarted_rows_as_a_fresh_one(runs, steps, shape):
    def read(tape, twins, how, size):
        if how == "next":
            np.testing.assert_array_equal(tape.next(), [rng.random(shape) for rng in twins])
        elif how == "some":
            rows = tape.some(size)
            assert 1 <= len(rows) <= size
            for row in rows:
                np.testing.assert_array_equal(row, [rng.random(shape) for rng in twins])
        elif how == "store":
            tape.ensure(size)
            for r, rng in enumerate(twins):
                np.testing.assert_array_equal(tape.block[r, tape.at[r] : tape.at[r] + size], rng.random(size))
            tape.at += size
        else:
            r = how % len(twins)
            tape.ensure(size // 2, r)
            np.testing.assert_array_equal(tape.take(r, size), twins[r].random(size))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tapes, "_FIRST", 3)  # so that widths beyond what is read ahead occur
        patch.setattr(tapes, "_BLOCK", 17)
        patch.setattr(tapes, "_SHORT", 8)
        tape = Uniforms(run_seeds(0, runs), "reward", shape)
        twins = [stream(seed, "reward") for seed in run_seeds(0, runs)]
        for i, (how, what) in enumerate(steps):
            if not isinstance(how, list):
                read(tape, twins, how, what)
                continue
            seeds = run_seeds(i + 1, len(how))
            theirs = [stream(seed, "reward") for seed in seeds]
            if isinstance(what, int):
                first = tape.begin(seeds, how, what)
                np.testing.assert_array_equal(first, [rng.random((what, *shape)) for rng in theirs])
            else:
                fresh = Uniforms(seeds, "reward", shape)
                for step in what:
                    read(fresh, theirs, *step)
                put_rows(tape, fresh, how)
            for row, twin in zip(how, theirs, strict=True):
                twins[row] = twin


def test_a_tape_has_room_for_any_width():
    """An agent with more arms than a block has doubles was handed a short row."""
    tape = Uniforms(run_seeds(0, 2), "agent/A")
    tape.take(0, 5)
    tape.ensure(100_000)
    assert tape.block.shape[1] >= 100_000
    rng = stream(run_seeds(0, 1)[0], "agent/A")
    rng.random(5)
    np.testing.assert_array_equal(tape.take(0, 100_000), rng.random(100_000))


@pytest.mark.parametrize("read", [1, 100, 5000])
def test_a_run_reads_ahead_as_far_as_it_has_come(read):
    """A run of ten rounds drew 16,384 doubles."""
    tape, twins = Uniforms(run_seeds(0, 3), "reward"), [stream(seed, "reward") for seed in run_seeds(0, 3)]
    for _ in range(read):
        tape.next()
    for rng, twin in zip(tape._rngs, twins, strict=True):
        drawn = 0
        while twin.bit_generator.state != rng.bit_generator.state:
            twin.random(64)
            drawn += 64
        assert read <= drawn <= 2 * read + 64


class Book(NamedTuple):
    votes: np.ndarray
    needed: int


class Slotted:
    __slots__ = ("count", "unset")

    def __init__(self, runs):
        self.count = np.zeros(runs, int)


@dataclasses.dataclass(frozen=True)
class Frozen:
    pair: tuple


class Agent:
    not_rows = ("index", "buffer")

    def __init__(self, runs, arms, value):
        self.runs = runs
        self.index = np.arange(runs)
        self.buffer = np.full(arms, value)
        self.first = np.full((runs, arms), value)
        self.book = Book(np.full((arms, runs, 2), value), 5)
        self.alias = self.book.votes
        self.names = [f"run {value}/{r}" for r in range(runs)]
        self.parts = {"deep": [np.full(runs, value), Slotted(runs)], "same": np.array([1.0, np.nan])}
        self.frozen = Frozen((np.full(runs, value), ("run", value)[:1]))
        self.everyone = np.broadcast_to(np.arange(arms), (runs, arms))
        self.me = self
        self.parts["deep"][1].count[:] = value


@settings(deadline=None)
@given(st.integers(2, 6), st.integers(1, 7), st.data())
def test_rows_are_put_everywhere_and_nowhere_else(runs, arms, data):
    rows = data.draw(st.lists(st.integers(0, runs - 1), min_size=1, max_size=runs - 1, unique=True))
    into, fresh = Agent(runs, arms, 7.0), Agent(len(rows), arms, 0.0)
    into.told = "transient"
    assert put_rows(into, fresh, rows) is into
    expected = np.full(runs, 7.0)
    expected[rows] = 0.0
    np.testing.assert_array_equal(into.first, np.tile(expected[:, None], arms))
    np.testing.assert_array_equal(into.book.votes, np.tile(expected[None, :, None], (arms, 1, 2)))
    assert into.alias is into.book.votes
    np.testing.assert_array_equal(into.parts["deep"][0], expected)
    np.testing.assert_array_equal(into.parts["deep"][1].count, expected)
    np.testing.assert_array_equal(into.frozen.pair[0], expected)
    assert into.names == [f"run 0.0/{rows.index(r)}" if r in rows else f"run 7.0/{r}" for r in range(runs)]
    np.testing.assert_array_equal(into.index, np.arange(runs))
    assert (into.buffer == 7.0).all()
    assert not into.everyone.flags.writeable
    assert (into.runs, into.told) == (runs, "transient")


def test_a_read_only_array_is_replaced_everywhere_it_is_named():
    def build(runs, value):
        shared = np.full((runs, 2), value)
        shared.flags.writeable = False
        return SimpleNamespace(one=shared, two=[shared])

    into = build(3, 7.0)
    put_rows(into, build(1, 0.0), [2])
    assert into.one is into.two[0]
    assert into.one[:, 0].tolist() == [7.0, 7.0, 0.0]


def test_an_object_may_put_its_own_rows():
    class Own:
        def __init__(self, runs, position):
            self.score, self.position = np.full(runs, float(position)), position

        def put_rows(self, fresh, rows):
            fresh.position = self.position  # shared, and known not to matter
            put_attributes(self, fresh, rows)

    into = [Own(3, 5)]
    put_rows(into, [Own(2, 1)], [0, 2])
    assert into[0].score.tolist() == [1.0, 5.0, 1.0]


RNG = np.random.default_rng


def test_equal_state_of_all_runs_is_no_obstacle():
    into = [np.zeros(2), RNG(3), float("nan"), "word", None, np.float64("nan")]
    put_rows(into, [np.ones(1), RNG(3), float("nan"), "word", None, np.float64("nan")], [1])
    assert into[0].tolist() == [0.0, 1.0]


@settings(deadline=None)
@given(SOME)
def test_arms_start_afresh_row_by_row(rows):
    def drawn(runs, seed):
        arms = Arms(UniformMeans(0.2, 0.8), "beta", n_arms=3, permute=True, switches=2, horizon=30)
        arms.reset(run_seeds(seed, runs))
        return arms

    into, old, fresh = drawn(RUNS, 1), drawn(RUNS, 1), drawn(len(rows), 2)
    put_rows(into, fresh, rows)
    expected = [fresh.look(11, run=rows.index(r)) if r in rows else old.look(11, run=r) for r in range(RUNS)]
    for name in ("location", "mean", "gap"):
        np.testing.assert_array_equal(getattr(into.look(11), name), [getattr(one, name) for one in expected])


class RowedFeedback(Feedback):
    not_rows = ("_runs",)


@pytest.mark.parametrize("rows", [[1], [3, 0]])
@pytest.mark.parametrize("users", ["pooled", "each"])
def test_a_whole_env_goes_on_where_others_start(rows, users):
    """Wrappers and their tapes included: restarted rows play as a batch of their own, the others as if alone."""

    def build(runs):
        return RowedFeedback(
            means=UniformMeans(0.2, 0.8), n_arms=3, users=users, horizon=10_000, runs=runs,
            wrappers=[hb.make_wrapper("Loss", rate=0.2), hb.make_wrapper("Huber", rate=0.1)],
        )  # fmt: skip

    def play(env, rounds):
        got = []
        for t in rounds:
            env.pull((np.full((env.runs, 1), t % 3), np.full((env.runs, 1), 5 + t)))
            got.append(env.talk().inbox.total("reward")[:, 0])
        return np.array(got)

    batch, apart, fresh, twin = build(4), build(4), build(len(rows)), build(len(rows))
    seeds = run_seeds(8, len(rows))
    batch.reset(1)
    apart.reset(1)
    fresh.reset(seeds)
    twin.reset(seeds)
    np.testing.assert_array_equal(play(batch, range(4)), play(apart, range(4)))
    put_rows(batch, fresh, rows)
    mixed, alone, new = (play(env, range(4, 9)) for env in (batch, apart, twin))
    alone[:, rows] = new
    np.testing.assert_array_equal(mixed, alone)
    np.testing.assert_array_equal(batch.metrics()["regret"][rows], twin.metrics()["regret"])
    assert [batch.seeds[r].entropy for r in rows] == [8] * len(rows)


def test_a_clock_that_all_runs_share_is_refused():
    env, fresh = (SimpleNamespace(round=n, runs=runs, regret=np.zeros(runs)) for n, runs in ((2, 3), (0, 1)))
    with pytest.raises(ValueError, match="round is 2, and 0 afresh: it is one for all runs"):
        put_rows(env, fresh, [1])


def test_a_file_of_arms_is_shared():
    env, fresh = LTR(n_arms=3, runs=2), LTR(n_arms=3, runs=1)
    assert put_rows([env.law, np.zeros(2)], [fresh.law, np.ones(1)], [0])[1].tolist() == [1.0, 0.0]
