"""Running experiments: the same table however it is run, and nothing lost."""

from __future__ import annotations

import cProfile
import gc
import sqlite3
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from bench_helpers import played, small, table
from damage import forged

import hushbandits as hb
from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.bench.judge.line import lines
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.run import open_folder
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.run import run
from hushbandits.bench.show.report import write
from hushbandits.bench.show.tables import summaries


def test_the_table_is_the_same_for_any_batch_size_and_number_of_jobs(tmp_path):
    kinds = [{"jobs": 1}, {"jobs": 1, "batch": 1}, {"jobs": 1, "batch": 3}, {"jobs": 2, "batch": 2}, {"jobs": 2}]
    tables = {played(small(), tmp_path / str(i), **kind) for i, kind in enumerate(kinds)}
    assert len(tables) == 1


def test_a_row_is_what_evaluate_plays_with_its_seeds(tmp_path):
    experiment = small()
    with run(experiment, tmp_path, seed=5, progress=False).store as store:
        for cell in experiment.cells():
            env = hb.make_core(cell.env.name, runs=7, **cell.env.params)
            team = hb.make_team(cell.agent.name, **cell.agent.params)
            protocol = team.protocol({})
            env = hb.make_core(
                cell.env.name,
                runs=7,
                wrappers=[hb.make_wrapper(n, **p) for n, p in protocol.wrappers],
                **{**cell.env.params, **protocol.env},
            )
            regret = hb.play(env, team, cell.seeds(5, 0, 7))["regret"]
            assert np.array_equal(store.final(cell, "regret", 7), regret)


def test_no_curves_are_recorded_where_runs_end_by_themselves(tmp_path):
    experiment = Experiment(
        name="x", title="x", env=Use("DPMASE-v0", n_agents=8), agents=[Use("DP-MASE", epsilon=1.0)], runs=2
    )
    with run(experiment, tmp_path, progress=False).store as store:
        frame = store.to_frame()
    assert frame["time"].isna().all()
    assert set(frame["metric"]) >= {"rounds", "correct", "messages"}


def test_finals_close_the_curves_in_the_frame(tmp_path):
    with run(small(checkpoints=(1, 30, 60)), tmp_path, progress=False).store as store:
        frame = store.to_frame()
    regret = frame[frame["metric"] == "regret"]
    ends = regret[regret["time"].isna()].set_index(["cell", "run"])["value"]
    last = regret[regret["time"] == 60].set_index(["cell", "run"])["value"]
    assert len(ends) == 6 * 7
    assert (ends.sort_index() == last.sort_index()).all()
    assert set(frame.columns) == {"experiment", "cell", "line", "env.n_agents", "run", "metric", "time", "value"}


def test_a_complete_folder_resumes_to_nothing_and_other_specs_are_refused(tmp_path):
    experiment = small()
    with run(experiment, tmp_path, progress=False).store:
        pass
    again = run(experiment, tmp_path, progress=False)
    with again.store:
        assert (again.played, again.failures) == (0, [])
    for other, seed, message in (
        (experiment, 1, "it holds seed 0, asked for is 1"),
        (replace(experiment, runs=6), 0, "small has runs 7 there, 6 here"),
        (replace(experiment, name="b"), 0, "it holds small; asked for is b"),
    ):
        with pytest.raises(StoreError, match=message):
            run(other, tmp_path, seed=seed, progress=False)


def test_missing_runs_are_filled_in_wherever_they_are(tmp_path):
    whole = played(small(), tmp_path / "whole")
    with run(small(), tmp_path / "torn", progress=False).store:
        pass
    db = sqlite3.connect(tmp_path / "torn" / FILE)
    for name in ("runs", "finals", "curves"):
        db.execute(f"DELETE FROM {name} WHERE (cell = 2 AND run IN (0, 3, 4)) OR cell = 5")
    db.commit()
    db.close()
    again = run(small(), tmp_path / "torn", progress=False)
    with again.store as store:
        assert again.played == 3 + 7
        assert table(store) == whole


