"""A run that is reset while others continue equals a run alone, for every env and wrapper."""

import numpy as np
import pytest
from homes import HOMES, LOST, WANDERERS, Home
from kinds import representatives, weekly_but
from steps import alone_step, equal, step

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds

FEW = {"n_agents": 5, "horizon": 9}
#: Agents whose homes cannot be played by random actions: user-defined fields, and a vote that the first message ends.
DEAF = ("coop-UCB", "Central", "GosInE", "GosInE-async", "Resilient-UCB", "AdaP-TT", "Fed1-UCB", "Fed-MoM-UCB")
MIXED = {name: home for name, home in HOMES.items() if name not in hb.list_agents() and home.agent not in DEAF}
MIXED["contexts"] = Home("contextual:Contexts", "Random", FEW, {}, LOST)
PLAYED = WANDERERS | MIXED
#: One env of each class, and every wrapper.
DAILY = [(f"Random in {env_id}",) for env_id in representatives(hb.list_envs())]
DAILY += [(name,) for name, home in MIXED.items() if home.wrappers]


@pytest.mark.parametrize("name", weekly_but(DAILY, *((name,) for name in PLAYED)))
def test_a_restarted_run_is_a_run_alone_and_the_others_do_not_notice(name):
    (env, _), (other, _), (alone, _) = (PLAYED[name].build(runs) for runs in (3, 3, 1))
    for core in (env, other):
        core.reset(7)
        for i in range(4):
            step(core, [(i, r) for r in range(3)])
    new = spawn_seeds(99, 1)
    obs, _ = env.reset(new, rows=[1]), alone.reset(new)
    assert obs.running[1]
    for i in range(10):
        if not (env.running[1] and env.running[0]):
            break
        inbox = step(env, [(9, i)] * 3).inbox
        equal(env.metrics(), 1, alone_step(alone, i, inbox), 0)
        if other.running.any():
            step(other, [(9, i)] * 3)
            for r in (0, 2):
                equal(env.metrics(), r, other.metrics(), r)
    assert i > 0


def test_rows_between_the_phases_or_before_the_start():
    env = hb.make_batched("CoopNetwork-v0", 3, **FEW)
    env.reset(0)
    env.pull(env.no_action())
    with pytest.raises(RuntimeError, match="next phase is communicate"):
        env.reset(0, rows=[0])


def test_runs_that_are_over_are_frozen_until_they_start_afresh():
    env = hb.make_batched("CoopNetwork-v0", 2, n_agents=3, horizon=4)
    env.reset(0)
    for _ in range(2):
        step(env, [(0, 0), (0, 1)])
    env.reset(5, rows=[1])
    for _ in range(2):
        step(env, [(0, 0), (0, 1)])
    assert env.running.tolist() == [False, True]
    before = {name: value[0].copy() for name, value in env.metrics().items()}
    step(env, [(0, 0), (0, 1)])
    for name, value in env.metrics().items():
        np.testing.assert_array_equal(value[0], before[name])
    assert env.reset(1, rows=[True, False]).running.all()
