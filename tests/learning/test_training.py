"""Training is better than uniform play, continues after an interruption, and keeps a playable folder at all times."""

import json
import sys
import time

import numpy as np
import pytest
import torch
from policies import HYPER, NET, Stopped, contents, trained

import hushbandits as hb
from hushbandits.baselines.learned import read
from hushbandits.bench.runner.errors import StoreError
from hushbandits.learning import train as module
from hushbandits.learning.train import train

DUEL = {"n_agents": 4, "n_arms": 2, "means": (0.9, 0.3), "horizon": 40}
LEARNS = {"n_steps": 40, "learning_rate": 3e-3, "n_epochs": 8, "net_arch": [32]}


def lost(agent):
    return hb.evaluate("CoopNetwork-v0", agent, runs=40, seed=5, env={**DUEL, "permute_arms": True}).final("regret")


def stopped(folder, algo="ppo", after=30, **given):
    """A training that is interrupted after so many steps."""

    def stop(steps, found):
        if steps > after and found is None:
            raise Stopped

    with pytest.raises(Stopped):
        trained(folder, algo, notify=stop, **given)
    return folder


def test_a_tiny_one_learns_what_ucb1_knows(tmp_path):
    """2 arms, 4 agents, 40 rounds: less than half of uniform play's regret, less than 1.5 times UCB1's.

    In 40 held-out runs of 4 agents: about 0.28 and 0.9.
    """
    begun = time.process_time()
    train("CoopNetwork-v0", tmp_path / "a", steps=20_000, seed=1, env=DUEL, hyper=LEARNS, evaluations=1, held_out=8)
    assert time.process_time() - begun < 60
    mine, uniform, ucb = (lost(agent).mean() for agent in (f"sb3:{tmp_path / 'a'}", "Random", "UCB1"))
    assert mine < 0.5 * uniform
    assert mine < 1.5 * ucb


@pytest.mark.weekly
def test_an_interrupted_training_learns_as_much_as_one_that_was_not(tmp_path):
    given = {"steps": 20_000, "seed": 1, "env": DUEL, "hyper": LEARNS, "evaluations": 4, "held_out": 64, "runs": 16}
    whole = read(trained(tmp_path / "a", **given)).card["training"]["curve"]
    begun = stopped(tmp_path / "b", after=12_000, **given)
    halves = read(trained(begun, **given, resume=True)).card["training"]["curve"]
    assert [point["steps"] for point in whole] == [point["steps"] for point in halves]
    for one, other in zip(whole, halves, strict=True):  # returns grow from 24 to 34; five errors and a little
        assert abs(one["return"] - other["return"]) < 5 * np.hypot(one["se"], other["se"]) + 1


@pytest.mark.parametrize("algo", HYPER)
def test_an_interrupted_training_goes_on_from_its_checkpoint(tmp_path, algo):
    steps = 600 if algo == "es" else 96
    given = {"steps": steps, "evaluations": 4}
    folder = stopped(tmp_path / "a", algo, after=steps / 2, **given)
    (checkpoint,) = {"checkpoint.zip", "checkpoint.npz"} & set(contents(folder))
    before = read(folder)
    done = before.card["training"]["steps"]
    assert 0 < done <= steps / 2
    hb.evaluate("CoopNetwork-v0", f"sb3:{folder}", runs=1, env=NET)
    calls = []
    trained(folder, algo, **given, resume=True, notify=lambda steps, found: calls.append(steps))
    assert calls[0] == done
    assert min(calls) == done  # no step is trained twice
    assert set(contents(folder)) == {"card.json", "weights.npz"}
    training = read(folder).card["training"]
    assert training["curve"][: len(before.card["training"]["curve"])] == before.card["training"]["curve"]
    assert training["complete"]
    whole = contents(folder)
    trained(folder, algo, **given, resume=True)  # nothing is left to do
    assert contents(folder) == whole
    lost = stopped(tmp_path / "b", algo, after=steps / 2, **given)
    for damage in (lambda path: path.write_bytes(path.read_bytes()[:-100]), lambda path: path.unlink()):
        damage(lost / checkpoint)
        with pytest.raises(StoreError, match="b cannot continue"):
            trained(lost, algo, **given, resume=True)


