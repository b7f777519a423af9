"""`Results` in memory equal those from a folder: numbers, figures and sentences."""

from __future__ import annotations

import copy
import pickle
import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bench_helpers import small
from matplotlib.figure import Figure as Canvas
from refusals import refused

import hushbandits as hb
from hushbandits.bench.run import run
from hushbandits.bench.spec.experiment import Component, Experiment

ENV = {"n_agents": 3, "horizon": 40}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("faces")
    ends = Experiment(
        name="ends", title="Runs end by themselves", env=Component("DPMASE-v0", n_agents=8), agents=["DP-MASE"], runs=3,
        metrics=["rounds"],
    )  # fmt: skip
    one = small(env=Component("CoopNetwork-v0", horizon=40), checkpoints=(1, 10, 40), metrics=("regret", "messages"))
    run([one, ends], path)
    return path


@pytest.fixture(scope="module")
def results():
    return hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=4, env=ENV, agent_kwargs={"epsilon": 0.5})


def test_both_say_the_same(folder, results):
    stored = hb.load_results(folder).select("Private-UCB", at={"env.n_agents": 3})
    assert type(stored) is type(results)
    assert stored.final("regret").shape == (7,)
    times, values = stored.curve("regret")
    assert (times.tolist(), values.shape) == ([1, 10, 40], (7, 3))
    assert values[:, -1].tolist() == stored.final("regret").tolist()
    assert [shown.texts() for shown in stored.privacy] == [shown.texts() for shown in results.privacy]
    assert "Spent in these runs" in stored.privacy.notes[0]
    assert set(results.to_frame().columns) < set(stored.to_frame().columns)


def test_a_folder_is_selected_by_experiment_label_and_value(folder):
    runs = hb.load_results(folder)
    assert (len(runs), runs.labels) == (7, ["Multi-UCB", "Private-UCB", "UCB1", "DP-MASE"])
    assert {"regret", "rounds", "messages"} <= set(runs.metrics)
    assert len(runs.select(experiment="small")) == 6
    assert runs.select(["UCB1", "Multi-UCB"]).labels == ["Multi-UCB", "UCB1"]
    assert len(runs.select("UCB1")) == 2
    assert len(runs.select(at={"env.n_agents": [3, 4]})) == len(runs.select(at={"env.n_agents": 4.0})) * 2 == 6
    assert runs.select("DP-MASE").final("rounds").shape == (3,)
    assert [len(one) for one in runs] == [1] * 7
    assert sum(len(one.to_frame()) for one in runs) == len(runs.to_frame())
    frame = runs.select("UCB1", at={"env.n_agents": 4}).to_frame()
    assert set(frame["agent"]) == {"UCB1"}
    assert set(frame["env.n_agents"]) == {4}
    again = pickle.loads(pickle.dumps(runs.select("UCB1", at={"env.n_agents": 3})))
    assert np.array_equal(again.final("regret"), next(iter(runs.select("UCB1"))).final("regret"))


def test_what_is_not_there_is_named(folder):
    """Every call of the table is refused, and its error says the words beside it."""
    table = tomllib.loads(Path(__file__).with_name("absent.toml").read_text())
    refused(ValueError, {call: (partial(eval, call, {"f": hb.load_results(folder)}), *table[call]) for call in table})


def test_both_draw_curves_runs_and_sweeps(folder, results, tmp_path):
    runs = hb.load_results(folder)
    pictures = {
        "curve.png": results.plot("regret"),
        "default.svg": results.plot(),
        "law.pdf": results.plot("messages", x="runs"),
        "ends.PNG": hb.evaluate("DPMASE-v0", "DP-MASE", runs=3, env={"n_agents": 8}).plot(),
        "sweep.svg": runs.select(experiment="small").plot(),
        "folder.pdf": runs.select("UCB1", at={"env.n_agents": 3}).plot("regret", log="xy"),
    }
    for name, picture in pictures.items():
        assert isinstance(picture, Canvas)
        begun = picture.save(tmp_path / name).read_bytes()[:100]
        assert {"png": b"PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:].lower()] in begun
    assert results.plot()._repr_png_()[1:4] == b"PNG"
    picture = runs.select(experiment="small").plot("regret", by="env.n_agents")
    assert [axes.get_title("left").split()[-1] for axes in picture.axes] == ["3", "4"]


def test_a_table_is_latex_with_its_names_escaped(tmp_path):
    named = Component("UCB1", label=r"A_1 \input{x} $5 & 10 % #")
    one = small(env=Component("CoopNetwork-v0", horizon=20), agents=[named, "Multi-UCB"], sweep={}, runs=2)
    text = run(one, tmp_path).results.to_latex()
    assert r"A\_1 \textbackslash input\{x\} \$5 \& 10 \% \#" in text
    assert text.startswith(r"\begin{tabular}")


def test_results_are_equal_if_their_numbers_are(results):
    same = hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=4, env=ENV, agent_kwargs={"epsilon": 0.5})
    other = hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=4, seed=1, env=ENV, agent_kwargs={"epsilon": 0.5})
    assert results == same != other
    assert results != "results"
    back = pickle.loads(pickle.dumps(results))
    assert back == results == copy.deepcopy(back)
    assert repr(back) == repr(results) == repr(same)
    assert back.privacy == results.privacy
    with pytest.raises(TypeError, match="unhashable"):
        hash(results)
