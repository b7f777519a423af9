"""Commands as a page writes them: ours go through their parser, others are held against the project's files."""

import importlib
import inspect
import re
import shlex
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, wraps
from io import StringIO
from pathlib import Path

import tyro
from named import taken

from benchmarks.__main__ import SCRIPTS
from hushbandits.bench.declare.catalog import modules
from hushbandits.bench.declare.spec import Experiment
from hushbandits.cli import main as cli
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.learning.models import MODELS
from hushbandits.policies.shelf import list_policies

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
#: What stands for a reader's own.
PLACEHOLDER = re.compile(
    r"(FOLDER|NAME|ENV|FILE\.toml|my_module:My\w+|own_\w+:\w+|own\w*\.toml|env/name|sb3:(FOLDER|runs/mine))$"
)

COMMANDS = {name: cli.command(name) for name in cli.COMMANDS}


@cache
def ids():
    """Return all names that ship in a table, of experiments and of the papers that they are of."""
    named = {name for module, (_, declared) in modules().items() for name in (module, *(e.name for e in declared))}
    return {*list_policies(), *named}.union(*(table.shipped for table in (ENVS, AGENTS, WRAPPERS)))


@cache
def marks():
    """Return the marks that a test may have."""
    return {mark.partition(":")[0] for mark in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}


@cache
def settings():
    """Return the parameters of everything that is registered, and those of an experiment."""
    registered = {p for table in (ENVS, AGENTS, WRAPPERS) for name in table.shipped for p in taken(name)}
    return registered | {*inspect.signature(Experiment).parameters}


@cache
def hyperparameters():
    """Return what `--set algo.…` may name."""
    classes = (getattr(importlib.import_module(kind.module), kind.cls) for kind in MODELS.values())
    return {p for cls in classes for p in inspect.signature(cls.__init__).parameters} | {"net_arch", "sigma"}


def swept(key):
    """Whether a key of a sweep names an owner and a parameter."""
    owner, _, parameter = key.partition(".")
    if owner == "algo":
        return parameter in hyperparameters()
    return (owner in ("env", "agent", "NAME") or owner in ids()) and parameter in settings()


@cache
def options():
    """Return the options of all commands, and of the contract suite."""
    suite = re.findall(r'"--(\w+)"', (ROOT / "src/hushbandits_contract/__init__.py").read_text())
    return {p for command in COMMANDS.values() for p in inspect.signature(command).parameters} | {*suite}


def is_option(token):
    """An option of some command, with a value or without."""
    name, _, value = token.partition(" ")
    option = name.removeprefix("--").replace("-", "_")
    return (
        name.startswith("--")
        and option in options()
        and (not value or bool(re.fullmatch(r"-?[\d/]+", value) or PLACEHOLDER.match(value)))
    )


def parsed(line):
    """Return what a command of ours was understood as; ``None`` where its parser refuses it."""
    program, *words = shlex.split(line)
    if program != "hushbandits" or (words and words[0] not in COMMANDS):
        return None
    command = COMMANDS[words[0]] if words else cli.main
    if words[1:] in ([], ["--help"]):
        return {}

    @wraps(command)
    def asked(**given):
        return given

    try:
        with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
            return tyro.cli(asked, args=words[1:], config=(tyro.conf.FlagCreatePairsOff,))
    except SystemExit:
        return None


def is_ours(line):
    """A command of ours: its parser takes it, and the names that it is given exist."""
    given = parsed(line)
    if given is None:
        return False
    command = shlex.split(line)[1] if " " in line else ""
    names = {"run": [given.get("name")], "reproduce": given.get("papers", ()), "audit": given.get("names", ())}
    asked = [*names.get(command, ()), *given.get("agents", ()), given.get("agent"), *given.get("wrappers", ())]
    asked += [words[2] for words in [shlex.split(line)] if command in ("evaluate", "train", "watch") and len(words) > 2]
    keys = [pair.partition("=")[0] for pair in given.get("set", ())]
    return all(not n or n in (*ids(), "ID") or PLACEHOLDER.match(n) for n in asked) and all(map(swept, keys))


def is_command(line):
    """A command of ours, or one of another program over files, marks, sessions and extras that are there."""
    if line.startswith("run --"):
        line = line.replace("run", "hushbandits run NAME", 1) + " runs/x"
    if " && " in line:
        return all(map(is_command, line.split(" && ")))
    try:
        program, *words = shlex.split(line)
    except ValueError:
        return False
    check = {"hushbandits": lambda: is_ours(line), "python": lambda: _python(words), "pytest": lambda: _pytest(words),
             "pip": lambda: _pip(words), "nox": lambda: _nox(words), ".ci/run": lambda: (ROOT / program).is_file(),
             ".": lambda: words == [".venv/bin/activate"]}  # fmt: skip
    if program in check:
        return check[program]()
    needs = PROJECT["project"]["optional-dependencies"].values()
    extras = {re.split(r"[\[<>=~]", need)[0] for extra in needs for need in extra}
    return program in extras


def _python(words):
    if words[:2] == ["-m", "benchmarks"]:
        name, *said = words[2:] if words[2:3] and words[2] in SCRIPTS else ["__main__", *words[2:]]
        text = (ROOT / f"benchmarks/{name}.py").read_text()
        told = [w for w in said if not re.search(rf"-m benchmarks {name} \[?{re.escape(w)}\b", text)]  # FOLDER, or ID
        return all(f'"{word}"' in text for word in told) and not {*said} & {*SCRIPTS}
    if words[:1] == ["-m"]:
        return words[1] in ("venv", "build", "pytest", "sphinx", "twine")
    path = ROOT / words[0]
    if not path.is_file():
        return bool(re.fullmatch(r"own\w*\.py", words[0]))
    return all(f'"{word}"' in path.read_text() for word in words[1:])


def _pytest(words):
    if words[:1] == ["-m"]:
        return words[1] in marks()
    if words == ["--all"]:
        return '"--all"' in (ROOT / "tests/conftest.py").read_text()
    return words == ["-n", "auto", "--dist", "worksteal"] or all((ROOT / word).exists() for word in words)


def _pip(words):
    extras = {e for word in words for part in re.findall(r"\[(.*)\]", word) for e in part.split(",")}
    whole = all(word.partition("[")[0] in (".", PROJECT["project"]["name"], "-e", "install") for word in words)
    return words[:1] == ["install"] and whole and extras <= set(PROJECT["project"]["optional-dependencies"])


def _nox(words):
    text = (ROOT / "noxfile.py").read_text()
    if not words:
        return "def lint" in text
    session, _, python = words[1].partition("-")
    return words[0] == "-s" and f"def {session}(" in text and (not python or f'"{python}"' in text)
