"""The expected cost of a batch, on a clock that the game moves."""

from types import SimpleNamespace

import hushbandits as hb
from hushbandits.bench.runner import cost


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
