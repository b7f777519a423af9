"""A results folder: reading returns exactly the played runs, whatever happened to its files."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bench_helpers import filled, played, small, table

import hushbandits as hb
from hushbandits.bench.run import run
from hushbandits.bench.runner.again import play_again
from hushbandits.bench.runner.errors import StoreError
from hushbandits.bench.runner.rows import Runs, digest_of, encoded
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.claim import Claim, Value
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.cli.main import main

#: Four cells of one batch each, with curves; played in two shards, so that they are not compacted.
FEW = small(env=Component("CoopNetwork-v0", horizon=20), agents=["Multi-UCB", "UCB1"], runs=4, checkpoints=(1, 10, 20))
SHARDS = ("1/2", "2/2")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a finished folder before compaction, with a fingerprint of its content."""
    folder = tmp_path_factory.mktemp("whole")
    for shard in SHARDS:
        run(FEW, folder, shard=shard)
    return folder, table(hb.load_results(folder))


def copied(whole, folder):
    shutil.copytree(whole[0], folder)
    return sorted((folder / "rows").iterdir())


def numbers(folder):
    """Return every readable number by its place."""
    frame = hb.load_results(folder).to_frame()
    if frame.empty:
        return {}
    return {tuple(row[:-1]): row[-1] for row in frame[["cell", "run", "metric", "time", "value"]].fillna(-1).values}


# -- continuing -----------------------------------------------------------------------------------------------------


