"""Shards of one run, and folders put together: the table of an undisturbed run, or a sentence."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time

import numpy as np
import pytest
from bench_helpers import small, table
from damage import forged
from hypothesis import given
from hypothesis import strategies as st

from hushbandits.bench.declare.spec import Use
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.folder import open_folder
from hushbandits.bench.play.merge import merge
from hushbandits.bench.play.plan import parse_shard, part
from hushbandits.bench.play.store import FILE, LOCK, Store
from hushbandits.bench.run import run
from hushbandits.bench.show.export import export
from hushbandits.cli.main import main

FEW = small(env=Use("CoopNetwork-v0", horizon=8), runs=5, agents=[Use("UCB1"), Use("Multi-UCB")])


@given(st.integers(1, 40), st.integers(0, 20), st.integers(1, 12))
def test_shards_are_disjoint_and_cover_everything(runs, cells, n):
    loads = [0] * n
    for cell in range(cells):
        parts = [list(part(runs, cell, (i, n))) for i in range(1, n + 1)]
        assert sorted(r for p in parts for r in p) == list(range(runs))
        loads = [load + len(p) for load, p in zip(loads, parts, strict=True)]
    assert max(loads) - min(loads) <= runs  # not more than a cell apart


@pytest.mark.parametrize(
    "text", ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3", "²/3", "1 /2", "1/" + 400 * "9"]
)
def test_what_is_no_shard_is_one_sentence(tmp_path, text):
    with pytest.raises(ValueError, match=r"shard=.*"):
        parse_shard(text)
    with pytest.raises(ValueError, match="must read i/n"):
        run(FEW, tmp_path / "x", shard=text, progress=False)
    assert not (tmp_path / "x").exists()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    run(FEW, folder / "all", progress=False).store.close()
    for i in (1, 2, 3):
        run(FEW, folder / str(i), shard=f"{i}/3", progress=False).store.close()
    return folder


def csv(store, path):
    export(store, "csv", path)
    return path.read_bytes()


def test_merged_shards_are_the_table_of_one_run_to_the_byte(shards, tmp_path):
    with Store(shards / "all" / FILE, readonly=True) as store:
        alone, rows = csv(store, tmp_path / "alone.csv"), table(store)
    for order in ("123", "312", "11233"):
        with merge([shards / i for i in order], tmp_path / order) as store:
            assert (csv(store, tmp_path / "merged.csv"), table(store)) == (alone, rows)
            assert len(store.sessions()) == 3
            assert {s["shard"] for _, s in store.sessions()} == {"1/3", "2/3", "3/3"}
            list(store.verify())
        before = (tmp_path / order / FILE).read_bytes()
        with merge([shards / "2", tmp_path / order], tmp_path / order) as store:  # again
            assert table(store) == rows
        assert os.listdir(tmp_path / order) == [FILE]
        assert len(before) == len((tmp_path / order / FILE).read_bytes())
    again = run(FEW, tmp_path / "123", progress=False)
    with again.store:
        assert again.played == 0


def test_what_is_missing_is_played_after_a_merge(shards, tmp_path):
    merge([shards / "1", shards / "3"], tmp_path / "some").close()
    outcome = run(FEW, tmp_path / "some", progress=False)
    with outcome.store as store, Store(shards / "all" / FILE, readonly=True) as whole:
        assert 0 < outcome.played < 20
        assert table(store) == table(whole)


def spoil(folder, sql):
    with sqlite3.connect(folder / FILE) as db:
        db.execute(sql)
        if "sessions" in sql or "failures" in sql:  # what follows is about something else than their checksums
            forged(db)
    db.close()


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("UPDATE finals SET value = value + 1 WHERE rowid = 0 OR run = 0", "do not match their checksums"),
        ("DELETE FROM curves WHERE run = 0", "do not match their checksums"),
        ("UPDATE spec SET value = '1' WHERE name = 'seed'", "does not match its checksum"),
    ],
)
def test_damaged_folders_are_refused_and_nothing_is_written(shards, tmp_path, sql, message):
    shutil.copytree(shards / "all", tmp_path / "bad")
    spoil(tmp_path / "bad", sql.replace("rowid = 0 OR ", ""))
    with pytest.raises(StoreError, match=message):
        merge([shards / "1", tmp_path / "bad"], tmp_path / "new" / "deep")
    assert os.listdir(tmp_path) == ["bad"]


def test_other_runs_and_other_values_are_refused(shards, tmp_path, capsys):
    run(FEW, tmp_path / "seed", seed=1, progress=False).store.close()
    run(small(runs=1), tmp_path / "spec", progress=False).store.close()
    for other in ("seed", "spec"):
        with pytest.raises(StoreError, match=f"{other} holds another run than .*/1: "):
            merge([shards / "1", tmp_path / other], tmp_path / "new")
        with pytest.raises(StoreError, match="holds another run than"):
            merge([shards / "1"], tmp_path / other)
    # The same cells, as another version of the code would have played them.
    with Store(shards / "all" / FILE, readonly=True) as store:
        cell = FEW.cells()[0]
        finals, curves = store.values(cell.key, {0})[0]
    with pytest.raises(StoreError, match="there are no results"):
        merge([tmp_path / "nowhere"], tmp_path / "new")
    with open_folder([FEW], tmp_path / "edited") as store:
        ticks = [t for t, _ in next(iter(curves.values()))]
        store.add(
            cell, [0], {m: np.array([v + 1]) for m, v in finals.items()},
            {m: np.array([[v for _, v in points]]) for m, points in curves.items()}, np.array(ticks),
        )  # fmt: skip
    with pytest.raises(StoreError, match=r"run 0 of UCB1, agents = 3 has other values in .*edited than in the folders"):
        merge([shards / "1", shards / "2", shards / "3", tmp_path / "edited"], tmp_path / "new")
    assert not (tmp_path / "new").exists()
    before = (tmp_path / "edited" / FILE).read_bytes()
    assert main(["merge", str(shards / "all"), "--out", str(tmp_path / "edited")]) == 2
    assert "has other values" in capsys.readouterr().err
    assert (tmp_path / "edited" / FILE).read_bytes() == before
    with pytest.raises(StoreError, match="name at least one"):
        merge([], tmp_path / "new")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot write to .*: not a directory"):
        merge([shards / "1"], tmp_path / "file" / "sub")


def test_own_code_that_differs_between_folders_is_not_mixed_unknowingly(shards, tmp_path):
    for i in "12":
        shutil.copytree(shards / i, tmp_path / i)
        spoil(
            tmp_path / i, f"""UPDATE sessions SET about = json_set(about, '$.own', json('{{"mine:Agent": "{i}"}}'))"""
        )
    with pytest.raises(StoreError, match=r"'mine:Agent' differs between .*1 and .*2; mix their rows knowingly"):
        merge([tmp_path / "1", tmp_path / "2"], tmp_path / "new")
    merge([tmp_path / "1", tmp_path / "2"], tmp_path / "new", accept_edits=True).close()


def test_failures_come_along_unless_another_folder_has_the_runs(shards, tmp_path):
    shutil.copytree(shards / "1", tmp_path / "1")
    with Store(tmp_path / "1" / FILE) as store:
        done, cells = store.done(), FEW.cells()
        there = [(cell, run) for cell in cells for run in range(5) if run not in done[cell.key]][:2]
        for cell, number in there:
            store.fail(cell, [number], "boom")
    with merge([tmp_path / "1"], tmp_path / "new") as store:
        assert len(store.failures()) == 2
    with merge([shards / "2", shards / "3"], tmp_path / "new") as store:
        assert store.failures() == []


def test_kills_at_any_moment_leave_a_folder_that_merges_again(shards, tmp_path):
    with Store(shards / "all" / FILE, readonly=True) as store:
        rows = table(store)
    for after in (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05):
        child = os.fork()
        if not child:
            merge([shards / i for i in "123"], tmp_path / "out").close()
            os._exit(0)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with merge([shards / i for i in "123"], tmp_path / "out") as store:
        assert table(store) == rows
    assert LOCK not in os.listdir(tmp_path / "out")


def test_the_commands_shards_lie_apart_and_merge(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(
        'title = "Tiny"\nruns = 2\nenv = { use = "CoopNetwork-v0", horizon = 5 }\nagents = [{ use = "UCB1" }]\n'
    )
    for i in (1, 2):
        assert main(["run", "tiny.toml", "--shard", f"{i}/2", "--jobs", "1"]) == 0
        assert f"shard {i}/2 is done; hushbandits merge" in " ".join(capsys.readouterr().err.split())
    assert sorted(os.listdir("runs")) == ["tiny-1of2", "tiny-2of2"]
    assert main(["merge", "runs/tiny-1of2", "runs/tiny-2of2", "--out", "runs/tiny"]) == 0
    assert "runs/tiny/report.html" in capsys.readouterr().out
    assert main(["run", "tiny.toml", "--shard", "3/2"]) == 2
    assert "shard='3/2' must read i/n" in capsys.readouterr().err
