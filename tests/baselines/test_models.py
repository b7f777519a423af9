"""A model in memory, and the zip that it was saved to, as agents: what they play, what is refused, what is not run."""

import base64
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from policies import HOMES, HYPER, NET, shaken
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecFrameStack, VecMonitor, VecNormalize

import hushbandits as hb
from hushbandits.baselines.sb3 import Trained
from hushbandits.baselines.sb3_zip import read_zip
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.learning.models import MODELS, build

FORMS = [
    *((algo, "network", {}) for algo in MODELS),
    *((algo, "exploration", {"actions": form}) for algo in ("ppo", "maskable-ppo") for form in ("native", "discrete")),
    ("recurrent-ppo", "exploration", {"actions": "multidiscrete"}),
    ("dqn", "exploration", {}),
    ("a2c", "feedback", {"actions": "multidiscrete"}),
    ("ppo", "feedback", {}),
]


def model_of(algo="ppo", case="network", task=None, wrappers=(), **hyper):
    id, params = HOMES[case]
    venv = hb.make_sb3(id, 2, wrappers=list(wrappers), **(task or {}), **params)
    return shaken(build(algo, venv, {**HYPER[algo], **hyper}, 0))


def saved(model, path):
    model.save(path)
    return path


def same(one, other):
    return one.only.data.finals.keys() == other.only.data.finals.keys() and all(
        np.array_equal(value, other.only.data.finals[name]) for name, value in one.only.data.finals.items()
    )


# -- what they play --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algo", "case", "task"), FORMS, ids=lambda x: "-".join(x.values()) if isinstance(x, dict) else x
)
def test_a_model_its_zip_and_the_zip_loaded_play_the_same(algo, case, task, tmp_path):
    id, env = HOMES[case]
    model = model_of(algo, case, task)
    zipped = saved(model, tmp_path / "my.zip")
    mine = hb.evaluate(id, model, runs=3, env=env)
    assert same(mine, hb.evaluate(id, f"sb3:{zipped}", runs=3, env=env))
    assert same(mine, hb.evaluate(id, type(model).load(zipped, device="cpu"), runs=3, env=env))


def test_workers_play_a_model_as_it_is_played_here():
    id, env = HOMES["network"]
    model = model_of()
    here, there = (hb.evaluate(id, model, runs=3, env=env, options=hb.RunOptions(jobs)) for jobs in (1, 2))
    assert same(here, there)


@pytest.mark.parametrize(
    ("algo", "case"), [("ppo", "network"), ("dqn", "network"), ("a2c", "feedback"), ("ppo", "exploration")]
)
def test_it_does_what_its_own_predict_does(algo, case):
    """The library's own answers, played by `hb.Acts` and in the learner's env, against the network in NumPy."""
    id, env = HOMES[case]
    model = model_of(algo, case)

    def asked(seen):
        return model.predict(seen.reshape(-1, seen.shape[-1]), deterministic=True)[0].reshape(seen.shape[:2])

    mine = hb.evaluate(id, model, runs=4, env=env, agent_kwargs={"deterministic": True})
    assert same(mine, hb.evaluate(id, hb.Acts(asked), runs=4, env=env))
    venv = hb.make_sb3(id, 1, **env)
    venv.seed(3)
    seen, done = venv.reset(), np.array([False])
    while not done.all():
        seen, _, done, infos = venv.step(model.predict(seen, deterministic=True)[0])
    core = hb.make_core(id, 1, permute_arms=True, **env)
    played = hb.play(core, Trained(model, deterministic=True), 3)
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
    model = model_of(task={"agent_id": True, "price": {"messages": 0.1}})
    mine = hb.evaluate("CoopNetwork-v0", model, runs=2, env=NET)
    assert (mine.only.cell.env.name, mine.labels) == ("CoopNetwork-v0", ["PPO of CoopNetwork-v0"])
    zipped = f"sb3:{saved(model, tmp_path / 'my.zip')}"
    told = {"task": {"agent_id": True}}
    assert same(mine, hb.evaluate("CoopNetwork-v0", zipped, runs=2, env=NET, agent_kwargs=told))
    with pytest.raises(ValueError, match=r"my\.zip was trained with 18 numbers .* here are 15: own_mean.*; task="):
        hb.evaluate("CoopNetwork-v0", zipped, runs=2, env=NET)
    with pytest.raises(ValueError, match="with 3 numbers in \\[0, 1\\] as 'agent_id', and here are 5 numbers"):
        hb.evaluate("CoopNetwork-v0", model, runs=2, env={**NET, "n_agents": 5})
    with pytest.raises(ValueError, match="agent_i=True: a learner of the network setting has"):
        hb.evaluate("CoopNetwork-v0", zipped, runs=2, env=NET, agent_kwargs={"task": {"agent_i": True}})
    with pytest.raises(ValueError, match="task: price=1 is about what a learner earns"):
        hb.make_team(model, task={"price": 1})
    with pytest.raises(TypeError, match=r"deterministc.*did you mean deterministic"):
        hb.evaluate("CoopNetwork-v0", model, env=NET, agent_kwargs={"deterministc": True})
    with pytest.raises(TypeError, match="horizon=3"):
        hb.evaluate("CoopNetwork-v0", model, env=NET, agent_kwargs={"horizon": 3})


