"""Pytest plugin that checks the env, agent, policy or wrapper ``--of``, an agent or wrapper in the env ``--where``."""

from collections.abc import Callable
from functools import partial

import pytest

from hushbandits.policies.registry import POLICIES
from hushbandits.registry import AGENTS, ENVS, WRAPPERS
from hushbandits.testing import check_agent, check_env, check_policy, check_wrapper


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options ``--of``, the object to check, and ``--where``, the env in which an agent or wrapper plays."""
    group = parser.getgroup("hushbandits")
    of = "part that the tests of hushbandits.testing check: an env, agent, policy or wrapper; may be repeated"
    group.addoption("--of", action="append", default=[], metavar="NAME|module:Class", help=of)
    group.addoption("--where", metavar="ENV", help="the env in which --of is played (default: one that fits)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test case for each ``--of`` and each registry in which this name is found."""
    if "check" in metafunc.fixturenames:
        options = metafunc.config.option
        if not options.of:
            raise pytest.UsageError("name the class to check, as in --of my_module:MyAgent")
        metafunc.parametrize("check", [case for of in options.of for case in _cases(of, options.where)])


def _cases(of: str, where: str | None) -> list[object]:
    """Return a test case for each kind of object (env, policy, wrapper, agent) that the name `of` can be."""
    cases: list[object] = []
    refused = ""
    checks: tuple[Callable[..., None], ...] = (check_env, check_policy, check_wrapper, check_agent)
    for table, check in zip((ENVS, POLICIES, WRAPPERS, AGENTS), checks, strict=True):
        try:
            table.find(of)
        except ValueError as error:
            refused = str(error)
            continue
        somewhere = (of, where) if table in (WRAPPERS, AGENTS) else (of,)
        cases.append(pytest.param(partial(check, *somewhere), id=f"{table.kind} {of}"))
    if not cases:
        raise pytest.UsageError(f"--of {of}: {refused}")
    return cases
