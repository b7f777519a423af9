"""One writer at a time: the lock on a run folder, and first runs that meet."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from bench_helpers import TOML, played, small, table

from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.folder import open_folder
from hushbandits.bench.play.lock import Lock, held
from hushbandits.bench.play.store import FILE, LOCK, Store
from hushbandits.bench.run import run
from hushbandits.core.ground.files import replacing

HOLDER = """
import sys, time
from pathlib import Path
from hushbandits.bench.play.lock import Lock
lock = Lock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(float(sys.argv[2]))
lock.release()
"""


def holder(path, seconds):
    command = [sys.executable, "-c", HOLDER, str(path), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_writer_waits_and_says_for_whom(tmp_path, capsys, monkeypatch):
    with holder(tmp_path / LOCK, 600) as first:
        waited = []

        def sleep(seconds):
            waited.append(seconds)
            if len(waited) == 3:  # by now it has said so
                first.kill()
                first.wait()

        monkeypatch.setattr(time, "sleep", sleep)
        played(small(sweep={}, runs=1), tmp_path)
        assert len(waited) >= 3
        err = capsys.readouterr().err
        assert f"{tmp_path} is being written by process {first.pid} on " in err
        assert err.count("\n") == 1
    assert os.listdir(tmp_path) == [FILE]


def test_a_second_writer_gives_up_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HUSHBANDITS_WAIT", "0.2")
    with holder(tmp_path / LOCK, 60) as first:
        with pytest.raises(StoreError, match=f"is being written by process {first.pid} on .*; wait for it, or choose"):
            run(small(), tmp_path, progress=False)
        assert os.listdir(tmp_path) == [LOCK]
        first.kill()
    monkeypatch.setenv("HUSHBANDITS_WAIT", "soon")
    with pytest.raises(StoreError, match="HUSHBANDITS_WAIT='soon'"):
        run(small(), tmp_path, progress=False)


def test_who_wants_something_else_does_not_wait(tmp_path):
    played(small(), tmp_path)
    with holder(tmp_path / LOCK, 60) as first:
        with pytest.raises(StoreError, match="it holds seed 0, asked for is 1"):
            run(small(), tmp_path, seed=1, progress=False)
        first.kill()


def test_the_lock_of_a_killed_process_locks_nothing(tmp_path, capsys):
    with holder(tmp_path / LOCK, 60) as first:
        first.kill()
    assert (tmp_path / LOCK).exists()
    played(small(sweep={}, runs=1), tmp_path)
    assert os.listdir(tmp_path) == [FILE]
    assert capsys.readouterr().err == ""


def test_workers_of_a_killed_run_lock_nothing(tmp_path):
    """Processes that it started may outlive it for a while."""
    spec = tmp_path / "slow.toml"
    spec.write_text(TOML.replace("horizon = 20", "horizon = 3000").replace("runs = 3", "runs = 400"))
    command = [sys.executable, "-m", "hushbandits.cli", "run", str(spec), "--jobs", "2", "--out", str(tmp_path / "o")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "o" / FILE).exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    lock = Lock(tmp_path / "o" / LOCK, meanwhile=lambda: pytest.fail("it is held"))
    lock.release()


def test_threads_take_turns(tmp_path):
    inside, most, errors = [0], [0], []

    def work():
        try:
            for _ in range(20):
                lock = Lock(tmp_path / "lock")
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.001)
                inside[0] -= 1
                lock.release()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert most == [1]
    assert os.listdir(tmp_path) == []


def test_it_may_be_handed_back_twice_and_by_another_thread(tmp_path):
    lock = Lock(tmp_path / "lock")
    assert held(tmp_path / "lock")
    other = threading.Thread(target=lock.release)
    other.start()
    other.join()
    lock.release()
    assert not held(tmp_path / "lock")
    assert os.listdir(tmp_path) == []


def test_a_filled_or_dropped_store_lets_others_write(tmp_path):
    outcome = run(small(sweep={}, runs=1), tmp_path / "filled", progress=False)
    assert LOCK not in os.listdir(tmp_path / "filled")
    with outcome.store as store, pytest.raises(StoreError, match="cannot be opened for writing"):
        store.begin_session("now", {})
    store = open_folder([small()], tmp_path / "dropped")
    assert LOCK in os.listdir(tmp_path / "dropped")
    store._db.close()
    del store
    assert LOCK not in os.listdir(tmp_path / "dropped")


def test_a_forked_child_holds_nothing(tmp_path):
    with open_folder([small()], tmp_path):
        child = os.fork()
        if not child:
            os._exit(held(tmp_path / LOCK))
        assert os.waitpid(child, 0)[1] == 0
        assert held(tmp_path / LOCK)


def test_where_files_cannot_be_locked_is_one_sentence(tmp_path, monkeypatch):
    def refuse(fd, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(StoreError, match=r"cannot be locked \(no locks available\); choose an --out on another disk"):
        run(small(), tmp_path / "a" / "b", progress=False)
    with pytest.raises(StoreError, match="cannot be locked"):
        run(small(), tmp_path, progress=False)


def test_a_failed_first_run_removes_only_what_it_made(tmp_path, monkeypatch):
    def full(*_):
        raise StoreError("no room")

    (tmp_path / "theirs").mkdir()
    monkeypatch.setattr("hushbandits.bench.play.schema.create", full)
    with pytest.raises(StoreError, match="no room"):
        run(small(), tmp_path / "theirs" / "mine" / "deep", progress=False)
    assert os.listdir(tmp_path / "theirs") == []
    (tmp_path / "theirs" / FILE).touch()  # an empty file is as good as none, but it is not ours
    with pytest.raises(StoreError, match="no room"):
        run(small(), tmp_path / "theirs", progress=False)
    assert os.listdir(tmp_path / "theirs") == [FILE]


def test_the_loser_of_two_first_runs_leaves_the_winners_store(tmp_path, monkeypatch):
    """The file comes into being after the loser has looked, as when both start at once."""
    winner = played(small(), tmp_path / "o")
    hidden = tmp_path / "hidden"
    (tmp_path / "o" / FILE).rename(hidden)
    from hushbandits.bench.play import folder

    check = folder.check

    def meanwhile(experiments, **options):
        check(experiments, **options)
        hidden.rename(tmp_path / "o" / FILE)

    monkeypatch.setattr(folder, "check", meanwhile)
    with pytest.raises(StoreError, match="it holds seed 0, asked for is 1"):
        run(small(), tmp_path / "o", seed=1, progress=False)
    with Store(tmp_path / "o" / FILE, readonly=True) as store:
        assert table(store) == winner


def test_parts_of_files_never_collide(tmp_path):
    page = tmp_path / "page"
    with replacing(page) as one, replacing(page) as two:
        assert one != two
        one.write("one")
        two.write("two")
    assert page.read_text() == "one"
    with contextlib.suppress(ZeroDivisionError), replacing(page) as part:
        part.write("all")
        print(1 / 0)
    assert os.listdir(tmp_path) == ["page"]
    assert page.read_text() == "one"
