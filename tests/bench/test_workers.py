"""Numbers do not depend on the backend: this process, processes, a cluster, shards; lost batches are named."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from bench_helpers import played, small
from children import started

import hushbandits as hb
from hushbandits.bench.run import run
from hushbandits.bench.runner.errors import RunError, StoreError
from hushbandits.bench.spec.catalog import read_toml
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.core.utils import Spec
from hushbandits.registry import AGENTS, ENVS, WRAPPERS

FEW = small(env=Component("CoopNetwork-v0", horizon=8), runs=12, agents=["UCB1", Component("Private-UCB", epsilon=0.5)])
DASK = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs distributed")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder for user modules, which are unloaded afterwards."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return played(FEW, tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize(
    "how",
    [{"jobs": 2}, pytest.param({"backend": "dask", "jobs": 2}, marks=[pytest.mark.dask, pytest.mark.weekly, DASK])],
    ids=["jobs", "dask"],
)
@pytest.mark.filterwarnings("default")  # the packages' own
def test_no_backend_changes_a_number(tmp_path, alone, how):
    assert played(FEW, tmp_path, **how) == alone


def test_what_costs_little_is_played_in_this_process(tmp_path, alone, monkeypatch):
    monkeypatch.setattr("joblib.Parallel", None)
    expected = []
    assert played(FEW, tmp_path, jobs=2, estimate=expected.append) == alone
    assert expected[0].summed("all").runs == 48


def test_a_cell_is_built_once_and_played_once(tmp_path, monkeypatch):
    from hushbandits.bench.runner import batch

    built, assemble = [], batch.assemble
    monkeypatch.setattr(batch, "assemble", lambda *a, **k: built.append(k["runs"]) or assemble(*a, **k))
    outcome = run(replace(FEW, runs=7), tmp_path)
    assert len(outcome.store.sessions()[0]["privacy"]) == 4
    assert built == [1] * 4 + [7] * 4


# -- losses ---------------------------------------------------------------------------------------------------------

DEADLY = """
import os
import numpy as np
import hushbandits as hb
class Deadly(hb.Team):
    setting = "network"
    def act(self, obs):
        if obs.active_agents.shape[1] == 5 and os.getpid() != {parent}:
            os._exit(9)
        return np.zeros(obs.active_agents.shape, int)
