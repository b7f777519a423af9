"""Training: it beats uniform play, goes on to the bit, and leaves a folder that is whole at any moment."""

import json
import random
import sys
import time
from itertools import product

import numpy as np
import pytest
import torch
from kinds import weekly_but
from policies import HYPER, NET, SHORT, trained
from refusals import rows

import hushbandits as hb
from hushbandits.baselines.sb3_file import read
from hushbandits.bench.runner.errors import StoreError
from hushbandits.learning import train as module
from hushbandits.learning.train import train


def test_a_tiny_one_learns_what_ucb1_knows(tmp_path):
    """2 arms, 4 agents, 40 rounds: less than half of uniform play's regret, less than 1.5 times UCB1's.

    In 40 held-out runs of 4 agents: about 0.28 and 0.9.
    """
    begun = time.process_time()
    env = {"n_agents": 4, "means": (0.9, 0.3), "horizon": 40}
    hyper = {"n_steps": 40, "learning_rate": 3e-3, "n_epochs": 8, "net_arch": [32]}
    train("CoopNetwork-v0", tmp_path / "a", steps=20_000, seed=1, env=env, hyper=hyper, evaluations=1, held_out=8)
    assert time.process_time() - begun < 60
    env["permute_arms"] = True
    lost = {
        agent: hb.evaluate("CoopNetwork-v0", agent, runs=40, seed=5, env=env).final("regret").mean()
        for agent in (f"sb3:{tmp_path / 'a'}", "Random", "UCB1")
    }
    mine, uniform, ucb = lost.values()
    assert mine < 0.5 * uniform
    assert mine < 1.5 * ucb


