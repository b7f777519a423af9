"""A model in memory, and its zip, as agents: their actions, refused models, and code that is not run."""

import base64
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch
from policies import HOMES, HYPER, NET, shaken
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize

import hushbandits as hb
from hushbandits.baselines.sb3 import Trained
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.learning.models import build

FORMS = [
    ("ppo", "network", {}), ("dqn", "network", {}), ("ppo", "exploration", {"action_format": "native"}),
    ("maskable-ppo", "exploration", {"action_format": "multidiscrete"}), ("a2c", "feedback", {"action_format":
    "multidiscrete"}),
]  # fmt: skip


def model_of(algo="ppo", case="network", task=None, wrappers=(), **hyper):
    id, params = HOMES[case]
    venv = hb.make_sb3(id, 2, wrappers=list(wrappers), **(task or {}), **params)
    if algo == "dqn":
        return shaken(DQN("MlpPolicy", venv, seed=0, device="cpu", policy_kwargs={"net_arch": [8]}))
    return shaken(build(algo, venv, {**HYPER[algo], **hyper}, 0))


def saved(model, path):
    model.save(path)
    return path


def same(one, other):
    return one.only.data.finals.keys() == other.only.data.finals.keys() and all(
        np.array_equal(value, other.only.data.finals[name]) for name, value in one.only.data.finals.items()
    )


# -- actions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("algo", "case", "task"), FORMS)
def test_a_model_its_zip_and_the_zip_loaded_play_the_same(algo, case, task, tmp_path):
    id, env = HOMES[case]
    model = model_of(algo, case, task)
    zipped = saved(model, tmp_path / "my.zip")
    mine = hb.evaluate(id, model, runs=3, env=env)
    shown = {"task": task, "masked": algo == "maskable-ppo"}
    assert same(mine, hb.evaluate(id, f"sb3:{zipped}", runs=3, env=env, agent_kwargs=shown))
    again = type(model).load(zipped, device="cpu")
    assert same(mine, hb.evaluate(id, again, runs=3, env=env, agent_kwargs={"task": task}))


def test_an_activation_that_is_not_the_librarys_own_is_said(tmp_path):
    venv = hb.make_sb3("CoopNetwork-v0", 2, **NET)
    model = shaken(PPO("MlpPolicy", venv, device="cpu", policy_kwargs={"activation_fn": torch.nn.ReLU}))
    zipped, mine = f"sb3:{saved(model, tmp_path / 'my.zip')}", hb.evaluate("CoopNetwork-v0", model, runs=2, env=NET)
    as_relu, as_usual = (
        hb.evaluate("CoopNetwork-v0", zipped, runs=2, env=NET, agent_kwargs=said)
        for said in ({"activation": "relu"}, {})
    )
    assert same(mine, as_relu)
    assert not same(mine, as_usual)
    with pytest.raises(ValueError, match="activation='elu'"):
        hb.make_team(zipped, activation="elu")


def test_workers_play_a_model_as_it_is_played_here():
    id, env = HOMES["network"]
    model = model_of()
    here, there = (hb.evaluate(id, model, runs=3, env=env, options=hb.RunOptions(jobs)) for jobs in (1, 2))
    assert same(here, there)


@pytest.mark.parametrize(("algo", "case"), [("ppo", "network"), ("dqn", "network"), ("ppo", "exploration")])
def test_it_does_what_its_own_predict_does(algo, case):
    """The library's actions, with `hb.FromFunction` and in the learner's env, equal the network in NumPy."""
    id, env = HOMES[case]
    model = model_of(algo, case)

    def asked(seen):
        return model.predict(seen.reshape(-1, seen.shape[-1]), deterministic=True)[0].reshape(seen.shape[:2])

    mine = hb.evaluate(id, model, runs=4, env=env, agent_kwargs={"deterministic": True})
    assert same(mine, hb.evaluate(id, hb.FromFunction(asked), runs=4, env=env))
    venv = hb.make_sb3(id, 1, **env)
    venv.seed(3)
    seen, done = venv.reset(), np.array([False])
    while not done.all():
        seen, _, done, infos = venv.step(model.predict(seen, deterministic=True)[0])
    core = hb.make_batched(id, 1, permute_arms=True, **env)
    played = hb.rollout(core, Trained(model, deterministic=True), 3)
    for name, value in infos[0]["metrics"].items():
        assert np.array_equal(played[name][0], value)


def test_a_model_is_taken_as_it_is_and_stays_so():
    model = model_of()
    team = hb.make_team(model)
    before = hb.evaluate("CoopNetwork-v0", team, runs=2, env=NET)
    with torch.no_grad():
        for p in model.policy.parameters():
            p.mul_(-3)
    assert same(before, hb.evaluate("CoopNetwork-v0", team, runs=2, env=NET))
    assert not same(before, hb.evaluate("CoopNetwork-v0", model, runs=2, env=NET))