"""


def test_who_kills_its_worker_is_recorded_and_all_others_are_played(here):
    (here / "deadly.py").write_text(DEADLY.format(parent=os.getpid()))
    env = Component("CoopNetwork-v0", horizon=4)
    spec = small(env=env, agents=["deadly:Deadly"], sweep={"env.n_agents": tuple(range(2, 22))}, runs=2)
    outcome = run(spec, here / "o", options=hb.RunOptions(jobs=2, estimate=lambda found: None))
    (failure,) = outcome.failures
    assert (failure.cell.point["env.n_agents"], failure.runs) == (5, (0, 1))
    assert outcome.played == 38
    (shown,) = outcome.store.failures()
    assert (shown["cell"], shown["runs"], shown["seed"]) == (failure.cell.key, [0, 1], 0)
    again = run(spec, here / "o")  # in this process it does not die
    assert (again.played, again.store.failures()) == (2, [])


SLOW = """
title = "Slow"
runs = 400
env = { type = "CoopNetwork-v0", horizon = 2000, n_agents = 8 }
agents = ["Multi-UCB", "UCB1"]
"""


@DASK
@pytest.mark.dask
@pytest.mark.weekly
@pytest.mark.filterwarnings("default")
def test_a_dask_worker_that_is_killed_costs_nothing(tmp_path, alone):
    import distributed

    (tmp_path / "slow.toml").write_text(SLOW)
    (spec,) = read_toml(tmp_path / "slow.toml")
    whole = played(spec, tmp_path / "alone")
    local = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with contextlib.ExitStack() as ends, distributed.LocalCluster(**local) as cluster:
        whole_command = [sys.executable, "-m", "hushbandits", "run", "slow.toml", "--out", "o", "--backend", "dask"]
        at = ["--address", cluster.scheduler_address]
        shards = [ends.enter_context(started([*whole_command, *at, "--shard", f"{i}/2"], cwd=tmp_path)) for i in (1, 2)]
        while not list((tmp_path / "o").glob("rows/*")):
            assert [shard.poll() for shard in shards] == [None, None]
            time.sleep(0.01)
        with distributed.Client(cluster, set_as_default=False) as client:
            pids = client.run(os.getpid)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        assert [shard.wait(timeout=200) for shard in shards] == [0, 0]
    assert played(spec, tmp_path / "o") == whole


class Fragile(hb.Team):
    """Agent that fails with three agents."""

    setting = "network"

    def act(self, obs):
        if obs.active_agents.shape[1] == 3:
            raise ZeroDivisionError("the third agent again")
        return np.zeros(obs.active_agents.shape, int)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.weekly)])
def test_a_cell_that_raises_is_recorded_and_the_rest_go_on(tmp_path, jobs):
    spec = replace(FEW, agents=[Component(f"{__name__}:Fragile"), Component("UCB1")], runs=7)
    for new in (21, 0):
        outcome = run(spec, tmp_path, seed=4, options=hb.RunOptions(jobs=jobs))
        (failure,) = outcome.failures
        assert (failure.cell.label, failure.runs, failure.seed) == ("Fragile, agents = 3", tuple(range(7)), 4)
        assert "the third agent again" in str(failure)
        assert [shown["cell"] for shown in outcome.store.failures()] == [failure.cell.key]
        assert outcome.played == new


class Odd(Exception):
    """Error that cannot be rebuilt from its message."""

    def __init__(self, one, two):
        super().__init__(one)


class Raises(hb.Team):
    setting = "network"

    def __init__(self, error, *about):
        self.error = error, about

    def act(self, obs):
        raise self.error[0](*self.error[1])


@pytest.mark.weekly
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_ones_own_is_raised_with_its_traceback(jobs):
    env, options = {"n_agents": 2, "horizon": 3}, hb.RunOptions(jobs)
    with pytest.raises(ZeroDivisionError if jobs == 1 else RuntimeError, match="mine") as caught:
        hb.evaluate("CoopNetwork-v0", Raises(ZeroDivisionError, "mine"), runs=2, env=env, options=options)
    if jobs == 2:
        assert "in act" in str(caught.value)
        for error in ((Odd, 1, 2), (SystemExit, 3)):
            with pytest.raises(RuntimeError, match=error[0].__name__):
                hb.evaluate("CoopNetwork-v0", Raises(*error), runs=2, env=env, options=options)


def test_workers_that_cannot_be_used_are_one_sentence(monkeypatch):
    given = {"runs": 2, "env": {"n_agents": 2, "horizon": 3}}
    if importlib.util.find_spec("distributed"):
        import distributed

        monkeypatch.setattr(distributed, "Client", lambda *_, **__: (_ for _ in ()).throw(OSError("timed out")))
        with pytest.raises(RunError, match=r"tcp://127\.0\.0\.1:1"):
            hb.evaluate(
                "CoopNetwork-v0", "UCB1", options=hb.RunOptions(backend="dask", address="tcp://127.0.0.1:1"), **given
            )
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="distributed"):
        hb.RunOptions(backend="dask")


# -- user code --------------------------------------------------------------------------------------------------------

BOLD = """
from {name}_arm import ARM
class Bold:
    blind = True
    def __init__(self, m, rng): pass
    def act(self, t): return ARM
