"""What an env, an agent, a policy or a wrapper owes to whoever plays it: a test for each promise and each ``--of``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hushbandits.contract.asks import alone, compiled, has_episode, pickled
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.policies.shelf import POLICIES
from hushbandits.registry import known_wrappers, make_team
from hushbandits.testing import check_agent, check_env, check_policy, check_wrapper
from hushbandits.testing.parts import grounds

_TABLES = {"env": ENVS, "policy": POLICIES, "wrapper": WRAPPERS, "agent": AGENTS}
_CHECKS: dict[str, Callable[..., None]] = {
    "env": check_env, "policy": check_policy, "wrapper": check_wrapper, "agent": check_agent,
}  # fmt: skip


def _kinds(given: str) -> list[str]:
    """What something is that is known by a name, or stands in a module: an env, an agent, and so on."""
    if named := [kind for kind, table in _TABLES.items() if given in table]:
        return named
    refusals = []
    for kind, table in _TABLES.items():
        try:
            table.find(given)
        except ValueError as error:
            refusals.append(str(error))
        else:
            return [kind]
    raise pytest.UsageError(f"--of {given}: {refusals[-1]}")


def pytest_generate_tests(metafunc: Any) -> None:
    """A case for each ``--of`` and each kind that it is of."""
    asked = getattr(metafunc.config.option, "of", [])
    if not asked:
        raise pytest.UsageError("say what to play: --of my_module:MyAgent")
    cases = [(kind, given) for given in asked for kind in _kinds(given)]
    if "kind" in metafunc.fixturenames:
        metafunc.parametrize(("kind", "given"), cases, ids=[f"{kind} {given}" for kind, given in cases])


@pytest.fixture
def where(request: Any) -> str | None:
    """The env in which agents and wrappers are played; ``None``: one that fits."""
    found: str | None = request.config.option.where
    return found


def test_it_keeps_what_every_one_of_its_kind_promises(kind: str, given: str, where: str | None) -> None:
    """Shapes, seeds, rows, memory, metrics and promises, as the checkers of `hushbandits.testing` say."""
    place = {"env_id": where} if kind in ("agent", "wrapper") else {}
    _CHECKS[kind](given, **place)


@pytest.mark.parametrize("ask", [alone, pickled, compiled], ids=lambda ask: ask.__name__)
def test_it_plays_as_every_game_does(ask: Callable[..., None], kind: str, given: str, where: str | None) -> None:
    """A run alone is its row, a game may be pickled after every beat, and compiled rounds are the beats."""
    builds = [build for build in _builds(kind, given, where) if ask is not compiled or has_episode(build)]
    if not builds:
        pytest.skip("it has no compiled rounds")
    for build in builds:
        ask(build)


def _builds(kind: str, given: str, where: str | None) -> Any:
    """Where it plays, as functions of the number of runs."""
    if kind == "agent":
        return grounds(partial(make_team, given), where, {}, [])
    if kind == "wrapper":
        return grounds(partial(make_team, "Random"), where, {}, known_wrappers([given]), each=True)
    if kind == "env":
        return grounds(partial(make_team, "Random"), given, {}, [])
    return grounds(partial(make_team, "Alone", policy=given), where, {}, [])
