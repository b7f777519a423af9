"""Experiments, cells, runs and the store."""

from __future__ import annotations

import gc
import hashlib
import json
import sqlite3
import time
import tracemalloc
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import hushbandits as hb
from hushbandits.bench.canonical import canonical, digest, plain, thaw
from hushbandits.bench.catalog import find, modules, read_toml
from hushbandits.bench.errors import StoreError
from hushbandits.bench.run import check, open_folder, run
from hushbandits.bench.spec import Experiment, Figure, Use
from hushbandits.bench.store import FILE, Store
from hushbandits.bench.tables import lines
from hushbandits.core.rewards import Gaussian, UniformMeans


def small(**changes):
    fields = {
        "name": "small",
        "title": "Small",
        "env": Use("CoopNetwork-v0", horizon=60, means=UniformMeans(0.0, 1.0), n_arms=3),
        "agents": [Use("Multi-UCB"), Use("Private-UCB", epsilon=0.5), Use("UCB1")],
        "sweep": {"env.n_agents": (3, 4)},
        "runs": 7,
        "metrics": ("regret",),
    }
    return Experiment(**{**fields, **changes})


def table(store):
    rows = "\n".join(map(repr, store.rows()))
    return hashlib.sha256(rows.encode()).hexdigest()


def played(experiment, folder, **kwargs):
    with run(experiment, folder, progress=False, **kwargs).store as store:
        return table(store)


# -- canonical values -------------------------------------------------------------------------------------------


def test_equal_values_have_one_canonical_text():
    a = {"b": 1.0, "a": [np.float64(0.5), np.int64(3)], "means": UniformMeans(0, 1)}
    b = {"means": UniformMeans(0.0, 1.0), "a": (0.5, 3.0), "b": 1}
    assert canonical(a) == canonical(b) == '{"a":[0.5,3],"b":1,"means":{"UniformMeans":{"high":1,"low":0}}}'
    assert digest(a) == hashlib.sha256(canonical(a).encode()).hexdigest()


def test_laws_and_graphs_survive_the_way_to_json_and_back():
    law = thaw(json.loads(canonical(Gaussian(0.25))))
    assert law == Gaussian(0.25)
    graph = nx.Graph([("b", "a"), ("b", "c")])
    back = thaw(json.loads(canonical(graph)))
    assert nx.is_isomorphic(back, graph)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), print])
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(TypeError, match="cannot stand in an experiment"):
        plain({"x": value})


# -- cells ------------------------------------------------------------------------------------------------------


def test_a_cell_key_is_known_and_does_not_move():
    cell = small().cells()[0]
    spec = {
        "env": {
            "use": "CoopNetwork-v0",
            "horizon": 60,
            "means": {"UniformMeans": {"low": 0, "high": 1}},
            "n_arms": 3,
            "n_agents": 3,
        },
        "wrappers": [],
        "agent": {"use": "Multi-UCB"},
        "checkpoints": None,
        "world": '{"horizon":60,"means":{"UniformMeans":{"high":1,"low":0}},"n_agents":3,"n_arms":3,'
        '"use":"CoopNetwork-v0"}',
    }
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    assert cell.key == hashlib.sha256(text.encode()).hexdigest()


def test_cell_keys_do_not_depend_on_order_names_or_neighbours():
    keys = {c.key for c in small().cells()}
    turned = small(
        name="other",
        title="Other",
        agents=[Use("UCB1", label="alone"), Use("Private-UCB", epsilon=0.5), Use("Multi-UCB"), Use("Random")],
        env=Use("CoopNetwork-v0", n_arms=3, means=UniformMeans(0, 1), horizon=60.0),
        sweep={"env.n_agents": (5, 4, 3)},
        runs=2,
    )
    assert keys < {c.key for c in turned.cells()}
    assert len(keys) == 6


@pytest.mark.parametrize(
    "change",
    [
        {"env": Use("CoopNetwork-v0", horizon=61, means=UniformMeans(0.0, 1.0), n_arms=3)},
        {"wrappers": (Use("Huber", rate=0.1),)},
        {"checkpoints": 10},
    ],
)
def test_whatever_is_played_otherwise_has_another_key(change):
    assert not {c.key for c in small().cells()} & {c.key for c in small(**change).cells()}


