"""Refused command lines: one line names the error, and nothing is written."""

import os
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest
from bench_helpers import TOML
from refusals import says

from hushbandits.cli.main import main

LINES = tomllib.loads(Path(__file__).with_name("refused.toml").read_text())


@pytest.mark.parametrize("kind", LINES)
def test_a_bad_line_names_what_is_wrong_and_writes_nothing(kind, here, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)  # no other program helps
    (here / "mine.toml").write_text(TOML)
    wrong = []
    for line, words in LINES[kind].items():
        code, shown = main(shlex.split(line)), capsys.readouterr().err
        if code != 2 or shown.count("\n") != 1 or not all(says(shown, word) for word in words):
            wrong.append(f"{line}: {code}, {shown}")
        assert os.listdir(here) == ["mine.toml"], line
    assert not wrong, "\n".join(wrong)
