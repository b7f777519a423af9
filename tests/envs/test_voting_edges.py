"""Votes that cannot decide, runs that would not end, thresholds for losses that do not occur are refused."""

import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from helpers import begin
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import each_once
from refusals import rows

import hushbandits as hb
from hushbandits.agents import feraud2019_theory, rio2023_theory
from hushbandits.best_arm.best_arm import identify
from hushbandits.best_arm.routine import RESETS, SILENT, Routine
from hushbandits.core import Array
from hushbandits.core.rollout import rollout
from hushbandits.core.team import check_compatible
from hushbandits.envs.exploration.problems import vote_threshold
from hushbandits.registry import assemble
from hushbandits.wrappers.loss import Loss, VoteCorruption

ID = "DecentralizedExploration-v0"


# -- one M ------------------------------------------------------------------------------------------------------


def test_a_whole_quotient_is_that_many_votes_everywhere():
    assert rio2023_theory.corrupted_failure(0.49, 0.7, 0) == pytest.approx(0.49)
    for m in range(1, 30):
        for eta in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
            delta = math.prod([eta] * m)
            assert vote_threshold(delta, eta) == m
            assert rio2023_theory.corrupted_failure(delta, eta, 0) == pytest.approx(delta)
            assert feraud2019_theory.failure(delta, eta) == pytest.approx(delta)
            assert feraud2019_theory.message_bound(delta, eta, 10) == 10 * m - 1


def test_dp_mase_votes_by_its_own_beta_in_every_env():
    for id in ("DPMASE-v0", "CorruptedElimination-v0"):
        assert assemble(id, hb.make_team("DP-MASE", beta=0.5), runs=1, env={}).threshold == 4


# -- ξ ----------------------------------------------------------------------------------------------------------------


def test_a_threshold_for_lost_votes_needs_votes_that_get_lost():
    assert hb.make_batched("DPMASE-v0", eta=0.9, xi=0.05, wrappers=[VoteCorruption(0.05)]).threshold == 17
    assert hb.make_batched("CorruptedElimination-v0", xi=0.05).threshold == 17


@each_once
@pytest.mark.parametrize("id", ["DPMASE-v0", "CorruptedElimination-v0", ID])
@pytest.mark.parametrize(
    "lost", [[], [Loss(0.05)], [Loss(0.04)], [VoteCorruption(0.05)], [VoteCorruption(0.02), Loss(0.03)], [Loss(0.0)]]
)
def test_the_wrappers_together_lose_just_that_share(id, lost):
    rates = [w.rate for w in lost] + [0.05] * id.startswith("Corrupted")
    lost = [type(w)(w.rate, name=f"my {w.name}") for w in lost]
    real = 1 - math.prod(1 - rate for rate in rates)
    kwargs = {"n_agents": 64, "eta": 0.9, "xi": 0.05, "wrappers": lost}
    if abs(real - 0.05) < 1e-12:
        hb.make_batched(id, **kwargs)
    else:
        with pytest.raises(ValueError, match=rf"wrappers lose, {real:.6g}"):
            hb.make_batched(id, **kwargs)
    hb.make_batched("DPMASE-v0", wrappers=lost)  # losses that no threshold allows for are the caller's business


# -- too few voters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "acting"),
    [({"n_agents": 4}, 4), ({"n_agents": 1}, 1), ({"n_agents": 6, "agent_distribution": [0, 0, 1, 1, 1, 1]}, 4)],
)
def test_no_run_of_too_few_voters_can_be_decided(env, acting):
    with pytest.raises(ValueError, match=rf"DP-MASE needs 5 votes to remove an arm, but only {acting} agents act"):
        hb.evaluate("DPMASE-v0", "DP-MASE", runs=1, env=env)
    hb.evaluate(
        "DPMASE-v0", "DP-MASE", runs=1, env={**env, "termination_by": "everyone"}, agent_kwargs={"epsilon": 2.0}
    )
    for agent in ("Central", "Independent"):
        hb.evaluate("DPMASE-v0", agent, runs=1, env=env)


