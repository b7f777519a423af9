"""What is read is what was written: checksums, older and newer folders, `check`."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from bench_helpers import played, small, table
from damage import everything, forged

from hushbandits.bench.declare.spec import Figure, Use
from hushbandits.bench.judge.line import lines
from hushbandits.bench.play.errors import DamagedError, StoreError
from hushbandits.bench.play.integrity import checksum
from hushbandits.bench.play.run import open_folder
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.run import run
from hushbandits.bench.show.report import write
from hushbandits.bench.show.tables import summaries
from hushbandits.cli.main import main


def change(folder, *statements):
    db = sqlite3.connect(folder / FILE)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


CHANGES = {
    "a value": "UPDATE finals SET value = value + 1e-9 WHERE cell = 3 AND run = 2 AND metric = 'regret'",
    "a value gone": "UPDATE finals SET value = NULL WHERE cell = 3 AND run = 2 AND metric = 'regret'",
    "a value as text": "UPDATE finals SET value = 'x' WHERE cell = 3 AND run = 2 AND metric = 'regret'",
    "a point": "UPDATE curves SET value = 0 WHERE cell = 2 AND run = 1 AND metric = 'regret' AND time = 60",
    "a time": "UPDATE curves SET time = 59 WHERE cell = 2 AND run = 1 AND metric = 'regret' AND time = 60",
    "a row lost": "DELETE FROM finals WHERE cell = 1 AND run = 6 AND metric = 'regret'",
    "a curve lost": "DELETE FROM curves WHERE cell = 1 AND run = 6 AND metric = 'regret'",
    "a row more": "INSERT INTO finals VALUES (1, 'regret', 5.5, 1.0)",
    "a metric more": "INSERT INTO finals VALUES (1, 'regrex', 5, 1.0)",
    "a metric renamed": "UPDATE finals SET metric = 'regrex' WHERE metric = 'regret'",
    "two runs exchanged": (
        "UPDATE finals SET value = (SELECT f.value FROM finals f WHERE f.cell = 1 AND f.metric = finals.metric "
        "AND f.run = 1 - finals.run) WHERE cell = 1 AND metric = 'regret' AND run IN (0, 1)"
    ),
    "a run renamed": "UPDATE runs SET run = 99 WHERE cell = 1 AND run = 6",
    "a run of nowhere": "INSERT INTO runs VALUES (77, 0)",
    "a sum": "UPDATE sums SET final = final + 1 WHERE cell = 4 AND run = 0 AND metric = 'regret'",
    "a run's sum lost": "DELETE FROM sums WHERE cell = 4 AND run = 0 AND metric = ''",
    "the seed": "UPDATE spec SET value = '1' WHERE name = 'seed'",
    "a label": "UPDATE spec SET value = replace(value, 'Small', 'Smoll') WHERE name = 'experiments'",
    "the spec's sum": "DELETE FROM spec WHERE name = 'checksum'",
    "no seed": "DELETE FROM spec WHERE name = 'seed'",
    "a cell's number": "UPDATE cells SET id = 66 WHERE id = 2",
    "a cell lost": "DELETE FROM cells WHERE id = 2",
    "what was promised": "UPDATE sessions SET about = replace(about, 'no ε', 'ε = 8.666')",
    "when": "UPDATE sessions SET started = '1999'",
    "a session lost": "DELETE FROM sessions",
    "a session more": "INSERT INTO sessions (started, about) VALUES ('1999', '{}')",
    "a failure": "INSERT INTO failures VALUES (1, 0, 1, 'Traceback')",
    "the sum of sessions": "UPDATE spec SET value = '7' WHERE name = 'checksum of sessions'",
    "the sum of failures lost": "DELETE FROM spec WHERE name = 'checksum of failures'",
    "a view": (
        "DROP TABLE curves",
        "CREATE VIEW curves AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT 1 AS cell, 'regret' AS metric, x AS run, 1.0 AS time, 1.0 AS value FROM n",
    ),
    "a column": "ALTER TABLE finals ADD COLUMN more",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
    "an index": "CREATE INDEX i ON finals (value)",
    "no version": "PRAGMA user_version = 0",
    "a table lost": "DROP TABLE curves",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    played(small(), folder)
    return (folder / FILE).read_bytes()


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_never_reaches_a_table(tmp_path, whole, what, capsys):
    """Changes that SQLite itself cannot see."""
    (tmp_path / FILE).write_bytes(whole)
    assert main(["check", str(tmp_path)]) == 0
    change(tmp_path, *([CHANGES[what]] if isinstance(CHANGES[what], str) else CHANGES[what]))
    with pytest.raises(StoreError, match="is corrupted"):
        everything(tmp_path / FILE)
    assert main(["check", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "is corrupted (" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("what", ["a value", "a row lost", "a metric renamed", "two runs exchanged"])
def test_no_table_claim_page_or_export_shows_a_changed_row(tmp_path, whole, what):
    (tmp_path / FILE).write_bytes(whole)
    change(tmp_path, CHANGES[what])
    with Store(tmp_path / FILE, readonly=True) as store:
        for look in (
            lambda: list(summaries(lines(store, store.experiments[0]), store.experiments[0].metrics)),
            lambda: write(store, tmp_path / "page.html"),
            lambda: list(store.rows()),
        ):
            with pytest.raises(DamagedError, match="is corrupted"):
                look()
    assert os.listdir(tmp_path) == [FILE]


def test_checksums_do_not_depend_on_how_runs_were_batched(tmp_path):
    def sums(name, **kwargs):
        played(small(), tmp_path / name, **kwargs)
        db = sqlite3.connect(tmp_path / name / FILE)
        rows = db.execute("SELECT * FROM sums").fetchall()
        db.close()
        return rows

    assert sums("a") == sums("b", batch=2) == sums("c", jobs=2, batch=3) != []


def test_zeros_nans_infinities_and_unordered_times_are_read_as_they_were_written(tmp_path):
    experiment = small(sweep={}, agents=[Use("UCB1")])
    (cell,) = experiment.cells()
    finals = {"a": np.array([-0.0, np.nan]), "b": np.array([np.inf, -np.inf]), "wide": np.ones((2, 3))}
    curves = {"a": np.array([[1.0, -0.0, np.nan, 3.0], [5.0, 6.0, 7.0, 8.0]])}
    with open_folder([experiment], tmp_path) as store:
        store.add(cell, [3, 1], finals, curves, np.array([30.0, 2.0, 5.0, 30.0]))
        store.add(cell, [1, 2], finals, curves, np.array([30.0, 2.0, 5.0, 30.0]))  # run 1 stays as it is
        assert store.metrics(cell) == ["a", "b"]
        assert store.present(cell, 9).tolist() == [1, 2, 3]
        assert store.final(cell, "b", 9).tolist() == [-np.inf, -np.inf, np.inf]
        times, values = store.curve(cell, "a", 9)
        assert times.tolist() == [2.0, 5.0, 30.0]
        assert np.array_equal(values[2], [0.0, np.nan, 1.0], equal_nan=True)
        assert len(list(store.verify())) == 1


def test_a_checksum_tells_what_it_is_of():
    own = checksum("key", "regret", 1, [(None, 2.0)])
    others = [
        ("kez", "regret", 1, 2.0),
        ("key", "regrex", 1, 2.0),
        ("key", "regret", 2, 2.0),
        ("key", "regret", 1, 2.1),
    ]
    assert own not in {checksum(*head, [(None, value)]) for *head, value in others}
    assert own not in {checksum("key", "regret", 1, points) for points in ([(0.0, 2.0)], [], [(None, None)])}


# -- older and newer folders ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_folder_from_before_the_first_release_is_refused(tmp_path, whole, version, capsys):
    (tmp_path / FILE).write_bytes(whole)
    change(tmp_path, f"PRAGMA user_version = {version}")
    said = f"has store version {version}, which was never released, and this hushbandits reads version 3; play it again"
    with pytest.raises(StoreError, match=said):
        run(small(), tmp_path, progress=False)
    for command in ("report", "export", "check"):
        assert main([command, str(tmp_path)]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == 1
    assert os.listdir(tmp_path) == [FILE]


@pytest.mark.parametrize("checkpoints", [[], (), 0])
def test_no_checkpoints_are_no_curves(tmp_path, checkpoints):
    experiment = small(checkpoints=checkpoints, runs=2, figures=(Figure(y="regret"), Figure(y="regret", x="runs")))
    first = played(experiment, tmp_path)
    again = run(experiment, tmp_path, progress=False)
    with again.store as store:
        assert again.played == 0
        assert table(store) == first
        assert store.to_frame()["time"].isna().all()
        assert "Results" in write(store, tmp_path / "page.html").read_text()
    assert main(["report", str(tmp_path)]) == 0


# -- check ------------------------------------------------------------------------------------------------------------


def test_check_says_what_is_there(tmp_path, capsys):
    played(small(), tmp_path)
    change(
        tmp_path,
        "DELETE FROM runs WHERE cell = 1 AND run = 0",
        "DELETE FROM sums WHERE cell = 1 AND run = 0",
        "DELETE FROM finals WHERE cell = 1 AND run = 0",
        "DELETE FROM curves WHERE cell = 1 AND run = 0",
        "INSERT INTO failures VALUES (1, 0, 1, 'Traceback\n  …\nZeroDivisionError: no')",
    )
    with sqlite3.connect(tmp_path / FILE) as db:
        forged(db)
    db.close()
    before = (tmp_path / FILE).read_bytes()
    assert main(["check", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "seed 0, store version 3" in out
    assert "small: 6 cells, 41 of 42 runs, 1 missing" in out
    assert "failed: Multi-UCB, agents = 3: runs 0–0: ZeroDivisionError: no" in out
    assert "session of 20" in out
    assert "of 41 runs match their checksums" in out
    assert (tmp_path / FILE).read_bytes() == before
    assert os.listdir(tmp_path) == [FILE]
    assert main(["check", str(tmp_path / "nowhere")]) == 2
    assert "there are no results in" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    assert "hushbandits check runs/quickstart" in capsys.readouterr().out


def test_check_runs_nothing_that_a_store_names(tmp_path):
    (tmp_path / "evil.py").write_text(
        "open('ran', 'w')\nclass Evil:\n    blind = True\n"
        "    def __init__(self, m, rng): pass\n    def act(self, t): return 0\n"
    )
    code = (
        "import sys; from hushbandits.bench.declare.spec import *; from hushbandits.bench.run import run\n"
        "run(Experiment(name='x', title='x', env=Use('CoopNetwork-v0', n_agents=2, horizon=5), runs=1,"
        " agents=[Use('evil:Evil')]), 'o', progress=False).store.close()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    (tmp_path / "ran").unlink()
    command = [sys.executable, "-m", "hushbandits.cli", "check", "o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "match their checksums" in done.stdout
    assert not (tmp_path / "ran").exists()
