"""``hushbandits evaluate`` prints the numbers of `hushbandits.evaluate` and `hushbandits.compare` as tables."""

import os

import pytest

import hushbandits as hb
from hushbandits.bench.report.tables import number
from hushbandits.cli.main import main

SMALL = ["--runs", "6", "--set", "env.n_agents=3", "--set", "env.horizon=30"]


pytestmark = pytest.mark.usefixtures("here")


def test_it_shows_the_numbers_of_evaluate_and_compare(here, capsys):
    agents = ["Multi-UCB", "UCB1"]
    assert main(["evaluate", "CoopNetwork-v0", *agents, *SMALL, "--seed", "3"]) == 0
    said = capsys.readouterr().out
    found = [hb.evaluate("CoopNetwork-v0", a, runs=6, seed=3, env={"n_agents": 3, "horizon": 30}) for a in agents]
    for results in found:
        assert number(results.final("regret").mean()) in said
    (pair,) = hb.compare(*found).pairs
    assert number(pair.difference) in said
    assert "6 pairs" in said
    assert "env.n_agents=3, env.horizon=30" in said
    assert not os.listdir(here)


def test_one_agent_one_metric_and_parameters_of_both(capsys):
    more = ["--set", "env.horizon=300", "--set", "agent.epsilon=1.0", "--metric", "regret", "--runs", "2"]
    assert main(["evaluate", "DistDP-v0", "Dist-DP-SE", *more, "--wrappers", "Loss"]) == 0
    said = capsys.readouterr().out
    assert "regret" in said
    assert "bits" not in said
    assert "A − B" not in said


def test_one_agent_or_wrapper_is_set_by_its_name(capsys):
    more = ["--set", "coop-UCB.sigma=0.1", "--wrappers", "Loss", "--set", "Loss.rate=0.5", "--metric", "regret"]
    assert main(["evaluate", "CoopNetwork-v0", "coop-UCB", "UCB1", *SMALL, *more]) == 0
    said, env = capsys.readouterr().out, {"n_agents": 3, "horizon": 30}
    lossy, made = [hb.make_wrapper("Loss", rate=0.5)], {"sigma": 0.1}
    lost = hb.evaluate("CoopNetwork-v0", "coop-UCB", 6, env=env, agent_kwargs=made, wrappers=lossy)
    assert number(lost.final("regret").mean()) in said
    assert main(["evaluate", "CoopNetwork-v0", "UCB1", "--set", "env.means.low=0.1"]) == 2


def test_what_cannot_be_won_says_so_once(capsys):
    more = ["--set", "env.n_agents=2", "--set", "env.termination=players", "--set", "env.horizon=10", "--runs", "2"]
    assert main(["evaluate", "DPMASE-v0", "DP-MASE", *more]) == 0
    said = capsys.readouterr().err
    assert said.startswith("hushbandits: DP-MASE needs 5 votes to remove an arm, but only 2 agents act")
    assert said.count("needs 5 votes") == 1
