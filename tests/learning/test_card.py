"""A model card of a trained policy: its numbers are those of ``policy.json``, and no text of it is obeyed."""

import json
import re
import shutil
from pathlib import Path

import pytest

import hushbandits as hb
from hushbandits.baselines.sb3_file import read
from hushbandits.learning.card import card

POLICIES = Path(hb.__file__).parent / "data/policies"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(POLICIES / "es-dpmase", tmp_path / "votes"))


def changed(folder, change):
    path = folder / "policy.json"
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    return folder


def fields(text):
    """What stands on top: names, each with a word or with JSON."""
    _, top, _ = text.split("---\n", 2)
    found = {}
    for line in top.splitlines():
        name, _, value = line.partition(": ")
        found[name] = json.loads(value) if value[:1] in '["' else value
    return found


@pytest.mark.parametrize("name", [path.name for path in sorted(POLICIES.iterdir())])
def test_a_card_of_what_ships(name):
    training = read(POLICIES / name).told["training"]
    text, last = card(POLICIES / name), training["curve"][-1]
    top = fields(text)
    assert top["library_name"] == "hushbandits"
    assert "license" not in top
    assert fields(card(POLICIES / name, "mit"))["license"] == "mit"
    ((result,),) = (index["results"] for index in top["model-index"])
    values = {metric["name"]: metric["value"] for metric in result["metrics"]}
    assert values == {"return": last["return"], **last["metrics"]}
    assert f"    {training['command']}\n" in text
    assert f"| return | {last['return']:.4g} ± {1.96 * last['se']:.2g} | {training['random']['return']:.4g}" in text
    for library, version in training["versions"].items():
        assert f"| {library} | {version} |" in text


def test_the_call_plays_the_policy(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder.parent)
    code = "".join(
        line[4:] + "\n" for line in card(folder).partition("## Scores")[0].splitlines() if line[:4] == "    "
    )
    exec(compile(code.replace("runs=200", "runs=3"), "README.md", "exec"), {})
    assert "'correct'" in capsys.readouterr().out


def test_a_strangers_texts_are_shown_and_not_obeyed(folder):
    def change(told):
        told["training"]["command"] = "a\n---\n# mine \x1b[2J"
        told["training"]["versions"] = {"<script>|": "[x](y)"}
        told["training"]["curve"][-1]["metrics"] = {'a\u2028b"\n---': 1.0}

    text = card(changed(folder, change))
    assert "    a --- # mine \\x1b[2J\n" in text
    assert "\\<script\\>\\|" in text
    assert "\\[x\\](y)" in text
    assert len(re.findall("^---$", text, re.M)) == 2
    assert fields(text)["model-index"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda told: told.pop("training"), "does not say how it was trained"),
        (lambda told: told["training"].update(curve=[]), "curve=[] must be a list of one evaluation at least"),
        (lambda told: told["training"].pop("asked"), "asked=None"),
        (lambda told: told["training"]["curve"][-1].update({"return": "much"}), "score 'return'='much' must be"),
        (lambda told: told["training"].update(versions=3), "versions=3"),
        (lambda told: told.update(wrappers=3), "wrappers=3"),
    ],
)
def test_what_lacks_is_one_sentence(folder, change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        card(changed(folder, change))


def test_no_policy_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="there is no policy in"):
        card(tmp_path)
