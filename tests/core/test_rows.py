"""After a partial reset, a restarted row equals a fresh run exactly, and the others continue."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.core import Streams
from hushbandits.core.random.arms import Arms
from hushbandits.core.random.rewards import UniformMeans
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.rows import set_rows
from hushbandits.envs.network import CoopNetwork

RUNS = 4
SOME = st.sets(st.integers(0, RUNS - 1), min_size=1, max_size=RUNS - 1).map(sorted)


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


def test_all_rows_in_another_order_are_all_runs():
    env, twin = (hb.make_batched("DPMASE-v0", 3, n_agents=4) for _ in range(2))
    seeds = spawn_seeds(5, 3)
    env.reset(0)
    env.reset(seeds[[2, 0, 1]], rows=[2, 0, 1])
    twin.reset(seeds)
    np.testing.assert_array_equal(env.means, twin.means)
    np.testing.assert_array_equal(env.active_agents, twin.active_agents)
    np.testing.assert_array_equal(env.seeds, seeds)


class Counts(hb.Wrapper):
    """A wrapper whose reset can start all runs, but no single run."""

    def reset(self, env, rng):
        self.messages = np.zeros(len(rng), int)

    def send(self, message, env):
        self.messages += message["sent"].sum(1)
        return message


class Weighs(CoopNetwork):
    def _reset(self, rng):
        super()._reset(rng)


@pytest.mark.parametrize(("env", "wrappers"), [("CoopNetwork-v0", [Counts()]), (Weighs, [])])
def test_what_cannot_start_single_runs_starts_all_of_them(env, wrappers):
    core, twin = (hb.make_batched(env, 2, n_agents=3, horizon=9, wrappers=wrappers) for _ in range(2))
    core.reset(0)
    with pytest.raises(TypeError, match="positional argument"):
        core.reset(1, rows=[1])
    with pytest.raises(RuntimeError, match=r"call reset\(seeds\)"):
        core.pull(core.no_action())
    core.reset(0)
    core.reset(2, rows=[0, 1])
    twin.reset(2)
    np.testing.assert_array_equal(core.means, twin.means)


@settings(deadline=None)
@given(SOME)
def test_arms_start_afresh_row_by_row(rows):
    def drawn(runs, seed):
        arms = Arms(UniformMeans(0.2, 0.8), "beta", n_arms=3, permute=True, n_change_points=2, horizon=30)
        arms.reset(Streams(spawn_seeds(seed, runs)))
        return arms

    into, old, fresh = drawn(RUNS, 1), drawn(RUNS, 1), drawn(len(rows), 2)
    into.reset(Streams(spawn_seeds(2, len(rows))), np.array(rows))
    expected = [fresh.look(11, run=rows.index(r)) if r in rows else old.look(11, run=r) for r in range(RUNS)]
    for name in ("location", "mean", "gap"):
        np.testing.assert_array_equal(getattr(into.look(11), name), [getattr(one, name) for one in expected])
