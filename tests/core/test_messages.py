"""`messages` of private exploration counts votes that left their agents, by phases and in compiled episodes."""

import math

import numpy as np
import pytest
from helpers import build

import hushbandits as hb
from hushbandits.core.rollout import rollout
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle


def shown(env, votes, **message):
    """One round in which the active agents of all runs vote `votes` (K,)."""
    env.pull(np.ones((env.runs, 1, env.n_arms), bool))
    return env.communicate({"vote": np.broadcast_to(votes, (env.runs, 1, env.n_arms)), **message})


@pytest.mark.parametrize(
    "behind", [[], [SecAgg(batch_window=2)], [Shuffle(batch_window=2)]], ids=["bare", "SecAgg", "Shuffle"]
)
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_messages_are_votes_that_left_their_agents(rate, behind):
    env = hb.make_batched("DPMASE-v0", runs=400, n_agents=3, threshold=9, wrappers=[Loss(rate), *behind])
    env.reset(0)
    votes = np.arange(10) < 4
    shown(env, votes)
    messages = env.metrics()["messages"]
    assert abs(messages.mean() - 4 * (1 - rate)) <= 6 * math.sqrt(4 * rate * (1 - rate) / 400)
    if not behind:
        np.testing.assert_array_equal(messages, env.votes.sum(1))


def test_a_reset_that_is_not_sent_costs_nothing():
    env = hb.make_batched(
        "DecentralizedExploration-v0", n_agents=29, termination="horizon", horizon=9, allow_vote_resets=True
    )
    obs = env.reset(0)
    for sent, charged in ((False, 0), (True, 2), (True, 3)):  # after a reset a vote counts again
        action = np.zeros((1, 1, 10), bool)
        action[..., 0] = True
        env.pull(action)
        vote = np.zeros((1, 1, 10), bool)
        vote[..., 1] = charged == 2
        obs = env.communicate({"vote": vote, "reset": np.ones((1, 1), bool), "sent": np.full((1, 1), sent)})
        assert env.metrics()["messages"][0] == charged
    assert obs.running.all()


@pytest.mark.parametrize("step", [None, lambda: None], ids=["episode", "phases"])
@pytest.mark.parametrize(("wrappers", "xi"), [((), 0.0), ((), 0.1), ((), 0.2), ((Loss(0.4),), 0.0)])
def test_whole_runs_charge_for_what_the_coordinator_counted(wrappers, xi, step):
    env, team = build(
        "CorruptedElimination-v0", "Corrupted-Elimination", 20, {"n_agents": 6, "means": [0.9, 0.3, 0.1]},
        {"eta": 0.7, "delta": 0.3, "xi": xi}, wrappers,
    )  # fmt: skip
    messages = rollout(env, team, 0, step=step)["messages"]
    np.testing.assert_array_equal(messages, env.book.counted.sum((1, 2)))
    lost = (env.book.sent & ~env.book.counted).sum((1, 2))
    assert (lost.sum() > 0) == (xi > 0 or bool(wrappers))
