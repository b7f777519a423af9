"""`hb.evaluate`: equal numbers with all options, and a progress bar on terminals only."""

from __future__ import annotations

import io
import sys
import time

import numpy as np
import pytest

import hushbandits as hb

ENV = {"n_agents": 4, "horizon": 30}


class Slow(hb.Team):
    """A slow agent."""

    setting = "network"

    def act(self, obs):
        time.sleep(0.01)
        return np.zeros(obs.active_agents.shape, int)


class Terminal(io.StringIO):
    """A fake terminal."""

    def isatty(self):
        return True


def test_an_agent_may_be_a_name_a_team_or_what_builds_one():
    made = hb.make_team("Private-UCB", epsilon=0.5)
    named = hb.evaluate("CoopNetwork-v0", "Private-UCB", runs=2, env=ENV, agent_kwargs={"epsilon": 0.5})
    for agent, given in ((made, {}), (lambda epsilon: hb.make_team("Private-UCB", epsilon=epsilon), {"epsilon": 0.5})):
        results = hb.evaluate("CoopNetwork-v0", agent, runs=2, env=ENV, agent_kwargs=given)
        assert np.array_equal(results.final("regret"), named.final("regret"))


def test_the_frame_has_a_row_per_run_and_number():
    results = hb.evaluate("CoopNetwork-v0", "UCB1", runs=2, env=ENV, options=hb.RunOptions(checkpoints=[3, 30]))
    frame = results.to_frame()
    assert list(frame.columns) == ["run", "metric", "time", "value"]
    assert "agent_regret" not in set(frame["metric"])  # an array per run is no row
    regret = frame[frame["metric"] == "regret"]
    assert regret[regret["time"].isna()]["value"].tolist() == results.final("regret").tolist()
    assert regret[regret["time"] == 3]["value"].tolist() == results.curve("regret")[1][:, 0].tolist()


@pytest.mark.parametrize(("given", "times"), [([3, 30], [3, 30]), (np.array([3, 30]), [3, 30]), (2, [1, 30]), ([], [])])
def test_checkpoints_are_points_or_how_many(given, times):
    results = hb.evaluate("CoopNetwork-v0", "UCB1", runs=2, env=ENV, options=hb.RunOptions(checkpoints=given))
    if times:
        assert results.curve("regret")[0].tolist() == times
        assert results.curve("regret")[1][:, -1].tolist() == results.final("regret").tolist()
    else:
        with pytest.raises(ValueError, match="no curves were recorded"):
            results.curve("regret")


def test_a_bar_names_the_work_on_a_terminal_alone(monkeypatch):
    env = {"n_agents": 2, "horizon": 30}
    monkeypatch.setattr(sys, "stderr", Terminal())
    hb.evaluate("CoopNetwork-v0", Slow(), runs=1, env=env)
    assert "Slow on CoopNetwork-v0" in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", Terminal())
    hb.evaluate("CoopNetwork-v0", Slow(), runs=1, env=env, options=hb.RunOptions(progress=False))
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    hb.evaluate("CoopNetwork-v0", Slow(), runs=1, env=env)
    assert sys.stderr.getvalue() == ""


def test_byzantine_ucb_asks_for_fewer_runs_of_more_agents():
    robust = hb.make_team("Byzantine-UCB")
    sizes = {m: robust.runs_at_once(hb.make_batched("ByzantineNetwork-v0", n_agents=m, horizon=1000)) for m in (4, 200)}
    assert sizes[200] == 1 < 25 < sizes[4]
