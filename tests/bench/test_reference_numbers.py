"""Reference numbers exist for every agent, match their declaration, and are reproduced by the code."""

import json
from dataclasses import replace

import pytest

import hushbandits as hb
from benchmarks import reference

NAMES = sorted(path.stem for path in reference.FOLDER.glob("*.toml"))
DECLARED = {name: reference.declared(name) for name in NAMES}
SAVED = {name: json.loads((reference.FOLDER / f"{name}.json").read_text(encoding="utf8")) for name in NAMES}
#: Played again by default; weekly all are.
DAILY = ("feedback", "Dist-DP-SE")


def only(name, line):
    """An instance with one line."""
    experiment = DECLARED[name]
    (agent,) = (use for use in experiment.agents if use.called == line)
    return replace(experiment, agents=[agent])


def assert_unmoved(again, saved):
    """Return whether numbers equal the saved ones, up to the order of additions."""
    assert again.keys() == saved.keys()
    for metric, numbers in again.items():
        assert {key: pytest.approx(value, rel=1e-9) for key, value in numbers.items()} == saved[metric], metric


def test_every_agent_has_numbers():
    assert {said["agent"] for saved in SAVED.values() for said in saved["lines"].values()} == set(hb.list_agents())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_of_what_is_declared_beside_it(name):
    saved, experiment = SAVED[name], DECLARED[name]
    assert saved["env"] == {"type": experiment.env.name, "params": experiment.env.params}
    assert (saved["title"], saved["runs"]) == (experiment.title, experiment.runs)
    assert list(saved["lines"]) == experiment.lines()
    assert {tuple(said["metrics"]) for said in saved["lines"].values()} == {tuple(experiment.metrics)}


def unmoved(lines):
    assert lines
    for name, line in lines:
        again = reference.played(only(name, line))
        assert_unmoved(again[line]["metrics"], SAVED[name]["lines"][line]["metrics"])


def test_a_line_has_not_moved():
    unmoved([DAILY])


@pytest.mark.weekly
@pytest.mark.parametrize("name", NAMES)
def test_no_line_has_moved(name):
    unmoved([(name, line) for line in SAVED[name]["lines"]])
