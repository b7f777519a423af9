"""The names that are there: in the tables, in the source, in the project's own files."""

import re
import tomllib
from functools import cache
from pathlib import Path

import source

from hushbandits.bench.declare.catalog import modules
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.spec import parameters
from hushbandits.policies.shelf import list_policies

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
#: What stands for a reader's own.
PLACEHOLDER = re.compile(
    r"(FOLDER|NAME|FILE\.toml|my_module:My\w+|own_\w+:\w+|own\w*\.toml|env/name|sb3:(FOLDER|runs/mine))$"
)


@cache
def experiments():
    """Return the names of experiments and of the papers that they are of."""
    return {name for module, (_, declared) in modules().items() for name in (module, *(e.name for e in declared))}


@cache
def ids():
    """Return all names that ship in a table."""
    return {*list_policies(), *experiments()}.union(*(table.shipped for table in (ENVS, AGENTS, WRAPPERS)))


@cache
def files():
    """Return the names of the package's files."""
    return [path.name for path in source.PACKAGE.rglob("*.*")]


@cache
def taken(name):
    """Return the parameters of what is registered under a name."""
    spec = next((table[name] for table in (ENVS, AGENTS, WRAPPERS) if name in table), None)
    return None if spec is None else parameters(spec)


def word(text):
    """Whether the source knows a single word, as a name or as a text, or the tests as a mark or a fixture."""
    known = source.package()
    return text in known.words or text in known.texts or text in ids() or text in marks() or text in FIXTURES


@cache
def marks():
    """Return the marks that a test may have."""
    return {mark.partition(":")[0] for mark in PROJECT["tool"]["pytest"]["ini_options"]["markers"]}


FIXTURES = re.findall(r"@pytest.fixture\ndef (\w+)", (ROOT / "tests/conftest.py").read_text())


def swept(key):
    """Whether a key of a sweep names an owner and what the source knows as a parameter."""
    owner, _, parameter = key.partition(".")
    return (owner in ("env", "agent", "NAME") or owner in ids()) and parameter in source.package().words