def test_experiments_that_share_a_cell_share_its_runs(tmp_path):
    many, few = small(name="many"), small(name="few", runs=3, agents=[Use("UCB1", label="alone")])
    outcome = run([few, many], tmp_path, progress=False)
    with outcome.store as store:
        assert outcome.played == 6 * 7
        (alone, *_), other = few.cells(), next(c for c in many.cells() if c.agent.name == "UCB1")
        assert np.array_equal(store.final(alone, "regret", 3), store.final(other, "regret", 7)[:3])


def test_many_cells_are_listed_and_resumed_at_a_fixed_cost_per_cell(tmp_path):
    """Counted in calls, which a busy machine does not change; ``python -m benchmarks harness`` has the seconds."""

    def calls_per_cell(values):
        def many():
            epsilons = tuple(np.round(np.linspace(0.1, 5, 50), 4).tolist())
            sweep = {"env.n_agents": tuple(range(3, 3 + values)), "agent.epsilon": epsilons}
            return small(agents=[Use("Private-UCB")], sweep=sweep, runs=1)

        with open_folder([many()], tmp_path / str(values)) as store:
            store._db.execute("PRAGMA synchronous = OFF")  # rows by hand may be lost
            for cell in store.experiments[0].cells():
                store.add(cell, [0], {"regret": np.ones(1)}, {}, np.empty(0))
        profile = cProfile.Profile()
        profile.enable()
        experiment = many()
        assert len({c.key for c in experiment.cells()}) == 50 * values
        again = run(experiment, tmp_path / str(values), progress=False)
        with again.store as store:
            assert again.played == 0
            assert len(list(summaries(lines(store, experiment, experiment.cells()[:40]), experiment.metrics))) == 40
        profile.disable()
        return sum(entry.callcount for entry in profile.getstats()) / (50 * values)

    calls_per_cell(1)  # imports what is imported once
    few, lots = calls_per_cell(10), calls_per_cell(60)
    assert lots < 1.1 * few
    assert lots < 1000


def test_memory_stays_flat(tmp_path, monkeypatch):
    held, batches = [], []
    add = Store.add

    def watched(self, *args):
        add(self, *args)
        batches.append(None)
        if len(batches) in (20, 60):
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])

    monkeypatch.setattr(Store, "add", watched)
    tracemalloc.start()
    try:
        played(
            small(runs=60, env=Use("CoopNetwork-v0", horizon=10), checkpoints=5, agents=[Use("UCB1")], sweep={}),
            tmp_path,
            batch=1,
        )
    finally:
        tracemalloc.stop()
    # 5 kB kept of every batch would show.
    assert held[1] - held[0] < 40 * 5_000


def test_what_is_only_shown_otherwise_is_the_same_run(tmp_path):
    with run(small(), tmp_path, progress=False).store as store:
        rows = table(store)
    agents = [Use("Multi-UCB", label="together"), *small().agents[1:]]
    restyled = small(title="Other", figures=(Figure(y="regret", log=""),), agents=agents, quick={"runs": 1})
    again = run(restyled, tmp_path, progress=False)
    with again.store as store:
        assert again.played == 0
        assert store.experiments == (restyled,)
        assert table(store) != rows  # the label is in the rows
    with run(small(), tmp_path, progress=False).store as store:
        assert table(store) == rows


def test_rows_of_other_source_code_are_pointed_out(tmp_path):
    experiment, told = small(sweep={}), []
    with run(experiment, tmp_path, progress=False, notify=told.append).store:
        pass
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("UPDATE sessions SET about = json_set(about, '$.sources', 'older')")
    forged(db)
    db.execute("DELETE FROM runs WHERE run = 0")
    db.commit()
    db.close()
    with run(experiment, tmp_path, progress=False, notify=told.append).store as store:
        (message,) = told
        assert "made by other versions of the code" in message
        assert "more than one version of the source code" in write(store, tmp_path / "report.html").read_text()


# -- the house --------------------------------------------------------------------------------------------------
