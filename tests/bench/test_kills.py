"""After any kind of kill, the same command gives the same table, and leaves no processes or partial files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from bench_helpers import played, table
from children import started

import hushbandits as hb
from hushbandits.bench.spec.catalog import read_toml

pytestmark = [
    pytest.mark.usefixtures("ctrl_c"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc"),
]

#: Sixteen batches of about 0.02 seconds.
SPEC = """
title = "Slow"
runs = 80
env = { type = "CoopNetwork-v0", horizon = 2000, n_agents = 8 }
agents = ["Multi-UCB", "UCB1"]
checkpoints = 5
"""
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "slow.toml"
    path.write_text(SPEC)
    return path, played(read_toml(path)[0], path.parent / "alone")


def command(spec, *args, **kwargs):
    loky = ["--backend", "loky"] if "2" in args else []  # without it, the command itself plays so little
    whole = [sys.executable, "-m", "hushbandits", "run", str(spec), "--out", "o", *loky, *args]
    return started(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def descendants(pid):
    """Return all descendants of a process, from the system's table."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, ahead = set(), [pid]
    while ahead:
        above = ahead.pop()
        new = {child for child, parent in parents.items() if parent == above}
        found |= new
        ahead += new
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, seconds=60):
    """Return whether all of these processes end in time."""
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, pids))


@pytest.mark.parametrize("kills", [1, pytest.param(60, marks=pytest.mark.weekly)])
def test_kills_at_random_moments_leave_the_table_as_it_was(tmp_path, spec, kills):
    path, whole = spec
    clock, at_work = np.random.default_rng(1), 0
    for i in range(kills):
        with command(path, "--jobs", "2", cwd=tmp_path) as process:
            deadline, rows = time.monotonic() + 300, tmp_path / "o" / "rows"
            before = set(rows.glob("*")) if rows.exists() else set()
            while i % 5 < 4 and process.poll() is None and not set(rows.glob("*")) - before:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(clock.uniform(0, 0.2 if i % 5 < 4 else 3))
            below = descendants(process.pid)
            at_work += bool(below)
            process.send_signal(SIGNALS[i % 3])
            _, err = process.communicate(timeout=300)
        if SIGNALS[i % 3] == signal.SIGINT and below and process.returncode:
            assert process.returncode == 130, err
            assert err.count("\n") == 1
        assert gone(below)
    assert at_work
    again = hb.run(read_toml(path), tmp_path / "o")
    assert table(again.results) == whole
    assert not again.failures


def test_ctrl_c_from_a_terminal_is_one_line_and_no_worker_speaks(tmp_path, spec):
    """A terminal sends the signal to all processes of the command, also to those that are starting."""
    with command(spec[0], "--jobs", "2", "--set", "env.horizon=20000", cwd=tmp_path) as process:
        deadline = time.monotonic() + 300
        while not (tmp_path / "o" / "rows").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        below = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err.count("\n")) == (130, 1), err
    assert gone(below)


@pytest.mark.weekly
def test_three_writers_of_one_folder_end_with_one_table(tmp_path, spec):
    path, whole = spec
    commands = [command(path, "--jobs", "1", cwd=tmp_path) for _ in range(3)]
    processes = [one.__enter__() for one in commands]
    try:
        said = [process.communicate(timeout=500) for process in processes]
    finally:
        for one in commands:
            one.__exit__(None, None, None)
    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert table(hb.load_results(tmp_path / "o")) == whole
    again = hb.run(read_toml(path), tmp_path / "o")
    assert (again.played, table(again.results)) == (0, whole)
