"""Every env renders in every mode: equal states give equal frames, which show the state."""

import copy

import matplotlib
import numpy as np
import pytest
from kinds import representatives, weekly_but
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import hushbandits as hb
from hushbandits.adapters.render import moments, watched
from hushbandits.registry import assemble

WIDE, HIGH = 720, 360


@pytest.fixture(autouse=True)
def unseen():
    matplotlib.use("agg")


def begun(env_id, mode="rgb_array", rounds=3, **kwargs):
    env = hb.make(env_id, render_mode=mode, **{"n_agents": 36, "horizon": 200} | kwargs)
    env.reset(seed=1)
    for agent in env.possible_agents:
        env.action_space(agent).seed(0)
    for _ in range(rounds):
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    return env


@pytest.mark.parametrize(  # one of each setting, which decides the drawing
    "env_id", weekly_but([("CoopNetwork-v0",), ("DPMASE-v0",), ("DistDP-v0",)], *((id,) for id in hb.list_envs()))
)
def test_every_mode_of_every_env(env_id):
    env = begun(env_id)
    image = env.render()
    assert (image.dtype, image.shape) == (np.uint8, (HIGH, WIDE, 3))
    assert (image != begun(env_id, rounds=0).render()).any()  # the rounds are visible
    np.testing.assert_array_equal(begun(env_id).render(), image)  # another object in the same state
    env.render_mode = "ansi"
    name, *lines = env.render().splitlines()
    assert name.startswith(f"{env_id} · {env.core.time_unit} ")
    assert lines
    assert max(map(len, lines)) < 200
    env.render_mode = "human"
    assert env.render() is None
    copy.deepcopy(env)  # a window is not copied
    env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    env.close()


def drawn(task):
    figure = Figure(figsize=(7.2, 3.6), dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    task.draw(figure)
    canvas.draw()
    return figure, canvas.get_renderer()


def test_the_best_pair_of_a_duel_is_the_one_that_costs_nothing():
    env = begun("DuelingNetwork-v0", "ansi", n_agents=4, permute_arms=False)
    assert "best arm 0-0" in env.render()  # not 0-4, whose first arm wins most
    assert env.task.best == 0
    figure, _ = drawn(env.task)
    assert figure.axes[1].get_yticklabels()[0].get_text().startswith("★ 0-0 ")


def test_bars_count_the_agents_and_say_which_arm_is_best():
    env = begun("CoopNetwork-v0", n_agents=16, graph="grid", n_arms=30)
    figure, _ = drawn(env.task)
    widths = [bar.get_width() for bar in figure.axes[1].patches]
    assert widths == np.bincount(env.task.arm[0], minlength=30).tolist()
    names = [t.get_text() for t in figure.axes[1].get_yticklabels()]
    assert [name.startswith("★") for name in names] == (env.core.gaps[0] == 0).tolist()


def test_votes_are_shown_by_who_cast_them():
    env = hb.make("DPMASE-v0", n_agents=6, n_arms=3, horizon=50)
    env.reset(seed=0)
    for _ in range(5):
        env.step(dict.fromkeys(env.agents, 1))
    cells = drawn(env.task)[0].axes[0].get_images()[0].get_array()
    np.testing.assert_array_equal((cells == [74, 84, 99]).all(2).T, env.core.book.sent[0])
    assert env.core.book.sent[0].any()


def test_what_is_decoded_beyond_the_rewards_stays_in_the_picture():
    env = begun("LocalDP-v0", rounds=1, n_agents=8, epsilon=0.01)
    users, mean = env.task.pulls[0].sum(0), env.task.sums[0].sum(0)
    assert (np.abs(mean / np.maximum(users, 1)) > 2).any()
    figure, _ = drawn(env.task)
    right = figure.axes[1]
    for dots in right.collections:
        x = np.asarray(dots.get_offsets())[:, 0]
        assert not ((x < 0) | (x > 1.05)).any()  # NaN: nothing heard of that arm
    assert any("decoded, beyond [0, 1]" in text.get_text() for text in figure.texts)


@pytest.mark.parametrize(
    ("env_id", "agent", "env"),
    [
        *((env_id, "Random", {"n_agents": 36, "horizon": 30}) for env_id in sorted(representatives(hb.list_envs()))),
        ("CoopNetwork-v0", "Multi-UCB", {"n_agents": 4, "horizon": 30}),
        pytest.param("PrivateNetwork-v0", "Private-UCB", {"n_agents": 4, "horizon": 5}, marks=pytest.mark.weekly),
        ("DPMASE-v0", "Independent", {"n_agents": 2, "means": [0.9, 0.1]}),
        ("DistDP-v0", "Dist-DP-SE", {"horizon": 500}),
    ],
)
def test_to_watch_changes_nothing(env_id, agent, env):
    seen, other = ((assemble(env_id, team, runs=1, env=env), team) for team in map(hb.make_team, (agent, agent)))
    *_, task = watched(*seen, 5)
    played = hb.rollout(*other, 5)
    for name, value in seen[0].metrics().items():
        np.testing.assert_array_equal(value, played[name], err_msg=name)
    assert task.pulls.sum() > 0


@pytest.mark.parametrize(("rounds", "frames"), [(0, 2), (1, 2), (59, 60), (60, 60), (10_000, 60), (7, 300)])
def test_moments_are_bounded_and_have_both_ends(rounds, frames):
    chosen = moments(rounds, frames)
    assert len(chosen) <= frames
    assert (chosen[0], chosen[-1]) == (0, rounds)
    assert chosen == sorted(set(chosen))
