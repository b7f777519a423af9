"""Arms: one class for all settings equals a twin that moves one arm at a time, and the envs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twin_streams import generator

import hushbandits as hb
from hushbandits.core import Streams
from hushbandits.core.random.arms import Arms
from hushbandits.core.random.rewards import UniformMeans
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.feedback.ltr import LTR

LEVEL = st.floats(0, 1)


def twin(start, t, drift, n_change_points, horizon):
    """Return the arms of one run in round t, one at a time."""
    if horizon is not None:
        t = min(t, horizon - 1)
    arms = len(start)
    fallen = []
    for mean in start:
        fallen.append(mean if not drift or mean == max(start) else max(mean - drift * t, 0.0))
    moves = int(t // (horizon / (n_change_points + 1))) if n_change_points else 0
    now = [0.0] * arms
    for k in range(arms):
        now[(k + moves) % arms] = fallen[k]
    return now


@st.composite
def motions(draw):
    horizon = draw(st.none() | st.integers(1, 200))
    return {
        "drift": draw(st.sampled_from([0.0, 1e-5, 0.01, 0.3])),
        "n_change_points": 0 if horizon is None else draw(st.integers(0, 7)),
        "horizon": horizon,
    }


@settings(deadline=None)
@given(st.lists(LEVEL, min_size=2, max_size=5), motions(), st.lists(st.integers(0, 300), min_size=3, max_size=3))
def test_arms_stand_where_the_twin_puts_them(means, motion, times):
    arms = Arms(means, "bernoulli", permute=False, **motion)
    arms.reset(Streams(spawn_seeds(0, 3)))
    t = np.array(times)
    expected = np.array([twin(means, s, **motion) for s in times])
    np.testing.assert_array_equal(arms.at(t), expected)
    np.testing.assert_array_equal(arms.means(t), expected)
    np.testing.assert_array_equal(arms.gap(t), expected.max(1, keepdims=True) - expected)
    for s in times:  # one time for all runs
        assert arms.at(s).shape == (3, len(means))
        np.testing.assert_array_equal(arms.at(s), [twin(means, s, **motion)] * 3)
    ahead = np.broadcast_to(arms.at(t, run=1), expected.shape)  # one run, any times
    np.testing.assert_array_equal(ahead, expected)


@settings(deadline=None)
@given(st.lists(LEVEL, min_size=3, max_size=3), motions(), st.data())
def test_pulled_arms_are_picked_from_where_they_stand(means, motion, data):
    arms = Arms(means, "clipped-gaussian", permute=True, **motion)
    arms.reset(Streams(spawn_seeds(1, 2)))
    ints = st.integers(0, 2)
    arm = np.array(data.draw(st.lists(st.lists(ints, min_size=2, max_size=2), min_size=2, max_size=2)))
    own = np.array(data.draw(st.lists(st.lists(st.integers(0, 300), min_size=2, max_size=2), min_size=2, max_size=2)))
    for t in (int(own[0, 0]), own[:, 0], own):  # a time for all runs, for each run, for each agent
        where, gap = arms.pick(arm, t)
        assert where.shape == gap.shape == (2, 2)
        for r, m in np.ndindex(2, 2):
            s = int(np.broadcast_to(np.reshape(t, (-1, 1)) if np.ndim(t) == 1 else t, (2, 2))[r, m])
            now = np.array(twin(arms.locations[r].tolist(), s, **motion))
            mean = arms.law.mean(now)
            assert where[r, m] == now[arm[r, m]]
            assert gap[r, m] == (mean.max() - mean)[arm[r, m]]


def test_every_run_has_its_own_stream():
    arms = Arms(UniformMeans(0.2, 0.4), "bernoulli", n_arms=3, permute=True)
    arms.reset(Streams(spawn_seeds(5, 3)))
    for seed, row in zip(spawn_seeds(5, 3), arms.locations, strict=True):
        u = generator(seed, "instance").random((2, 3))
        np.testing.assert_array_equal(row, (0.2 + (0.4 - 0.2) * u[0])[np.argsort(u[1])])


@pytest.mark.parametrize("permute", [False, True])
def test_the_same_arms_as_in_every_setting(permute):
    """The envs' public arrays are identical."""
    law = UniformMeans(0.25, 0.75)
    for env_id in ("DPMASE-v0", "CoopNetwork-v0", "LocalDP-v0"):
        env = hb.make_batched(env_id, runs=3, means=law, n_arms=4, rewards="beta", permute_arms=permute, horizon=50)
        env.reset(9)
        arms = Arms(law, "beta", n_arms=4, permute=permute, horizon=50)
        arms.reset(Streams(env.seeds))
        np.testing.assert_array_equal(env.locations, arms.at(0))
        np.testing.assert_array_equal(env.means, arms.means(0))