def test_seeds_come_from_the_env_part_alone():
    crossed = small(wrappers={"clean": (), "Huber": (Use("Huber", rate=0.1),)})
    by_agents = {}
    for cell in crossed.cells():
        by_agents.setdefault(cell.point["env.n_agents"], []).append([s.state for s in map(_state, cell.seeds(0, 0, 3))])
    three, four = by_agents[3], by_agents[4]
    assert len(three) == 6
    assert all(s == three[0] for s in three)
    assert four[0] != three[0]
    cell = crossed.cells()[0]
    assert [_state(s).state for s in cell.seeds(0, 2, 1)] == three[0][2:]
    assert _state(cell.seeds(1, 0, 1)[0]).state != three[0][0]


class _state:
    def __init__(self, seed):
        self.state = seed.generate_state(4).tolist()


def test_agents_of_one_experiment_face_the_same_arms():
    experiment = small(agents=[Use("Random"), Use("UCB1")], sweep={})
    means = []
    for cell in experiment.cells():
        env = hb.make_vec("CoopNetwork-v0", **cell.env.params)
        env.reset(cell.seeds(3, 0, 2))
        means.append(env.means)
    assert np.array_equal(*means)
    assert not np.array_equal(means[0][0], means[0][1])


def test_an_agent_on_another_env_keeps_the_seeds():
    experiment = small(agents=[Use("UCB1"), Use("Random", on="DPMASE-v0")], sweep={}, metrics=())
    ours, other = experiment.cells()
    assert other.env.name == "DPMASE-v0"
    assert ours.world == other.world
    assert ours.key != other.key


# -- declarations -----------------------------------------------------------------------------------------------


def test_a_declaration_survives_the_way_to_data_and_back():
    experiment = small(
        wrappers={"clean": (), "Huber": (Use("Huber", rate=0.1),)},
        figures=(Figure(y="regret", log=""),),
        quick={"runs": 2, "env.n_agents": (3,)},
        checkpoints=(1, 10, 60),
    )
    assert Experiment.from_dict(json.loads(canonical(experiment.to_dict()))) == experiment
    assert [c.key for c in Experiment.from_dict(experiment.to_dict()).cells()] == [c.key for c in experiment.cells()]


def test_labels_tell_what_differs():
    agents = [Use("DP-MASE", epsilon=0.1, beta=0.5), Use("DP-MASE", epsilon=0.25, beta=0.5), Use("UCB1", label="alone")]
    assert small(agents=agents).lines() == ["DP-MASE ε = 0.1", "DP-MASE ε = 0.25", "alone"]
    with pytest.raises(ValueError, match=r"two lines are called 'UCB1'; give them a label="):
        small(agents=[Use("UCB1"), Use("UCB1")])


def test_overrides_fix_a_sweep_replace_it_or_reach_one_agent():
    experiment = small()
    assert {c.point["env.n_agents"] for c in experiment.overriding({"env.n_agents": [5, 6]}).cells()} == {5, 6}
    fixed = experiment.overriding({"env.n_agents": 5})
    assert [(c.env.params["n_agents"], c.point) for c in fixed.cells()] == [(5, {})] * 3
    one = experiment.overriding({"Private-UCB.epsilon": 2.0})
    assert [a.params for a in one.agents] == [{}, {"epsilon": 2}, {}]
    every = experiment.overriding({"agent.epsilon": 2.0})
    assert [a.params for a in every.agents] == [{"epsilon": 2}] * 3
    assert experiment.overriding({"runs": 3, "checkpoints": 4}).runs == 3
    with pytest.raises(ValueError, match="cannot set 'n_agents' in experiment small; one can set runs"):
        experiment.overriding({"n_agents": 3})


def test_a_sweep_of_an_agents_parameter_leaves_the_world_alone():
    experiment = small(agents=[Use("Private-UCB")], sweep={"agent.epsilon": (0.5, 1.0)})
    half, one = experiment.cells()
    assert half.world == one.world
    assert (half.agent.params, one.agent.params) == ({"epsilon": 0.5}, {"epsilon": 1})


def test_quick_is_the_declared_small_version():
    assert small().quickly().runs == 5
    quick = small(quick={"env.horizon": 10, "env.n_agents": (3,)}).quickly()
    assert [(c.env.params["horizon"], c.env.params["n_agents"]) for c in quick.cells()] == [(10, 3)] * 3


TOML = """
title = "Sharing among four"
runs = 3
metrics = ["regret"]

[env]
use = "CoopNetwork-v0"
horizon = 20
n_arms = 3
means = { UniformMeans = { low = 0.25, high = 0.75 } }

[[agents]]
use = "Multi-UCB"

[[agents]]
use = "UCB1"
label = "alone"

[sweep]
"env.n_agents" = [3, 4]

[[figures]]
y = "regret"
log = ""
"""


