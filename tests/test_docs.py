"""The examples on every page of the documentation run; pages that write files are run in an empty folder."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pages
import pytest
from kinds import weekly_but

import hushbandits as hb
from hushbandits.bench.spec.catalog import read_toml
from hushbandits.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = [p for p in pages.SITE if ">>>" in p.read_text()]
#: Blocks that name their file.
FILES = re.compile(r"```(?:python|toml)\n# (\w+\.(?:py|toml))\n(.*?)```", re.S)
#: Pages that write files, or run commands that do: the test runs them completely, by default two of them.
FOLLOWED = [(page,) for page in PAGES if FILES.search(page.read_text()) or "```bash" in page.read_text()]
KEPT = [(ROOT / "docs/start.md",), (ROOT / "docs/tutorials/five-minutes.md",)]
#: Pages that use each other's files.
EXTEND = [ROOT / "docs/extend.md", *sorted((ROOT / "docs/extend").glob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)


def followed(page, capsys):
    """Run a page's examples and commands in order; each example sees the names of those before it."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    names = {}
    for language, block in FENCE.findall(page.read_text()):
        if ">>>" in block:
            example = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
            assert runner.run(example, clear_globs=False).failed == 0
            names = example.globs
        elif language == "bash":
            for command in block.splitlines():
                obeyed(command, capsys)
    assert runner.tries > 0


@pytest.mark.parametrize("page", [p for p in PAGES if (p,) not in FOLLOWED], ids=pages.title)
def test_the_examples_run(page, capsys):
    followed(page, capsys)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder; modules imported from it are unloaded afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def obeyed(command, capsys):
    """Run one line of a shell, those of the package in this process without workers; what is said to fail must fail."""
    program, *args = shlex.split(command, comments=True)
    if args[0] == "run" and "--jobs" not in args:
        args += ["--jobs", "1"]
    if program == "hushbandits":
        code, said = main(args), capsys.readouterr()
    else:
        assert program in ("python", "cp")
        started = sys.executable if program == "python" else program
        done = subprocess.run([started, *args], capture_output=True, text=True)
        code, said = done.returncode, (done.stdout, done.stderr)
    assert bool(code) == ("# fails" in command), (command, said)


@pytest.mark.parametrize("page", weekly_but(KEPT, *FOLLOWED), ids=pages.title)
def test_a_page_that_writes_files_can_be_followed(page, folder, capsys, monkeypatch):
    shown = EXTEND if page in EXTEND else [page]
    for name, content in (file for one in shown for file in FILES.findall(one.read_text())):
        Path(name).write_text(content)
    monkeypatch.syspath_prepend(folder)
    followed(page, capsys)


def test_the_page_shows_the_examples_as_they_are():
    shown = dict(FILES.findall((ROOT / "docs/extend/envs.md").read_text()))
    for name in ("own_env.py", "own_env.toml"):
        assert shown[name] == (ROOT / "examples" / name).read_text()


def test_the_harness_page_declares_and_runs(folder):
    """Run its blocks in order, with the package's names and a small number of runs."""
    text = (ROOT / "docs/harness.md").read_text()
    (declared,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    Path("sharing.toml").write_text(declared)
    (experiment,) = read_toml(Path("sharing.toml"))
    assert len(experiment.cells()) == 12
    names = {name: getattr(hb, name) for name in hb.__all__}
    names["experiment"] = experiment.overriding({"env.horizon": 20, "runs": 2, "env.n_agents": [4, 16]})
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    for block in blocks:
        exec(block.replace("jobs=2", "jobs=1"), names)
    assert len(names["frame"]) > 0
    assert len(names["regret"]) == 2
    assert Path("regret.pdf").stat().st_size > 0
    assert {"Experiment(", "Claim("} <= {word for block in blocks for word in re.findall(r"\w+\(", block)}
    commands = {"list", "run", "evaluate", "new", "report", "compare", "check", "reproduce"}
    assert set(re.findall(r"^hushbandits ([\w-]+)", text, re.M)) == commands


def test_every_block_of_a_page_is_run_by_something():
    """Blocks of Python and TOML are doctests or files, or stand in the README or on the harness's page."""
    for page in pages.SITE:
        blocks = re.findall(r"```(?:python|toml)\n(.*?)```", page.read_text(), re.S)
        assert page.name == "harness.md" or len(blocks) == len(FILES.findall(page.read_text())), page.name