def test_arms_of_a_file_are_a_law():
    env = LTR(n_arms=4, permute_arms=True, runs=3)
    env.reset(2)
    arms = Arms(list(range(4)), env.law, permute=True, n_change_points=1, horizon=10)
    arms.reset(Streams(env.seeds))
    np.testing.assert_array_equal(env.locations, arms.at(0))
    np.testing.assert_array_equal(env.means, arms.means(0))
    np.testing.assert_array_equal(np.roll(env.means, 1, axis=1), arms.means(5))  # indices of arms can switch


@pytest.mark.parametrize("motion", [{"drift": 1e-3}, {"n_change_points": 3}, {"drift": 1e-3, "n_change_points": 2}])
def test_the_same_motion_as_in_exploration(motion):
    env = hb.make_batched(
        "DPMASE-v0",
        runs=2,
        inactive_agents="keep",
        termination="horizon",
        horizon=60,
        n_agents=4,
        permute_arms=True,
        **motion,
    )
    obs = env.reset(3)
    arms = Arms((0.7, 0.5, 0.3, *[0.1] * 7), "bernoulli", permute=True, horizon=60, **motion)
    arms.reset(Streams(env.seeds))
    while True:
        np.testing.assert_array_equal(env.means, arms.means(env.t))
        if not obs.running.any():
            break
        env.pull(np.zeros((2, 1, 10), bool))
        obs = env.communicate()
    assert (env.t == 60).all()


@settings(deadline=None)
@given(st.integers(1, 10**6), st.integers(0, 40), st.data())
def test_a_stretch_ends_where_the_arms_move(horizon, n_change_points, data):
    arms = Arms([0.9, 0.5, 0.1], "bernoulli", permute=False, n_change_points=n_change_points, horizon=horizon)
    t = data.draw(st.integers(0, horizon - 1))
    stretch = int(arms.stretch(t))
    if not n_change_points:
        assert stretch >= 2**53
        return
    period = horizon / (n_change_points + 1)
    assert stretch >= 1
    assert (t + stretch - 1) // period == t // period != (t + stretch) // period


def test_a_drift_ends_every_stretch():
    arms = Arms([0.9, 0.5], "bernoulli", drift=0.1, n_change_points=1, horizon=10)
    assert arms.stretch(np.array([[0, 3]])).tolist() == [[1, 1]]


def test_arms_below_zero_may_switch_but_not_drift():
    arms = Arms([-2.0, -1.0], "gaussian", permute=False, n_change_points=1, horizon=4)
    arms.reset(Streams(spawn_seeds(0, 1)))
    assert arms.at(0).tolist() == [[-2.0, -1.0]]
    assert arms.at(2).tolist() == [[-1.0, -2.0]]


@pytest.mark.parametrize("env_id", ["CoopNetwork-v0", "HeavyTailedNetwork-v0", "DPMASE-v0", "DistDP-v0"])
def test_default_means_follow_one_rule_for_every_number_of_arms(env_id):
    given = hb.make_batched(env_id).arms.given
    for n_arms in (2, 5, 10, 20):
        env = hb.make_batched(env_id, n_arms=n_arms)
        if given is None:  # drawn, from the same law
            env.reset(0)
            assert ((env.means > 0.25) & (env.means < 0.75)).all()
        else:
            assert env.arms.given.tolist() == [given[min(k, len(given) - 1)] for k in range(n_arms)]
    listed = [0.3, 0.2] if given is None else given.tolist()
    with pytest.raises(ValueError, match=f"n_arms={len(listed) + 1}, .* {len(listed)} arms"):
        hb.make_batched(env_id, means=listed, n_arms=len(listed) + 1)
