"""The examples in docstrings run, one case per folder of the package."""

import doctest
import importlib
import pkgutil

import pytest

import hushbandits

ROOMS = sorted(m.name for m in pkgutil.iter_modules(hushbandits.__path__, "hushbandits."))


def modules(room):
    """Return the modules of a folder, except those that run a command on import."""
    package = importlib.import_module(room)
    below = pkgutil.walk_packages(getattr(package, "__path__", ()), f"{room}.")
    return [package, *(importlib.import_module(m.name) for m in below if not m.name.endswith("__main__"))]


@pytest.mark.parametrize("room", ["hushbandits", *ROOMS])
def test_the_examples_of_a_room_run(room):
    homes = [hushbandits] if room == "hushbandits" else modules(room)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed = {home.__name__: doctest.testmod(home, optionflags=flags).failed for home in homes}
    assert {name: count for name, count in failed.items() if count} == {}
