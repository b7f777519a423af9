"""Voting episodes have no state of their own: they alternate with the phases, and the run ends the same way."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from helpers import begin, equal, own_streams
from homes import FEW, registered
from kinds import representatives, weekly_but
from rounds import by_phases

import hushbandits as hb
from hushbandits.agents.rio2023 import DPMASE
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.rollout import rollout
from hushbandits.core.team import EnvView
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg

VOTERS = sorted(name for name in hb.list_agents() if isinstance(hb.make_team(name), VotingTeam))


def game(agent, lost, **env):
    """Return an env and a team before their first round."""
    home = registered(agent)
    core, team = home._replace(env={**FEW, **env}, wrappers=(Loss(0.3),) if lost else ()).build(3)
    begin(core, team, 11)
    return core, team


def state(core):
    """Return the state, and the next active agents if there are any."""
    book = core.book._asdict() | {"active_agents": np.where(core.running, core.book.active_agents, -1)}
    return {**book, **core.metrics(), "seen": core.active_agents[:, 0] * core.running, "named": core.recommendation()}


#: One agent of each class, and once with losses.
TURNS = [*((agent, False) for agent in sorted(representatives(VOTERS))), ("DP-MASE", True)]


@pytest.mark.parametrize(("agent", "lost"), weekly_but(TURNS, *product(VOTERS, (False, True))))
def test_episode_and_phases_take_turns(agent, lost):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # votes that can do nothing
        plain, mixed = game(agent, lost), game(agent, lost)
    by_phases(*plain)
    core, team = mixed
    assert team.episode(core, 40)
    by_phases(core, team, 7)
    core, team = pickle.loads(pickle.dumps((core, team)))
    assert team.episode(core, 41)  # some runs are already beyond this round
    by_phases(core, team, 60)
    assert team.episode(core, 150.5)
    assert team.episode(core)
    assert not core.running.any()
    equal(state(plain[0]), state(core))
    with pytest.raises(RuntimeError, match="after the end"):
        core.pull(core.no_action())


def test_a_row_that_starts_afresh_goes_on_in_compiled_code():
    core, team = game("DP-MASE", True)
    alone, single = game("DP-MASE", True)
    team.episode(core, 30)
    fresh = spawn_seeds(5, 1)
    core.reset(fresh, rows=[1])
    _, late = game("DP-MASE", True)  # its agents know no run; run 1 is checked alone
    late.reset(EnvView(core), own_streams(core, late))
    assert late.episode(core)
    begin(alone, single, fresh.repeat(3, 0))
    by_phases(alone, single)
    for name, value in alone.metrics().items():
        assert value[1] == core.metrics()[name][1], name


def test_between_the_phases_and_behind_other_wrappers_only_the_phases_will_do():
    core, team = game("DP-MASE", False)
    core.pull(team.act(core._seen()))
    assert not team.episode(core)
    core.communicate(team.compose(np.zeros((3, 1, 3))))
    assert team.episode(core)
    for wrappers in ([SecAgg(batch_window=4)], [Loss(0.1), Loss(0.1, name="second")]):
        core = hb.make_batched("DPMASE-v0", n_agents=8, wrappers=wrappers)
        core.reset(0)
        assert core.vote_loss() is None


class Spared(Loss):
    """Drops by its own rule, at the rate that it declares."""

    def send(self, message, env):
        return message


def test_a_loss_of_ones_own_is_played_as_it_is_written():
    """Formerly the compiled loop dropped votes by its own rule instead."""
    finals = []
    for step in (None, lambda: None):
        core = hb.make_batched("DPMASE-v0", n_agents=8, wrappers=[Spared(0.9)])
        finals.append(rollout(core, hb.make_team("DP-MASE", epsilon=2.0), 0, step))
    equal(*finals)


class Mute(DPMASE):
    """Says nothing."""

    def compose(self, reward):
        super().compose(reward)


def test_a_phase_of_ones_own_is_played_as_it_is_written():
    """Formerly the compiled loop played the phase of the base class."""
    finals = []
    for step in (None, lambda: None):
        core = hb.make_batched("DPMASE-v0", n_agents=8, horizon=9000)
        finals.append(rollout(core, Mute(epsilon=2.0), 0, step))
    equal(*finals)
    assert finals[0]["messages"][0] == 0


def test_a_phase_that_fails_in_compiled_code_leads_out_by_reset():
    core, team = hb.make_batched("DPMASE-v0", n_agents=64, one_arm_per_step=True), hb.make_team("DP-MASE")
    routine = team.routine
    team.routine = lambda n_arms: routine(n_arms)._replace(several=False)
    begin(core, team, 0)
    with pytest.raises(ValueError, match="one arm per activation"):
        team.episode(core)
    with pytest.raises(RuntimeError, match=r"call reset\(seeds\)"):
        core.pull(core.no_action())
