"""Féraud et al. 2019: every routine equals its twin, compiled episodes equal the phases; edge cases of votes."""

import numpy as np
import pytest
import twins_feraud as twins
from helpers import build
from kinds import each_once

import hushbandits as hb
from hushbandits.bench.runner.curves import record
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.rollout import rollout
from hushbandits.envs.exploration.ballot import NOTHING
from hushbandits.envs.exploration.problems import agent_weights

ID = "DecentralizedExploration-v0"
ROLES = ("Decentralized", "0-Privacy", "1-Privacy")
MEANS = [0.3, 0.9, 0.1, 0.5]
#: Routines that differ little from another one in the same module.
NEAR = ("SE", "LUCB")
SETTING = {"delta": 0.3, "epsilon": 0.35}  # with η = .7: M = 3 votes of at least 4 players


def kwargs(role, routine, **more):
    epsilon = {"Median": 0.9, "Naive": 0.5}.get(routine, SETTING["epsilon"])
    eta = {"eta": 0.7} if role == "Decentralized" else {}
    return {"delta": SETTING["delta"], "epsilon": epsilon, **eta, **more}


@each_once
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "routine", [pytest.param(name, marks=pytest.mark.weekly if name in NEAR else ()) for name in twins.TWINS]
)
def test_every_routine_equals_its_twin_in_every_role(routine, role):
    agent_kwargs = kwargs(role, routine)
    env_kwargs = {"n_agents": 5, "means": MEANS, "agent_distribution": "50/80", "drift": 2e-4}
    env, team = build(ID, f"{role}-{routine}", 2, env_kwargs, agent_kwargs)
    seeds = spawn_seeds(11, 2)
    metrics = rollout(env, team, seeds)
    weights = agent_weights("50/80", 5).tolist()
    for r, seed in enumerate(seeds):
        twin = twins.run(
            seed, routine, role, means=MEANS, weights=weights, drift=2e-4, eta=0.7,
            delta=SETTING["delta"], epsilon=agent_kwargs["epsilon"],
        )  # fmt: skip
        now = [x if x == max(MEANS) else max(0.0, x - 2e-4 * twin["rounds"]) for x in MEANS]
        right = [k for k in range(4) if max(now) - now[k] <= agent_kwargs["epsilon"]]
        assert np.flatnonzero(env.right[r]).tolist() == right
        assert metrics["rounds"][r] == twin["rounds"]
        assert metrics["messages"][r] == twin["messages"]
        assert metrics["arms"][r] == twin["arms"]
        assert metrics["correct"][r] == all(len(arms) == 1 and arms[0] in right for arms in twin["held"])


@pytest.mark.parametrize("role", ROLES)
def test_ser4_equals_its_twin_in_every_role(role):
    env_kwargs = {"n_agents": 5, "means": MEANS, "horizon": 6000, "n_change_points": 1}
    agent_kwargs = kwargs(role, "SER4", phi=0.001)
    env, team = build(ID, f"{role}-SER4", 4, env_kwargs, agent_kwargs)
    seeds = spawn_seeds(5, 4)
    metrics = rollout(env, team, seeds)
    total = 0
    for r, seed in enumerate(seeds):
        regret, messages, arms, resets = twins.run_ser4(
            seed, role, means=MEANS, n_agents=5, horizon=6000, **agent_kwargs
        )
        total += resets
        assert metrics["rounds"][r] == 6000
        assert metrics["regret"][r] == pytest.approx(regret, abs=1e-9)
        assert metrics["messages"][r] == messages
        assert metrics["arms"][r] == arms
    assert total > 4


def vote(env, arms):
    env.pull(np.zeros((1, 1, env.n_arms), bool))
    ballot = np.zeros((1, 1, env.n_arms), bool)
    ballot[..., arms] = True
    return env.communicate({"vote": ballot})


def lone_env(n_agents, **more):
    given = {"means": [0.9, 0.6, 0.1], "threshold": 2, "require_confidence": False, "tolerance": 0.0, **more}
    env = hb.make_batched(ID, n_agents=n_agents, permute_arms=False, **given)
    return env, env.reset(1)


def test_a_player_takes_the_last_arm_over_only_when_it_acts():
    """Player 1 keeps arm 1, the others vote for arm 0: it holds arm 1 until it acts with 𝒦 = {0}."""
    env, obs = lone_env(3)
    for n, arms in ((1, [0, 2]), (0, [1, 2]), (2, [1])):
        while obs.active_agents[0, 0] != n:
            obs = vote(env, [])
        obs = vote(env, arms)
        held = env.book.holds[0].tolist()
        assert held[n] == {1: 1, 0: 0, 2: 0}[n]
    # all hold one arm each: the run has ended as algorithm 2 does, with player 1 on an arm that has left 𝒦
    assert env.book.active[0].tolist() == [True, False, False]
    assert held == [0, 1, 0]
    assert not obs.running[0]
    metrics = env.metrics()
    assert not metrics["inconclusive"][0]
    assert not metrics["correct"][0]


