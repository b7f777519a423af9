"""Resilient UCB (Zhu et al. 2023) among liars equals its naive twin; and the lying wrapper."""

import numpy as np
import pytest
from helpers import arms_pulled, begin, build
from twins_zhu import naive_resilient

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.network.graphs import adjacency
from hushbandits.wrappers.false_means import FalseMeans, swapped
from hushbandits.wrappers.private_means import PrivateMeans

MEANS = (0.5, 0.8, 0.45, 0.3)
T = 120


@pytest.mark.parametrize(("f", "kappa"), [(1, 1.5), (0, 1.0), (2, 3.0)])
@pytest.mark.parametrize("reading", ["zero", "swap"])
@pytest.mark.parametrize(("graph", "m"), [("complete", 7), ("cycle", 6), ("path", 1)])
def test_it_equals_its_naive_twin(graph, m, reading, f, kappa):
    given = {"n_agents": m, "graph": graph, "means": MEANS, "horizon": T}
    lies = FalseMeans(reading, fraction=0.3)
    env, team = build("CoopNetwork-v0", "Resilient-UCB", 4, given, {"f": f, "kappa": kappa}, [lies])
    arms = arms_pulled(env, team, spawn_seeds(6, 4))
    edges = [np.flatnonzero(row).tolist() for row in adjacency(graph, m)]
    final = env.metrics()
    for r, seed in enumerate(spawn_seeds(6, 4)):
        played, liars = naive_resilient(seed, edges, MEANS, T, f, kappa, reading, 0.3)
        assert arms[r].tolist() == played
        regret = (0.8 - np.array(MEANS))[arms[r]].sum(0)
        honest = [regret[i] for i in range(m) if i not in liars]
        assert final["honest_regret"][r] == pytest.approx(np.mean(honest))
        assert final["honest_most"][r] == pytest.approx(max(honest))


def test_without_a_horizon_for_all_arms_the_first_are_pulled():
    env, team = build("CoopNetwork-v0", "Resilient-UCB", 2, {"n_agents": 3, "means": MEANS, "horizon": 2})
    assert arms_pulled(env, team, spawn_seeds(0, 2)).tolist() == [[[0] * 3, [1] * 3]] * 2


# -- the wrapper ----------------------------------------------------------------------------------------------------


def test_swapped_is_the_papers_instance_in_any_order():
    truth, lie = np.array([0.5, 0.45, 0.4, 0.3]), np.array([0.4, 0.5, 0.4, 0.3])
    orders = np.array([np.random.default_rng(i).permutation(4) for i in range(20)])
    np.testing.assert_array_equal(swapped(truth[orders]), lie[orders])
    assert swapped(np.array([[0.2, 0.9]])).tolist() == [[0.9, 0.2]]


def test_liars_say_the_largest_honest_count_and_others_speak_true():
    env = hb.make_batched(
        "CoopNetwork-v0", n_agents=10, means=MEANS, horizon=50, runs=3, graph="complete", max_hops=1,
        wrappers=[PrivateMeans(), lies := FalseMeans("swap", 0.25)],
    )  # fmt: skip
    team = hb.make_team("Random")
    obs = begin(env, team, 1)
    liars = env.wrappers[1].byzantine
    assert liars.sum(1).tolist() == [2, 2, 2]
    for _ in range(50):
        obs = env.pull(team.act(obs))
        obs = env.communicate()
    count, mean = env.wrappers[0]._own.pulls, env.wrappers[0]._own.mean
    for r in range(3):
        heard = obs.inbox["count"][r, 0], obs.inbox["mean"][r, 0], obs.inbox["sender"][r, 0]
        for n, x, sender in zip(*heard, strict=True):
            if liars[r, sender]:
                np.testing.assert_array_equal(n, count[r][~liars[r]].max(0))
                np.testing.assert_array_equal(x, swapped(env.means)[r])
            else:
                np.testing.assert_array_equal(n, count[r, sender])
                np.testing.assert_array_equal(x, mean[r, sender])
    assert lies.name == "FalseMeans"
