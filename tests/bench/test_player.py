"""`evaluate` and `run` give the same runs for all agents."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from kinds import kind

import hushbandits as hb
from benchmarks import observer as watching
from hushbandits.bench.run import run
from hushbandits.bench.spec.experiment import Component, Experiment, world
from hushbandits.core.random.rewards import Gaussian, UniformMeans
from hushbandits.envs.network.env import CoopNetwork

#: An agent for an env of each class, with parameters for short runs.
PLAYS = {
    "DPMASE-v0": ("DP-MASE", {"n_agents": 8}),
    "CoopNetwork-v0": ("Multi-UCB", {"n_agents": 4, "horizon": 30, "graph": nx.path_graph(4)}),
    "PrivateNetwork-v0": ("Private-UCB", {"n_agents": 4, "horizon": 30, "means": UniformMeans(0.2, 0.8), "n_arms": 3}),
    "DuelingNetwork-v0": ("QuACK-RUCB", {"n_agents": 4, "horizon": 30}),
    "FederatedNetwork-v0": ("Fed1-UCB", {"n_agents": 4, "horizon": 30}),
    "DistDP-v0": ("Dist-DP-SE", {"horizon": 2000}),
    "PricedNetwork-v0": ("Noisy-Vote", {"n_agents": 4, "horizon": 30}),
    "LTR-v0": ("Dist-DP-SE", {"horizon": 2000}),
    "FedLinear-v0": ("FedLinUCB", {"n_agents": 4, "horizon": 300}),
    "CoopNetwork-Train-v0": ("PPO-CoopNetwork", {}),
}


def test_every_class_of_envs_that_ships_is_played():
    assert {kind(env_id) for env_id in PLAYS} == {kind(env_id) for env_id in hb.list_envs()}


@pytest.mark.parametrize("env_id", PLAYS)
def test_evaluate_and_a_run_folder_play_the_same_runs(tmp_path, env_id):
    agent, env = PLAYS[env_id]
    experiment = Experiment(name="one", title="One", env=Component(env_id, **env), agents=[Component(agent)], runs=2)
    results = hb.evaluate(env_id, agent, runs=2, seed=3, env=env)
    rows = run(experiment, tmp_path, seed=3).results
    assert rows.only.metrics() == sorted(results.only.metrics())
    for metric in rows.metrics:
        np.testing.assert_array_equal(rows.final(metric), results.final(metric))
    assert rows.only.data.curves.keys() == results.only.data.curves.keys()
    for metric in rows.only.data.curves:
        for one, two in zip(rows.curve(metric), results.curve(metric), strict=True):
            np.testing.assert_array_equal(one, two)


def test_what_no_experiment_can_hold_counts_by_name():
    local = type("Local", (), {})()
    shown = world("CoopNetwork-v0", {"graph": max, "means": [local, 1.0], "limit": float("inf")})
    assert shown == world("CoopNetwork-v0", {"limit": float("-inf"), "means": [type(local)(), 1], "graph": max})
    assert "builtins:max" in shown
    assert "Local" in shown
    assert "0x" not in shown  # no memory address of an object
    own = hb.core.env.Env
    assert world(own, {}) == world("hushbandits.core.env:Env", {})


def test_classes_laws_and_teams_of_ones_own_are_evaluated():
    @dataclass(frozen=True)
    class Mine(Gaussian):
        """Defined where no worker can import it."""

    env = {"n_agents": 3, "horizon": 20, "rewards": Mine(0.1)}
    one, two = (
        hb.evaluate(CoopNetwork, hb.make_team("UCB1"), runs=4, env=env, options=hb.RunOptions(jobs)) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.final("regret"), two.final("regret"))
    other = hb.evaluate(CoopNetwork, "Multi-UCB", runs=2, env=env)
    assert other.final("regret").shape == (2,)


def test_an_observer_sees_the_runs_that_evaluate_plays(monkeypatch):
    seen = []

    def rollout(env, team, seeds):
        found = hb.rollout(env, team, seeds)
        seen.extend(env.seeds.tolist())
        return found

    monkeypatch.setattr(watching, "rollout", rollout)
    watching.observe("DecentralizedExploration-v0", "Decentralized-UGapEc", (1,), runs=2, seed=5)
    played = hb.make_batched("DecentralizedExploration-v0", runs=2)
    played.reset(5)
    np.testing.assert_array_equal(seen, played.seeds)
