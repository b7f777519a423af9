"""What somebody else wrote (a store, a TOML file, a label) runs no code and stays where it belongs."""

from __future__ import annotations

import csv
import io
import os
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushbandits.bench.declare.canonical import canonical, thaw
from hushbandits.bench.declare.catalog import bounds, modules
from hushbandits.bench.declare.shapes import plain_name
from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.bench.play.integrity import text_sum
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.show.export import export
from hushbandits.bench.show.plots import inline
from hushbandits.bench.show.report import write
from hushbandits.cli.main import main

TRAP = """
open("imported", "w").close()
def called(*args, **kwargs):
    open("called", "w").close()
def line(env, agent, x):
    open("called", "w").close()
    return 2 * x
class Plain:
    def __init__(self, *args, **kwargs):
        open("called", "w").close()
class Still(Plain):
    act = 3
made = called
"""


@pytest.fixture
def trap(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "trap.py").write_text(TRAP)
    yield tmp_path
    sys.modules.pop("trap", None)
    from hushbandits.bench.show import series

    series._bound.cache_clear()


def stored(folder, **changes):
    """A folder as anyone could make it: nothing was checked, nothing was run."""
    fields = {
        "name": "theirs",
        "title": "Theirs",
        "env": Use("CoopNetwork-v0", n_agents=3, horizon=10),
        "agents": [Use("UCB1", label="A"), Use("Random", label="B")],
        "runs": 3,
        "metrics": ("regret",),
        "figures": (Figure(y="regret"),),
    }
    experiment = Experiment(**{**fields, **changes})
    folder.mkdir(exist_ok=True)
    times = np.array([1.0, 10.0])
    with Store(folder / FILE, [experiment], 0) as store:
        for cell in experiment.cells():
            finals = dict.fromkeys(("regret", *experiment.metrics), np.arange(3.0))
            store.add(cell, range(3), finals, {"regret": np.ones((3, 2))}, times)
    return experiment


@pytest.mark.parametrize("command", ["report", "export"])
def test_reading_a_folder_imports_and_calls_nothing_that_it_names(trap, command, capsys):
    stored(
        trap / "theirs",
        env=Use("trap:called", n_agents=3),
        agents=[Use("trap:called", label="A"), Use("trap:Plain", on="trap:Plain")],
        wrappers=(Use("trap:called", rate=1),),
        figures=(Figure(y="regret", bounds={"a": "trap:line", "b": "trap:called"}),),
    )
    assert main([command, "theirs"]) == 0, capsys.readouterr().err
    assert "trap" not in sys.modules
    assert not os.path.exists("imported")
    if command == "report":
        page = (trap / "theirs/report.html").read_text()
        assert "Not drawn: trap:called, trap:line." in page


def test_bounds_that_may_be_called_are_those_that_ship(trap):
    shipped = {p for _, all in modules().values() for e in all for f in e.figures for p in f.bounds.values()}
    assert bounds() == shipped
    assert all(path.startswith("hushbandits.experiments.") for path in shipped)
    path = "hushbandits.experiments.feraud2019:theorem_1"
    experiment = stored(trap / "ours", agents=[Use("UCB1", eta=0.9)], figures=(Figure(y="regret", bounds={"t": path}),))
    with Store(trap / "ours" / FILE, readonly=True) as store:
        drawn, without = (inline(store, experiment, *trusted) for trusted in ((), ((),)))
    assert [key.label for key in drawn.keys] == ["UCB1", "t, in each line's colour"]
    assert [key.label for key in without.keys] == ["UCB1"]


def test_a_run_of_ones_own_draws_ones_own_bounds(trap, capsys):
    (trap / "mine.toml").write_text(
        'title = "Mine"\nruns = 2\nenv = { use = "CoopNetwork-v0", horizon = 10, n_agents = 3 }\n'
        'agents = [{ use = "UCB1" }]\n[[figures]]\ny = "regret"\nbounds = { twice = "trap:line", no = "os:system" }\n'
    )
    assert main(["run", "mine.toml", "--jobs", "1"]) == 0
    assert os.path.exists("called")
    assert "Not drawn" not in (trap / "runs/mine/report.html").read_text()
    os.unlink("called")
    assert main(["report", "runs/mine"]) == 0
    assert not os.path.exists("called")
    assert "Not drawn: os:system, trap:line." in (trap / "runs/mine/report.html").read_text()


