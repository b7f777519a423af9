"""Some runs start afresh, the others go on: a restarted row reads what a fresh run reads, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.core.luck import tapes
from hushbandits.core.luck.arms import Arms
from hushbandits.core.luck.rewards import UniformMeans
from hushbandits.core.luck.tapes import Uniforms, run_seeds, stream
from hushbandits.core.rows import set_rows
from hushbandits.envs.feedback.env import Feedback
from hushbandits.envs.network import CoopNetwork

RUNS = 4
SOME = st.sets(st.integers(0, RUNS - 1), min_size=1, max_size=RUNS - 1).map(sorted)
#: A row of all runs, a block of rows, what one run takes, what a compiled reader takes of all runs.
READS = st.one_of(
    st.just(("next", 0)),
    st.tuples(st.just("some"), st.integers(1, 9)),
    st.tuples(st.integers(0, RUNS - 1), st.integers(0, 40)),
    st.tuples(st.just("store"), st.integers(0, 40)),
)


#: Some runs start afresh: by a tape of which rows have been read, or in place, where they read so many rows at once.
STARTS = st.one_of(st.tuples(SOME, st.lists(READS.filter(lambda read: read[0] in ("next", "some")), max_size=4)),
                   st.tuples(SOME, st.integers(0, 3)))  # fmt: skip


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
                first = tape.reset(seeds, how, what)
                np.testing.assert_array_equal(first, [rng.random((what, *shape)) for rng in theirs])
            else:
                fresh = Uniforms(seeds, "reward", shape)
                for step in what:
                    read(fresh, theirs, *step)
                tape[how] = fresh
            for row, twin in zip(how, theirs, strict=True):
                twins[row] = twin


class Parts:
    def reset(self, n, value, rows=None):
        set_rows(self, rows, score=np.full((n, 2), value), names=[f"{value}/{r}" for r in range(n)])


@settings(deadline=None)
@given(st.integers(2, 6), st.data())
def test_rows_are_set_and_no_others(runs, data):
    rows = data.draw(st.lists(st.integers(0, runs - 1), min_size=1, max_size=runs, unique=True))
    parts = Parts()
    parts.reset(runs, 7.0)
    score = parts.score
    parts.reset(len(rows), 0.0, np.array(rows))
    assert parts.score is score
    assert [row.tolist() for row in score] == [[0.0 if r in rows else 7.0] * 2 for r in range(runs)]
    assert parts.names == [f"0.0/{rows.index(r)}" if r in rows else f"7.0/{r}" for r in range(runs)]


def test_a_tape_that_runs_have_read_at_their_own_pace_is_put_nowhere():
    tape, fresh = Uniforms(run_seeds(0, 3), "reward"), Uniforms(run_seeds(1, 1), "reward")
    fresh.take(0, 2)
    with pytest.raises(ValueError, match="run by run"):
        tape[[1]] = fresh


def test_all_rows_in_another_order_are_all_runs():
    env, twin = (hb.make_core("DPMASE-v0", 3, n_agents=4) for _ in range(2))
    seeds = run_seeds(5, 3)
    env.reset(0)
    env.reset([seeds[2], seeds[0], seeds[1]], rows=[2, 0, 1])
    twin.reset(seeds)
    np.testing.assert_array_equal(env.means, twin.means)
    np.testing.assert_array_equal(env.who, twin.who)
    assert [seed.spawn_key for seed in env.seeds] == [(0,), (1,), (2,)]


class Counts(hb.Wrapper):
    """Knows how all runs start, and not how one does."""

    def reset(self, env, seeds):
        self.messages = np.zeros(len(seeds), int)

    def send(self, message, env):
        self.messages += message["sent"].sum(1)
        return message


class Weighs(CoopNetwork):
    def _reset(self, seeds):
        super()._reset(seeds)


@pytest.mark.parametrize(("env", "wrappers", "hook"), [
    ("CoopNetwork-v0", [Counts()], r"Counts\.reset"), (Weighs, [], r"Weighs\._reset"),
])  # fmt: skip
def test_what_cannot_start_single_runs_says_so_before_anything_happens(env, wrappers, hook):
    core, twin = (hb.make_core(env, 2, n_agents=3, horizon=9, wrappers=wrappers) for _ in range(2))
    core.reset(0)
    with pytest.raises(TypeError, match=f"{hook} has no parameter rows"):
        core.reset(1, rows=[1])
    twin.reset(0)
    assert hb.testing.games.difference(core.pull(core.no_action()).reward, twin.pull(twin.no_action()).reward) is None
    core.talk()
    core.reset(2, rows=[0, 1])  # all of them start as ever
    twin.reset(2)
    np.testing.assert_array_equal(core.means, twin.means)


@settings(deadline=None)
@given(SOME)
def test_arms_start_afresh_row_by_row(rows):
    def drawn(runs, seed):
        arms = Arms(UniformMeans(0.2, 0.8), "beta", n_arms=3, permute=True, switches=2, horizon=30)
        arms.reset(run_seeds(seed, runs))
        return arms

    into, old, fresh = drawn(RUNS, 1), drawn(RUNS, 1), drawn(len(rows), 2)
    into.reset(run_seeds(2, len(rows)), np.array(rows))
    expected = [fresh.look(11, run=rows.index(r)) if r in rows else old.look(11, run=r) for r in range(RUNS)]
    for name in ("location", "mean", "gap"):
        np.testing.assert_array_equal(getattr(into.look(11), name), [getattr(one, name) for one in expected])


@pytest.mark.parametrize("rows", [[1], [3, 0]])
@pytest.mark.parametrize("users", ["pooled", "each"])
def test_a_whole_env_goes_on_where_others_start(rows, users):
    """Wrappers and their tapes included: restarted rows play as a batch of their own, the others as if alone."""

    def build(runs):
        return Feedback(
            means=UniformMeans(0.2, 0.8), n_arms=3, users=users, horizon=10_000, runs=runs,
            wrappers=[hb.make_wrapper("Loss", rate=0.2), hb.make_wrapper("Huber", rate=0.1)],
        )  # fmt: skip

    def play(env, rounds):
        got = []
        for t in rounds:
            env.pull((np.full((env.runs, 1), t % 3), np.full((env.runs, 1), 5 + t)))
            got.append(env.talk().inbox.total("reward")[:, 0])
        return np.array(got)

    batch, apart, twin = build(4), build(4), build(len(rows))
    seeds = run_seeds(8, len(rows))
    batch.reset(1)
    apart.reset(1)
    twin.reset(seeds)
    np.testing.assert_array_equal(play(batch, range(4)), play(apart, range(4)))
    batch.reset(seeds, rows)
    mixed, alone, new = (play(env, range(4, 9)) for env in (batch, apart, twin))
    alone[:, rows] = new
    np.testing.assert_array_equal(mixed, alone)
    np.testing.assert_array_equal(batch.metrics()["regret"][rows], twin.metrics()["regret"])
    assert [batch.seeds[r].entropy for r in rows] == [8] * len(rows)
