"""What every room of the tests may ask for."""

import costs
import pytest
from children import hears_ctrl_c
from registries import kept, strangers


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
    parser.addoption("--all", action="store_true", help="the costly tests too, not only the part whose turn it is")


def pytest_collection_modifyitems(config, items):
    """Play the cheap tests and a part of the costly ones, the next part with each commit.

    With ``--all``, as in CI, or where a test is asked for by its file, everything is played.  Several processes share
    the tests by name: a name must be the same in each of them.
    """
    if addresses := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"give these parameters an id: {addresses}")
    if names := strangers():  # every table of the registry in other files would hold them
        raise pytest.UsageError(f"register these in a fixture, not where a test file is imported: {names}")
    asked = [arg for arg in config.invocation_params.args if ".py" in str(arg)]
    if config.getoption("--all") or asked or config.getoption("keyword") or config.getoption("markexpr") != "not slow":
        return
    wait = costs.waiting([item.nodeid for item in items], costs.known(), costs.commits())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in wait])
    items[:] = [item for item in items if item.nodeid not in wait]
