"""Checks of every change run in one order and stop at a failure, locally and on the hosting service."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
README = (ROOT / "README.md").read_text()
#: Each step of `.ci/run`, as a shell pattern.
STEPS = ["pip install*lint*", "ruff check*", "ruff format --check*", "mypy*", "lint-imports*", "numpydoc lint*",
         "pip install*test*", "pytest*", "python -m sphinx*"]  # fmt: skip


@pytest.fixture
def checked(tmp_path):
    """Run `.ci/run` in an empty folder, where every program only records its call, or fails."""
    programs, log = tmp_path / "programs", tmp_path / "log"
    programs.mkdir()
    stub = (
        f'#!/bin/sh\ncalled="$(basename "$0") $*"\necho "$called" >> "{log}"\ncase $called in $FAILS) exit 3;; esac\n'
    )
    for name in ("pip", "ruff", "mypy", "lint-imports", "numpydoc", "pytest", "python", "chromium"):
        (programs / name).write_text(stub)
    (programs / "python3").write_text('#!/bin/sh\nmkdir -p "$3/bin" && touch "$3/bin/activate"\n')
    for path in programs.iterdir():
        path.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci/run").write_bytes((ROOT / ".ci/run").read_bytes())

    def run(fails="nothing", readme=README):
        (tmp_path / "README.md").write_text(readme)
        env = {"PATH": f"{programs}{os.pathsep}{os.defpath}", "FAILS": fails, "TMPDIR": str(tmp_path)}
        done = subprocess.run(["bash", tmp_path / ".ci/run"], env=env, capture_output=True, text=True, check=False)
        return done.returncode, log.read_text().splitlines() if log.exists() else []

    return run


def test_lint_comes_first_and_then_the_readmes_command(checked):
    code, log = checked()
    assert code == 0
    assert [line.split()[0] for line in log] == [step.split("*")[0].split()[0] for step in STEPS]
    assert log[6:8] == ["pip install .[test]", "pytest -n auto --dist worksteal"]


@pytest.mark.parametrize("step", STEPS)
def test_what_fails_fails_the_whole_and_ends_it(checked, step):
    code, log = checked(step)
    assert code != 0
    assert len(log) == STEPS.index(step) + 1


def test_a_readme_without_a_test_command_fails(checked):
    code, log = checked(readme="```bash\npip install .\n```\n")
    assert code != 0
    assert not log


def test_one_version_stands_everywhere():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version
