"""`Results` and a run folder have one face: the same numbers, pictures and sentences from both."""

from __future__ import annotations

import copy
import pickle
import shutil
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from bench_helpers import small
from matplotlib.figure import Figure as Canvas
from refusals import rows

import hushbandits as hb
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.results import Results
from hushbandits.bench.run import run

ENV = {"n_agents": 3, "horizon": 40}
FACE = ("final", "curve", "to_frame", "plot", "privacy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("faces")
    ends = Experiment(
        name="ends", title="Runs end by themselves", env=Use("DPMASE-v0", n_agents=8), agents=["DP-MASE"], runs=3,
        metrics=["rounds"],
    )  # fmt: skip
    one = small(env=Use("CoopNetwork-v0", horizon=40), checkpoints=(1, 10, 40), metrics=("regret", "messages"))
    with run([one, ends], path, progress=False).store:
        pass
    return path


@pytest.fixture(scope="module")
def results():
    return hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=4, env=ENV, agent_kwargs={"epsilon": 0.5})


def test_both_have_the_same_methods(folder, results):
    line = hb.open_run(folder).select("Private-UCB", at={"env.n_agents": 3})
    for name in FACE:
        assert hasattr(type(results), name)
        assert hasattr(type(line), name)
    assert line.final("regret").shape == (7,)
    times, values = line.curve("regret")
    assert (times.tolist(), values.shape) == ([1, 10, 40], (7, 3))
    assert values[:, -1].tolist() == line.final("regret").tolist()
    assert [told.texts() for told in line.privacy] == [told.texts() for told in results.privacy]
    assert "Spent in these runs" in line.privacy.notes[0]
    assert len(line.privacy.to_frame()) == len(line.privacy)
    assert set(results.to_frame().columns) < set(line.to_frame().columns)


def test_a_folder_is_selected_by_experiment_line_and_value(folder):
    runs = hb.open_run(folder)
    assert (len(runs), runs.lines) == (7, ["Multi-UCB", "Private-UCB", "UCB1", "DP-MASE"])
    assert repr(runs) == f"RunFolder {folder}: small (3 lines × 2 agents, 7 runs), ends (1 line, 3 runs)"
    assert {"regret", "rounds", "messages"} <= set(runs.metrics)
    assert len(runs.select(experiment="small")) == 6
    assert runs.select(["UCB1", "Multi-UCB"]).lines == ["Multi-UCB", "UCB1"]
    assert len(runs.select("UCB1")) == 2
    assert len(runs.select(at={"env.n_agents": [3, 4]})) == len(runs.select(at={"env.n_agents": 4.0})) * 2 == 6
    assert runs.select("DP-MASE").final("rounds").shape == (3,)
    assert [len(line) for line in runs] == [1] * 7
    assert sum(len(line.to_frame()) for line in runs) == len(runs.to_frame())
    frame = runs.select("UCB1", at={"env.n_agents": 4}).to_frame()
    assert set(frame["line"]) == {"UCB1"}
    assert set(frame["env.n_agents"]) == {4}
    again = pickle.loads(pickle.dumps(runs.select("UCB1", at={"env.n_agents": 3})))
    assert np.array_equal(again.final("regret"), next(iter(runs.select("UCB1"))).final("regret"))


@rows(
    ("ask", "message"),
    [
        (lambda f: f.select(experiment="smal"), "holds no experiment 'smal'; did you mean small?"),
        (lambda f: f.select("UCB2"), "holds no line 'UCB2'; did you mean UCB1"),
        (lambda f: f.select("Private"), "holds no line 'Private'; did you mean Private-UCB?"),
        (lambda f: f.select(at={"n_agents": 3}), r"'n_agents', which is not swept; did you mean env\.n_agents\?"),
        (lambda f: f.select(at={"env.n_agents": 9}), r"env\.n_agents=9, which the sweep does not take: \[3, 4\]"),
        (lambda f: f.select("DP-MASE", at={"env.n_agents": 3}), "holds no line 'DP-MASE'"),
        (lambda f: f.final("regret"), "2 experiments are here: small, ends; select one line"),
        (
            lambda f: f.select("UCB1").final("regret"),
            "2 lines are here: UCB1, agents = 3; UCB1, agents = 4; select one",
        ),
        (lambda f: f.select("DP-MASE").final("round"), "no metric is named 'round'; did you mean rounds?"),
        (lambda f: f.select("DP-MASE").curve("rounds"), "no curve of 'rounds' was recorded"),
        (lambda f: f.plot("regret"), "2 experiments are here: small, ends; select one"),
        (lambda f: f.select("UCB1").plot("regert"), "is named 'regert'; did you mean regret?"),
        (lambda f: f.select("UCB1").plot("regret", x="env.agents"), "x='env.agents'"),
        (lambda f: f.select("UCB1").plot("regret", by="env.agents"), "by='env.agents'"),
        (lambda f: f.select("UCB1").plot("regret", colour="red"), "a figure has no 'colour'"),
        (lambda f: f.select("UCB1").plot("regret").save("x.jpg"), "path='x.jpg'"),
        (lambda f: hb.open_run(f.path / "nowhere"), "there are no results in"),
    ],
)
def test_what_is_not_there_is_one_sentence(folder, ask, message):
    with pytest.raises((ValueError, StoreError), match=message) as error:
        ask(hb.open_run(folder))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("given", [{"by": "env.n_agents"}, {"at": {"env.n_agents": 3}}, {"lines": ["UCB1"]}])
