"""The expected cost of a batch, on a clock that the game moves."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

import hushbandits as hb
from hushbandits.bench.runner import cost
from hushbandits.bench.runner.batch import Batch, divided
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.progress import LENGTHS


class Metered(type(hb.make_team("DP-MASE"))):
    """Each activation of a run takes 30 µs, and a look at the clock half a millisecond for each run."""

    spent, runs = 0.0, 1

    def act(self, obs):
        Metered.runs = obs.running.size
        Metered.spent += 3e-5 * obs.running.sum()
        return super().act(obs)

    @staticmethod
    def look():
        Metered.spent += 5e-4 * Metered.runs
        return Metered.spent


def test_a_short_probe_tells_the_cost_of_runs_whose_length_is_unknown(monkeypatch):
    monkeypatch.setattr(cost, "time", SimpleNamespace(process_time=Metered.look))
    probe = cost.Probe(
        "cell", "cell", "DPMASE-v0", Metered(epsilon=0.5), (), {"n_agents": 8}, {}, None, "", 0, range(8)
    )
    expected, begin = probe.play()[0], Metered.spent
    rounds = super(cost.Probe, probe).play()[0]["rounds"]
    assert 0.5 < expected["seconds"] / (Metered.spent - begin) < 2
    assert expected["length"] == rounds[0]


def test_of_many_cells_a_part_is_probed_and_of_each_experiment_at_least_one(monkeypatch):
    probed = []

    def answers(probes, options, bar):
        for probe in probes:
            probed.append(probe.key)
            told = {"seconds": 10.0 if probe.key == "long" else 1.0, "length": 7.0, "pid": 1.0, "spent": 1.0}
            yield probe, ({name: np.array([value]) for name, value in told.items()}, {}, np.empty(0))

    monkeypatch.setattr(cost, "answers", answers)
    keys = [("wide", f"cell {i}") for i in range(901)] + [("narrow", "long")] * 3
    tasks = [(name, Batch(key, key, "DPMASE-v0", "DP-MASE", (), {}, {}, None, "", 0, range(8))) for name, key in keys]
    found = cost.estimate(tasks, RunOptions(progress=False))
    assert len(probed) < 300
    assert found.summed("narrow").seconds == 30.0
    assert found.summed("wide").seconds == 901.0
    assert all(LENGTHS[key] == 7.0 for _, key in keys)  # bars move inside a batch of every cell


def test_long_batches_are_cut_and_played_first():
    one = Batch("short", "", "DPMASE-v0", "DP-MASE", (), {}, {}, None, "", 0, tuple(range(100)))
    tasks = [one, replace(one, key="long"), replace(one, key="unknown"), replace(one, key="few", runs=(0, 1, 2))]
    seconds = {one.key: 0.01, "long": 1.5, "few": 40.0}  # 1, 150, 120 and 100 of all seconds
    found = divided(tasks, seconds, processes=4)
    for task in tasks:
        mine = sorted(part.runs for part in found if part.key == task.key)
        assert sum(mine, ()) == task.runs
    lengths = {task.key: [len(part.runs) for part in found if part.key == task.key] for task in tasks}
    assert lengths == {one.key: [100], "long": [20] * 5, "unknown": [25] * 4, "few": [3]}
    assert [part.key for part in found] == ["few", *["long"] * 5, *["unknown"] * 4, one.key]


def test_code_compiled_late_in_a_probe_counts_once(monkeypatch):
    spent = [0.0]

    class Late(type(hb.make_team("UCB1"))):
        """Each round takes 1 ms, and round 500 of the first episode that gets there 10 s more."""

        compiled = False

        def act(self, obs):
            late = int(obs.t[0]) == 500 and not Late.compiled
            Late.compiled |= late
            spent[0] += 10.0 if late else 1e-3
            return super().act(obs)

    monkeypatch.setattr(cost, "time", SimpleNamespace(process_time=lambda: spent[0]))
    env = {"n_agents": 2, "horizon": 10_000}
    probe = cost.Probe("cell", "cell", "CoopNetwork-v0", Late(), (), env, {}, None, "", 0, range(2))
    assert 5.0 < probe.play()[0]["seconds"] < 20.0
    assert Late.compiled
