"""Workers play what a call means when it begins: its folder, its modules as their files are, its environment."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap

import pytest
from bench_helpers import small

import hushbandits as hb
from hushbandits.bench.declare.spec import Use
from hushbandits.bench.play import processes
from hushbandits.bench.play.imported import forget, imported
from hushbandits.bench.run import run

MEANS, HORIZON = (0.9, 0.5, 0.1), 10

#: Pulls one arm; where it gets that from is what the tests change.
TEAM = """
import numpy as np
import hushbandits as hb
{head}
class Agent(hb.Team):
    setting = "network"
    def act(self, obs):
        {body}
        return np.full((len(obs.live), 2), arm)
"""


def write(folder, name="pulls_one", head="", body="arm = 0"):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(TEAM.format(head=head, body=body))


def arm(agent="pulls_one:Agent", jobs=2, **more):
    """Which arm it pulls, by the regret."""
    env = {"n_agents": 2, "means": MEANS, "horizon": HORIZON, "permute_arms": False}
    found = hb.evaluate("CoopNetwork-v0", agent, runs=2, env=env, jobs=jobs, progress=False, **more)
    return round(float(found.final("regret").mean()) / HORIZON / 0.8)  # of two agents


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    forget({file for file in imported().values() if file.startswith(str(tmp_path))})


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_edited_module_is_played_as_it_is_now(here, jobs):
    for i in (0, 1, 2, 1):  # as long each time, and within a second
        write(here, body=f"arm = {i}")
        assert arm(jobs=jobs) == i


@pytest.mark.parametrize("jobs", [1, 2])
def test_so_is_one_that_the_agents_module_imports(here, jobs):
    for i in (0, 1):
        (here / "which_arm.py").write_text(f"ARM = {i}\n")
        write(here, head="from which_arm import ARM", body="arm = ARM")
        assert arm(jobs=jobs) == i


def test_so_is_one_that_is_imported_only_while_it_plays(here):
    for i in (0, 1):
        (here / "which_arm_late.py").write_text(f"ARM = {i}\n")
        write(here, body="from which_arm_late import ARM as arm")
        assert arm() == i


def test_so_is_a_module_of_a_package(here):
    (here / "own_package").mkdir()
    (here / "own_package/__init__.py").write_text("")
    for i in (0, 1):
        (here / "own_package/deep.py").write_text(f"ARM = {i}\n")
        write(here / "own_package", "team", head="from own_package.deep import ARM", body="arm = ARM")
        assert arm("own_package.team:Agent") == arm("own_package.team:Agent", jobs=1) == i


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_name_is_that_of_the_working_folder(here, monkeypatch, jobs):
    for folder, i in (("a", 0), ("b", 1)):
        write(here / folder, body=f"arm = {i}")
    for folder, i in (("a", 0), ("b", 1), ("a", 0)):
        monkeypatch.chdir(here / folder)
        assert arm(jobs=jobs) == i


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_path_is_one_from_the_working_folder(here, monkeypatch, jobs):
    for i in (0, 1):
        (here / f"f{i}").mkdir()
        (here / f"f{i}/arm.txt").write_text(str(i))
    write(here, head="from pathlib import Path", body="arm = int(Path('arm.txt').read_text())")
    monkeypatch.syspath_prepend(here)
    for i in (0, 1, 0):
        monkeypatch.chdir(here / f"f{i}")
        assert arm(jobs=jobs) == i


@pytest.mark.parametrize("head", ["", "ARM = int(__import__('os').environ['WHICH_ARM'])"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_variables_of_the_environment_are_those_of_now(here, monkeypatch, jobs, head):
    write(here, head=head, body="arm = ARM" if head else "arm = int(__import__('os').environ['WHICH_ARM'])")
    for i in (0, 1):
        monkeypatch.setenv("WHICH_ARM", str(i))
        assert arm(jobs=jobs) == i


def test_a_class_that_was_reloaded_is_played_as_it_is_now(here):
    sys.path.insert(0, str(here))
    write(here, "reloaded_one")
    module = importlib.import_module("reloaded_one")
    assert arm(module.Agent) == 0
    write(here, "reloaded_one", body="arm = 1  # and longer")
    importlib.reload(module)
    assert arm(module.Agent) == arm(module.Agent, jobs=1) == 1


def test_a_class_of_the_main_program_that_is_defined_again_is_the_last_one(here):
    script = """
        import numpy as np, hushbandits as hb
        def arm(jobs):
            env = {"n_agents": 2, "means": (0.9, 0.5, 0.1), "horizon": 10, "permute_arms": False}
            return hb.evaluate("CoopNetwork-v0", Agent, runs=2, env=env, jobs=jobs).final("regret").mean() / 8
        for i in (0, 1, 2):
            class Agent(hb.Team):
                setting = "network"
                def act(self, obs, which=i):
                    return np.full((len(obs.live), 2), which)
            print(round(arm(1)), round(arm(2)))
        Agent.act = lambda self, obs: np.zeros((len(obs.live), 2), int)
        print(round(arm(1)), round(arm(2)))
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert told == ["0", "0", "1", "1", "2", "2", "0", "0"]


