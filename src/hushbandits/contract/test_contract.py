"""What an env, an agent, a policy or a wrapper owes to whoever plays it: a test for each promise and each ``--of``."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.env import Env
from hushbandits.core.face import Face
from hushbandits.core.ground.types import Array
from hushbandits.core.play import play
from hushbandits.core.team import Team
from hushbandits.policies.shelf import POLICIES
from hushbandits.registry import known_wrappers, make_team
from hushbandits.testing import check_agent, check_env, check_policy, check_wrapper
from hushbandits.testing.parts import grounds
from hushbandits.testing.seen import same

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


def test_a_game_that_is_pickled_on_its_way_ends_with_the_same_numbers(kind: str, given: str, where: str | None) -> None:
    """After every beat all that there is goes through a pickle, as it does on its way to a worker."""
    for build in _builds(kind, given, where):
        one, two = (_beaten(build(2), between) for between in (_copied, _left))
        same(one, two, f"{given}, pickled after every beat, and not pickled")


def test_its_compiled_rounds_are_its_beats(kind: str, given: str, where: str | None) -> None:
    """Where an agent has compiled rounds they end with the bits of its beats."""
    builds = list(_builds(kind, given, where)) if kind == "agent" else []
    if not any(_compiled(*build(2)) for build in builds):
        pytest.skip("it has no compiled rounds")
    for build in builds:
        one, two = (play(*build(3), 0, step) for step in (None, _nothing))  # type: ignore[call-arg]
        same(one, two, f"{given}: compiled rounds and beats")


def _builds(kind: str, given: str, where: str | None) -> Any:
    """Where it plays, as functions of the number of runs."""
    if kind == "agent":
        return grounds(partial(make_team, given), where, {}, [])
    if kind == "wrapper":
        return grounds(partial(make_team, "Random"), where, {}, known_wrappers([given]), each=True)
    if kind == "env":
        return grounds(partial(make_team, "Random"), given, {}, [])
    return grounds(partial(make_team, "Alone", policy=given), where, {}, [])


def _copied(*state: Any) -> Any:
    return pickle.loads(pickle.dumps(state))


def _left(*state: Any) -> Any:
    return state


def _nothing() -> None:
    pass


def _beaten(game: tuple[Env, Team], between: Callable[..., Any]) -> Mapping[str, Array]:
    """Final metrics of a game by the beats; something is done to all that there is after each of the first."""
    env, team = game
    obs = env.reset(7)
    team.reset(Face(env), env.seeds)
    for _ in range(40):
        if not obs.live.any():
            break
        env, team, obs = between(env, team, env.pull(team.act(obs)))
        env, team, obs = between(env, team, env.talk(team.speak(obs.reward)))
        assert obs.inbox is not None
        team.hear(obs.inbox)
    return env.metrics()


def _compiled(env: Env, team: Team) -> bool:
    env.reset(0)
    team.reset(Face(env), env.seeds)
    return bool(team.episode(env))
