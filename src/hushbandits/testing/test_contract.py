"""What an env, an agent, a policy or a wrapper owes to whoever plays it: a test for each promise and each ``--of``."""

from __future__ import annotations

from functools import partial

from hushbandits.registry import known_wrappers, make_team
from hushbandits.testing import check_agent, check_env, check_policy, check_wrapper
from hushbandits.testing.games import check_pickle, grounds


def test_it_keeps_what_every_one_of_its_kind_promises(kind: str, given: str, where: str | None) -> None:
    """Shapes, seeds, rows, memory, metrics and promises, as the checkers of `hushbandits.testing` say."""
    if kind == "agent":
        check_agent(given, where)
    elif kind == "wrapper":
        check_wrapper(given, where)
    else:
        (check_env if kind == "env" else check_policy)(given)


def test_a_game_may_be_pickled_after_every_beat(kind: str, given: str, where: str | None) -> None:
    """Whoever plays, and wherever it is."""
    policy = {"policy": given} if kind == "policy" else {}
    make = partial(make_team, given if kind == "agent" else "Alone" if policy else "Random", **policy)
    wrappers = known_wrappers([given]) if kind == "wrapper" else ()
    for build in grounds(make, given if kind == "env" else where, wrappers=wrappers, each=bool(wrappers)):
        check_pickle(build)