def test_what_is_known_of_its_env_is_used_and_what_is_not_is_asked_for(tmp_path):
    model = model_of(task={"agent_id": True, "cost_coefficients": {"messages": 0.1}})
    mine = hb.evaluate("CoopNetwork-v0", model, runs=2, env=NET)
    assert (mine.only.cell.env.name, mine.labels) == ("CoopNetwork-v0", ["PPO of CoopNetwork-v0"])
    zipped = f"sb3:{saved(model, tmp_path / 'my.zip')}"
    shown = {"task": {"agent_id": True}}
    assert same(mine, hb.evaluate("CoopNetwork-v0", zipped, runs=2, env=NET, agent_kwargs=shown))
    with pytest.raises(ValueError, match=r"my\.zip.* 18 .* 15 "):
        hb.evaluate("CoopNetwork-v0", zipped, runs=2, env=NET)
    with pytest.raises(ValueError, match="agent_id"):
        hb.evaluate("CoopNetwork-v0", model, runs=2, env={**NET, "n_agents": 5})
    with pytest.raises(ValueError, match="agent_i=True"):
        hb.evaluate("CoopNetwork-v0", zipped, runs=2, env=NET, agent_kwargs={"task": {"agent_i": True}})
    with pytest.raises(ValueError, match="cost_coefficients=1"):
        hb.make_team(model, task={"cost_coefficients": 1})
    with pytest.raises(TypeError, match="deterministc"):
        hb.evaluate("CoopNetwork-v0", model, env=NET, agent_kwargs={"deterministc": True})


def test_it_stands_in_an_experiment_and_its_digest_is_its_contents(here):
    saved(model_of(), here / "my.zip")
    experiment = Experiment(
        name="x", title="X", env=Component("CoopNetwork-v0", **NET), agents=["sb3:my.zip"], runs=2, metrics=["regret"]
    )
    before = hb.source_digests([experiment])
    assert list(before) == ["sb3:my.zip"]
    hb.run(experiment, here / "out")
    saved(model_of(net_arch=[4]), here / "my.zip")
    assert hb.source_digests([experiment]) != before


# -- refused -----------------------------------------------------------------------------------------------------------


class Halved(FlattenExtractor):
    def forward(self, observations):
        return super().forward(observations) / 2


class Mine(ActorCriticPolicy):
    pass


def plain(policy="MlpPolicy", venv=None, cls=PPO, **network):
    venv = venv or hb.make_sb3("CoopNetwork-v0", 2, **NET)
    return cls(policy, venv, device="cpu", n_steps=4, n_epochs=1, batch_size=24, policy_kwargs=network)


def recurrent():
    from sb3_contrib import RecurrentPPO

    return plain("MlpLstmPolicy", cls=RecurrentPPO)


REFUSED = {
    "ELU": lambda: plain(activation_fn=torch.nn.ELU),
    "Halved": lambda: plain(features_extractor_class=Halved),
    "Mine": lambda: plain(Mine),
    "RecurrentActorCriticPolicy": recurrent,
    "VecNormalize": lambda: plain(venv=VecNormalize(hb.make_sb3("CoopNetwork-v0", 2, **NET))),
    "45": lambda: plain(venv=VecFrameStack(hb.make_sb3("CoopNetwork-v0", 2, **NET), 3)),
}


@pytest.mark.parametrize("named", REFUSED)
def test_a_model_that_is_not_played_is_refused(named):
    with pytest.raises(ValueError, match=named):
        hb.evaluate("CoopNetwork-v0", REFUSED[named](), runs=1, env=NET)


def test_what_only_watches_or_pays_changes_nothing():
    venv = hb.make_sb3("CoopNetwork-v0", 2, **NET)
    for other in (VecMonitor(venv), VecNormalize(venv, norm_obs=False)):
        model = shaken(plain(venv=other))
        assert hb.make_team(model).policy.observation
        hb.evaluate("CoopNetwork-v0", model, runs=1, env=NET)


# -- zips --------------------------------------------------------------------------------------------------------------


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("boom",)


def rezipped(path, **members):
    """Rewrite a zip with some of its members changed."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in content.items():
            change = members.get(name.partition(".")[0])
            archive.writestr(name, value if change is None else change(value))
    return path


def test_nothing_of_a_zip_is_run(here):
    bomb = base64.b64encode(pickle.dumps(Bomb())).decode()

    def armed(content):
        return json.dumps({**json.loads(content), "note": {":type:": "x", ":serialized:": bomb}})

    model = model_of()
    path = saved(model, here / "my.zip")
    PPO.load(rezipped(path, data=armed), device="cpu")
    (here / "boom").rmdir()  # the bomb works if the library reads the whole file
    mine = hb.evaluate("CoopNetwork-v0", model, runs=2, env=NET)
    assert same(mine, hb.evaluate("CoopNetwork-v0", f"sb3:{path}", runs=2, env=NET))
    with pytest.raises(ValueError, match=r"my\.zip"):
        hb.make_team(f"sb3:{rezipped(path, policy=lambda content: pickle.dumps(Bomb()))}")
    assert not (here / "boom").exists()


def test_a_zip_that_is_none_is_refused(tmp_path):
    (tmp_path / "text.zip").write_text("hello")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("data", "{}")
    saved(recurrent(), tmp_path / "lstm.zip")
    for name, said in {"text": "text", "empty": "policy", "lstm": "lstm_actor", "missing": "missing"}.items():
        with pytest.raises(ValueError, match=said):
            hb.make_team(f"sb3:{tmp_path / name}.zip")
    model = model_of()
    with torch.no_grad():
        model.policy.action_net.bias[0] = float("nan")
    for source in (model, f"sb3:{saved(model, tmp_path / 'nan.zip')}"):
        with pytest.raises(ValueError, match="finite"):
            hb.make_team(source)
