"""What every room of the tests may ask for."""

from collections import defaultdict

import pytest
from children import hears_ctrl_c
from registries import kept

#: Of a test with more cases than this, so many are played by default.
FEW = 3


@pytest.fixture(autouse=True)
def registries():
    """What a test registers is gone after it."""
    with kept():
        yield


@pytest.fixture
def ctrl_c():
    """Ctrl-C works here and in what is started here, also where pytest runs in the background of a shell."""
    with hears_ctrl_c():
        yield


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="every case, and the tests of whole sessions")


def pytest_collection_modifyitems(config, items):
    """Several processes share the tests by name: a name must be the same in each of them.

    The registry grows and the time that a developer waits should not: of a sweep over many cases a few are played,
    the first, the middle one and the last, and tests of whole sessions wait.  With ``--all``, as in CI,
    or where a test is asked for by its file, everything is played.
    """
    if addresses := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"give these parameters an id: {addresses}")
    asked = [arg for arg in config.invocation_params.args if ".py" in str(arg)]
    if config.getoption("--all") or asked or config.getoption("keyword") or config.getoption("markexpr") != "not slow":
        return
    cases = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("session"):
            cases[item.nodeid.partition("[")[0]].append(item)
    stay = set()
    for sweep in cases.values():
        n = min(FEW, len(sweep))
        stay.update(sweep[i * (len(sweep) - 1) // max(n - 1, 1)] for i in range(n))
    config.hook.pytest_deselected(items=[item for item in items if item not in stay])
    items[:] = [item for item in items if item in stay]