def test_an_env_that_shows_something_else_is_refused(tmp_path):
    zipped = f"sb3:{saved(model_of(), tmp_path / 'my.zip')}"
    with pytest.raises(ValueError, match="other bounds of what is here 'heard_mean'"):
        hb.evaluate("CoopNetwork-v0", zipped, env=NET, wrappers=["Huber"])
    with pytest.raises(
        ValueError, match="with 3 numbers in \\[0, 1\\] as 'heard_mean', and here are 3 numbers in \\[-1"
    ):
        hb.evaluate("CoopNetwork-v0", model_of(), env=NET, wrappers=["Huber"])
    with pytest.raises(ValueError, match="plays the network setting"):
        hb.evaluate("DPMASE-v0", model_of(), env=HOMES["exploration"][1])
    long = {**HOMES["feedback"][1], "horizon": 4000}
    with pytest.raises(ValueError, match="to act in Discrete"):
        hb.evaluate("DistDP-v0", model_of(case="feedback"), env=long)


def test_it_stands_in_an_experiment_and_its_digest_is_its_contents(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(model_of(), tmp_path / "my.zip")
    experiment = Experiment(
        name="x", title="X", env=Use("CoopNetwork-v0", **NET), agents=["sb3:my.zip"], runs=2, metrics=["regret"]
    )
    before = hb.source_digests([experiment])
    assert list(before) == ["sb3:my.zip"]
    hb.run(experiment, tmp_path / "out")
    saved(model_of(net_arch=[4]), tmp_path / "my.zip")
    assert hb.source_digests([experiment]) != before


# -- what is not played ------------------------------------------------------------------------------------------------


class Halved(FlattenExtractor):
    def forward(self, observations):
        return super().forward(observations) / 2


class Mine(ActorCriticPolicy):
    pass


def plain(policy="MlpPolicy", venv=None, **network):
    venv = venv or hb.make_sb3("CoopNetwork-v0", 2, **NET)
    return PPO(policy, venv, device="cpu", n_steps=4, n_epochs=1, batch_size=24, policy_kwargs=network)


REFUSED = {
    "activation": (lambda: plain(activation_fn=torch.nn.ELU), "its layers are of 'ELU'", "its layers are of 'ELU'"),
    "extractor": (
        lambda: plain(features_extractor_class=Halved), "go through a Halved", "'features_extractor_class' of its own",
    ),
    "policy": (lambda: plain(Mine), r"is a test_models\.Mine", "its policy is of 'test_models'"),
    "deep": (
        lambda: build("recurrent-ppo", hb.make_sb3("CoopNetwork-v0", 2, **NET), {"n_steps": 4}, 0).__class__(
            "MlpLstmPolicy", hb.make_sb3("CoopNetwork-v0", 2, **NET), policy_kwargs={"n_lstm_layers": 2}, device="cpu"
        ),
        "it has 'lstm_actor.*l1'", "it has 'lstm_actor.*l1'",
    ),
    "normalized": (
        lambda: plain(venv=VecNormalize(hb.make_sb3("CoopNetwork-v0", 2, **NET))).learn(1), "go through a VecNormalize",
        "trained behind a VecNormalize",
    ),
    "stacked": (
        lambda: plain(venv=VecFrameStack(hb.make_sb3("CoopNetwork-v0", 2, **NET), 3)), "with 45 numbers",
        "with 45 numbers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_played_says_so_as_a_model_and_as_a_zip(case, tmp_path):
    make, model_says, zip_says = REFUSED[case]
    model = make()
    with pytest.raises(ValueError, match=model_says) as error:
        hb.evaluate("CoopNetwork-v0", model, runs=1, env=NET)
    assert "\n" not in str(error.value)
    assert "hb.Acts" in str(error.value) or case == "stacked"
    with pytest.raises(ValueError, match=zip_says):
        hb.evaluate("CoopNetwork-v0", f"sb3:{saved(model, tmp_path / 'my.zip')}", runs=1, env=NET)


def test_what_only_watches_or_pays_changes_nothing():
    venv = hb.make_sb3("CoopNetwork-v0", 2, **NET)
    for other in (VecMonitor(venv), VecNormalize(venv, norm_obs=False)):
        model = shaken(plain(venv=other))
        assert hb.make_team(model).policy.parts
        hb.evaluate("CoopNetwork-v0", model, runs=1, env=NET)


def test_weights_that_are_not_finite_are_refused(tmp_path):
    model = model_of()
    with torch.no_grad():
        model.policy.action_net.bias[0] = float("nan")
    for source in (model, f"sb3:{saved(model, tmp_path / 'my.zip')}"):
        with pytest.raises(ValueError, match=r"head\.bias holds numbers that are not finite"):
            hb.make_team(source)


# -- zips of strangers ------------------------------------------------------------------------------------------------


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("boom",)


def rezipped(path, change):
    """Write a zip anew, its members as `change(name, content)` has them."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if (content := change(name, content)) is not None:
                archive.writestr(name, content)
    return path


def with_table(table):
    """Change the pickle in ``policy.pth``."""

    def change(name, content):
        if name != "policy.pth":
            return content
        file = io.BytesIO(content)
        rezipped(file, lambda inner, old: table if inner.endswith("/data.pkl") else old)
        return file.getvalue()

    return change


def test_nothing_of_a_strangers_zip_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bomb = base64.b64encode(pickle.dumps(Bomb())).decode()

    def armed(name, content):
        if name != "data":
            return content
        told = json.loads(content)
        for value in told.values():
            if isinstance(value, dict) and ":serialized:" in value:
                value[":serialized:"] = bomb
        return json.dumps({**told, "learning_rate": {":type:": "x", ":serialized:": bomb}})

    saved(model_of(), tmp_path / "my.zip")
    mine = hb.make_team("sb3:my.zip")
    rezipped(tmp_path / "my.zip", armed)  # as the library's own load would run it
    rezipped(tmp_path / "my.zip", lambda name, content: pickle.dumps(Bomb()) if "optimizer" in name else content)
    same_weights = hb.make_team("sb3:my.zip").policy.weights
    assert all(np.array_equal(value, same_weights[name]) for name, value in mine.policy.weights.items())
    for protocol in (0, 1, 2, 4):
        rezipped(tmp_path / "my.zip", with_table(pickle.dumps(Bomb(), protocol)))
        with pytest.raises(ValueError, match=r"policy my\.zip: .*if you trust the file, load it yourself"):
            hb.make_team("sb3:my.zip")
    rezipped(tmp_path / "my.zip", lambda name, content: pickle.dumps(Bomb()) if name == "policy.pth" else content)
    with pytest.raises(ValueError, match=r"policy my\.zip: "):
        hb.make_team("sb3:my.zip")
    assert not (tmp_path / "boom").exists()


DEEP = b"\x80\x02)q\x00" + b"h\x00h\x00\x86q\x00" * 80
TABLES = {
    "a tuple as a key, which takes for ever to hash": b"\x80\x02}" + DEEP[2:] + b"K\x01s.",
    "deep alone": DEEP + b".",
    "no table": b"\x80\x02K\x01.",
    "numbers in a table": b"\x80\x02}X\x01\x00\x00\x00aK\x01s.",
    "nothing on the stack": b"\x80\x020.",
    "no mark": b"\x80\x02u.",
    "what was never put": b"\x80\x02h\x09.",
    "a place far away": b"\x80\x02K\x01r\xff\xff\xff\x7f.",
    "a long text that is not there": b"\x80\x02X\xff\xff\xff\x7fa.",
    "no end": b"\x80\x02}",
    "empty": b"",
    "an empty table": b"\x80\x02}.",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_weights_that_is_none_is_a_sentence(table, tmp_path):
    path = rezipped(saved(model_of(), tmp_path / "my.zip"), with_table(TABLES[table]))
    with pytest.raises(ValueError, match=r"policy .*my\.zip: ") as error:
        read_zip(path)
    assert "\n" not in str(error.value)


def changed(**parts):
    def change(name, content):
        return json.dumps({**json.loads(content), **parts}) if name == "data" else content

    return change


DISCRETE = {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>"}
JSONS = {
    "policy": ({"policy_class": {"__module__": "os"}}, "its policy is of 'os'"),
    "no policy": ({"policy_class": None}, "policy_class=None must be a table"),
    "a list of modules": ({"policy_class": {"__module__": ["x"]}}, r"its policy is of \['x'\]"),
    "activation": ({"policy_kwargs": {"activation_fn": "<class 'os.system'>"}}, "its layers are of"),
    "options": ({"policy_kwargs": {"squash_output": 1}}, "'squash_output' of its own"),
    "bounds": ({"observation_space": {"low": "[0. 1. ... 1.]", "high": "[1.]"}}, "written in part; if you trust"),
    "bounds of bounds": ({"observation_space": {"low": "[0.]", "high": "[1. 1.]"}}, "different numbers"),
    "bounds of words": ({"observation_space": {"low": "[e]", "high": "[1. 1.]"}}, "could not convert"),
    "actions": ({"action_space": {":type:": "<class 'gymnasium.spaces.box.Box'>"}}, "must be Discrete, MultiD"),
    "more actions": ({"action_space": {**DISCRETE, "n": "9"}}, "of shape"),
    "half actions": ({"action_space": {**DISCRETE, "n": "2.5"}}, "choices"),
    "all actions": ({"action_space": {**DISCRETE, "n": "inf"}}, "choices"),
    "from one": (
        {"action_space": {**DISCRETE, "n": "3", "start": "1"}}, "start at",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", JSONS)
def test_a_zip_whose_table_lies_is_a_sentence(case, tmp_path):
    parts, message = JSONS[case]
    path = rezipped(saved(model_of(), tmp_path / "my.zip"), changed(**parts))
    with pytest.raises(ValueError, match=rf"policy .*my\.zip: .*{message}") as error:
        read_zip(path)
    assert "\n" not in str(error.value)


def test_whatever_bit_is_turned_it_is_read_or_refused_in_a_sentence(tmp_path):
    whole = saved(model_of(), tmp_path / "my.zip").read_bytes()
    path, rng, refused = tmp_path / "my.zip", np.random.default_rng(0), 0
    for i in range(400):
        content = bytearray(whole)
        if i % 2:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        else:
            del content[rng.integers(len(content)) :]
        path.write_bytes(bytes(content))
        said = ""
        try:
            read_zip(path)
        except ValueError as error:
            said = str(error)
        assert not said or str(path) in said
        refused += bool(said)
    assert refused > 200


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text.zip").write_text("hello")
    with zipfile.ZipFile(tmp_path / "folder.zip", "w") as archive:
        archive.writestr("policy.json", "{}")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("policy.pth", bytes(50_000_000))
        archive.writestr("data", "{}")
    for name, message in {
        "text": "not a zip",
        "folder": "unpack it",
        "bomb": "policy.pth has 50,000,000 bytes",
    }.items():
        with pytest.raises(ValueError, match=rf"{name}\.zip: .*{message}"):
            hb.make_team(f"sb3:{tmp_path / name}.zip")


def test_a_zip_is_played_without_torch(tmp_path):
    path = saved(model_of(), tmp_path / "my.zip")
    code = (
        "import sys\nsys.modules['torch'] = sys.modules['stable_baselines3'] = None\nimport hushbandits as hb\n"
        f"print(hb.evaluate('CoopNetwork-v0', 'sb3:{path}', runs=1, env={NET!r}).final('regret').shape)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "(1,)\n"
