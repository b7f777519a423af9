"""One player: the same runs from `evaluate`, `run` and `reproduce`; chunks, losses, and errors of one's own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from bench_helpers import small
from hypothesis import given
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.declare.world import seeds, world
from hushbandits.bench.play import observe as watching
from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.plan import Queue
from hushbandits.bench.play.player import TRIES, answers
from hushbandits.bench.play.progress import Bar
from hushbandits.bench.play.task import Failed, Task, attempted
from hushbandits.bench.play.worker import packed, unpacked, work
from hushbandits.bench.run import run
from hushbandits.core.entries import ENVS
from hushbandits.core.luck.rewards import Gaussian, UniformMeans
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.envs.rounds.env import Rounds

#: An agent for every env that ships, and parameters that keep it short.
PLAYS = {
    "DPMASE-v0": ("DP-MASE", {"n_agents": 8}),
    "CorruptedElimination-v0": ("Corrupted-Elimination", {"n_agents": 64}),
    "DecentralizedExploration-v0": ("Decentralized-UGapEc", {"n_agents": 30}),
    "CoopNetwork-v0": ("Multi-UCB", {"n_agents": 4, "horizon": 30, "graph": nx.path_graph(4)}),
    "PrivateNetwork-v0": ("Private-UCB", {"n_agents": 4, "horizon": 30, "means": UniformMeans(0.2, 0.8), "n_arms": 3}),
    "HeavyTailedNetwork-v0": ("QuACK-UCB", {"n_agents": 4, "horizon": 30}),
    "DuelingNetwork-v0": ("QuACK-RUCB", {"n_agents": 4, "horizon": 30}),
    "FederatedNetwork-v0": ("Fed1-UCB", {"n_agents": 4, "horizon": 30}),
    "LocalDPNetwork-v0": ("QuACK-LDP-UCB-L", {"n_agents": 4, "horizon": 30}),
    "ByzantineNetwork-v0": ("Byzantine-UCB", {"n_agents": 4, "horizon": 30}),
    "CentralDP-v0": ("CDP-SE", {"horizon": 2000}),
    "DistDP-v0": ("Dist-DP-SE", {"horizon": 2000}),
    "DistRDP-v0": ("Dist-RDP-SE", {"horizon": 2000}),
    "DistCDP-v0": ("Dist-CDP-SE", {"horizon": 2000}),
    "LocalDP-v0": ("LDP-SE", {"horizon": 2000}),
    "LTR-v0": ("Dist-DP-SE", {"horizon": 2000}),
    "ShuffleDP-v0": ("Shuffle-DP-SE", {"horizon": 2000}),
    "DPMASE-Train-v0": ("Random", {}),
    "CoopNetwork-Train-v0": ("PPO-CoopNetwork", {}),
    "DistDP-Train-v0": ("Dist-DP-SE", {}),
    "DPMASE-Train-Wide-v0": ("Gap-Vote", {}),
    "DPMASE-Train-Uneven-v0": ("Gap-Vote", {}),
    "CoopNetwork-Train-Grid-v0": ("Index-TS", {}),
    "CoopNetwork-Train-Lossy-v0": ("Multi-UCB", {"n_agents": 8, "horizon": 30}),
    "DistDP-Train-Lossy-v0": ("Commit-Blocks", {}),
    "DistDP-Train-Tight-v0": ("Dist-DP-SE", {}),
}


def test_every_env_that_ships_is_played():
    assert set(PLAYS) == ENVS.shipped


@pytest.mark.parametrize("env_id", PLAYS)
def test_evaluate_and_a_run_folder_play_the_same_runs(tmp_path, env_id):
    agent, env = PLAYS[env_id]
    experiment = Experiment(name="one", title="One", env=Use(env_id, **env), agents=[Use(agent)], runs=2)
    results = hb.evaluate(env_id, agent, runs=2, seed=3, env=env)
    with run(experiment, tmp_path, seed=3, progress=False).store as store:
        (cell,) = experiment.cells()
        rows = {m: store.final(cell, m, 2) for m in store.metrics(cell)}
        scalars = {m: v for m, v in results.finals.items() if v.ndim == 1}
        assert rows.keys() == scalars.keys()
        for metric, values in scalars.items():
            np.testing.assert_array_equal(rows[metric], values)
        for metric, values in results.curves.items():
            np.testing.assert_array_equal(store.curve(cell, metric, 2)[1], values)


def test_what_no_experiment_can_hold_counts_by_name():
    local = type("Local", (), {})()
    told = world("CoopNetwork-v0", {"graph": max, "means": [local, 1.0], "limit": float("inf")})
    assert told == world("CoopNetwork-v0", {"limit": float("-inf"), "means": [type(local)(), 1], "graph": max})
    assert "builtins:max" in told
    assert "Local" in told
    assert "0x" not in told  # no address of an object
    own = hb.core.env.Env
    assert world(own, {}) == world("hushbandits.core.env:Env", {})


def test_classes_laws_and_teams_of_ones_own_are_evaluated():
    @dataclass(frozen=True)
    class Mine(Gaussian):
        """Defined where no worker can import it."""

    env = {"n_agents": 3, "horizon": 20, "rewards": Mine(0.1)}
    one, two = (hb.evaluate(CoopNetwork, hb.make_team("UCB1"), runs=4, env=env, jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.final("regret"), two.final("regret"))
    other = hb.evaluate(CoopNetwork, "Multi-UCB", runs=2, env=env)
    assert other.final("regret").shape == (2,)


def test_an_observer_sees_the_runs_that_evaluate_plays(monkeypatch):
    seen = []
    monkeypatch.setattr(watching, "play", lambda env, team, seeds: seen.extend(seeds) or hb.play(env, team, seeds))
    watching.observe("DecentralizedExploration-v0", "Decentralized-UGapEc", (1,), runs=2, seed=5)
    where = world("DecentralizedExploration-v0", {})
    assert [s.entropy for s in seen] == [s.entropy for s in seeds(5, where, 0, 2)]


# -- chunks ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 3000), st.integers(1, 9), st.booleans(), st.lists(st.floats(0, 1e3), min_size=1, max_size=5))
def test_chunks_hold_every_task_once_and_spread_at_both_ends(n, width, dear, each):
    queue, seen, sizes = Queue(range(n), width, dear), [], []
    for seconds in itertools.cycle(each):
        if not queue:
            break
        chunk = queue.take()
        seen += chunk
        sizes.append(len(chunk))
        queue.took(len(chunk), seconds * len(chunk))
    assert seen == list(range(n))
    assert all(1 <= size <= 1 + n // width for size in sizes)
    if sizes and not dear:
        assert sizes[0] == sizes[-1] == 1


def test_many_small_tasks_travel_together_and_long_ones_alone():
    quick, slow = Queue(range(10_000), 2), Queue(range(100), 2)
    chunks = [quick.took(len(quick.take()), 0.0005) for _ in itertools.takewhile(lambda _: quick, itertools.count())]
    assert len(chunks) < 60
    while slow:
        chunk = slow.take()
        assert len(chunk) == 1
        slow.took(1, 60.0)


class Wobbly:
    """Workers in this process, some of which die."""

    width, most, together, dear, parent = 2, 4, False, False, None

    def __init__(self, dies, together=False):
        self.dies, self.together, self.pending = dies, together, []

    def submit(self, tasks, longest):
        self.pending.append(tasks)
        assert len(self.pending) <= self.most

    def finished(self, patience=None):
        dead = any(self.dies(task) for tasks in self.pending for task in tasks)
        for tasks in list(self.pending) if self.together else self.pending[:1]:
            self.pending.remove(tasks)
            lost = dead if self.together else any(map(self.dies, tasks))
            yield tasks, None if lost else unpacked(work(packed(tasks, None)))


def tasks(n=12):
    experiment = small(env=Use("CoopNetwork-v0", horizon=5), agents=[Use("UCB1")], sweep={"env.n_agents": (2, 3)})
    return [Task.of(cell, 0, [r]) for cell in experiment.cells() for r in range(n // 2)]


@pytest.mark.parametrize("together", [False, True])
def test_a_lost_chunk_is_played_again(together):
    deaths = iter([True] * (TRIES - 1))
    by = Wobbly(lambda task: task.runs == (3,) and next(deaths, False), together)
    found = list(answers(tasks(), by, Bar(0)))
    assert sorted((t.key, t.runs) for t, _ in found) == sorted((t.key, t.runs) for t in tasks())
    assert not any(isinstance(reply, Failed) for _, reply in found)


@pytest.mark.parametrize("together", [False, True])
def test_who_kills_workers_again_and_again_is_named(together):
    wanted = tasks()
    guilty = wanted[7]
    by = Wobbly(lambda task: task == guilty, together)
    with pytest.raises(RunError, match=rf"a worker process died {TRIES} times while it played .*agents = 3, runs 1–1"):
        list(answers(wanted, by, Bar(0)))


def test_a_chunk_that_takes_too_long_is_handed_back(monkeypatch):
    monkeypatch.setattr("hushbandits.bench.play.worker.LONGEST", 0.0)
    monkeypatch.setattr("hushbandits.bench.play.plan.CHUNK", 1e9)
    by = Wobbly(lambda task: False)
    found = list(answers(tasks(), by, Bar(0)))
    assert sorted((t.key, t.runs) for t, _ in found) == sorted((t.key, t.runs) for t in tasks())


def test_a_worker_of_other_source_code_is_refused(monkeypatch):
    load = packed(tasks()[:1], None)
    monkeypatch.setattr("hushbandits.bench.play.worker._SOURCES", "another")
    answer = work(load)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="a worker runs other source code of hushbandits \\(another\\) than this"):
        unpacked(answer)


# -- errors of one's own ----------------------------------------------------------------------------------------------


class Odd(Exception):
    """Cannot be made again from what it says."""

    def __init__(self, one, two):
        super().__init__(one)


class Raises(hb.Team):
    setting = "network"

    def __init__(self, error, *about):
        self.error = error, about

    def act(self, obs):
        raise self.error[0](*self.error[1])


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_ones_own_is_raised_as_it_was(jobs):
    env = {"n_agents": 2, "horizon": 3}
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        hb.evaluate("CoopNetwork-v0", Raises(ZeroDivisionError, "mine"), runs=2, env=env, jobs=jobs)
    assert jobs == 1 or "in act" in caught.value.__notes__[0]
    if jobs == 2:
        with pytest.raises(RuntimeError, match="in act"):
            hb.evaluate("CoopNetwork-v0", Raises(Odd, 1, 2), runs=2, env=env, jobs=2)
        with pytest.raises(RuntimeError, match="SystemExit"):
            hb.evaluate("CoopNetwork-v0", Raises(SystemExit, 3), runs=2, env=env, jobs=2)


def test_what_a_worker_cannot_send_back_is_an_error_and_no_loss():
    class Metrics(Rounds):
        def _metrics(self):
            return {**super()._metrics(), "mine": np.array([lambda: 0] * self.runs)}

    task = Task("", "x", Metrics, "Random", (), {"n_agents": 2, "horizon": 3}, {}, [], "w", 0, (0,))
    assert not isinstance(attempted(task), Failed)
    ((reply, _),) = unpacked(work(packed([task], None)))
    assert isinstance(reply, Failed)


def test_a_script_needs_no_guard(tmp_path):
    """Workers do not run it again; its own classes reach them all the same."""
    (tmp_path / "script.py").write_text(
        "import hushbandits as hb, numpy as np\n"
        "class Mine(hb.Team):\n"
        "    setting = 'network'\n"
        "    def act(self, obs):\n"
        "        return np.zeros(obs.who.shape, int)\n"
        "print(len(hb.evaluate('CoopNetwork-v0', Mine, runs=4, env={'horizon': 5}, jobs=2).final('regret')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "4\n", "")
