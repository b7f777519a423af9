"""Rio et al. 2023 beyond DP-MASE: Corrupted Elimination and the two baselines equal their twins."""

import math

import numpy as np
import pytest
import twins_rio as twins
from helpers import build

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.rollout import rollout
from hushbandits.envs.exploration.problems import PROBLEMS

MEANS = [0.9, 0.3, 0.1]
DELTA = 0.3


@pytest.mark.parametrize("xi", [0.0, 0.1, 0.3])
def test_corrupted_elimination_equals_its_twin(xi):
    env, team = build(
        "CorruptedElimination-v0", "Corrupted-Elimination", 4, {"n_agents": 6, "means": MEANS},
        {"eta": 0.7, "delta": DELTA, "xi": xi},
    )  # fmt: skip
    p = 1 - 0.3 / (1 - xi) ** 2
    assert env.threshold == math.floor(math.log(DELTA) / math.log(p))
    seeds = spawn_seeds(2, 4)
    metrics = rollout(env, team, seeds)
    for r, seed in enumerate(seeds):
        twin = twins.corrupted_elimination(seed, 6, MEANS, p, env.threshold + 1, xi)
        assert metrics["rounds"][r] == twin["rounds"]
        assert metrics["messages"][r] == twin["sent"]
        assert metrics["correct"][r] == (twin["active"] == {0})


@pytest.mark.parametrize(("agent", "needed"), [("Central", 1), ("Independent", 99)])
def test_agents_at_the_ends_equal_their_twins(agent, needed):
    """One server sees every pull, or no agent receives messages."""
    env, team = build("DPMASE-v0", agent, 4, {"n_agents": 5, "means": MEANS}, {"delta": DELTA})
    seeds, central = spawn_seeds(3, 4), agent == "Central"
    metrics = rollout(env, team, seeds)
    for r, seed in enumerate(seeds):
        twin = twins.corrupted_elimination(seed, 5, MEANS, DELTA, needed, shared=central, alone=not central)
        assert metrics["rounds"][r] == twin["rounds"]
        assert metrics["messages"][r] == (twin["rounds"] if central else 0)
        assert metrics["correct"][r] == all(arms == {0} for arms in ([twin["active"]] if central else twin["held"]))


def test_problem_two_is_gaussian():
    env = hb.make_batched("DPMASE-v0", problem="P2", permute_arms=False)
    env.reset(0)
    rewards = []
    for _ in range(500):
        rewards.append(env.pull(np.ones((1, 1, 10), bool)).reward[0, 0])
        env.communicate()
    rewards = np.array(rewards)
    # standard errors: .5/√500 = .022 for a mean, .5/√1000 = .016 for a standard deviation; six of them
    np.testing.assert_allclose(rewards.mean(0), PROBLEMS["P2"].means, atol=0.14)
    np.testing.assert_allclose(rewards.std(0), 0.5, atol=0.1)
