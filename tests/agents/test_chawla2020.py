"""GosInE (Chawla et al. 2020) equals a twin that asks its neighbours, and its lists keep the right arms."""

import numpy as np
import pytest
from helpers import arms_pulled, build
from twins_chawla import MEANS, naive_gosine

import hushbandits as hb
from hushbandits.agents.chawla2020 import first_lists
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.network.graphs import adjacency
from hushbandits.wrappers.loss import Loss

T = 150


@pytest.mark.parametrize("slack", [None, 0.0, 0.5])
@pytest.mark.parametrize(("graph", "m"), [("complete", 4), ("star", 6), ("cycle", 3), ("path", 2), ("path", 1)])
def test_it_equals_its_naive_twin(graph, m, slack):
    given = {"n_agents": m, "graph": graph, "means": MEANS, "horizon": T}
    env, team = build("CoopNetwork-v0", "GosInE", 6, given, {"slack": slack, "alpha": 0.5})
    arms = arms_pulled(env, team, spawn_seeds(3, 6))
    edges = [np.flatnonzero(row).tolist() for row in adjacency(graph, m)]
    asked = team.metrics(env)["recommendations"]
    assert (team._lists != first_lists(m, len(MEANS))).any() or m < 3  # recommendations were accepted
    for r, seed in enumerate(spawn_seeds(3, 6)):
        played, lists, names = naive_gosine(seed, edges, T, 0.5, slack)
        assert arms[r].tolist() == played
        assert team._lists[r].tolist() == lists
        assert asked[r] == names


def test_without_sharing_everybody_plays_ucb_on_all_arms():
    given = {"n_agents": 3, "graph": "star", "means": MEANS, "horizon": T}
    env, team = build("CoopNetwork-v0", "GosInE", 2, given, {"shares": False})
    arms = arms_pulled(env, team, spawn_seeds(3, 2))
    for r, seed in enumerate(spawn_seeds(3, 2)):
        assert arms[r].tolist() == naive_gosine(seed, [[], [], []], T, shares=False)[0]
    assert env.metrics()["messages"].tolist() == [0, 0]


@pytest.mark.parametrize(("agents", "arms"), [(1, 2), (1, 7), (2, 3), (3, 6), (15, 40), (40, 5), (5, 5), (4, 4)])
def test_every_arm_sticks_somewhere_and_no_list_has_one_twice(agents, arms):
    lists = first_lists(agents, arms)
    assert all(len(set(row)) == len(row) for row in lists.tolist())
    assert set(lists.ravel().tolist()) == set(range(arms))
    if lists.shape[1] < arms:
        assert lists.shape[1] == -(-arms // agents) + 2
        assert set(lists[:, :-2].ravel().tolist()) == set(range(arms))


@pytest.mark.parametrize("agent", ["GosInE", "GosInE-async"])
def test_lists_keep_their_sticky_arms_and_stay_lists(agent):
    env, team = build("CoopNetwork-v0", agent, 5, {"n_agents": 8, "n_arms": 20, "graph": "cycle", "horizon": 600})
    hb.rollout(env, team, 0)
    first = first_lists(8, 20)
    assert (team._lists[:, :, :-2] == first[:, :-2]).all()
    assert (team._lists[:, :, -2:] != first[:, -2:]).any()
    assert (np.sort(team._lists, 2)[..., 1:] > np.sort(team._lists, 2)[..., :-1]).all()


def test_what_is_lost_or_late_leaves_the_last_name():
    given = {"n_agents": 5, "n_arms": 9, "graph": "complete", "horizon": 40, "hop_delay": 3}
    env, team = build("CoopNetwork-v0", "GosInE", 2, given)
    hb.rollout(env, team, 0)  # posts of t = 1, 8, 27 come in t = 4, 11, 30
    first = first_lists(5, 9)[:, 0]
    silent, deaf = build("CoopNetwork-v0", "GosInE", 2, {**given, "hop_delay": 0}, wrappers=[Loss(1.0)])
    hb.rollout(silent, deaf, 0)
    near = deaf._near[0]
    assert (deaf._heard == first[near]).all()
    assert (team._heard != first[near]).any()
