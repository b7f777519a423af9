"""Contract tests of the envs, agents, policies and wrappers that ``--of`` names."""

from collections.abc import Callable


def test_it_keeps_what_every_one_of_its_kind_promises(check: Callable[[], None]) -> None:
    """Run `check`, the checker of an object that ``--of`` names."""
    check()
