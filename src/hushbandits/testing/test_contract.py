"""What an env, an agent, a policy or a wrapper owes to whoever plays it: a test for each ``--of``."""

from __future__ import annotations

from collections.abc import Callable


def test_it_keeps_what_every_one_of_its_kind_promises(check: Callable[[], None]) -> None:
    """Shapes, seeds, rows, memory, metrics, promises and pickles, as the checkers of `hushbandits.testing` say."""
    check()
