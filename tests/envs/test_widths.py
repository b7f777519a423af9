"""Sizes at and just over the blocks in which luck is read: every run ends, and both speeds end with the same bits."""

import warnings

import numpy as np
import pytest
from named import taken

from hushbandits.core.luck.tapes import Uniforms, run_seeds, stream
from hushbandits.core.play import meet, play
from hushbandits.registry import assemble, list_agents, list_envs, make_core, make_team

#: A block of uniforms is 4 times, a block of activations twice as long.
WIDE = 1 << 12
#: Around what is read ahead.
ARMS = (WIDE - 1, WIDE, WIDE + 1, 2 * WIDE + 1, 10_000)
#: Few rounds are enough, for blocks of rounds are the shorter the more arms or agents there are.
SIZES = [
    *({"n_arms": k, "n_agents": 2, "horizon": 130} for k in (WIDE, WIDE + 1)),
    *({"n_arms": 3, "n_agents": m, "horizon": 130} for m in (64, 65, 128, 129)),
    *({"n_arms": k, "n_agents": 2, "horizon": t} for k, t in ((128, 129), (129, 257))),
]


def both(env_id, agent, env):
    """Final metrics of a run in compiled code, and of the same run by the beats; ``None``: not a game."""
    found = []
    for step in (None, lambda: None):
        try:
            team = make_team(agent)
            core = assemble(env_id, team, runs=1, env={k: v for k, v in env.items() if k in taken(env_id)})
            meet(core, team)
        except ValueError:
            return None
        found.append(play(core, team, 3, step))
        assert not core.live.any()
    return found


def equal(found):
    one, two = found
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=name)


@pytest.mark.parametrize("n_arms", ARMS)
@pytest.mark.parametrize("agent", ["DP-MASE", "Corrupted-Elimination", "Independent"])
def test_wide_votes_end_and_are_those_of_the_beats(agent, n_arms):
    """One arm is worth 1 and the others 0: the first phase votes them out, with a uniform for each."""
    env = {"n_agents": 1, "means": [1.0] + [0.0] * (n_arms - 1), "threshold": 0}
    found = both("DPMASE-v0", agent, env)
    assert found[0]["correct"].all()
    assert not found[0]["inconclusive"].any()
    equal(found)


@pytest.mark.slow
def test_a_hundred_thousand_arms():
    env = {"n_agents": 1, "means": [1.0] + [0.0] * (10**5 - 1), "threshold": 0}
    equal(both("DPMASE-v0", "DP-MASE", env))


def homes():
    """Every agent in the first env that takes it, at one of the sizes."""
    settings = {env_id: make_core(env_id).setting for env_id in list_envs()}
    for i, agent in enumerate(list_agents()):
        fit = [env_id for env_id, setting in settings.items() if make_team(agent).setting in ("", setting)]
        yield pytest.param(agent, fit, SIZES[i % len(SIZES)], id=agent)


@pytest.mark.parametrize(("agent", "envs", "size"), [*homes()])
def test_every_agent_ends_at_the_edges_of_blocks_as_the_beats_do(agent, envs, size):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # votes that can do nothing
        for env_id in envs:
            if (found := both(env_id, agent, size)) is not None:
                return equal(found)


@pytest.mark.parametrize("env_id", list_envs())
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_env_ends_at_the_edges_of_blocks(env_id, size):
    if found := both(env_id, "Random", size):
        equal(found)


@pytest.mark.parametrize("horizon", [WIDE, WIDE + 1, 2 * WIDE + 1, 4 * WIDE + 1])
@pytest.mark.parametrize(("env_id", "agent"), [("CoopNetwork-v0", "UCB1"), ("DPMASE-v0", "DP-MASE")])
def test_long_runs_cross_blocks(env_id, agent, horizon):
    equal(both(env_id, agent, {"n_arms": 3, "n_agents": 3, "horizon": horizon, "threshold": 1, "stop": "horizon"}))


@pytest.mark.parametrize("width", [WIDE - 1, WIDE, WIDE + 1, 3 * WIDE])
@pytest.mark.parametrize("before", [0, 1, WIDE // 2, WIDE])
def test_a_tape_that_is_widened_reads_on(width, before):
    seeds = run_seeds(0, 2)
    tape, whole = Uniforms(seeds, "agent/A"), stream(seeds[1], "agent/A").random(before + 3 * width)
    read = [tape.take(1, before)] + [tape.take(1, width) for _ in range(3)]
    np.testing.assert_array_equal(np.concatenate(read), whole)
