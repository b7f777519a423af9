"""The command line."""

from __future__ import annotations

import fnmatch
import os
import pydoc
import re
import shutil
import subprocess
import sys

import pytest

import hushbandits as hb
from hushbandits.cli.listing import symbols
from hushbandits.cli.main import COMMANDS, main
from hushbandits.registry import owners

SPEC = """
title = "Sharing"
runs = 3
metrics = ["regret"]
env = { type = "CoopNetwork-v0", horizon = 30 }
agents = [{ type = "Multi-UCB" }, { type = "UCB1" }]
sweep = { "env.n_agents" = [3, 4] }
quick = { runs = 2, "env.n_agents" = 3 }
"""


@pytest.fixture
def spec(here):
    (here / "mine.toml").write_text(SPEC)
    return here


def test_list_names_everything_with_a_line_each(capsys):
    assert main(["list"]) == 0
    everything = capsys.readouterr().out
    for name in ("DPMASE-v0", "Multi-UCB", "Huber", "quickstart", "rio2023-fig1"):
        (line,) = [line for line in everything.splitlines() if line.split()[:1] == [name]]
        assert len(line.split()) > 3
    assert main(["list", "agents"]) == 0
    agents = capsys.readouterr().out
    assert "Multi-UCB" in agents
    assert "DPMASE-v0" not in agents


def test_list_explains_whatever_has_a_name(capsys):
    names = [*hb.list_envs(), *hb.list_agents(), *hb.list_policies(), *hb.list_wrappers(), "rio2023-fig1"]
    for name in names:
        assert main(["list", name]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"{name} (")
        assert len(said.splitlines()) > 2
        lines = said.partition("parameters\n")[2].partition("\n\n")[0].splitlines()
        at = [i for i, line in enumerate(lines) if line.startswith("  ") and line[2:3].strip()]
        assert len({lines[i].split()[0] for i in at}) == len(at)  # each once, and with a word
        assert all(lines[i + 1].startswith("      ") for i in at)
    assert main(["list", "DistDP-v0"]) == 0
    said = capsys.readouterr().out
    assert "wrappers inside: DiscreteLaplace, SecAgg" in said
    assert "  horizon = 1000000\n" in said
    assert "  confidence = 0.1\n      p: an upper bound" in said  # the mechanism's own
    assert main(["list", "QuACK-UCB"]) == 0
    assert "  sigma = 0.5\n      Sub-Gaussian constant" in capsys.readouterr().out  # its policy's


def test_run_writes_table_pictures_and_page_and_resumes(spec, capsys):
    assert main(["run", "mine.toml", "--jobs", "1"]) == 0
    first = capsys.readouterr().out
    pictures = ["mine.pdf", "mine.png", "mine.svg"]
    files = {path: path.read_bytes() for path in (spec / "runs/mine").rglob("*") if path.is_file()}
    assert {path.name for path in (spec / "runs/mine").iterdir()} >= {
        *pictures,
        "report.html",
        "rows",
        "experiment.json",
    }
    assert "mine.png (.svg, .pdf)\n" in first
    assert first.count("Multi-UCB") == 2
    assert "95 % of the median" in first
    assert main(["run", "mine.toml", "--jobs", "1"]) == 0
    again = capsys.readouterr().out
    assert first.startswith(again)
    (spec / "runs/mine/mine.png").unlink()  # as a verification does, which draws nothing
    assert main(["run", "mine.toml", "--jobs", "1"]) == 0
    assert {path: path.read_bytes() for path in (spec / "runs/mine").rglob("*") if path.is_file()} == files
    (spec / "mine.toml").write_text(SPEC.replace("Sharing", "Renamed"))
    assert main(["run", "mine.toml", "--jobs", "1"]) == 0
    page = (spec / "runs/mine/report.html").read_text()
    assert ("Renamed" in page, "Sharing" in page) == (True, False)
    capsys.readouterr()
    assert main(["run", "mine.toml", "--jobs", "1", "--seed", "1"]) == 2
    assert "it has seed 0, not 1" in capsys.readouterr().err