def test_a_toml_file_declares_an_experiment(tmp_path):
    path = tmp_path / "four.toml"
    path.write_text(TOML)
    (experiment,) = read_toml(path)
    assert (experiment.name, experiment.runs, experiment.lines()) == ("four", 3, ["Multi-UCB", "alone"])
    assert experiment.env.params["means"] == UniformMeans(0.25, 0.75)
    assert experiment.figures == (Figure(y="regret", log=""),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title", "tilte", "there is no field 'tilte'; did you mean title"),
        ("[env]", "[enw]", "there is no field 'enw'; did you mean env"),
        ('use = "CoopNetwork-v0"', "", "must be a table with a name"),
        ("log", "lgo", "figures: there is no field 'lgo'; did you mean log"),
        ('log = ""', 'log = "z"', "log='z' is not one of"),
        ("runs = 3", "runs = 0", "runs=0 must be an integer"),
        ("[3, 4]", "3", "sweep env.n_agents=3 must list values"),
        ("runs = 3", "runs =", "is no TOML"),
    ],
)
def test_a_wrong_toml_file_is_told_in_one_sentence(tmp_path, old, new, message):
    path = tmp_path / "four.toml"
    path.write_text(TOML.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_toml(path)


def test_every_declared_experiment_can_be_built():
    declared = [e for _, experiments in modules().values() for e in experiments]
    assert len({e.name for e in declared}) == len(declared) >= 6
    for experiment in declared:
        assert Experiment.from_dict(experiment.to_dict()) == experiment
        check([experiment.quickly()])


def test_unknown_experiments_name_the_nearest():
    with pytest.raises(ValueError, match="no experiment is named 'quikstart'; did you mean quickstart"):
        find("quikstart")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agents": [Use("Multi-UBC")]}, "no agent is named 'Multi-UBC'"),
        ({"agents": [Use("UCB1", nerve=3)]}, "takes no parameter 'nerve'"),
        ({"env": Use("CoopNetwork-v0", horizon=0)}, "horizon=0 must be an integer"),
        ({"metrics": ("regert",)}, "no metric is named 'regert'; did you mean regret"),
        ({"figures": (Figure(y="agent_regert"),)}, "a figure shows 'agent_regert'"),
        ({"figures": (Figure(y="regret", x="env.life"),)}, "runs along 'env.life', which is not swept"),
        ({"agents": [Use("DP-MASE")]}, "plays the exploration setting"),
        ({"wrappers": (Use("Huber", rate=2),)}, "rate=2 must lie in"),
    ],
)
def test_bad_experiments_fail_before_anything_is_written(tmp_path, change, message):
    out = tmp_path / "deep" / "folder"
    with pytest.raises((ValueError, TypeError), match=message):
        run(small(**change), out, progress=False)
    assert not (tmp_path / "deep").exists()


# -- running ----------------------------------------------------------------------------------------------------


def test_the_table_is_the_same_for_any_batch_size_and_number_of_jobs(tmp_path):
    kinds = [{"jobs": 1}, {"jobs": 1, "batch": 1}, {"jobs": 1, "batch": 3}, {"jobs": 2, "batch": 2}, {"jobs": 2}]
    tables = {played(small(), tmp_path / str(i), **kind) for i, kind in enumerate(kinds)}
    assert len(tables) == 1


def test_a_row_is_what_evaluate_plays_with_its_seeds(tmp_path):
    experiment = small()
    with run(experiment, tmp_path, seed=5, progress=False).store as store:
        for cell in experiment.cells():
            env = hb.make_vec(cell.env.name, runs=7, **cell.env.params)
            team = hb.make_team(cell.agent.name, **cell.agent.params)
            protocol = team.protocol({})
            env = hb.make_vec(
                cell.env.name,
                runs=7,
                wrappers=[hb.make_wrapper(n, **p) for n, p in protocol.wrappers],
                **{**cell.env.params, **protocol.env},
            )
            regret = hb.play(env, team, cell.seeds(5, 0, 7))["regret"]
            assert np.array_equal(store.final(cell, "regret", 7), regret)


def test_no_curves_are_recorded_where_runs_end_by_themselves(tmp_path):
    experiment = Experiment(
        name="x", title="x", env=Use("DPMASE-v0", n_agents=8), agents=[Use("DP-MASE", epsilon=1.0)], runs=2
    )
    with run(experiment, tmp_path, progress=False).store as store:
        frame = store.to_frame()
    assert frame["time"].isna().all()
    assert set(frame["metric"]) >= {"rounds", "correct", "messages"}


