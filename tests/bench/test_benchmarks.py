"""The table of ``python -m benchmarks``: hand-written loops play the package's game; changed ratios are reported."""

import numpy as np
import pytest

import hushbandits as hb
from benchmarks import __main__ as command
from benchmarks import cells, ratios
from benchmarks.clock import least
from benchmarks.loops.world import MEANS
from hushbandits.registry import assemble

EQUAL = [agent for agent in cells.LOOPS if not agent.endswith("TS")]  # TS draws by NumPy's generator


@pytest.mark.parametrize(("agent", "compile"), [*((a, None) for a in EQUAL), *((a, False) for a in cells.IN_PYTHON)])
def test_the_loop_by_hand_is_the_packages_game(agent, compile):
    horizon, runs = 80, 2
    for m, graph in ((6, "cycle"), (9, "grid")):
        team = hb.make_team(agent)
        env = {"n_agents": m, "graph": graph, "means": MEANS, "permute_arms": False, "horizon": horizon}
        env_id = {"P": "PrivateNetwork-v0", "B": "ByzantineNetwork-v0"}.get(agent[0], "CoopNetwork-v0")
        final = hb.rollout(assemble(env_id, team, runs=runs, env=env), team, 0)
        more = {} if compile is None else {"compile": compile}
        regret = cells.LOOPS[agent](agent, graph, m, horizon, runs, **more)
        assert np.array_equal(regret, final["agent_regret"])
        assert np.array_equal(regret.sum(1), final["regret"])


def test_every_cell_is_counted_in_one_by_hand():
    names = [cell.name for cell in cells.CELLS]
    assert len(set(names)) == len(names)
    units = {cell.name for cell in cells.CELLS if cell.unit == cell.name}
    assert {cell.unit for cell in cells.CELLS} == units
    assert all("by hand" in unit for unit in units)


def test_turns_are_taken_and_the_least_counts():
    order, long = [], iter([20_000, 2_000, 20_000])

    def fast():
        order.append("fast")

    def slow():
        order.append("slow")
        sum(range(next(long) * 10))

    found = least({"fast": fast, "slow": slow}, 3)
    assert order == ["fast", "slow"] * 3
    assert 0 <= found["fast"] < found["slow"]


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Write a file as the command would, without measuring."""
    found = {name: {"ns": 100.0, "hand": 50.0, "times": 2.0} for name in ("UCB1", "Multi-UCB", "DP-MASE")}
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(ratios, "measured", lambda cells, turns: found)
    monkeypatch.setattr(ratios, "FILE", tmp_path / "ratios.json")
    assert command.main(["--write"]) == 0
    return found


def test_compare_says_what_moved_and_nothing_else(saved, capsys):
    saved["UCB1"]["times"], saved["Multi-UCB"]["times"] = 2.19, 1.81
    assert command.main(["--compare"]) == 0
    assert capsys.readouterr().out.count("before") == 0
    saved["UCB1"]["times"], saved["Multi-UCB"]["times"] = 2.5, 1.7
    saved["QuACK-UCB"] = saved.pop("DP-MASE")
    assert command.main(["--compare"]) == 1
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "UCB1: 2.5 times by hand, 2 before (+25 %)",
        "Multi-UCB: 1.7 times by hand, 2 before (-15 %)",
        "QuACK-UCB: not saved; --write saves the table",
        "DP-MASE: saved, but not played; --write saves the table",
    ]
