"""The observer of votes equals enumeration, and works on real runs."""

import itertools

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.core.rollout import rollout
from hushbandits.envs.exploration.observer import named_rows, naming_accuracy
from hushbandits.registry import assemble
from hushbandits.wrappers.secagg import SecAgg


def test_accuracy_by_enumeration():
    """Enumerate all ballots of two watched agents over three arms, with the observer's guess."""
    good = np.array([False, True, False])
    for bits in itertools.product([False, True], repeat=6):
        ballots = np.array(bits).reshape(2, 3)
        votes = [sum(ballots[:, k]) for k in range(3)]
        guesses = [k for k in range(3) if votes[k] == min(votes)]
        assert naming_accuracy(ballots, good) == pytest.approx(sum(good[k] for k in guesses) / len(guesses))


def test_who_shown_most_shares_ties():
    ballots = np.zeros((1, 3, 4), bool)
    ballots[0, :2, :2] = True
    named, most = named_rows(ballots, np.ones((1, 4), bool), np.array([1.0, 0.0, 1.0]))
    assert (named.tolist(), most.tolist()) == ([[1.0, 0.0, 1.0]], [[0.5, 0.5, 0.0]])


def test_observers_of_single_agents_are_observers_of_one():
    rng = np.random.default_rng(0)
    ballots, good = rng.random((40, 5, 3)) < rng.random((40, 1, 1)), rng.random((40, 3)) < 0.5
    ballots[0], ballots[1] = True, False
    named, _ = named_rows(ballots, good, np.ones(5))
    np.testing.assert_array_equal(named, naming_accuracy(ballots[:, :, None], good[:, None]))


def play_metrics(xi, wrappers=(), runs=60):
    team = hb.make_team("Corrupted-Elimination", xi=xi)
    env = assemble("CorruptedElimination-v0", team, runs=runs, env={"permute_arms": True}, wrappers=wrappers)
    return rollout(env, team, 0), env


def test_naive_count_on_one_run():
    metrics, env = play_metrics(0.05, runs=2)
    for r in range(2):
        total = 0.0
        for n in range(64):
            left = [k for k in range(10) if not env.book.counted[r, n, k]]
            total += (int(env.means[r].argmax()) in left) / len(left) if left else 0.1
        assert metrics["named"][r] == pytest.approx(total / 64)


def test_agents_that_never_act_do_not_thin_the_mean():
    env = hb.make_batched("DPMASE-v0", n_agents=4, agent_distribution=[1, 1, 0, 0], threshold=3, permute_arms=False)
    env.reset(0)
    votes = ~np.eye(10, dtype=bool)[:1]  # against all arms but the best
    env.pull(np.ones((1, 1, 10), bool))
    env.communicate({"vote": votes[None]})
    assert env.metrics()["named"][0] == pytest.approx((1 + 0.1) / 2)


def test_behind_secagg_an_observer_of_one_agent_learns_nothing():
    team = hb.make_team("DP-MASE", epsilon=1.0)
    env = assemble("DPMASE-v0", team, runs=5, env={"n_agents": 12}, wrappers=[SecAgg(batch_window=50)])
    np.testing.assert_allclose(rollout(env, team, 0)["named"], 0.1)