def test_finals_close_the_curves_in_the_frame(tmp_path):
    with run(small(checkpoints=(1, 30, 60)), tmp_path, progress=False).store as store:
        frame = store.to_frame()
    regret = frame[frame["metric"] == "regret"]
    ends = regret[regret["time"].isna()].set_index(["cell", "run"])["value"]
    last = regret[regret["time"] == 60].set_index(["cell", "run"])["value"]
    assert len(ends) == 6 * 7
    assert (ends.sort_index() == last.sort_index()).all()
    assert set(frame.columns) == {"experiment", "cell", "line", "env.n_agents", "run", "metric", "time", "value"}


def test_a_complete_folder_resumes_to_nothing_and_other_specs_are_refused(tmp_path):
    experiment = small()
    with run(experiment, tmp_path, progress=False).store:
        pass
    again = run(experiment, tmp_path, progress=False)
    with again.store:
        assert (again.played, again.failures) == (0, [])
    for other, seed, message in (
        (experiment, 1, "it holds seed 0, asked for is 1"),
        (replace(experiment, runs=8), 0, "small has runs 7 there, 8 here"),
        (replace(experiment, name="b"), 0, "it holds small; asked for is b"),
    ):
        with pytest.raises(StoreError, match=message):
            run(other, tmp_path, seed=seed, progress=False)


def test_missing_runs_are_filled_in_wherever_they_are(tmp_path):
    whole = played(small(), tmp_path / "whole")
    with run(small(), tmp_path / "torn", progress=False).store:
        pass
    db = sqlite3.connect(tmp_path / "torn" / FILE)
    for name in ("runs", "finals", "curves"):
        db.execute(f"DELETE FROM {name} WHERE (cell = 2 AND run IN (0, 3, 4)) OR cell = 5")
    db.commit()
    db.close()
    again = run(small(), tmp_path / "torn", progress=False)
    with again.store as store:
        assert again.played == 3 + 7
        assert table(store) == whole


def test_experiments_that_share_a_cell_share_its_runs(tmp_path):
    many, few = small(name="many"), small(name="few", runs=3, agents=[Use("UCB1", label="alone")])
    outcome = run([few, many], tmp_path, progress=False)
    with outcome.store as store:
        assert outcome.played == 6 * 7
        (alone, *_), other = few.cells(), next(c for c in many.cells() if c.agent.name == "UCB1")
        assert np.array_equal(store.final(alone, "regret", 3), store.final(other, "regret", 7)[:3])


def test_ten_thousand_cells_are_listed_and_resumed_in_two_seconds(tmp_path):
    def many():
        epsilons = tuple(np.round(np.linspace(0.1, 5, 100), 4).tolist())
        sweep = {"env.n_agents": tuple(range(3, 103)), "agent.epsilon": epsilons}
        return small(agents=[Use("Private-UCB")], sweep=sweep, runs=1)

    with open_folder([many()], tmp_path) as store:
        store._db.execute("INSERT INTO runs SELECT id, 0 FROM cells")
        store._db.execute("INSERT INTO finals SELECT id, 'regret', 0, 1.0 FROM cells")
    start = time.perf_counter()
    experiment = many()
    assert len({c.key for c in experiment.cells()}) == 10_000
    again = run(experiment, tmp_path, progress=False)
    with again.store as store:
        assert again.played == 0
        assert len(list(lines(store, experiment, most=40))) == 40
    assert time.perf_counter() - start < 2


def test_memory_stays_flat(tmp_path, monkeypatch):
    held, batches = [], []
    add = Store.add

    def watched(self, *args):
        add(self, *args)
        batches.append(None)
        if len(batches) in (20, 60):
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])

    monkeypatch.setattr(Store, "add", watched)
    tracemalloc.start()
    try:
        played(
            small(runs=60, env=Use("CoopNetwork-v0", horizon=10), checkpoints=5, agents=[Use("UCB1")], sweep={}),
            tmp_path,
            batch=1,
        )
    finally:
        tracemalloc.stop()
    # 5 kB kept of every batch would show.
    assert held[1] - held[0] < 40 * 5_000


def test_what_is_only_shown_otherwise_is_the_same_run(tmp_path):
    with run(small(), tmp_path, progress=False).store as store:
        rows = table(store)
    agents = [Use("Multi-UCB", label="together"), *small().agents[1:]]
    restyled = small(title="Other", figures=(Figure(y="regret", log=""),), agents=agents, quick={"runs": 1})
    again = run(restyled, tmp_path, progress=False)
    with again.store as store:
        assert again.played == 0
        assert store.experiments == (restyled,)
        assert table(store) != rows  # the label is in the rows
    with run(small(), tmp_path, progress=False).store as store:
        assert table(store) == rows
