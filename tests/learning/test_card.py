"""A model card of a trained policy: its numbers are those of ``policy.json``, and no text of it is obeyed."""

import json
import re
import shutil
from pathlib import Path

import pytest

import hushbandits as hb
from hushbandits.baselines.sb3_file import read
from hushbandits.cli.main import main
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


def test_the_command_writes_it_and_keeps_what_is_there(folder, capsys):
    assert main(["policy-card", str(folder), "--license", "mit"]) == 0
    path = folder / "README.md"
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_text() == card(folder, "mit")
    assert fields(path.read_text())["license"] == "mit"
    path.write_text("mine")
    assert main(["policy-card", str(folder)]) == 2
    assert "README.md exists already; --overwrite replaces it" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main(["policy-card", str(folder), "--overwrite"]) == 0
    assert path.read_text() == card(folder)


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
def test_what_lacks_is_one_sentence(folder, capsys, change, message):
    assert main(["policy-card", str(changed(folder, change))]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (folder / "README.md").exists()


def test_no_policy_is_one_sentence(tmp_path, capsys):
    assert main(["policy-card", str(tmp_path)]) == 2
    assert "there is no policy in" in capsys.readouterr().err