def test_options_change_what_is_run(spec, capsys):
    given = ["run", "mine.toml", "--jobs", "1", "--quick", "--set", "env.horizon=5", "--set", "checkpoints=2"]
    assert main([*given, "--dry-run"]) == 0
    assert not os.path.exists("runs")
    assert main(given) == 0
    assert capsys.readouterr().err.count("CPU minutes, for 4 runs of 2 cells") == 2
    frame = hb.load_results("runs/mine-quick").to_frame()
    assert set(frame["run"]) == {0, 1}
    assert set(frame["time"].dropna()) == {1, 5}
    assert set(frame["env.n_agents"]) == {3}  # a single value keeps its column


def test_claims_are_judged_on_what_they_are_about_alone(spec, capsys):
    claim = """
[[claims]]
sentence = "There is regret."
metric = "regret"
of = "UCB1"
above = 0
"""
    (spec / "mine.toml").write_text(SPEC + claim)
    for given, judged in ((["--set", "env.horizon=20"], False), (["--set", "env.horizon=30", "--runs", "2"], True)):
        assert main(["run", "mine.toml", "--jobs", "1", "--out", "here", *given]) == 0
        assert ("horizon" in capsys.readouterr().err) is not judged
        page = (spec / "here/report.html").read_text()
        assert ("There is regret." in page) is judged
        assert ("no claim is judged" in page) is not judged
        shutil.rmtree(spec / "here")


def test_a_failing_cell_exits_1(spec, capsys):
    assert main(["run", "mine.toml", "--jobs", "1", "--agents", "own_agents_that_fail:Breaks", "--out", "o"]) == 1
    err = capsys.readouterr().err
    assert "Breaks, agents = 3: runs 0–2, seed 0: " in err
    assert "ArithmeticError: boom" in (spec / "o/report.html").read_text()


def test_a_file_that_somebody_else_made_is_not_written_over(spec, capsys):
    (folder := spec / "runs/mine").mkdir(parents=True)
    for name in ("report.html", "mine.png", "mine.svg", "mine.pdf"):
        (folder / name).write_text("mine, of a month's work")
        assert main(["run", "mine.toml", "--jobs", "1"]) == 2
        assert name in capsys.readouterr().err
        assert os.listdir(folder) == [name]  # nothing was played
        (folder / name).unlink()
    assert main(["run", "mine.toml", "--jobs", "1"]) == 0
    page = (folder / "report.html").read_text()
    assert main(["report", "runs/mine"]) == 0  # it overwrites its own files
    assert (folder / "report.html").read_text() == page
    (folder / "mine.png").write_text("mine, of a month's work")
    assert main(["report", "runs/mine"]) == 2
    assert (folder / "mine.png").read_text() == "mine, of a month's work"


def test_lists_a_paper_s_experiments_and_who_takes_a_parameter(capsys):
    assert main(["list", "howson2024"]) == 0
    assert "howson2024-fig7" in capsys.readouterr().out
    assert main(["list", "epsilon"]) == 0
    said = capsys.readouterr().out
    assert "DP-MASE" in said
    assert "LocalLaplace" in said


def test_a_symbol_has_one_meaning_wherever_it_is_a_parameter(capsys):
    for name, rows in symbols().items():
        assert main(["list", rows[0]["sign"]]) == 0
        assert rows[0]["meaning"].split("`")[0] in capsys.readouterr().out
        met = []
        for parameter, patterns in re.findall(r"`(\w+)` of ([^;(]+)", "; ".join(row["where"] for row in rows)):
            takers = [taker for names in owners(parameter).values() for taker in names]
            found = {taker for pattern in patterns.split(",") for taker in fnmatch.filter(takers, pattern.strip())}
            assert found, (name, patterns)
            met += sorted(found) if parameter == name else []
        if len(name) > 2:  # shorter ones are also names of other parameters
            assert sorted(met) == sorted({taker for names in owners(name).values() for taker in names})


def test_says_its_version_as_a_module_too():
    asked = subprocess.run([sys.executable, "-m", "hushbandits", "-v"], capture_output=True, text=True, check=True)
    assert asked.stdout == f"hushbandits {hb.__version__}\n"


def test_help_names_every_command_once_and_each_explains_itself(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in COMMANDS:
        assert len([line for line in lines if line.split()[:1] == [name]]) == 1
        with pytest.raises(SystemExit) as stop:
            main([name, "--help"])
        assert stop.value.code == 0
        assert f"usage: hushbandits {name}" in capsys.readouterr().out
    assert any("hushbandits run quickstart" in line for line in lines)


def test_help_of_privacy_is_the_function_s():
    assert "agent_kwargs" in pydoc.render_doc(hb.privacy_report)