def test_an_agent_that_never_acts_cannot_vote():
    env = {"agent_distribution": [0.0, *[1.0] * 29], "n_agents": 30}
    hb.evaluate(ID, "Decentralized-SER3", runs=1, env=env)


@pytest.mark.parametrize("agent", ["Decentralized-SER3", "Decentralized-SER4"])
def test_where_players_go_by_their_own_eliminations_a_warning_says_so(agent):
    env = {"n_agents": 8, "require_confidence": False, "horizon": 500}
    with pytest.warns(UserWarning, match=rf"{agent} needs 28 votes .* 8 agents act: each agent then learns"):
        hb.evaluate(ID, agent, runs=1, env=env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hb.evaluate(ID, agent, runs=1, env={**env, "n_agents": 29})


# -- runs that would not end -----------------------------------------------------------------------------------------


class Stubborn:
    """Pulls everything, votes nothing."""

    blind = True

    def __init__(self, m, rng, n_arms):
        self.arms = np.ones(n_arms, bool)

    def act(self, t):
        return self.arms


class Idle(Stubborn):
    def act(self, t):
        return ~self.arms


VOTES = [
    {"termination": stop, "inactive_agents": inactive_agents, "termination_by": judge}
    for stop in ("coordinator", "players")
    for inactive_agents in ("drop", "keep")
    for judge in ("coordinator", "everyone")
]


@each_once
@pytest.mark.parametrize("vote", VOTES, ids=str)
@pytest.mark.parametrize("agent", [Stubborn, Idle])
def test_whoever_never_votes_needs_a_horizon(agent, vote):
    with pytest.raises(ValueError, match=r"horizon=100_000"):
        rollout(hb.make_batched("DPMASE-v0", n_agents=6, **vote), hb.PerAgent(agent))
    metrics = rollout(hb.make_batched("DPMASE-v0", n_agents=6, horizon=20, **vote), hb.PerAgent(agent))
    assert metrics["rounds"][0] <= 20
    assert metrics["inconclusive"][0] == (not metrics["correct"][0])


def test_a_team_of_ones_own_may_say_that_its_votes_end_every_run():
    env = {"n_agents": 6, "means": [0.9, 0.1]}
    assert rollout(hb.make_batched("DPMASE-v0", **env), hb.make_team("Random"))["rounds"][0] > 0
    refused = [(hb.make_team("Random", rate=0.0), {}, ()), (hb.make_team("Random"), {"termination_by": "everyone"}, ()),
               (hb.make_team("Random"), {"threshold": 6}, ()), (hb.make_team("Random"), {}, (Loss(1.0),))]  # fmt: skip
    for team, more, wrappers in refused:
        with pytest.raises(ValueError, match="Random may never end"):
            rollout(hb.make_batched("DPMASE-v0", wrappers=wrappers, **env, **more), team)


def test_a_vote_that_can_be_lost_needs_a_horizon_where_players_stay():
    """The one player of 0-Privacy holds its arm for good, and the coordinator waits for votes that were lost."""
    env = {"n_agents": 4, "horizon": 3000}
    assert hb.evaluate(ID, "0-Privacy-SE", runs=9, env=env, wrappers=[Loss(0.5)]).final("inconclusive").any()


def test_two_best_arms_need_a_horizon_or_a_precision():
    env = {"means": [0.6, 0.6, 0.1], "n_agents": 64}
    for agent in ("DP-MASE", "Central", "Independent", "Corrupted-Elimination"):
        id = "CorruptedElimination-v0" if agent.startswith("Corrupted") else "DPMASE-v0"
        with pytest.raises(ValueError, match=rf"{agent} may never end, because two arms have the best mean: .*horizon"):
            hb.evaluate(id, agent, runs=1, env=env)
        hb.evaluate(id, agent, runs=1, env={**env, "horizon": 100})
    assert hb.evaluate(ID, "Decentralized-SER3", runs=1, env=env).final("correct").all()
    drawn = {"means": hb.UniformMeans(0.2, 0.8), "n_arms": 2, "horizon": 50}
    hb.evaluate("DPMASE-v0", "DP-MASE", runs=1, env=drawn)


ROLES = ("Decentralized", "0-Privacy", "1-Privacy")
VOTERS = [f"{role}-{routine}" for role in ROLES for routine in ("SER3", "LUCB")]
VOTERS += ["DP-MASE", "Corrupted-Elimination", "Central", "Independent"]


@settings(max_examples=50, deadline=None)
@given(
    agent=st.sampled_from(VOTERS),
    id=st.sampled_from(["DPMASE-v0", ID]),
    means=st.sampled_from([[0.9, 0.1], [0.9, 0.1, 0.1], [0.9, 0.9, 0.1]]),
    n_agents=st.integers(1, 7),
    threshold=st.integers(0, 5),
    lost=st.sampled_from([None, 0.0, 0.5, 1.0]),
    own=st.booleans(),
    seed=st.integers(0, 99),
)
def test_whatever_may_be_played_without_a_horizon_ends(agent, id, means, n_agents, threshold, lost, own, seed):
    """In any env, built-in or third-party, a voting agent is refused or stops (long before the cap here)."""
    params = {"epsilon": 1.0} if agent not in ("Corrupted-Elimination", "Central", "Independent") else {}
    if agent == "DP-MASE":
        params = {"epsilon": 5.0, "beta": 0.9}
    team = hb.make_team(agent, **params)
    env = {"n_agents": n_agents, "means": means, "require_confidence": False}
    wrappers = [] if lost is None else [Loss(lost)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if own:
                core = assemble(id, team, runs=2, env=env, wrappers=wrappers)
            else:
                core = hb.make_batched(id, 2, threshold=threshold or int(id == ID), wrappers=wrappers, **env)
            check_compatible(core, team)
            begin(core, team, seed)
            assert team.episode(core, 3_000_000)
            assert not core.running.any()
            refused = ""
        except ValueError as error:
            refused = str(error)
    assert not refused or any(word in refused for word in ("horizon", "no run can be decided", "one_arm_per_step=True"))


@rows("agent", ["DP-MASE", "Corrupted-Elimination", "Independent"])
@rows("step", [None, lambda: None])
def test_one_arm_per_activation_holds_at_both_speeds(agent, step):
    """A routine says whether it pulls several arms, and is refused at the door; one that says it wrongly, at once."""
    core, team = hb.make_batched("DPMASE-v0", n_agents=64, one_arm_per_step=True), hb.make_team(agent)
    with pytest.raises(ValueError, match=f"{agent} pulls several arms per activation"):
        check_compatible(core, team)
    routine = team.routine
    team.routine = lambda n_arms: routine(n_arms)._replace(several=False)
    with pytest.raises(ValueError, match=r"at most one arm per activation.*one_arm_per_step=True"):
        rollout(core, team, 0, step)


# -- a routine alone -------------------------------------------------------------------------------------------------


class Tries(NamedTuple):
    local: Array
    pulls: Array


def test_identify_begins_afresh_at_a_reset():
    """A routine that resets twice, each time with one arm given up already: its third life knows nothing of them."""
    lives = []

    def state(runs, n, k):
        lives.append([])
        return Tries(np.ones((runs, n, k), bool), np.zeros((runs, n), np.int64))

    def plan(state, r, n, p, active, arms, uniforms):
        arms[:] = state.local[r, n]
        return arms.sum()

    def learn(state, r, n, p, arms, reward, uniforms, vote):
        lives[-1].append(state.local[r, n].tolist())
        state.pulls[r, n] += 1
        state.local[r, n, state.pulls[r, n] - 1] = False
        return RESETS if len(lives) < 3 else SILENT

    arm, pulls = identify(Routine(state, (), plan, learn, None, resets=True), lambda k: 0.0, 3)
    assert (arm, pulls) == (2, 3 + 3 + 3 + 2)
    assert lives == [[[True] * 3], [[True] * 3], [[True] * 3, [False, True, True]]]
