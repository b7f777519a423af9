"""Reference numbers exist for every agent, match their declaration, and are reproduced by the code."""

import json
from dataclasses import replace

import pytest
from kinds import weekly_but

import hushbandits as hb
from benchmarks import reference

NAMES = sorted(path.stem for path in reference.FOLDER.glob("*.toml"))
DECLARED = {name: reference.declared(name) for name in NAMES}
SAVED = {name: json.loads((reference.FOLDER / f"{name}.json").read_text(encoding="utf8")) for name in NAMES}
#: Played again by default; weekly all are.
DAILY = ("feedback", "Dist-DP-SE")


def test_every_agent_has_numbers():
    assert {said["agent"] for saved in SAVED.values() for said in saved["lines"].values()} == set(hb.list_agents())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_of_what_is_declared_beside_it(name):
    saved, experiment = SAVED[name], DECLARED[name]
    assert saved["env"] == {"type": experiment.env.name, "params": experiment.env.params}
    assert (saved["title"], saved["runs"]) == (experiment.title, experiment.runs)
    assert list(saved["lines"]) == experiment.lines()
    assert {tuple(said["metrics"]) for said in saved["lines"].values()} == {tuple(experiment.metrics)}


@pytest.mark.parametrize(
    ("name", "line"), weekly_but([DAILY], *((name, line) for name in NAMES for line in SAVED[name]["lines"]))
)
def test_a_line_has_not_moved(name, line):
    """Numbers equal the saved ones, up to the order of additions."""
    (agent,) = (use for use in DECLARED[name].agents if use.called == line)
    again = reference.played(replace(DECLARED[name], agents=[agent]))[line]["metrics"]
    saved = SAVED[name]["lines"][line]["metrics"]
    assert again.keys() == saved.keys()
    for metric, numbers in again.items():
        assert {key: pytest.approx(value, rel=1e-9) for key, value in numbers.items()} == saved[metric], metric
