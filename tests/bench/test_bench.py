"""Experiments run: rows equal direct runs with their seeds, with bounded memory and numbers of calls."""

from __future__ import annotations

import cProfile
import gc
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from bench_helpers import filled, played, small

import hushbandits as hb
from hushbandits.bench.report.page import write
from hushbandits.bench.report.tables import summaries
from hushbandits.bench.run import run
from hushbandits.bench.runner.batch import BATCH, batches
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.core.random.streams import spawn_seeds


def test_a_row_is_what_a_play_gives_with_its_seeds(tmp_path):
    experiment = small(runs=60)
    assert len(batches([experiment], BATCH)) == 2 * len(experiment.cells())  # the second begins where the first ends
    results = run(experiment, tmp_path, seed=5).results
    for cell in experiment.cells():
        protocol = hb.make_team(cell.agent.name, **cell.agent.params).requirements({})
        wrappers = [hb.make_wrapper(n, **p) for n, p in protocol.wrappers]
        params = {**cell.env.params, **protocol.env}
        env = hb.make_batched(cell.env.name, runs=60, wrappers=wrappers, **params)
        regret = hb.rollout(
            env, hb.make_team(cell.agent.name, **cell.agent.params), spawn_seeds(5, 60, 0, cell.seed_text)
        )["regret"]
        assert np.array_equal(results.select(cell.line, at=cell.point).final("regret"), regret)


@pytest.mark.weekly
def test_many_cells_are_listed_and_resumed_at_a_fixed_cost_per_cell(tmp_path):
    """Counted in calls, which do not depend on the load; ``python -m benchmarks harness`` has the seconds."""

    def calls_per_cell(values):
        def many():
            epsilons = tuple(np.round(np.linspace(0.1, 5, 50), 4).tolist())
            sweep = {"env.n_agents": tuple(range(3, 3 + values)), "agent.epsilon": epsilons}
            return small(agents=[Component("Private-UCB")], sweep=sweep, runs=1)

        filled(tmp_path / str(values), many(), values=lambda cell: {"regret": np.ones(1)}, measures={})
        profile = cProfile.Profile()
        profile.enable()
        experiment = many()
        assert len({c.key for c in experiment.cells()}) == 50 * values
        again = run(experiment, tmp_path / str(values))
        assert again.played == 0
        first = configurations(again.store, experiment, experiment.cells()[:40])
        assert len(list(summaries(first, experiment.metrics))) == 40
        profile.disable()
        return sum(entry.callcount for entry in profile.getstats()) / (50 * values)

    calls_per_cell(1)  # imports everything first
    few, lots = calls_per_cell(10), calls_per_cell(60)
    assert lots < 1.1 * few
    assert lots < 1000


@pytest.mark.weekly
def test_memory_stays_flat(tmp_path, monkeypatch):
    held, batches = [], []
    add = Store.add

    def watched(self, *args):
        add(self, *args)
        self.flush()
        batches.append(None)
        if len(batches) in (20, 60):
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])

    monkeypatch.setattr(Store, "add", watched)
    tracemalloc.start()
    try:
        env = Component("CoopNetwork-v0", horizon=10)
        played(small(runs=600, env=env, checkpoints=5, agents=[Component("UCB1")], sweep={}), tmp_path)
    finally:
        tracemalloc.stop()
    # 5 kB kept of every batch would show.
    assert held[1] - held[0] < 40 * 5_000


# -- a folder that is run again -------------------------------------------------------------------------------------


#: Half of these graphs are connected.
WIDE = small(runs=2, sweep={"env.n_agents": (3, 4), "env.graph": ("complete", "nowhere")}, agents=["UCB1", "Random"])


def test_cells_that_cannot_fit_are_skipped_when_that_is_asked_for(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere.*--skip-invalid"):
        run(WIDE, tmp_path / "o")
    assert not (tmp_path / "o").exists()
    said = []
    options = hb.RunOptions(skip_invalid=True, notify=said.append)
    outcome = run(WIDE, tmp_path / "o", options=options)
    assert (outcome.played, outcome.failures) == (8, [])
    assert {c.cell.point["env.graph"] for c in outcome.results.configurations if len(c.runs())} == {"complete"}
    assert len(said) == 4
    assert all("nowhere" in line for line in said)
    # later calls report it too, and nothing is left to play
    page = write(Store(tmp_path / "o"), tmp_path / "page.html").read_text()
    assert "8 of 8 runs" in page
    assert "Not run" in page
    assert run(WIDE, tmp_path / "o", options=options).played == 0


def test_where_nothing_can_fit_nothing_is_skipped(tmp_path):
    alone = replace(WIDE, sweep={"env.graph": ("nowhere", "neither")})
    with pytest.raises(ValueError, match="nowhere") as shown:
        run(alone, tmp_path)
    assert "skip" not in str(shown.value)
    with pytest.raises(ValueError, match="nowhere"):
        run(alone, tmp_path, options=hb.RunOptions(skip_invalid=True))


SWARM = """
import numpy as np
import hushbandits as hb

class Swarm(hb.Team):
    setting = "network"
    metrics_spec = {"swarmed": hb.Metric("share of runs that swarmed", "rate")}

    def act(self, obs):
        return np.zeros(obs.active_agents.shape, int)

    def metrics(self, env):
        return {"swarmed": np.ones(env.runs)}
"""


@pytest.mark.parametrize("agents", [("UCB1", "swarm_a:Swarm"), ("swarm_b:Swarm", "UCB1")], ids=["second", "first"])
@pytest.mark.parametrize(
    "asked", [{"metrics": ("swarmed",)}, {"figures": (Figure(y="swarmed", x="runs"),)}], ids=["metric", "figure"]
)
def test_what_one_of_two_agents_lacks_is_said_to_be_lacking_there(here, agents, asked):
    for name in agents:
        if ":" in name:
            (here / f"{name.partition(':')[0]}.py").write_text(SWARM)
    one = small(runs=2, sweep={}, agents=agents, **asked)
    with pytest.raises(ValueError, match=r"swarm_.:Swarm on .* has the metric 'swarmed', but UCB1 on .* does not"):
        run(one, here / "o")
