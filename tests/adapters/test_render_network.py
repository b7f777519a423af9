"""Frames of the delayed graph show its state."""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.envs.network.task import arriving, byzantine


def played(env_id, rounds=8, mode="rgb_array", **kwargs):
    env = hb.make(env_id, horizon=40, render_mode=mode, permute_arms=False, **kwargs)
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        env.step({agent: int(rng.integers(3)) for agent in env.agents})
    return env


def arms_played(rounds, m):
    rng = np.random.default_rng(0)
    return np.array([[int(rng.integers(3)) for _ in range(m)] for _ in range(rounds)])


@pytest.mark.parametrize("kwargs", [
    {"n_agents": 9, "graph": "grid"}, {"n_agents": 6, "edge_failure_prob": 0.4}, {"n_agents": 80, "graph": "star"},
    {"n_agents": 5, "graph": "complete", "max_hops": 0}, {"n_agents": 1, "graph": "complete"},
])  # fmt: skip
def test_a_picture_of_every_graph(kwargs):
    before, image = (played("CoopNetwork-v0", n, means=[0.6, 0.5, 0.4], **kwargs).render() for n in (0, 8))
    assert image.dtype == np.uint8
    assert image.shape == (360, 720, 3)
    assert (image != before).any()


def test_byzantine_agents_are_marked():
    kwargs = {"n_agents": 9, "graph": "grid", "means": [0.6, 0.5, 0.4], "fraction": 0.4}
    marked, clean = (
        played("ByzantineNetwork-v0", **kwargs),
        played("ByzantineNetwork-v0", **{**kwargs, "fraction": 0.0}),
    )
    assert byzantine(marked.core).sum() == 3
    crimson = (np.abs(marked.render().astype(int) - [0xC0, 0x14, 0x3C]).sum(2) < 20).sum()
    assert crimson > 100
    assert (np.abs(clean.render().astype(int) - [0xC0, 0x14, 0x3C]).sum(2) < 20).sum() == 0
    text = played("ByzantineNetwork-v0", mode="ansi", **kwargs).render()
    assert "byzantine (!) 3 of 9 agents" in text
    last = text.splitlines()[2].removeprefix("last arms ").split()
    assert [word.endswith("!") for word in last] == marked.core.wrappers[0].byzantine[0].tolist()


def test_what_was_shown_is_what_was_heard():
    env = played("CoopNetwork-v0", n_agents=6, graph="path", max_hops=2, means=[0.6, 0.5, 0.4])
    count, arm = arriving(env.core)
    # on a path with γ = 2 every inner edge carries the neighbour's own report and, where there is one, one relayed
    expected = np.zeros((6, 6), int)
    for u in range(5):
        expected[u, u + 1] = 1 + (u > 0)
        expected[u + 1, u] = 1 + (u < 4)
    np.testing.assert_array_equal(count, expected)
    said = arms_played(8, 6)
    for u, v in np.argwhere(count):
        behind = [u] if count[u, v] == 1 else [u, u - (v - u)]  # u's report, and that of the agent behind u
        arms = [said[-1 - i, w] for i, w in enumerate(behind)]
        assert arm[u, v] == min(arms)  # the most frequent, the lowest in a tie
    assert (arm[count == 0] == -1).all()
    private = played("PrivateNetwork-v0", n_agents=6, graph="path", means=[0.6, 0.5, 0.4])
    assert (arriving(private.core)[1] == -1).all()  # means and counts name no arm