def bits(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Stopped(Exception):
    """Stands for whatever ends a process."""


@pytest.mark.parametrize(
    ("algo", "moment"),
    weekly_but([*((algo, 70) for algo in HYPER if algo != "maskable-ppo"), ("a2c", 0)], *product(HYPER, (0, 70))),
)
def test_an_interrupted_training_ends_as_if_it_had_not_been(tmp_path, algo, moment):
    """Stopped in the middle of a leg, the first or a later one."""
    given = {**SHORT, "steps": 96, "evaluations": 3}
    whole = bits(trained(tmp_path / "whole", algo, **given))
    assert set(whole) == {"policy.json", "weights-96.npz"}

    def stop(steps, found):
        if steps > moment and found is None:
            raise Stopped

    folder = tmp_path / "stopped"
    with pytest.raises(Stopped):
        trained(folder, algo, **given, notify=stop)
    assert min(moment, 1) <= read(folder).told["training"]["steps"] <= moment  # the last checkpoint plays
    trained(folder, algo, **given, resume=True)
    assert bits(folder) == whole
    trained(folder, algo, **given, resume=True)  # nothing is left to do
    assert bits(folder) == whole


@pytest.mark.parametrize("writes", [(3, 4, 6, 8), pytest.param((1, 2, 5, 7), marks=pytest.mark.weekly)])
def test_killed_between_two_files_the_folder_still_plays(tmp_path, monkeypatch, writes):
    """Whatever write is the last one."""
    from hushbandits.learning import folder as files

    whole, real = bits(trained(tmp_path / "whole")), files._write
    for last in writes:
        count = [0]

        def write(path, content, count=count, last=last):
            count[0] += 1
            if count[0] == last:
                raise Stopped
            real(path, content)

        folder = tmp_path / f"killed{last}"
        monkeypatch.setattr(files, "_write", write)
        with pytest.raises(Stopped):
            trained(folder)
        monkeypatch.setattr(files, "_write", real)
        begun = (folder / "policy.json").exists()
        assert begun == (last > 3)
        if not begun and list(folder.iterdir()):
            with pytest.raises(StoreError, match="and no training"):
                trained(folder)
            continue
        if begun:
            hb.evaluate("CoopNetwork-v0", f"sb3:{folder}", runs=1, env=NET)
        trained(folder, resume=begun)
        assert bits(folder) == whole


def test_a_folder_with_something_else_is_refused(tmp_path):
    done = trained(tmp_path / "done")
    before = bits(done)
    refused = [
        ({}, "holds a training already; --resume goes on with it"),
        ({"resume": True, "algo": "a2c"}, "holds another training: algo='ppo' there, 'a2c' here"),
        ({"resume": True, "steps": 99}, "steps=48 there, 99 here"),
        ({"resume": True, "seed": 3}, "seed=0 there, 3 here"),
        ({"resume": True, "env": {"horizon": 9}}, "another training: env="),
        ({"resume": True, "task": {"agent_id": True}}, "another training: task={} there"),
        ({"resume": True, "wrappers": ["Loss"]}, "another training: wrappers="),
    ]
    for given, message in refused:
        with pytest.raises(StoreError, match=message):
            trained(done, **given)
    with pytest.raises(StoreError, match="holds no training to go on with"):
        trained(tmp_path / "new", resume=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("x")
    with pytest.raises(StoreError, match=r"holds 'notes\.txt' and no training"):
        trained(tmp_path / "full")
    for name in ("weights-best.pt", "checkpoint-mymodel.npz", "weights-0.npz"):
        (mine := tmp_path / name[:-4] / name).parent.mkdir()
        mine.write_text("mine")
        with pytest.raises(StoreError, match=f"holds '{name}' and no training"):
            trained(mine.parent)
        assert bits(mine.parent) == {name: b"mine"}
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is no folder"):
        trained(tmp_path / "file")
    assert bits(done) == before
    (done / "policy.json").write_text("{")
    with pytest.raises(StoreError, match="no JSON of a policy"):
        trained(done, resume=True)


def test_what_somebody_puts_into_the_folder_stays(tmp_path):
    def stop(steps, found):
        if found is not None and steps:
            raise Stopped

    with pytest.raises(Stopped):
        trained(tmp_path / "a", notify=stop)
    theirs = {"weights-best.pt": b"x", "checkpoint-mymodel.npz": b"y", "README.md": b"z"}
    for name, content in theirs.items():
        (tmp_path / "a" / name).write_bytes(content)
    trained(tmp_path / "a", resume=True)
    assert bits(tmp_path / "a") == bits(trained(tmp_path / "b")) | theirs


def test_what_cannot_go_on_to_the_bit_says_so(tmp_path):
    def half(folder):
        def stop(steps, found):
            if found is not None and steps:
                raise Stopped

        with pytest.raises(Stopped):
            trained(folder, notify=stop)
        return folder, json.loads((folder / "policy.json").read_text())

    folder, told = half(tmp_path / "version")
    told["training"]["versions"]["torch"] = "1.0"
    (folder / "policy.json").write_text(json.dumps(told))
    with pytest.raises(StoreError, match=r"cannot go on to the bit: torch was 1\.0 and is"):
        trained(folder, resume=True)
    folder, told = half(tmp_path / "damaged")
    path = folder / told["training"]["checkpoint"]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(StoreError, match="cannot go on: the checkpoint cannot be read"):
        trained(folder, resume=True)
    folder, told = half(tmp_path / "lost")
    (folder / told["training"]["checkpoint"]).unlink()
    with pytest.raises(StoreError, match=r"cannot go on: .*No such file"):
        trained(folder, resume=True)


def test_global_luck_and_threads_stay_as_they_were(tmp_path):
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    before = random.random(), np.random.random(), torch.rand(1)
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    threads = torch.get_num_threads()
    trained(tmp_path / "a")
    assert (random.random(), np.random.random(), torch.rand(1)) == before
    assert torch.get_num_threads() == threads


def test_held_out_episodes_are_in_no_training(tmp_path, monkeypatch):
    seen = {"train": set(), "score": set()}
    reset = module.Rows.reset

    def watched(self, seed=None, rows=None):
        if seed is not None:
            seen["score" if self.runs == 2 and seed >= 1 << 64 else "train"].add(seed)
        return reset(self, seed, rows)

    monkeypatch.setattr(module.Rows, "reset", watched)
    trained(tmp_path / "a", seed=7)
    assert seen["score"] == {7 + (1 << 64)}
    assert seen["train"]
    assert max(seen["train"]) < 1 << 33


@rows(
    ("given", "message"),
    [({"algo": "sac"}, "algo='sac'"), ({"steps": 0}, "steps=0"),
     ({"seed": -1}, "seed=-1"), ({"runs": 0}, "runs=0"), ({"evaluations": 0}, "evaluations=0"),
     ({"held_out": 1}, "held_out=1"), ({"hyper": {"learning": 1}}, "ppo takes no parameter 'learning'; did you mean"),
     ({"hyper": {"n_steps": 0}}, "algo.n_steps=0"), ({"hyper": {"learning_rate": "x"}}, "algo.learning_rate='x'"),
     ({"hyper": {"gamma": {}}}, "algo.gamma={}"), ({"hyper": {"net_arch": [0]}}, "algo.net_arch=0"),
     ({"hyper": {"clip_range": -1}, "env": {"horizon": "x"}}, "horizon='x'"),
     ({"hyper": {"normalize_advantage": 1}}, "algo.normalize_advantage=1"),
     ({"hyper": {"n_epochs": 1.5}}, "algo.n_epochs=1.5"), ({"hyper": {"batch_size": 1}}, "algo: ppo with"),
     ({"hyper": {"seed": 3}}, "no parameter 'seed'"),
     ({"task": {"agent": 1}}, "a learner's task takes no parameter 'agent'"), ({"env": {"nodes": 3}}, "'nodes'"),
     ({"algo": "dqn", "task": {"actions": "multidiscrete"}, "hyper": {}}, "dqn takes one choice at a time"),
     ({"wrappers": ["Los"]}, "no wrapper is named 'Los'; did you mean Loss"),
     ({"env": {"means": len}}, "cannot stand in"),
     ({"wrappers": [3]}, "must be a name, or a table")],
)  # fmt: skip
def test_bad_input_is_a_sentence_and_nothing_is_written(tmp_path, given, message):
    env = {"env": {**NET, **given.pop("env", {})}}
    with pytest.raises((ValueError, TypeError), match=message) as error:
        train("CoopNetwork-v0", tmp_path / "a", **{**SHORT, "hyper": HYPER["ppo"], **env, **given})
    assert "\n" not in str(error.value)
    assert not (tmp_path / "a").exists()


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value")
def test_a_training_that_diverges_says_so(tmp_path):
    with pytest.raises(ValueError, match="the training has diverged: weights are not finite"):
        trained(tmp_path / "a", "a2c", hyper={"n_steps": 4, "learning_rate": 1e30}, steps=960)


class Curves:
    """MLflow and Weights & Biases, as far as a training calls them."""

    def __init__(self):
        self.rows, self.runs, self.open = [], [], 0

    def start_run(self, **given):
        self.runs.append(given)
        self.open += 1
        return self

    def init(self, **given):
        return self.start_run(**given)

    def log_params(self, params):
        self.runs[-1]["config"] = params

    def log_metrics(self, numbers, step):
        self.rows.append((step, numbers))

    log = log_metrics

    def end_run(self):
        self.open -= 1

    finish = end_run


@pytest.mark.parametrize("kind", ["mlflow", "wandb"])
def test_curves_go_to_a_run_of_another_library(tmp_path, monkeypatch, kind):
    made = Curves()
    monkeypatch.setitem(sys.modules, kind, made)
    trained(tmp_path / "a", env={"horizon": 4}, logger=kind)
    (run,) = made.runs
    assert (made.open, run["config"]["algo"]) == (0, "ppo")
    steps = [step for step, _ in made.rows]
    assert steps == sorted(steps)
    assert {"rollout/ep_rew_mean", "held_out/return"} <= {name for _, row in made.rows for name in row}
    assert all(type(value) is float for _, row in made.rows for value in row.values())


def test_a_logger_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match="--logger mlflow needs mlflow: pip install mlflow"):
        trained(tmp_path / "a", logger="mlflow")
    with pytest.raises(ValueError, match="logger='csv'"):
        trained(tmp_path / "a", logger="csv")
    assert not (tmp_path / "a").exists()


def test_logs_are_written_where_asked(tmp_path):
    pytest.importorskip("tensorboard")
    short = {"horizon": 4}  # episodes that end within a leg
    trained(tmp_path / "plain", env=short)
    trained(tmp_path / "a", env=short, logger="tensorboard")
    (events,) = (tmp_path / "a" / "tensorboard").rglob("events*")  # of all legs
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    told = EventAccumulator(str(events)).Reload()
    assert {"rollout/ep_rew_mean", "held_out/return"} <= {*told.Tags()["scalars"]}
    assert len(told.Scalars("held_out/return")) == len({e.step for e in told.Scalars("held_out/return")}) > 1
    plain, logged = (json.loads((tmp_path / name / "policy.json").read_text()) for name in ("plain", "a"))
    assert plain == logged
