"""Every backend: the same table to the byte, sentences for what is missing, and nothing left behind by a kill."""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import loky
import numpy as np
import pytest
from bench_helpers import small

import hushbandits as hb
from hushbandits.bench.declare.spec import Use
from hushbandits.bench.declare.toml import read_toml
from hushbandits.bench.play import player
from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.players import BACKENDS
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.run import run
from hushbandits.bench.show.export import export
from hushbandits.cli.main import main
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS

#: Of each backend: where it is, here.
HERE = {"serial": None, "processes": None, "dask": None, "slurm": "local"}
FEW = small(env=Use("CoopNetwork-v0", horizon=8), runs=4, agents=[Use("UCB1"), Use("Private-UCB")])


def marked(*backends):
    found = []
    for name in backends:
        package = BACKENDS[name]
        lacking = bool(package) and importlib.util.find_spec(package) is None
        marks = [pytest.mark.skipif(lacking, reason=f"needs {package}")] if package else []
        found.append(pytest.param(name, marks=[*marks, *([getattr(pytest.mark, name)] if package else [])]))
    return found


@pytest.fixture(autouse=True)
def nothing_of_other_tests(monkeypatch):
    """What other tests registered would travel to the workers, which cannot import where it is from."""
    for table in (ENVS, AGENTS, WRAPPERS):
        monkeypatch.setattr(table, "entries", {name: table[name] for name in table.shipped})


def csv(store, path):
    export(store, "csv", path)
    return path.read_bytes()


@pytest.mark.filterwarnings("default")  # the packages' own
@pytest.mark.parametrize("backend", marked(*HERE))
def test_the_same_table_to_the_byte(tmp_path, backend):
    with run(FEW, tmp_path / "here", progress=False).store as store:
        alone = csv(store, tmp_path / "here.csv")
    outcome = run(FEW, tmp_path / "there", jobs=2, batch=2, backend=backend, address=HERE[backend], progress=False)
    with outcome.store as store:
        assert outcome.failures == []
        assert csv(store, tmp_path / "there.csv") == alone
        assert store.sessions()[0][1]["backend"] == backend
    assert os.listdir(tmp_path / "there") == [FILE]


@pytest.mark.filterwarnings("default")
@pytest.mark.dask
def test_a_dask_cluster_that_is_there_plays_for_both_and_stays(monkeypatch):
    distributed = pytest.importorskip("distributed")
    local = {"n_workers": 1, "threads_per_worker": 2, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        before = client.run(os.getpid)
        given = {"runs": 4, "env": {"n_agents": 3, "horizon": 8}}
        alone = hb.evaluate("CoopNetwork-v0", "UCB1", **given).final("regret")
        for jobs in (-1, 1):
            there = hb.evaluate(
                "CoopNetwork-v0", "UCB1", jobs=jobs, backend="dask", address=cluster.scheduler_address, **given
            )
            np.testing.assert_array_equal(there.final("regret"), alone)
        assert client.run(os.getpid) == before  # not ours to end
    monkeypatch.setattr("hushbandits.bench.play.clusters._KNOCK", 0.5)
    with pytest.raises(RunError, match=r"no Dask scheduler answers at address='tcp://127.0.0.1:1'"):
        hb.evaluate("CoopNetwork-v0", "UCB1", backend="dask", address="tcp://127.0.0.1:1", **given)


@contextlib.contextmanager
def pool(kind):
    """An executor of the user's own, by name; two workers, processes of their own."""
    if kind == "futures":
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as made:
            yield made
    elif kind == "loky":
        made = loky.ProcessPoolExecutor(2)
        yield made
        made.shutdown()
    elif kind == "dask":
        distributed = pytest.importorskip("distributed")
        local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster, set_as_default=False) as client:
            yield client.get_executor(pure=False)
    else:
        mpi = pytest.importorskip("mpi4py.futures")
        with mpi.MPIPoolExecutor(2) as made:
            yield made


@pytest.mark.filterwarnings("default")  # the packages' own
@pytest.mark.parametrize("kind", ["futures", "loky", pytest.param("dask", marks=pytest.mark.dask), "mpi"])
def test_any_executor_plays_the_same_table_to_the_byte_and_stays_open(tmp_path, kind):
    with run(FEW, tmp_path / "here", progress=False).store as store:
        alone = csv(store, tmp_path / "here.csv")
    with pool(kind) as made:
        outcome = run(FEW, tmp_path / "there", batch=2, executor=made, patience=300, progress=False)
        with outcome.store as store:
            assert outcome.failures == []
            assert csv(store, tmp_path / "there.csv") == alone
            assert store.sessions()[0][1]["backend"] == type(made).__name__
        assert made.submit(os.getpid).result() != os.getpid()
    assert os.listdir(tmp_path / "there") == [FILE]


class Fatal(hb.Team):
    """An agent whose process dies, or hangs."""

    setting = "network"

    def __init__(self, how="die"):
        super().__init__()
        self.how = how

    def reset(self, env, seeds):
        pass

    def act(self, obs):
        if os.getpid() != int(os.environ["PARENT"]):
            os._exit(3) if self.how == "die" else time.sleep(600)
        return np.zeros(obs.who.shape, int)


