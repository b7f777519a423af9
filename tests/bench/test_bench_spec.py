"""Experiments as data: canonical values, keys, seeds, declarations."""

from __future__ import annotations

import json
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from bench_helpers import TOML, small

import hushbandits as hb
from hushbandits.bench.runner.check import check
from hushbandits.bench.spec.catalog import modules, read_toml
from hushbandits.bench.spec.experiment import Component, Experiment, Figure
from hushbandits.bench.spec.parts import thaw
from hushbandits.core.random.rewards import Gaussian, Law, UniformMeans
from hushbandits.core.random.seed_text import canonical, plain
from hushbandits.core.random.streams import spawn_seeds

# -- canonical values -------------------------------------------------------------------------------------------


def test_equal_values_have_one_canonical_text():
    a = {"b": 1.0, "a": [np.float64(0.5), np.int64(3)], "means": UniformMeans(0, 1)}
    b = {"means": UniformMeans(0.0, 1.0), "a": (0.5, 3.0), "b": 1}
    assert canonical(a) == canonical(b) == '{"a":[0.5,3],"b":1,"means":{"UniformMeans":{"high":1,"low":0}}}'


def test_laws_and_graphs_survive_the_way_to_json_and_back():
    law = thaw(json.loads(canonical(Gaussian(0.25))))
    assert law == Gaussian(0.25)
    graph = nx.Graph([("b", "a"), ("c", "a"), ("c", "d"), ("a", "d")])  # agent 0 is the first node, b
    back = thaw(json.loads(canonical(graph)))
    assert list(back.nodes) == [0, 1, 2, 3]
    assert sorted(map(sorted, back.edges)) == [[0, 1], [1, 2], [1, 3], [2, 3]]


@dataclass(frozen=True)
class Stable(Law):
    """A user-defined law with the name of a built-in one."""

    alpha: float = 2.0

    def quantile(self, u, location):
        return location + u**self.alpha


def test_a_law_of_ones_own_is_not_taken_for_a_namesake_that_ships():
    assert plain(Stable(1.5)) == {f"{__name__}:Stable": {"alpha": 1.5}}


# -- cells ------------------------------------------------------------------------------------------------------


def test_cell_keys_do_not_depend_on_order_names_or_neighbours():
    keys = {c.key for c in small().cells()}
    turned = small(
        name="other",
        title="Other",
        agents=[
            Component("UCB1", label="alone"),
            Component("Private-UCB", epsilon=0.5),
            Component("Multi-UCB"),
            Component("Random"),
        ],
        env=Component("CoopNetwork-v0", n_arms=3, means=UniformMeans(0, 1), horizon=60.0),
        sweep={"env.n_agents": (5, 4, 3)},
        runs=2,
    )
    assert keys < {c.key for c in turned.cells()}
    assert len(keys) == 6


@pytest.mark.parametrize(
    "change",
    [
        {"env": Component("CoopNetwork-v0", horizon=61, means=UniformMeans(0.0, 1.0), n_arms=3)},
        {"wrappers": (Component("Huber", rate=0.1),)},
        {"checkpoints": 10},
    ],
)
def test_whatever_is_played_otherwise_has_another_key(change):
    assert not {c.key for c in small().cells()} & {c.key for c in small(**change).cells()}


def test_seeds_come_from_the_env_part_alone():
    crossed = small(wrappers={"clean": (), "Huber": (Component("Huber", rate=0.1),)})
    by_agents = {}
    for cell in crossed.cells():
        by_agents.setdefault(cell.point["env.n_agents"], []).append(spawn_seeds(0, 3, 0, cell.seed_text).tolist())
    three, four = by_agents[3], by_agents[4]
    assert len(three) == 6
    assert all(s == three[0] for s in three)
    assert four[0] != three[0]
    cell = crossed.cells()[0]
    assert spawn_seeds(0, 1, 2, cell.seed_text).tolist() == three[0][2:]
    assert spawn_seeds(1, 1, 0, cell.seed_text).tolist() != three[0][:1]


def test_paired_parameters_share_seeds_and_nothing_else(tmp_path):
    alone, paired = small(), small(paired=("n_agents",))
    assert len({c.world for c in alone.cells()}) == 2
    assert len({c.world for c in paired.cells()}) == 1
    assert len({c.key for c in paired.cells()}) == 6
    three, four = paired.cells()[0], paired.cells()[3]
    assert (three.env.params["n_agents"], four.env.params["n_agents"]) == (3, 4)
    means = []
    for cell in (three, four):
        env = hb.make_batched("CoopNetwork-v0", **cell.env.params)
        env.reset(spawn_seeds(0, 2, 0, cell.seed_text))
        means.append(env.means)
    assert np.array_equal(*means)
    assert Experiment.from_dict(paired.to_dict()) == paired