def test_a_run_folder_is_played_as_its_files_are(here):
    for i in (0, 1):
        write(here, body=f"arm = {i}")
        one = small(
            env=Use("CoopNetwork-v0", n_agents=2, horizon=HORIZON, means=MEANS, permute_arms=False),
            agents=["pulls_one:Agent"],
            sweep={},
            runs=2,
        )
        with run(one, here / f"out{i}", jobs=2, progress=False).store as store:
            assert store.final(one.cells()[0], "regret", 2).mean() == pytest.approx(8.0 * i)


def test_processes_stay_where_nothing_has_changed(here, monkeypatch):
    def pool():
        return processes._pools[processes._mine()].pool

    write(here)
    arm()
    first = pool()
    arm()
    write(here, "another_one", body="arm = 1")  # new to all
    assert arm("another_one:Agent") == 1
    assert pool() is first
    monkeypatch.setenv("WHICH_ARM", "1")
    arm()
    assert pool() is not first


@pytest.mark.parametrize("entry", ["Mine", "'registers_itself:Mine'"])
def test_a_module_that_registers_itself_may_be_edited(here, monkeypatch, entry):
    head = "import hushbandits as hb\nclass Mine(hb.Team):\n    def act(self, obs): return obs.who * 0 + {}\n"
    for i in (0, 1):
        source = head.format(i) + f"hb.register_agent('registers-itself-{len(entry)}', {entry})\n"
        source += f"hb.register_env('Registers-{len(entry)}-v0', type(hb.make_core('CoopNetwork-v0')), n_agents=2)\n"
        (here / "registers_itself.py").write_text(source)
        assert arm("registers_itself:Mine") == i


@pytest.mark.filterwarnings("default")
@pytest.mark.dask
def test_workers_of_a_cluster_that_stays_play_what_is_there_now(here, monkeypatch):
    distributed = pytest.importorskip("distributed")
    local = {"n_workers": 1, "threads_per_worker": 2, "processes": True, "dashboard_address": None}
    for folder in "ab":
        (here / folder).mkdir()
    with distributed.LocalCluster(**local) as cluster:
        there = {"backend": "dask", "address": cluster.scheduler_address}
        for folder, i in (("a", 0), ("a", 1), ("b", 2), ("a", 1)):
            monkeypatch.chdir(here / folder)
            head = f"hb.register_env('There-v0', type(hb.make_core('CoopNetwork-v0')), n_agents={i + 2})"
            (here / folder / "which_arm_there.py").write_text(f"import hushbandits as hb\n{head}\nARM = {i}\n")
            write(here / folder, head="from which_arm_there import ARM", body="arm = ARM")
            assert arm(**there) == i
        assert os.getcwd() == str(here / "a")
