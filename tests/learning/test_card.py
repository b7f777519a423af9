"""A model card of a trained policy has the numbers of ``card.json``."""

import json
import shutil
from pathlib import Path

import pytest

import hushbandits as hb
from hushbandits.baselines.learned import read
from hushbandits.learning.record import card

POLICIES = Path(hb.__file__).parent / "data/policies"


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(POLICIES / "es-dpmase", tmp_path / "votes"))


def fields(text):
    """Return the metadata: names, each with a word or JSON."""
    _, top, _ = text.split("---\n", 2)
    found = {}
    for line in top.splitlines():
        name, _, value = line.partition(": ")
        found[name] = json.loads(value) if value[:1] in '["' else value
    return found


@pytest.mark.parametrize("name", [path.name for path in sorted(POLICIES.iterdir())])
def test_a_card_of_what_ships(name):
    training = read(POLICIES / name).card["training"]
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


def test_what_lacks_is_refused(folder):
    shown = json.loads((folder / "card.json").read_text())
    del shown["training"]
    (folder / "card.json").write_text(json.dumps(shown))
    for path in (folder, folder / "nowhere"):
        with pytest.raises(ValueError, match=path.name):
            card(path)
