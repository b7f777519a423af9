"""Trained policies from strangers: whatever their files say, a sentence refuses it, and nothing of them is run."""

import io
import json
import zipfile

import numpy as np
import pytest
from policies import NET, trained

import hushbandits as hb
from hushbandits.baselines.sb3 import Trained
from hushbandits.baselines.sb3_file import read


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("policies") / "a")


@pytest.fixture
def mine(whole, tmp_path):
    """A copy to damage."""
    for path in whole.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def rewrite(folder, **changes):
    path = folder / "policy.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, **changes}))
    return told


TABLES = {
    "format": ({"format": 2}, "format=2 is not one that this version reads"),
    "true": ({"format": True}, "format=True is not"),
    "algorithm": ({"algorithm": "sac"}, "algorithm='sac' is not one of"),
    "setting": ({"setting": None}, "setting=None must be a word"),
    "env": ({"env": {}}, "must name an env"),
    "env's name": ({"env": {"use": "a\nb"}}, "must name an env"),
    "options": ({"options": {"rewards": 1}}, "cannot see this env as it was trained to: rewards=1: a learner of"),
    "option's name": ({"options": {"price": {}}}, "options='price' must name what a learner sees"),
    "option of Python's": ({"options": {"core": 1}}, "cannot see this env as it was trained to: core=1: a learner of"),
    "option's value": ({"options": {"agent_id": "yes"}}, "cannot see this env as it was trained to: agent_id='yes'"),
    "observation": ({"observation": []}, "must be a list of 1 to"),
    "part": ({"observation": [["own_mean", -1, 0, 1]]}, "observation 'own_mean'=-1"),
    "part's bound": ({"observation": [["own_mean", 3, "0", 1]]}, "must be a name, a number of numbers"),
    "heads": ({"action": {"kind": "Discrete", "heads": [0]}}, "action.heads=0"),
    "kind": ({"action": {"kind": "Box", "heads": [1]}}, "action.kind='Box'"),
    "layers": ({"network": {"lstm": 0, "layers": 8, "activation": "tanh"}}, "network.layers=8 must be a list"),
    "deep": ({"network": {"lstm": 0, "layers": [8] * 99, "activation": "tanh"}}, "list of 0 to 16"),
    "wide": ({"network": {"lstm": 0, "layers": [65536] * 3, "activation": "tanh"}}, "would take 128 GiB"),
    "another width": ({"network": {"lstm": 0, "layers": [8, 9], "activation": "tanh"}}, "not float32 of shape"),
    "recurrent": ({"network": {"lstm": 8, "layers": [8, 8], "activation": "tanh"}}, "weights-48.npz holds"),
    "activation": ({"network": {"lstm": 0, "layers": [8, 8], "activation": "os.system"}}, "activation='os.system'"),
    "beats": ({"beats": 3}, "beats=3"),
    "masked": ({"masked": "no"}, "masked='no' must be true or false"),
    "weights": ({"weights": "../../weights.npz"}, "must be the name of an .npz file"),
    "no weights": ({"weights": "other.npz"}, "other.npz cannot be read: No such file"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_lies_is_refused_in_a_sentence(mine, case):
    changes, message = TABLES[case]
    rewrite(mine, **changes)
    with pytest.raises(ValueError, match=message) as error:
        hb.evaluate("CoopNetwork-v0", f"sb3:{mine}", runs=1, env=NET)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [(b"", "no JSON"), (b"[1]", "must be a table"), (b"[" * 100_000, "no JSON"), (b'{"format": NaN}', "NaN is no num"),
     (b"\xff", "no JSON"), (b" " * 16_000_001, "more than 16 MB")],
    ids=["empty", "list", "deep", "nan", "bytes", "long"],
)  # fmt: skip
def test_what_is_no_table_is_refused_in_a_sentence(mine, text, message):
    (mine / "policy.json").write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read(mine)


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('run')",)


def test_arrays_that_lie_are_refused_and_nothing_in_them_is_run(mine):
    name = rewrite(mine)["weights"]
    with np.load(mine / name) as file:
        arrays = dict(file)
    bad = {
        "holds": {k: v for k, v in arrays.items() if k != "head.bias"},
        "head.bias holds numbers that are not finite": {**arrays, "head.bias": arrays["head.bias"] * np.nan},
        "float64 of shape": {**arrays, "head.bias": arrays["head.bias"].astype(float)},
        "layer0.weight is float32 of shape": {**arrays, "layer0.weight": arrays["layer0.weight"].T.copy()},
        "head.bias is object": {**arrays, "head.bias": np.array([Evil()] * 3, object)},
    }
    for message, content in bad.items():
        np.savez(mine / name, **content)
        with pytest.raises(ValueError, match=message):
            read(mine)
    with zipfile.ZipFile(mine / name, "w") as archive:  # more than its header says
        for key, value in arrays.items():
            content = io.BytesIO()
            np.save(content, value)
            archive.writestr(f"{key}.npy", content.getvalue() + b"\0" * (key == "head.bias"))
    with pytest.raises(ValueError, match=r"head\.bias is not as long as its shape"):
        read(mine)


def test_any_damage_to_the_arrays_is_a_sentence_or_goes_unnoticed(mine):
    path = mine / rewrite(mine)["weights"]
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for i in range(300):
        content = bytearray(whole)
        if i % 3:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        else:
            del content[rng.integers(len(content)) :]
        path.write_bytes(bytes(content))
        said = ""
        try:
            read(mine)
        except ValueError as error:
            said = str(error)
        assert not said or str(mine) in said
        refused += bool(said)
    assert refused > 200


@pytest.mark.parametrize("folder", ["nowhere", "", "a\0b", "C:\\policies", "/dev/null"])
def test_a_folder_without_a_policy_is_a_sentence(folder):
    with pytest.raises(ValueError, match=r"policy|path"):
        hb.make_team(f"sb3:{folder}")
    with pytest.raises(ValueError, match="folder=3"):
        Trained(3)