def test_a_bound_at_parameters_that_it_was_not_made_for_costs_no_picture(tmp_path, caplog):
    path = "hushbandits.experiments.dubey2020:private_bound"
    bounds = Figure(y="regret", bounds={"t": path})
    experiment = stored(tmp_path / "x", agents=[Use("UCB1", v=1)], figures=(bounds,))
    with Store(tmp_path / "x" / FILE) as store:
        assert len(inline(store, experiment).drawings) == 1
    assert "private_bound is not drawn for UCB1: KeyError: 'epsilon'" in caplog.text


@pytest.mark.parametrize("name", ["called", "made", "line", "Plain", "Still", "nothing"])
@pytest.mark.parametrize("params", ["", ', command = "touch called"'])
def test_what_is_no_class_of_an_agent_is_not_called(trap, capsys, name, params):
    (trap / "theirs.toml").write_text(
        'title = "Theirs"\nenv = { use = "CoopNetwork-v0", horizon = 10, n_agents = 3 }\n'
        f'agents = [{{ use = "trap:{name}"{params} }}]\n'
    )
    assert main(["run", "theirs.toml", "--jobs", "1"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"'trap:{name}'" in err
    assert not os.path.exists("called")
    assert not os.path.exists("runs")


@pytest.mark.parametrize(
    "path", ["os:system", "subprocess:Popen", "shutil:rmtree", "builtins:exec", "a:b:c", ":x", "x:", "..a:b", "a/b:c"]
)
def test_a_path_that_is_no_agent_is_refused_in_a_sentence(trap, capsys, path):
    (trap / "theirs.toml").write_text(
        'title = "Theirs"\nenv = { use = "CoopNetwork-v0", horizon = 10, n_agents = 3 }\n'
        f'agents = [{{ use = "{path}", command = "touch called" }}]\n'
    )
    assert main(["run", "theirs.toml", "--jobs", "1"]) == 2
    assert "must " in capsys.readouterr().err
    assert not os.path.exists("called")


@pytest.mark.parametrize("text", ["raise SystemExit(0)", "import nothing_of_that_name", "x = = 3", "1 / 0"])
def test_a_module_that_does_not_import_is_a_sentence(trap, capsys, text):
    name = f"broken{len(text)}"
    (trap / f"{name}.py").write_text(text)
    code = main(["run", "quickstart-network", "--quick", "--jobs", "1", "--agents", f"{name}:Agent", "--out", "o"])
    err = capsys.readouterr().err
    assert code == 2
    assert err.count("\n") == 1
    assert f"importing {name!r} raised" in err


# -- names ------------------------------------------------------------------------------------------------------


@given(st.text())
def test_the_name_of_a_picture_is_a_file_in_its_folder(tmp_path_factory, name):
    try:
        file = f"{plain_name('name', name)}.png"
    except ValueError:
        return
    folder = tmp_path_factory.mktemp("names")
    (folder / file).write_bytes(b"")
    assert os.listdir(folder) == [file]


def test_a_stored_name_that_leaves_the_folder_is_refused(trap, capsys):
    stored(trap / "theirs")
    with Store(trap / "theirs" / FILE) as store:
        (old,) = store._db.execute("SELECT value FROM spec WHERE name = 'experiments'").fetchone()
        new = old.replace('"theirs"', '"../victim"')  # with a checksum that fits
        for name, value in (("experiments", new), ("checksum", str(text_sum(new, "0")))):
            store._db.execute("UPDATE spec SET value = ? WHERE name = ?", (value, name))
    assert main(["report", "theirs"]) == 2
    assert "experiment name='../victim' must be a plain file name" in capsys.readouterr().err
    assert sorted(os.listdir(trap)) == ["theirs", "trap.py"]


# -- texts ------------------------------------------------------------------------------------------------------

NASTY = ["$\\frac{1$", "$x", "$$", "\\", "%", "_^{", "<script>alert(1)</script>", "[/red]", "#010101", 'id="x', "猫"]


@pytest.mark.parametrize("text", NASTY)
def test_texts_are_texts_in_pictures_pages_and_tables(tmp_path, text, capsys):
    figures = (
        Figure(y="regret", title=text, bounds={text: "hushbandits.experiments.feraud2019:theorem_1"}),
        Figure(y="regret", x="agent.word"),
        Figure(y=text, x="runs"),
    )
    stored(
        tmp_path / "x",
        title=text,
        source=text,
        agents=[Use("UCB1", label=text, eta=0.9), Use("Random")],
        sweep={"agent.word": (text, "b")},
        figures=figures,
        metrics=("regret", text),
    )
    assert main(["report", str(tmp_path / "x")]) == 0  # writes pictures and page
    page = (tmp_path / "x/report.html").read_text()
    pictures = re.findall(r'<svg [^>]*role="img".*?</svg>', page, re.S)
    assert len(pictures) == 6  # wide and narrow
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert all(shown in p for p in pictures)
    assert text in capsys.readouterr().out
    assert "<script>alert" not in page
    assert (tmp_path / "x/theirs.png").exists()


def test_a_seed_that_is_no_number_is_no_part_of_the_page(tmp_path):
    stored(tmp_path / "x")
    with Store(tmp_path / "x" / FILE) as store:
        store.seed = "<script>alert(1)</script>"
        page = write(store, tmp_path / "report.html").read_text()
    assert "<script>alert" not in page


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\x1b[31m", "\x9b"])
@pytest.mark.parametrize("field", ["title", "source", "label", "figure"])
def test_a_text_that_cannot_be_written_is_refused(tmp_path, text, field):
    make = {
        "label": lambda: Use("UCB1", label=text),
        "figure": lambda: Figure(y="regret", title=text),
    }.get(field, lambda: stored(tmp_path / "x", **{field: text}))
    with pytest.raises(ValueError, match="without control characters") as error:
        make()
    str(error.value).encode()


@given(st.sampled_from("=+-@\t\r\n＝＋－＠"), st.text(max_size=10))
def test_a_cell_that_a_spreadsheet_would_calculate_is_quoted(first, rest):
    from hushbandits.bench.show.export import _cell

    assert _cell(first + rest) == "'" + first + rest
    assert _cell(rest) in (rest, "'" + rest)
    assert (_cell(-1.5), _cell(None), _cell(3)) == (-1.5, None, 3)


def test_csv_holds_no_formulas_and_numbers_stay_numbers(tmp_path):
    label = '=HYPERLINK("http://x")'
    stored(tmp_path / "x", agents=[Use("UCB1", label=label)], sweep={"agent.a": (-1, "@SUM(1)", "-2")})
    with Store(tmp_path / "x" / FILE) as store:
        export(store, "csv", tmp_path / "x.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text())))
    assert {r["line"] for r in rows} == {"'" + label}
    assert {r["agent.a"] for r in rows} == {"-1", "'@SUM(1)", "'-2"}
    assert not [v for r in rows for v in r.values() if re.match(r"[=+@\t\r]", v)]


# -- values -----------------------------------------------------------------------------------------------------

_LEAF = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.just(10**12))
_NAMES = st.sampled_from(
    ["Graph", "nodes", "edges", "Gaussian", "sigma", "UniformMeans", "low", "Constant", "os:system"]
)


@given(st.recursive(_LEAF, lambda x: st.lists(x, max_size=3) | st.dictionaries(_NAMES, x, max_size=2)))
def test_what_stands_in_a_file_thaws_or_is_refused_in_a_sentence(value):
    said = ""
    try:
        canonical(thaw(value))
    except (ValueError, TypeError) as error:
        said = str(error)
    assert "\n" not in said