def test_one_seed_makes_one_policy(tmp_path):
    threads = torch.get_num_threads()
    first, second, other = (contents(trained(tmp_path / name, seed=i)) for name, i in (("a", 3), ("b", 3), ("c", 4)))
    assert first == second
    assert first["weights.npz"] != other["weights.npz"]
    assert torch.get_num_threads() == threads


def test_a_folder_with_something_else_is_refused(tmp_path):
    done = trained(tmp_path / "done")
    before = contents(done)
    refused = [
        ({}, "--resume"),
        ({"resume": True, "algo": "a2c"}, "algo='ppo', not 'a2c'"),
        ({"resume": True, "steps": 99}, "steps=48, not 99"),
        ({"resume": True, "seed": 3}, "seed=0, not 3"),
        ({"resume": True, "env": {"horizon": 9}}, "env="),
        ({"resume": True, "task": {"agent_id": True}}, "task={}, not"),
        ({"resume": True, "wrappers": ["Loss"]}, "wrappers="),
    ]
    for given, named in refused:
        with pytest.raises(StoreError, match=named):
            trained(done, **given)
    with pytest.raises(StoreError, match="new"):
        trained(tmp_path / "new", resume=True)
    for name in ("notes.txt", "weights-best.pt", "checkpoint-mymodel.npz", "weights.npz", "policy.json"):
        (mine := tmp_path / name[:-4] / name).parent.mkdir()
        mine.write_text("mine")
        with pytest.raises(StoreError, match=name):
            trained(mine.parent)
        assert contents(mine.parent) == {name: b"mine"}
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="file"):
        trained(tmp_path / "file")
    assert contents(done) == before
    (done / "card.json").write_text("{")
    with pytest.raises(StoreError, match="done"):
        trained(done, resume=True)


def test_what_somebody_puts_into_the_folder_stays(tmp_path):
    folder = stopped(tmp_path / "a")
    theirs = {"weights-best.pt": b"x", "checkpoint-mymodel.npz": b"y", "README.md": b"z"}
    for name, content in theirs.items():
        (folder / name).write_bytes(content)
    trained(folder, resume=True)
    found = contents(folder)
    assert found.keys() == {"card.json", "weights.npz", *theirs}
    assert {name: found[name] for name in theirs} == theirs


def test_held_out_episodes_are_in_no_training(tmp_path, monkeypatch):
    seen = {"train": set(), "score": set()}
    reset = module.Rows.reset

    def watched(self, seed=None, rows=None):
        if seed is not None:
            seen["score" if self.runs == 3 else "train"].add(seed)
        return reset(self, seed, rows)

    monkeypatch.setattr(module.Rows, "reset", watched)
    trained(tmp_path / "a", seed=7, held_out=3)
    trained(tmp_path / "b", "es", seed=7, held_out=3)
    assert seen["score"] == {7 + (1 << 64)}
    assert seen["train"]
    assert max(seen["train"]) < 1 << 33


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value")
def test_a_training_that_diverges_says_so(tmp_path):
    with pytest.raises(ValueError, match="learning_rate"):
        trained(tmp_path / "a", "a2c", hyper={"n_steps": 4, "learning_rate": 1e30}, steps=960)


class Curves:
    """Fakes of MLflow and Weights & Biases, as far as a training calls them."""

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
    with pytest.raises(ImportError, match="mlflow"):
        trained(tmp_path / "a", logger="mlflow")
    with pytest.raises(ValueError, match="logger='csv'"):
        trained(tmp_path / "a", logger="csv")
    assert not (tmp_path / "a").exists()


def test_logs_are_written_where_asked(tmp_path):
    pytest.importorskip("tensorboard")
    short = {"horizon": 4}  # episodes that end within a rollout
    trained(tmp_path / "plain", env=short)
    trained(tmp_path / "a", env=short, logger="tensorboard")
    (events,) = (tmp_path / "a" / "tensorboard").rglob("events*")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(events)).Reload()
    assert {"rollout/ep_rew_mean", "held_out/return"} <= {*shown.Tags()["scalars"]}
    assert len(shown.Scalars("held_out/return")) == len({e.step for e in shown.Scalars("held_out/return")}) > 1
    plain, logged = (json.loads((tmp_path / name / "card.json").read_text()) for name in ("plain", "a"))
    assert plain == logged