def test_a_complete_folder_resumes_to_nothing_and_keeps_its_bytes(tmp_path):
    first = run(FEW, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = run(FEW, tmp_path)
    assert (first.played, first.changed, again.played, again.changed) == (16, True, 0, False)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert len(list((tmp_path / "rows").iterdir())) == 1
    assert again.results == first.results


@pytest.mark.parametrize("shard", [None, "1/2"])
def test_more_runs_are_what_one_call_would_have_made(tmp_path, shard):
    at_once = played(FEW, tmp_path / "once", shard=shard)
    played(replace(FEW, runs=3), tmp_path / "more", shard=shard)
    assert played(FEW, tmp_path / "more", shard=shard) == at_once
    if shard is None:  # a shard's files are left as they are
        assert len(list((tmp_path / "more" / "rows").iterdir())) == 1


def test_a_longer_batch_goes_before_a_shorter_one_and_each_run_counts_once(tmp_path, whole):
    run(replace(FEW, runs=3), tmp_path / "short", shard="1/1")
    copied(whole, tmp_path / "both")
    for path in (tmp_path / "short" / "rows").iterdir():
        shutil.copy(path, tmp_path / "both" / "rows")
    assert table(hb.load_results(tmp_path / "both")) == whole[1]
    assert played(FEW, tmp_path / "both") == whole[1]
    assert run(FEW, tmp_path / "short").played == len(FEW.cells())  # the fourth run of each


def test_shards_copied_together_are_the_whole(tmp_path, whole):
    for shard in SHARDS:
        run(FEW, tmp_path / shard[0], shard=shard)
    shutil.copytree(tmp_path / "2", tmp_path / "1", dirs_exist_ok=True)
    assert table(hb.load_results(tmp_path / "1")) == whole[1]
    again = run(FEW, tmp_path / "1")
    assert (again.played, table(again.results)) == (0, whole[1])
    assert len(again.store.sessions()) == 2


def test_what_is_only_shown_otherwise_is_the_same_run(tmp_path):
    run(FEW, tmp_path)
    restyled = replace(
        FEW, title="Other", figures=(Figure(y="regret", log=""),), quick={"runs": 1},
        agents=[Component("Multi-UCB", label="together"), Component("UCB1")],
    )  # fmt: skip
    again = run(restyled, tmp_path)
    assert (again.played, again.changed, again.store.experiments) == (0, True, (restyled,))
    assert hb.load_results(tmp_path).labels == ["together", "UCB1"]


def test_another_run_is_refused_and_changes_nothing(tmp_path):
    claimed = replace(FEW, claims=[Claim("Little.", Value("regret", of="UCB1"), below=1e9)])
    run(claimed, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for other, seed, word in (
        (claimed, 1, "seed"),
        (replace(claimed, runs=5), 0, "runs"),
        (replace(claimed, name="b"), 0, "b"),
        (replace(claimed, env=Component("CoopNetwork-v0", horizon=21)), 0, "env"),
    ):
        with pytest.raises(StoreError, match=word):
            run(other, tmp_path, seed=seed)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_experiments_that_share_a_cell_share_its_runs(tmp_path):
    many, few = small(name="many"), small(name="few", runs=3, agents=[Component("UCB1", label="alone")])
    outcome = run([few, many], tmp_path)
    assert outcome.played == 6 * 7
    one, other = (outcome.results.select(label, at={"env.n_agents": 3}) for label in ("alone", "UCB1"))
    assert np.array_equal(one.final("regret"), other.final("regret")[:3])


# -- damaged and foreign files --------------------------------------------------------------------------------------


def _other_seed(path):
    """Write a valid file of the same cell whose runs have another seed."""
    cell = FEW.cells()[0]
    content = encoded([(cell.key, cell.label, Runs(np.arange(4), {"regret": np.zeros(4)}))], 1, {})
    path.unlink()
    path.with_name(f"{path.name[:20]}-{digest_of(content)}.parquet").write_bytes(content)


DAMAGES = {
    "a bit": lambda path: path.write_bytes(bytes([*path.read_bytes()[:-9], path.read_bytes()[-9] ^ 4])),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "foreign": lambda path: pd.DataFrame({"x": [1.0]}).to_parquet(path),
    "another seed": _other_seed,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_not_what_was_written_is_named_and_the_rest_is_read(tmp_path, whole, damage, capsys):
    out = tmp_path / "o"
    parts, sound = copied(whole, out), numbers(whole[0])
    DAMAGES[damage](parts[0])
    (bad,) = set((out / "rows").iterdir()) - set(parts[1:])
    found = numbers(out)
    assert found.items() < sound.items()
    assert len(found) == len(sound) * 3 / 4
    store = Store(out)
    store.rows.numbers(FEW.cells()[0].key)
    (problem,) = store.problems
    assert str(bad) in problem
    assert main(["check", str(out)]) == 1
    said = "".join(capsys.readouterr())
    assert bad.name in said.replace("\n", "")
    again = run(FEW, out, options=hb.RunOptions(notify=(shown := []).append))  # beside the file
    assert (again.played, table(again.results), len(shown)) == (4, whole[1], 1)
    bad.unlink(missing_ok=True)
    assert main(["check", str(out)]) == 0


@pytest.mark.parametrize(("time", "where"), [(np.nan, "regret is"), (10.0, "regret at time 10 is")])
def test_a_replay_names_an_altered_value_behind_a_valid_digest(tmp_path, whole, capsys, time, where):
    out = tmp_path / "o"
    copied(whole, out)
    store, cell = Store(out), FEW.cells()[1]
    assert main(["check", str(out), "--replay", "1/1", "--jobs", "1"]) == 0
    assert f"{len(numbers(out)):,} values" in capsys.readouterr().out
    runs = store.rows.runs(cell.key, 3)  # a deleted run hides no other
    times, values = runs.curves["regret"]
    column = runs.finals["regret"] if np.isnan(time) else values[:, list(times).index(time)]
    column[2] = np.nextafter(column[2], np.inf)
    content = encoded([(cell.key, cell.label, runs)], 0, dict(store.metrics_spec(cell)))
    (file,) = (out / "rows").glob(f"{cell.key[:16]}-*")
    file.unlink()
    file.with_name(f"{cell.key[:16]}-0-3-{digest_of(content)}.parquet").write_bytes(content)
    assert main(["check", str(out)]) == 0
    assert main(["check", str(out), "--replay", "1/1", "--jobs", "1"]) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert all(word in said for word in (cell.label, "run 2", where))


@pytest.mark.parametrize(("share", "batches"), [("1/2", 2), ("1/9", 1)])
def test_a_replay_plays_a_share_of_the_batches(tmp_path, whole, share, batches):
    copied(whole, tmp_path / "o")[0].unlink()
    found = play_again(Store(tmp_path / "o"), share, hb.RunOptions())
    assert (found.batches, found.runs, found.differences) == (batches, 4 * batches, [])
    for wrong in ("2/8", "1/0", "half"):
        with pytest.raises(ValueError, match="replay"):
            play_again(Store(tmp_path / "o"), wrong, hb.RunOptions())


def test_a_replay_names_what_cannot_be_played_and_damaged_files(tmp_path, capsys):
    filled(tmp_path, small(agents=["no_module:Agent", "UCB1"], runs=40, sweep={}))  # a session without numpy's version
    assert main(["check", str(tmp_path), "--replay", "1/1", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert sum("no_module" in line for line in said.err.splitlines()) == 1
    assert "2 batches, 40 runs" in said.out
    assert any("differ" in line and "numpy" in line for line in said.out.splitlines())
    for file in (files := list((tmp_path / "rows").iterdir())):
        file.write_bytes(b"")
    assert main(["check", str(tmp_path), "--replay", "1/1", "--jobs", "1"]) == 1
    assert files[0].name in capsys.readouterr().err


@pytest.mark.parametrize("flips", [100, pytest.param(3000, marks=pytest.mark.weekly)])
def test_a_flipped_bit_shows_no_wrong_number(tmp_path, whole, flips):
    out, sound, uniforms, wrong = tmp_path / "o", numbers(whole[0]), np.random.default_rng(0), []
    copied(whole, out)
    sessions = Store(out).sessions()
    paths = sorted(path for path in out.rglob("*") if path.is_file())
    refused = 0
    for _ in range(flips):
        path = paths[uniforms.integers(len(paths))]
        content = bytearray(good := path.read_bytes())
        content[uniforms.integers(len(content))] ^= 1 << uniforms.integers(8)
        path.write_bytes(content)
        try:
            found, said = numbers(out), Store(out)
            wrong += [key for key, value in found.items() if sound.get(key) != value]
            wrong += [path.name for session in said.sessions() if session not in sessions]
            refused += len(found) < len(sound) or bool(said.problems)
        except StoreError:
            refused += 1
        path.write_bytes(good)
    assert wrong == []
    assert refused == flips


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"format": 99}'])
def test_a_declaration_that_is_none_is_one_sentence(tmp_path, content, capsys):
    run(FEW, tmp_path)
    (tmp_path / "experiment.json").write_text(content)
    for command in ("report", "compare", "check"):
        assert main([command, str(tmp_path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(StoreError, match=r"experiment\.json"):
        run(FEW, tmp_path)


def test_zeros_nans_infinities_and_unordered_times_are_read_as_they_were_written(tmp_path):
    one = small(sweep={}, agents=["UCB1"])
    finals = {"a": np.array([-0.0, np.nan]), "b": np.array([np.inf, -np.inf]), "wide": np.ones((2, 3))}
    curves = {"a": np.array([[1.0, -0.0, np.nan, 1.0], [5.0, 6.0, 7.0, 5.0]])}
    store = filled(tmp_path, one, values=lambda cell: (finals, curves, np.array([30.0, 2.0, 5.0, 30.0])))
    found = store.rows.runs(one.cells()[0].key)
    assert list(found.finals) == ["a", "b"]
    assert np.array_equal(found.finals["a"], [0.0, np.nan], equal_nan=True)
    assert np.signbit(found.finals["a"][0])
    assert found.finals["b"].tolist() == [np.inf, -np.inf]
    times, values = found.curves["a"]
    assert times.tolist() == [2.0, 5.0, 30.0]
    assert np.array_equal(values, [[-0.0, np.nan, 1.0], [6.0, 7.0, 5.0]], equal_nan=True)


# -- disks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("after", [0, 3])  # the declaration and the session come first
def test_a_disk_that_takes_no_more_is_one_sentence_and_loses_nothing(tmp_path, whole, monkeypatch, code, after):
    done, flush = [], os.fsync

    def full(file):
        done.append(file)
        if len(done) > after:
            raise OSError(code, os.strerror(code))
        flush(file)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="cannot write") as error:
            run(FEW, tmp_path / "o")
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "o").rglob("*.part"))
    kept = len(numbers(tmp_path / "o")) * 16 // len(numbers(whole[0])) if after else 0
    assert (kept > 0) == (after > 0)
    again = run(FEW, tmp_path / "o")
    assert (again.played, table(again.results)) == (16 - kept, whole[1])


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="cannot write"):
        run(FEW, tmp_path / "file" / "sub")
    assert (tmp_path / "file").read_text() == "mine"
    with pytest.raises(StoreError, match="no results"):
        hb.load_results(tmp_path)


# -- content of rows ------------------------------------------------------------------------------------------------


def test_rows_are_plain_parquet_without_times_hosts_or_versions(whole):
    results = hb.load_results(whole[0])
    frame = pd.read_parquet(whole[0] / "rows")
    assert list(frame.columns) == ["cell", "label", "run", "metric", "time", "value"]
    ours = results.to_frame().sort_values(["cell", "metric", "time", "run"], ignore_index=True)
    theirs = frame.sort_values(["cell", "metric", "time", "run"], ignore_index=True)
    assert ours["value"].equals(theirs["value"])
    session = Store(whole[0]).sessions()[0]
    assert {"started", "hushbandits", "numpy", "python", "sources", "machine", "jobs"} <= set(session)
