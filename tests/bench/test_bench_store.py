"""The store, and what goes wrong with it: broken files, full disks, kills, crashes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from bench_helpers import TOML, played, small, table

import hushbandits as hb
from hushbandits.bench.declare.spec import Use
from hushbandits.bench.declare.toml import read_toml
from hushbandits.bench.play.errors import RunError, StoreError
from hushbandits.bench.play.run import open_folder
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.run import run

KILLER = """
import os, random, signal, sqlite3, sys, time
from pathlib import Path
from hushbandits.bench.declare.toml import read_toml
from hushbandits.bench.run import run

spec, out = read_toml(Path(sys.argv[1])), Path(sys.argv[2])
clock = random.Random(int(sys.argv[3]))
run([e.overriding({"runs": 1}) for e in spec], out.with_name("warm"), progress=False)  # compile before the clock runs
longest, before = 0.1, 0
for _ in range(20):
    child = os.fork()
    if not child:
        run(spec, out, batch=1, progress=False)
        os._exit(0)
    time.sleep(clock.uniform(0, longest))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    file = out / "results.sqlite"
    try:
        now = sqlite3.connect(file).execute("SELECT count(*) FROM runs").fetchone()[0] if file.exists() else 0
    except sqlite3.OperationalError:
        now = 0  # killed before there was a table
    print(now)
    longest *= 1.5 if now == before else 0.7 if now > before + 20 else 1  # as fast as this machine is today
    before = now
