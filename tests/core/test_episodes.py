"""Compiled episodes equal the phases, in every kind of vote, from any stop."""

import warnings

import pytest
from helpers import equal
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.bench.runner.curves import record
from hushbandits.best_arm.best_arm import ROUTINES
from hushbandits.best_arm.elimination import successive_elimination
from hushbandits.best_arm.private_elimination import private_elimination
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.wrappers.loss import Loss

ID = "DecentralizedExploration-v0"
MEANS = [0.3, 0.9, 0.1, 0.5]
OWN = {
    "successive": lambda: successive_elimination(0.9),
    "private": lambda: private_elimination(4, 20.0, 0.9),
    "SER4 alone": lambda: ROUTINES["SER4"](4, 0.9, 0.9, phi=0.01, alone=True),
}
EPSILON = {"Naive": 1.0, "Median": 1.0}


class Voters(VotingTeam):
    """Any routine, in any env."""

    name = "Voters"

    def __init__(self, rules, shared=False):
        self.rules, self.shared = rules, shared

    def routine(self, n_arms):
        if self.rules in OWN:
            return OWN[self.rules]()
        own = {"phi": 0.01, "alone": False} if self.rules == "SER4" else {}
        made = ROUTINES[self.rules](n_arms, 0.9, EPSILON.get(self.rules, 0.9), **own)
        return made._replace(resets=False)  # the env decides whether resets are forwarded


def by_phases(team):
    team.episode = lambda *_: False
    return team


def compiled(team):
    def act(obs):
        raise AssertionError("the phases were played")

    team.act = act
    return team


@st.composite
def votes(draw):
    """A vote of any kind that has a horizon."""
    env = {
        "n_agents": draw(st.integers(1, 5)),
        "means": MEANS,
        "threshold": draw(st.integers(0, 3)),
        "termination": draw(st.sampled_from(["coordinator", "players", "horizon"])),
        "inactive_agents": draw(st.sampled_from(["drop", "keep"])),
        "termination_by": draw(st.sampled_from(["coordinator", "everyone"])),
        "round_cost": draw(st.sampled_from([0, 1, "others"])),
        "horizon": draw(st.integers(1, 700)),
        "permute_arms": True,
    }
    if env["termination"] == "horizon":
        env["allow_vote_resets"] = draw(st.booleans())
    if env["inactive_agents"] == "keep":
        env["n_change_points"], env["drift"] = draw(st.integers(0, 2)), draw(st.sampled_from([0.0, 1e-3]))
    if env["n_agents"] > 1 and draw(st.booleans()):
        env["agent_distribution"] = [0.0, *[1.0] * (env["n_agents"] - 1)]
    return env


@pytest.mark.weekly
@settings(max_examples=60, deadline=None)
@given(
    rules=st.sampled_from([*ROUTINES, *OWN]),
    env=votes(),
    shared=st.booleans(),
    loss=st.sampled_from([None, 0.0, 0.3, 1.0]),
    checkpoints=st.lists(st.one_of(st.integers(-1, 800), st.floats(0, 800)), max_size=5),
    seed=st.integers(0, 2**32),
)
def test_every_vote_ends_alike_by_both_speeds(rules, env, shared, loss, checkpoints, seed):
    seen = []
    for speed in (compiled, by_phases):
        core = hb.make_batched("DPMASE-v0", 3, wrappers=[] if loss is None else [Loss(loss)], **env)
        team = speed(Voters(rules, shared))
        # Too few to decide: refused where the coordinator ends a run, else a warning.
        alone = core.termination != "coordinator" or core.termination_by == "everyone"
        assume(alone or core.votes_needed <= (core.weights > 0).sum())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Voters needs")
            seen.append((*record(core, team, seed, checkpoints, core.logged_metrics), core.book._asdict()))
    for (one, two), what in zip(zip(*seen, strict=True), ("final", "curve", "book"), strict=True):
        equal(one, two, what)


@pytest.mark.parametrize("role", ["Decentralized", "0-Privacy", "1-Privacy"])
def test_ser4_is_a_routine_like_the_others(role):
    by_name = hb.make_team(f"{role}-SER4", phi=0.01)
    by_routine = hb.make_team(f"{role}-SER3", routine="SER4", phi=0.01)
    assert by_name.name == by_routine.name == f"{role}-SER4"
    assert by_name.requirements({}) == by_routine.requirements({})
    assert by_name.requirements({}).env["termination"] == "horizon"
    assert ("allow_vote_resets" in by_name.requirements({}).env) == (role != "1-Privacy")
    assert hb.make_team(f"{role}-SER4").phi == 1e-4
    results = [
        hb.evaluate(ID, team, runs=2, env={"n_agents": 32, "horizon": 2000}).only.data.finals
        for team in (by_name, by_routine)
    ]
    equal(*results)
    for routine in sorted({*ROUTINES} - {"SER4"}):
        with pytest.raises(ValueError, match=rf"phi=0\.1 must be left out with routine='{routine}'"):
            hb.make_team(f"{role}-{routine}", phi=0.1)
