"""The options of ``pytest -p hushbandits.contract.plugin --pyargs hushbandits.contract``."""

from typing import Any


def pytest_addoption(parser: Any) -> None:
    """Ask for what is to be played, and where."""
    group = parser.getgroup("hushbandits")
    of = "what pytest --pyargs hushbandits.contract plays: an env, agent, policy or wrapper; may be given again"
    group.addoption("--of", action="append", default=[], metavar="NAME|module:Class", help=of)
    group.addoption("--where", metavar="ENV", help="the env where --of is played (default: one that fits)")
