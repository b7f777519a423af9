"""Contract tests of an env, agent, policy or wrapper, one for each ``--of``."""

from __future__ import annotations

from collections.abc import Callable


def test_it_keeps_what_every_one_of_its_kind_promises(check: Callable[[], None]) -> None:
    """Run `check`, the checker of an object that ``--of`` names."""
    check()