def test_a_player_that_lost_its_arm_waits_for_the_last_one():
    env, obs = lone_env(4)
    acts = {3: [[0, 2]], 0: [[1]], 1: [[1]], 2: [[], [2]]}  # arm 1 goes, then arm 2; player 3 kept arm 1
    seen = []
    for n, turn in ((3, 0), (0, 0), (1, 0), (3, None), (2, 1), (3, None), (0, None), (1, None)):
        while obs.active_agents[0, 0] != n:
            obs = vote(env, [])
            assert obs.running[0]
        obs = vote(env, [] if turn is None else acts[n][turn])
        seen.append(int(env.book.holds[0, n]))
        if not obs.running[0]:
            break
    assert seen[0] == 1
    assert seen[3] == NOTHING  # 𝒦 = {0, 2}, and it had given both up
    assert env.book.holds[0].tolist() == [0, 0, 0, 0]
    assert env.metrics()["correct"][0]


def test_a_vote_that_nobody_can_move_ends_inconclusive():
    """Two players give up all but different arms, the third loses all messages: 𝒦 keeps two arms."""
    env, obs = lone_env(3, threshold=3)
    for n, arms in ((0, [1, 2]), (1, [0, 2]), (2, [0, 1, 2])):
        while obs.active_agents[0, 0] != n:
            obs = vote(env, [])
        assert obs.running[0]
        obs = vote(env, arms)
    metrics = env.metrics()
    assert not obs.running[0]
    assert metrics["inconclusive"][0]
    assert metrics["arms"][0] == 2
    assert not metrics["correct"][0]


def test_a_confidence_at_the_end_of_its_interval_is_allowed():
    build(ID, "Decentralized-SER3", 1, {"n_agents": 29})
    for n_agents in (2, 64):
        build(ID, "Decentralized-SER3", 1, {"n_agents": n_agents}, {"eta": 0.5, "delta": 0.25})


@pytest.mark.parametrize("agent", ["Decentralized-SER3", "Decentralized-UGapEc"])
def test_too_few_players_end_by_their_own_eliminations(agent):
    with pytest.warns(UserWarning, match="16 agents act: each agent then learns only from its own samples"):
        results = hb.evaluate(
            ID, agent, runs=20, env={"n_agents": 16, "require_confidence": False, "permute_arms": True}
        )
    assert (results.final("arms") == 10).all()
    assert (results.final("messages") == 16 * 9).all()
    assert results.final("correct").all()
    assert not results.final("inconclusive").any()


def test_half_the_players_make_most_of_the_events():
    np.testing.assert_allclose(agent_weights("50/80", 6), [0.8 / 3] * 3 + [0.2 / 3] * 3)
    np.testing.assert_allclose(agent_weights("50/80", 5), [0.8 / 3] * 3 + [0.1] * 2)


def test_means_drift_and_switch():
    env = hb.make_batched(
        ID, problem="P3", horizon=40_000, n_change_points=1, termination="horizon", permute_arms=False
    )
    env.reset(0)
    np.testing.assert_allclose(env.means[0, :4], [0.7, 0.5, 0.3, 0.1])
    env.book.rounds[:] = 15_000
    np.testing.assert_allclose(env.means[0, :4], [0.7, 0.35, 0.15, 0.0])
    env.book.rounds[:] = 20_000
    np.testing.assert_allclose(env.means[0, :4], [0.0, 0.7, 0.3, 0.1])


def test_an_arm_exactly_epsilon_below_the_best_is_right():
    given = {"means": [0.9, 0.6, 0.59, 0.1], "tolerance": 0.3, "n_agents": 4, "require_confidence": False}
    env = hb.make_batched(ID, **given, permute_arms=False)
    env.reset(0)
    assert env.right[0].tolist() == [True, True, False, False]  # though .9 − .3 > .6 in floating point


def test_regret_is_a_curve_of_an_episode_to_the_horizon():
    env_kwargs = {"n_agents": 6, "means": MEANS, "horizon": 500}
    env, team = build(ID, "Decentralized-SER4", 3, env_kwargs, kwargs("Decentralized", "SER3", phi=0.0))
    assert env.fixed_length
    final, curves = record(env, team, spawn_seeds(0, 3), [1, 100, 500], env.logged_metrics)
    np.testing.assert_array_equal(curves["regret"][:, -1], final["regret"])
    assert (np.diff(curves["regret"], axis=1) > 0).all()