def test_an_agent_on_another_env_keeps_the_seeds():
    experiment = small(agents=[Component("UCB1"), Component("Random", on="DPMASE-v0")], sweep={}, metrics=())
    ours, other = experiment.cells()
    assert other.env.name == "DPMASE-v0"
    assert ours.world == other.world
    assert ours.key != other.key


# -- declarations -----------------------------------------------------------------------------------------------


def test_a_declaration_survives_the_way_to_data_and_back():
    experiment = small(
        wrappers={"clean": (), "Huber": (Component("Huber", rate=0.1),)},
        figures=(Figure(y="regret", log=""),),
        quick={"runs": 2, "env.n_agents": (3,)},
        checkpoints=(1, 10, 60),
    )
    assert Experiment.from_dict(json.loads(canonical(experiment.to_dict()))) == experiment
    assert [c.key for c in Experiment.from_dict(experiment.to_dict()).cells()] == [c.key for c in experiment.cells()]


def test_labels_show_what_differs():
    agents = [
        Component("DP-MASE", epsilon=0.1, beta=0.5),
        Component("DP-MASE", epsilon=0.25, beta=0.5),
        Component("UCB1", label="alone"),
    ]
    assert small(agents=agents).lines() == ["DP-MASE ε = 0.1", "DP-MASE ε = 0.25", "alone"]


def test_overrides_fix_a_sweep_replace_it_or_reach_one_agent():
    experiment = small()
    assert {c.point["env.n_agents"] for c in experiment.overriding({"env.n_agents": [5, 6]}).cells()} == {5, 6}
    fixed = experiment.overriding({"env.n_agents": 5})
    assert [(c.env.params["n_agents"], c.point) for c in fixed.cells()] == [(5, {"env.n_agents": 5})] * 3
    assert [c.key for c in fixed.cells()] == [c.key for c in experiment.overriding({"env.n_agents": [5]}).cells()]
    one = experiment.overriding({"Private-UCB.epsilon": 2.0})
    assert [a.params for a in one.agents] == [{}, {"epsilon": 2}, {}]
    noisy = small(agents=[Component("Private-UCB"), Component("DP-UCB-INT")])
    assert [a.params for a in noisy.overriding({"agent.epsilon": 2.0}).agents] == [{"epsilon": 2}] * 2
    assert experiment.overriding({"runs": 3, "checkpoints": 4}).runs == 3


def test_a_sweep_of_an_agents_parameter_leaves_the_world_alone():
    experiment = small(agents=[Component("Private-UCB")], sweep={"agent.epsilon": (0.5, 1.0)})
    half, one = experiment.cells()
    assert half.world == one.world
    assert (half.agent.params, one.agent.params) == ({"epsilon": 0.5}, {"epsilon": 1})


def test_quick_is_the_declared_small_version():
    assert small().quickly().runs == 5
    quick = small(quick={"env.horizon": 10, "env.n_agents": (3,)}).quickly()
    assert [(c.env.params["horizon"], c.env.params["n_agents"]) for c in quick.cells()] == [(10, 3)] * 3


def test_a_toml_file_declares_an_experiment(tmp_path):
    path = tmp_path / "four.toml"
    path.write_text(TOML)
    (experiment,) = read_toml(path)
    assert (experiment.name, experiment.runs, experiment.lines()) == ("four", 3, ["Multi-UCB", "alone"])
    assert experiment.env.params["means"] == UniformMeans(0.25, 0.75)
    assert experiment.figures == (Figure(y="regret", log=""),)


@pytest.mark.weekly
def test_every_declared_experiment_can_be_built():
    declared = [e for _, experiments in modules().values() for e in experiments]
    assert len({e.name for e in declared}) == len(declared) >= 6
    for experiment in declared:
        assert Experiment.from_dict(experiment.to_dict()) == experiment
    check([e.quickly() for e in declared])


def test_a_metric_that_a_parameter_brings_is_known_beside_cells_without_it():
    env = Component("CoopNetwork-v0", n_agents=4, horizon=9)
    plain, routed = (
        Experiment(name=name, title="T", env=env, agents=[Component("QuACK-UCB", **given)], runs=2, metrics=metrics)
        for name, given, metrics in (
            ("plain", {}, ("regret",)), ("routed", {"routing": "tree"}, ("messages_most",)),
        )
    )  # fmt: skip
    check([plain, routed])
