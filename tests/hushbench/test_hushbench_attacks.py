"""HushBench: what an agent's code tries, and does not get."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.cli.main import main
from hushbench.play import play
from hushbench.tasks import entry, source, tasks

#: Code of agents, by what they do.
AGENTS = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text())


def written(here, name):
    (here / f"{name}.py").write_text(AGENTS[name])
    return f"{name}:Agent"


def regret(here, name):
    row = play(entry(written(here, name), {}), [tasks()["net-small"]], here / f"{name} rows", hb.RunOptions(1), 0)
    assert name not in sys.modules  # this process has not imported it
    return row["net-small"][1]["regret"]


def test_metrics_that_an_agent_patches_stay_as_they_are(here):
    plain, patched = (regret(here, code) for code in ("plain", "patched"))
    assert (plain > 0).all()
    assert patched.tolist() == plain.tolist()


def test_an_agents_generator_opens_no_stream_of_the_env(here):
    assert regret(here, "peeking").mean() > 10
    known = hb.evaluate("CoopNetwork-Train-v0", written(here, "peeking"), runs=24).final("regret")
    assert known.max() == 0  # in one process with the env, the attack works


def test_an_agent_reads_what_a_view_and_an_inbox_show_and_nothing_else(here):
    assert np.isfinite(regret(here, "nosy")).all()  # else its assertions fail the run


def test_an_agent_cannot_require_another_world(here, capsys):
    assert main(["bench", "--agents", written(here, "rebuilding"), "--tasks", "network"]) == 2
    assert "requires ['permute_arms']" in capsys.readouterr().err


def test_a_file_that_hides_an_installed_module_is_refused(here):
    (here / "jinja2.py").write_text("")
    with pytest.raises(ValueError, match=r"jinja2.py must be renamed, because it hides the module"):
        source(entry(written(here, "plain"), {}))


def test_scores_that_fresh_seeds_do_not_bear_out_are_refused(here, hidden, capsys):
    """An agent that plays well on the stated seeds alone: here it knows them by the number of runs."""
    agent = written(here, "lucky")
    asked = ["bench", "--agents", agent, "--jobs", "1"]
    assert main([*asked, "--tasks", "feedback", "--submit", "lucky.json", *hidden]) == 0
    assert (
        main([*asked, "--verify", "lucky.json", "--shard", "1/1"]) == 0
    )  # 24 fresh runs: it takes them for stated ones
    assert main([*asked, "--verify", "lucky.json", "--shard", "1/5"]) == 1
    assert "fresh seeds give" in capsys.readouterr().err