def test_the_runs_of_one_cell_are_not_chosen_among(results, given):
    with pytest.raises(ValueError, match=f"{next(iter(given))}= chooses among lines and cells of a folder"):
        results.plot("regret", **given)


def test_both_draw_curves_runs_and_sweeps(folder, results, tmp_path):
    runs = hb.open_run(folder)
    final_only = hb.evaluate("DPMASE-v0", "DP-MASE", runs=3, env={"n_agents": 8})
    pictures = {
        "curve.png": results.plot("regret"),
        "default.svg": results.plot(),
        "law.pdf": results.plot("messages", x="runs"),
        "ends.PNG": final_only.plot(),
        "sweep.svg": runs.select(experiment="small").plot(),
        "folder.pdf": runs.select("UCB1", at={"env.n_agents": 3}).plot("regret", log="xy"),
        "folder-ends.svg": runs.select("DP-MASE").plot("messages"),
        "two.svg": runs.select(["UCB1", "Multi-UCB"], at={"env.n_agents": 4}).plot("messages"),
    }
    for name, picture in pictures.items():
        assert isinstance(picture, Canvas)
        path = picture.save(tmp_path / name)
        begun = path.read_bytes()[:100]
        assert {"png": b"PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:].lower()] in begun
    for name in ("one.pdf", "one.svg", "one.png"):
        again = [results.plot("regret").save(tmp_path / name).read_bytes() for _ in range(2)]
        assert again[0] == again[1], "no date, no random name"
    assert results.plot()._repr_png_()[1:4] == b"PNG"
    picture = runs.select(experiment="small").plot("regret", by="env.n_agents")
    assert [axes.get_title("left") for axes in picture.axes] == ["agents = 3", "agents = 4"]
    labels = [text.get_text() for text in pictures["two.svg"].texts]
    assert [label for label in labels if "UCB" in label] == ["Multi-UCB", "UCB1"]
    for ask, message in (
        (lambda: results.plot("regert"), "did you mean regret"),
        (lambda: results.plot("agent_regret"), "no metric of one number a run is named 'agent_regret'"),
        (lambda: results.plot(x="env.n_agents"), "x='env.n_agents' is not one of time, runs"),
        (lambda: final_only.plot("rounds", x="time"), "no curve is named 'rounds'"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_results_are_equal_if_their_numbers_are(results):
    same = hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=4, env=ENV, agent_kwargs={"epsilon": 0.5})
    other = hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=4, seed=1, env=ENV, agent_kwargs={"epsilon": 0.5})
    assert results == same != other
    assert results != "results"
    back = pickle.loads(pickle.dumps(results))
    assert back == results == copy.deepcopy(back)
    assert repr(back) == repr(results) == repr(same)
    assert repr(results).startswith("Results: Private-UCB on CoopNetwork-v0, 4 runs; regret")
    assert len(repr(results)) < 300
    assert back.privacy == results.privacy
    assert back.world == results.world is not None
    lacking = Results({"x": np.array([1.0, np.nan])}, {}, np.empty(0))
    assert lacking == Results({"x": np.array([1.0, np.nan])}, {}, np.empty(0))
    assert lacking != Results({"x": np.array([1.0, np.nan]), "y": np.array([1, 2])}, {}, np.empty(0))
    assert repr(lacking) == "Results: 2 runs; x"
    with pytest.raises(TypeError, match="unhashable"):
        hash(results)


def test_an_unfinished_folder_has_what_is_there(folder, tmp_path):
    shutil.copy(folder / FILE, tmp_path / FILE)
    db = sqlite3.connect(tmp_path / FILE)
    for name in ("runs", "finals", "curves", "sums"):
        db.execute(f"DELETE FROM {name} WHERE cell = 3 AND run IN (0, 2)")
    db.commit()
    db.close()
    line = hb.open_run(tmp_path).select("UCB1", at={"env.n_agents": 3})
    assert line.final("regret").shape == (5,)
    other = hb.open_run(folder).select("Multi-UCB", at={"env.n_agents": 3})
    (pair,) = hb.compare(line, other).pairs
    assert (pair.paired, pair.runs, pair.left_out) == (True, (5, 5), 2)
    missing = other.final("regret")[[1, 3, 4, 5, 6]]
    assert pair.difference == pytest.approx((line.final("regret") - missing).mean())


def test_a_folder_that_holds_something_else_by_now_is_told(tmp_path):
    with run(small(runs=1, sweep={}), tmp_path, progress=False).store:
        pass
    runs = hb.open_run(tmp_path)
    (tmp_path / FILE).unlink()
    with pytest.raises(StoreError, match="there are no results"):
        runs.metrics  # noqa: B018
    with run(replace(small(runs=1, sweep={}), agents=["Random"]), tmp_path, progress=False).store:
        pass
    with pytest.raises(StoreError, match="holds something else by now; open it anew"):
        runs.to_frame()


def test_a_folder_of_a_declaration_that_would_be_refused_today_is_read_and_resumed(tmp_path):
    """What its cells are is no riddle: the sweep won."""
    old = small(env=Use("CoopNetwork-v0", horizon=20, n_agents=9), runs=2, agents=["UCB1"], checkpoints=())
    with pytest.raises(ValueError, match="is given n_agents=9 already"):
        run(old, tmp_path / "new", progress=False)
    Store(tmp_path / FILE, [old]).close()
    assert len(hb.open_run(tmp_path)) == 2
    with run(old, tmp_path, progress=False).store:
        pass
    assert hb.open_run(tmp_path).select(at={"env.n_agents": 3}).final("regret").shape == (2,)
