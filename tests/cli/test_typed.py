"""A mistyped command ends with a sentence that says what to do, and its output is readable."""

from __future__ import annotations

import pytest

import hushbandits as hb
from hushbandits.cli.console import assignment
from hushbandits.cli.main import main

TOML = """runs = 2
metrics = ["regret"]
env = { type = "CoopNetwork-v0", n_agents = 3, horizon = 20 }
agents = ["Multi-UCB", "UCB1"]
"""


@pytest.fixture
def here(here):
    (here / "mine.toml").write_text(TOML)
    return here


def test_a_file_of_this_package_s_name_is_pointed_out(here, capsys):
    (here / "hushbandits.py").write_text("")
    assert main(["run", "mine.toml", "--jobs", "1"]) == 2
    assert "hushbandits.py hides the package hushbandits: give your file another name" in capsys.readouterr().err
    with pytest.raises(ValueError, match="hides the package"):
        hb.evaluate("CoopNetwork-v0", "UCB1", runs=1)


def test_values_are_read_as_toml_or_python_writes_them():
    values = {
        "[.5,.4]": [0.5, 0.4], ".5": 0.5, "-.5": -0.5, "(1, 2)": (1, 2), "[True, None]": [True, None], "3": 3,
        "[0.5, 0.4]": [0.5, 0.4], "[3, 4]": [3, 4], "0.5": 0.5, "true": True, "none": None,
        "False": False, "True": True, "FALSE": False, "None": None, "no": "no",
        **{word: word for word in ("star", "1/2", "a-b", "my_module:Law")},
    }  # fmt: skip
    for text, value in values.items():
        assert assignment(f"x={text}") == assignment(f"x = {text}") == ("x", value)