"""


@pytest.fixture
def bold(here):
    """A user module with a helper module, under names that no other test imports."""
    name = "bold_" + here.name.replace("-", "_")
    (here / f"{name}_arm.py").write_text("ARM = 1\n")
    (here / f"{name}.py").write_text(BOLD.format(name=name))
    return name


def test_a_module_travels_by_value_with_what_it_imports_from_its_folder(here, bold, monkeypatch):
    spec = replace(FEW, agents=["UCB1", f"{bold}:Bold"])
    first = played(spec, here / "o")
    for file in here.glob("bold_*.py"):  # then no worker can import these
        file.rename(file.with_suffix(".txt"))
    spec = Experiment.from_dict(spec.to_dict())
    results = hb.evaluate(
        "CoopNetwork-v0", f"{bold}:Bold", runs=4, env={"n_agents": 3, "horizon": 8}, options=hb.RunOptions(2)
    )
    assert len(results.final("regret")) == 4
    assert played(spec, here / "two", jobs=2) == first


@pytest.mark.parametrize("edited", ["", "_arm"])
def test_an_edited_module_is_not_mixed(here, bold, edited):
    spec = replace(FEW, agents=[f"{bold}:Bold"], runs=2)
    played(spec, here / "o", shard="1/2")
    file = here / f"{bold}{edited}.py"
    good = file.read_text()
    file.write_text(good + "# edited\n")
    with pytest.raises(StoreError, match=f"{bold}:Bold"):
        run(replace(spec, title="Other"), here / "o")
    assert hb.load_results(here / "o").experiments[0].title == spec.title
    assert run(spec, here / "o", shard="2/2", options=hb.RunOptions(mix=True)).played
    assert run(spec, here / "o").played == 0  # mixing is recorded


def test_a_module_that_was_edited_needlessly_is_shown_of(here, bold):
    spec = replace(FEW, agents=[f"{bold}:Bold"], runs=2)
    first = played(spec, here / "o")
    (here / f"{bold}.py").write_text("nothing = 0")
    with pytest.warns(UserWarning, match=f"{bold}:Bold"):
        assert played(spec, here / "o") == first


def test_an_edited_data_file_is_not_mixed(here):
    rows = [f"{i % 5} qid:1 1:{i % 7}.5 2:{i}" for i in range(40)]
    (here / "rows.txt").write_text("\n".join(rows))
    env = Component("LTR-v0", path="rows.txt", n_arms=3, horizon=2000)
    spec = Experiment(name="ltr", title="x", env=env, agents=[Component("Dist-DP-SE", epsilon=1.0)], runs=2)
    played(spec, here / "o")
    (here / "rows.txt").write_text("\n".join(rows[1:]))
    with pytest.raises(StoreError, match=r"rows\.txt"):
        run(replace(spec, runs=4), here / "o")
    (here / "rows.txt").write_text("\n".join(rows))
    played(replace(spec, runs=4), here / "o")


def test_what_cells_name_of_ones_own_counts(monkeypatch):
    monkeypatch.setitem(AGENTS.entries, "OwnTeam", Spec(type("OwnTeam", (hb.Team,), {"__module__": __name__})))
    monkeypatch.setitem(WRAPPERS.entries, "OwnWrapper", Spec("bench_helpers:Nothing"))
    monkeypatch.setitem(ENVS.entries, "OwnEnv-v0", Spec("children:Nothing", wrappers=("OwnWrapper",)))
    for uses, names in (
        ({"agents": [Component("OwnTeam")]}, {"OwnTeam"}),
        ({"wrappers": {"a": [], "b": [Component("OwnWrapper")]}}, {"OwnWrapper"}),
        ({"agents": [Component("UCB1", on="OwnEnv-v0")]}, {"OwnEnv-v0", "OwnWrapper"}),
        ({"agents": [Component("UCB1"), Component("json:loads"), Component("no.where:X"), Component("1/2:Y")]}, set()),
    ):
        assert hb.source_digests([small(**{"agents": [Component("UCB1")], "sweep": {}, **uses})]).keys() == names


def test_a_package_counts_with_all_its_files(here):
    folder = here / "own_pack" / "deep"
    folder.mkdir(parents=True)
    for path in (folder.parent / "__init__.py", folder / "__init__.py", folder / "a.py", folder / "b.py"):
        path.touch()
    spec = small(agents=[Component("own_pack.deep.a:X")], sweep={})
    before = hb.source_digests([spec])
    (folder / "b.py").write_text("edited = 1")
    assert before.keys() == hb.source_digests([spec]).keys() == {"own_pack.deep.a:X"}
    assert before != hb.source_digests([spec])
    assert "own_pack" not in sys.modules


@pytest.mark.weekly
def test_a_script_needs_no_guard(tmp_path):
    """Workers do not run the script again; its classes reach them all the same."""
    (tmp_path / "script.py").write_text(
        "import hushbandits as hb, numpy as np\n"
        "class Mine(hb.Team):\n"
        "    setting = 'network'\n"
        "    def act(self, obs):\n"
        "        return np.zeros(obs.active_agents.shape, int)\n"
        "results = hb.evaluate('CoopNetwork-v0', Mine, runs=4, env={'horizon': 5}, options=hb.RunOptions(2))\n"
        "print(len(results.final('regret')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")
