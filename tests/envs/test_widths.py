"""Sizes at and just above the blocks of random numbers: every run ends, compiled and by phases with equal results."""

from itertools import cycle

import pytest
from helpers import equal
from homes import Home, registered, wanders
from kinds import each_once, one_per_class, weekly_but

import hushbandits as hb
from hushbandits.core.rollout import rollout

#: A block of uniforms has 4 times as many steps, a block of activations twice as many.
WIDE = 1 << 12
#: Sizes around what is read ahead.
ARMS = (WIDE - 1, WIDE, WIDE + 1, 2 * WIDE + 1, 10_000)
#: Arms, agents, rounds; few rounds suffice, since blocks of rounds are shorter for more arms or agents.
SIZES = [
    *((3, m, 130) for m in (64, 65)),
    *((k, 2, 130) for k in (WIDE, WIDE + 1)),
    *((3, m, 130) for m in (128, 129)),
    *((k, 2, t) for k, t in ((128, 129), (129, 257))),
]


#: Trained policies have the size of their training.
ANYWHERE = [case for case in zip(hb.list_agents(), cycle(SIZES)) if "PPO" not in case[0]]
#: One agent for each way to compile rounds and read random numbers; others do not depend on blocks.
WAYS = ("UCB1", "Index-TS", "QuACK-UCB", "Byzantine-UCB", "DP-UCB-INT", "DP-MASE", "Decentralized-SER4")


def both(home):
    """Final metrics of a compiled run equal those of the same run by phases; they are returned."""
    one, two = (rollout(*home.build(1), 3, step) for step in (None, lambda: None))
    equal(one, two)
    return one


def sized(home, size):
    """A home of another size; a duel has as many arms as preferences, and a file as many as rows."""
    n_arms, n_agents, horizon = size
    env = {**home.env, "n_agents": n_agents, "horizon": horizon}
    if home.env_id.startswith("FedLinear"):
        return home._replace(env={**env, "n_arms": n_arms, "contexts": "cube"})
    if not home.env_id.startswith(("Dueling", "LTR")):
        env |= {"n_arms": n_arms, "means": [0.9] + [0.1] * (n_arms - 1)}
    if "Grid" in home.env_id:  # these sizes are not square
        env["graph"] = "cycle"
    if home.agent.startswith("CMP-UCB") and n_agents > 64:  # the largest partition is searched among fewer
        return home._replace(env=env, agent_kwargs={**home.agent_kwargs, "partition": "greedy"})
    return home._replace(env=env)


@each_once
@pytest.mark.parametrize("n_arms", ARMS)
@pytest.mark.parametrize("agent", ["DP-MASE", "Corrupted-Elimination", "Independent"])
def test_wide_votes_end_and_are_those_of_the_phases(agent, n_arms):
    """One arm has mean 1 and the others 0: the first phase votes them out, with a uniform for each."""
    found = both(Home("DPMASE-v0", agent, {"n_agents": 1, "means": [1.0] + [0.0] * (n_arms - 1), "threshold": 0}))
    assert found["correct"].all()
    assert not found["inconclusive"].any()


@pytest.mark.weekly
def test_a_hundred_thousand_arms():
    both(Home("DPMASE-v0", "DP-MASE", {"n_agents": 1, "means": [1.0] + [0.0] * (10**5 - 1), "threshold": 0}))


@pytest.mark.parametrize(
    ("agent", "size"), weekly_but([case for case in ANYWHERE if case[0] == "UCB1"], *ANYWHERE), ids=str
)
def test_every_agent_ends_at_the_edges_of_blocks_as_the_phases_do(agent, size):
    both(sized(registered(agent), size))


@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
def test_every_env_ends_at_the_edges_of_blocks(env_id):
    for size in SIZES:
        both(sized(wanders(env_id), size))


@pytest.mark.parametrize(
    "horizon", weekly_but([(WIDE,), (WIDE + 1,)], (WIDE,), (WIDE + 1,), (2 * WIDE + 1,), (4 * WIDE + 1,))
)
def test_long_runs_cross_blocks(horizon):
    both(Home("CoopNetwork-v0", "UCB1", {"n_arms": 3, "n_agents": 3, "horizon": horizon}))
    vote = {"n_agents": 3, "means": [0.9, 0.5, 0.1], "horizon": horizon, "threshold": 1, "termination": "horizon"}
    both(Home("DPMASE-v0", "DP-MASE", vote))