def test_a_pool_that_breaks_is_named_and_the_rest_is_kept(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("PARENT", str(os.getpid()))
    agents = [Use("UCB1"), Use("test_backends:Fatal")]
    spec = small(env=Use("CoopNetwork-v0", horizon=8), runs=4, agents=agents)
    with (
        pool("futures") as made,
        pytest.raises(
            RunError, match=r"the workers of 'ProcessPoolExecutor' .*died while they played .*Fatal, agents = 3"
        ),
    ):
        run(spec, tmp_path / "o", batch=4, executor=made, progress=False)
    with Store(tmp_path / "o" / FILE, readonly=True) as kept:
        list(kept.verify())


def test_who_hangs_is_ended_and_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("PARENT", str(os.getpid()))
    monkeypatch.setattr(player, "TRIES", 2)
    agents = [Use("UCB1"), Use("test_backends:Fatal", how="hang")]
    spec = small(env=Use("CoopNetwork-v0", horizon=8), runs=4, agents=agents)
    hasty = {"batch": 4, "patience": 3, "progress": False}
    with pool("futures") as made:
        for who in ({"jobs": 2}, {"executor": made}):  # who has begun answers at once
            hb.evaluate("CoopNetwork-v0", "UCB1", runs=4, env={"horizon": 8}, **who)
        with pytest.raises(RunError, match=r"gave no answer in 3 s 2 times while it played Fatal.*it hangs"):
            run(spec, tmp_path / "o", jobs=2, **hasty)
        with pytest.raises(RunError, match=r"not ours to end; they play Fatal"):
            run(spec, tmp_path / "o", executor=made, **hasty)
        for process in made._processes.values():
            process.kill()


@pytest.mark.slurm
def test_slurm_that_is_not_there_is_one_sentence():
    pytest.importorskip("submitit")


@pytest.mark.parametrize("backend", ["dask", "slurm"])
def test_a_missing_package_is_one_sentence_that_names_the_extra(tmp_path, monkeypatch, capsys, backend):
    monkeypatch.setitem(sys.modules, BACKENDS[backend], None)
    says = rf"backend='{backend}' needs {BACKENDS[backend]}: pip install 'hushbandits\[{backend}\]'"
    with pytest.raises(ValueError, match=says):
        run(FEW, tmp_path / "x", backend=backend, progress=False)
    with pytest.raises(ValueError, match=says):
        hb.evaluate("CoopNetwork-v0", "UCB1", backend=backend)
    monkeypatch.chdir(tmp_path)
    assert main(["run", "quickstart", "--backend", backend]) == 2
    assert "pip install" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


# -- kills ----------------------------------------------------------------------------------------------------------

SLOW = """
title = "Slow"
runs = 400
env = { use = "CoopNetwork-v0", horizon = 3000 }
agents = [{ use = "Multi-UCB" }]
"""


def descendants(pid):
    """All processes below one, from the system's table."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found, ahead = set(), [pid]
    while ahead:
        above = ahead.pop()
        new = [child for child, parent in parents.items() if parent == above]
        found |= set(new)
        ahead += new
    return found


def alive(pids):
    return {pid for pid in pids if Path(f"/proc/{pid}").exists() and state(pid) != "Z"}


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def semaphores():
    return {p.name for p in Path("/dev/shm").glob("sem.*")}


def begun(folder, backend, runs):
    command = [sys.executable, "-W", "ignore", "-m", "hushbandits.cli", "run", "slow.toml", "--jobs", "2", "--out", "o"]
    at = ["--address", HERE[backend]] if HERE[backend] else []
    return subprocess.Popen(
        [*command, "--backend", backend, *at, "--set", f"runs={runs}"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
@pytest.mark.parametrize("backend", marked("processes", "dask", "slurm"))
def test_workers_end_with_their_parent_and_leave_nothing(tmp_path, backend):
    (tmp_path / "slow.toml").write_text(SLOW)
    before = semaphores()
    process = begun(tmp_path, backend, 4000)
    try:
        deadline = time.monotonic() + 120
        while len(workers := descendants(process.pid)) < 2 or not (tmp_path / "o" / FILE).exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        while backend != "slurm" and not played(tmp_path / "o"):  # all of them are at work
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(6 if backend == "slurm" else 0.5)  # its jobs hand nothing back for a minute
        workers |= descendants(process.pid)
        ours = semaphores() - before
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 90
    while alive(workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in alive(workers)}
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left
    while ours & semaphores() and time.monotonic() < deadline + 5:
        time.sleep(0.1)
    assert not ours & semaphores()


def played(folder):
    """How many runs the store holds while another process writes it."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as db:
            return db.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet
        return 0


def killed_midway(process, folder, pause):
    """SIGKILL a command some time after it has added rows of its own."""
    before, deadline = played(folder), time.monotonic() + 120
    while played(folder) == before:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(pause)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.weekly
@pytest.mark.parametrize("backend", marked("processes", "dask", "slurm"))
def test_twenty_kills_on_every_backend_leave_the_identical_table(tmp_path, backend):
    (tmp_path / "slow.toml").write_text(SLOW.replace("3000", "1000"))
    (spec,) = read_toml(tmp_path / "slow.toml")
    clock = np.random.default_rng(1)
    for i in range(20):
        process = begun(tmp_path, backend, 4000)
        if i % 5:
            killed_midway(process, tmp_path / "o", clock.uniform(0, 1))
        else:  # while it starts, or its cluster
            time.sleep(clock.uniform(0.5, 3))
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert played(tmp_path / "o") < 4000
    spec = spec.overriding({"runs": 4000})
    with (
        run(spec, tmp_path / "o", jobs=-1, progress=False).store as store,
        run(spec, tmp_path / "all", jobs=-1, progress=False).store as all_,
    ):
        assert csv(store, tmp_path / "killed.csv") == csv(all_, tmp_path / "all.csv")
        list(store.verify())