"""


def test_twenty_kills_at_random_moments_leave_the_identical_table(tmp_path):
    spec = tmp_path / "killed.toml"
    spec.write_text(TOML.replace("horizon = 20", "horizon = 150").replace("runs = 3", "runs = 60"))
    command = [sys.executable, "-c", KILLER, str(spec), str(tmp_path / "killed"), "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    counts = [int(line) for line in done.stdout.split()]
    assert len(counts) == 20
    assert counts == sorted(counts), "a committed run was lost"
    assert len({c for c in counts if 0 < c < 240}) >= 5, f"too few kills struck a run at work: {counts}"
    again = run(read_toml(spec), tmp_path / "killed", progress=False)
    with again.store as store:
        assert again.played == 240 - counts[-1]
        killed = table(store)
    assert killed == played(read_toml(spec), tmp_path / "undisturbed")


class Fragile(hb.Team):
    """Fails in runs of three agents, by a bug of its own."""

    setting = "network"

    def act(self, obs):
        if obs.who.shape[1] == 3 and obs.t[0] == 5:
            raise ZeroDivisionError("the third agent again")
        return np.zeros(obs.who.shape, int)


def test_a_crash_in_one_cell_is_reported_and_the_rest_go_on(tmp_path):
    hb.register_agent("Fragile", Fragile) if "Fragile" not in hb.list_agents() else None
    experiment = small(agents=[Use("Fragile"), Use("UCB1")])
    outcome = run(experiment, tmp_path, seed=4, progress=False)
    with outcome.store as store:
        (failure,) = outcome.failures
        assert (failure.cell.label, failure.runs, failure.seed) == ("Fragile, agents = 3", tuple(range(7)), 4)
        assert "ZeroDivisionError: the third agent again" in str(failure)
        assert "'n_agents': 3" in str(failure)
        assert outcome.played == 21
        ((key, first, runs, error),) = store.failures()
        assert (key, first, runs) == (failure.cell.key, 0, 7)
        assert "the third agent again" in error
    again = run(experiment, tmp_path, seed=4, progress=False)
    with again.store:
        assert (again.played, len(again.failures)) == (0, 1)


def test_a_dead_worker_is_one_sentence_and_the_rest_is_kept(tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text(
        "import os, hushbandits as hb\n"
        "class Deadly(hb.Team):\n"
        "    setting = 'network'\n"
        "    def act(self, obs):\n"
        "        os._exit(9)\n"
    )
    monkeypatch.chdir(tmp_path)
    experiment = small(agents=[Use("UCB1"), Use("deadly:Deadly")], sweep={"env.n_agents": (3,)})
    with pytest.raises(RunError, match="a worker process died"):
        run(experiment, tmp_path / "out", jobs=2, progress=False)
    with Store(tmp_path / "out" / FILE) as store:
        assert not any(store.done()[c.key] for c in experiment.cells() if c.line == "Deadly")


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match=r"cannot write to .*file/sub: not a directory"):
        run(small(), tmp_path / "file" / "sub", progress=False)
    assert (tmp_path / "file").read_text() == "not a folder"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path):
    experiment = small()
    cell = experiment.cells()[0]
    with open_folder([experiment], tmp_path) as store:
        store.add(cell, [0], {"regret": np.ones(1)}, {}, np.array([]))
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        big = {"regret": np.ones((1, 5000))}
        with pytest.raises(StoreError, match="no room is left to write"):
            store.add(cell, [1], {"regret": np.ones(1)}, big, np.arange(5000))
        assert store.done()[cell.key] == {0}
    with Store(tmp_path / FILE, readonly=True) as store:
        assert store.final(cell, "regret", 7).tolist() == [1.0]
        assert store.curve(cell, "regret", 7)[0].size == 0


def test_a_locked_store_is_one_sentence(tmp_path):
    experiment = small()
    cell = experiment.cells()[0]
    open_folder([experiment], tmp_path).close()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="is locked by another program"):
        Store(tmp_path / FILE, timeout=0.01)
    other.execute("ROLLBACK")
    with Store(tmp_path / FILE, timeout=0.01) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is locked by another program"):
            store.add(cell, [0], {"regret": np.ones(1)}, {}, np.array([]))
        other.execute("ROLLBACK")
        store.add(cell, [0], {"regret": np.ones(1)}, {}, np.array([]))
        assert store.done()[cell.key] == {0}
    other.close()


@pytest.mark.parametrize("damage", ["not SQLite", "torn"])
def test_a_corrupted_store_is_one_sentence(tmp_path, damage):
    experiment = small()
    with run(experiment, tmp_path, progress=False).store:
        pass
    file = tmp_path / FILE
    if damage == "not SQLite":
        file.write_bytes(b"this is no database, whatever its name says" * 100)
    else:
        data = bytearray(file.read_bytes())
        data[4096:] = b"\xff" * (len(data) - 4096)
        file.write_bytes(data)
    before = file.read_bytes()
    with pytest.raises(StoreError, match="is corrupted"):
        run(experiment, tmp_path, progress=False)
    assert file.read_bytes() == before


def test_a_store_of_a_newer_version_is_one_sentence(tmp_path):
    experiment = small()
    open_folder([experiment], tmp_path).close()
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="written by a newer hushbandits"):
        run(experiment, tmp_path, progress=False)


def test_another_programs_database_is_left_alone(tmp_path):
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("CREATE TABLE theirs (x)")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="is no results file of hushbandits"):
        run(small(), tmp_path, progress=False)


def test_no_results_is_one_sentence(tmp_path):
    with pytest.raises(StoreError, match="there are no results in"):
        Store(tmp_path / FILE, readonly=True)


def test_rows_hold_no_times_hosts_or_versions(tmp_path):
    with run(small(), tmp_path, progress=False).store as store:
        ((started, about),) = store.sessions()
    assert started.startswith("20")
    assert {"hushbandits", "numpy", "python", "sources", "machine", "jobs"} <= set(about)
    db = sqlite3.connect(tmp_path / FILE)
    columns = {t: [row[1] for row in db.execute(f"PRAGMA table_info({t})")] for t in ("runs", "finals", "curves")}
    db.close()
    assert columns == {
        "runs": ["cell", "run"],
        "finals": ["cell", "metric", "run", "value"],
        "curves": ["cell", "metric", "run", "time", "value"],
    }
