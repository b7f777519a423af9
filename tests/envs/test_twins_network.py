"""The network agents equal their twins, action for action."""

import pytest
from helpers import arms_pulled, build
from twins_network import MEANS, naive_multi_ucb, naive_private_ucb, naive_quack

from hushbandits.agents.howson2024 import QuACK
from hushbandits.core.random.streams import spawn_seeds

GRAPHS = [("cycle", 7, None), ("star", 5, None), ("grid", 9, 2), ("path", 4, 1), ("complete", 4, None), ("cycle", 6, 0)]
T = 60


def actions_of(agent, graph, m, max_hops, wrappers=(), **kwargs):
    env_kwargs = {"graph": graph, "n_agents": m, "max_hops": max_hops, "horizon": T, "means": MEANS}
    return arms_pulled(*build("CoopNetwork-v0", agent, 3, env_kwargs, kwargs, wrappers), spawn_seeds(11, 3))


@pytest.mark.parametrize(("graph", "m", "max_hops"), GRAPHS)
def test_multi_ucb_equals_its_twin(graph, m, max_hops):
    ours = actions_of("Multi-UCB", graph, m, max_hops)
    for r, seed in enumerate(spawn_seeds(11, 3)):
        assert ours[r].tolist() == naive_multi_ucb(seed, graph, m, max_hops, T)


@pytest.mark.parametrize("epsilon", [1.0, 0.3])
@pytest.mark.parametrize(("graph", "m", "max_hops"), GRAPHS)
def test_private_ucb_equals_its_twin(graph, m, max_hops, epsilon):
    ours = actions_of("Private-UCB", graph, m, max_hops, epsilon=epsilon, release_exponent=1.2, own_feedback="true")
    for r, seed in enumerate(spawn_seeds(11, 3)):
        assert ours[r].tolist() == naive_private_ucb(seed, graph, m, max_hops, T, epsilon, 1.2)


@pytest.mark.parametrize(("graph", "m", "leader"), [("cycle", 7, 0), ("path", 12, 0), ("star", 8, 1)])
def test_queues_that_grow_lose_no_reward(monkeypatch, graph, m, leader):
    """Queues begin with room for one report, so that they grow repeatedly while partly consumed."""
    reset = QuACK.reset

    def short(team, env, seeds):
        reset(team, env, seeds)
        team.state = team.state._replace(queue=team.state.queue[:, :, :1].copy())

    monkeypatch.setattr(QuACK, "reset", short)
    ours = actions_of("QuACK-UCB", graph, m, None, leader=leader)
    for r, seed in enumerate(spawn_seeds(11, 3)):
        assert ours[r].tolist() == naive_quack(seed, graph, m, T, leader=leader)
