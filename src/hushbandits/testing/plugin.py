"""The options of ``pytest -p hushbandits.testing.plugin --pyargs hushbandits.testing --of my_module:MyAgent``."""

from __future__ import annotations

import pytest

from hushbandits.policies.shelf import POLICIES
from hushbandits.registry import AGENTS, ENVS, WRAPPERS

_TABLES = {"env": ENVS, "policy": POLICIES, "wrapper": WRAPPERS, "agent": AGENTS}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask for what is to be played, and where."""
    group = parser.getgroup("hushbandits")
    of = "what the tests of hushbandits.testing play: an env, agent, policy or wrapper; may be given again"
    group.addoption("--of", action="append", default=[], metavar="NAME|module:Class", help=of)
    group.addoption("--where", metavar="ENV", help="the env where --of is played (default: one that fits)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a case for each ``--of`` and each kind that it is of."""
    if {"kind", "given", "where"} <= {*metafunc.fixturenames}:
        options = metafunc.config.option
        if not options.of:
            raise pytest.UsageError("say what to play: --of my_module:MyAgent")
        cases = [(kind, given, options.where) for given in options.of for kind in _kinds(given)]
        metafunc.parametrize(("kind", "given", "where"), cases, ids=[f"{kind} {given}" for kind, given, _ in cases])


def _kinds(given: str) -> list[str]:
    """What something is that is known by a name, or stands in a module: an env, an agent, and so on."""
    refused = ""
    if named := [kind for kind, table in _TABLES.items() if given in table]:
        return named
    for kind, table in _TABLES.items():
        try:
            table.find(given)
        except ValueError as error:
            refused = str(error)
        else:
            return [kind]
    raise pytest.UsageError(f"--of {given}: {refused}")
