"""What every room of the tests may ask for."""

import pytest
from children import hears_ctrl_c
from hypothesis import settings
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


def pytest_configure(config):
    """A property that names no number meets thirty examples by default, and a hundred weekly."""
    if "not weekly" in config.option.markexpr:
        settings.register_profile("daily", max_examples=30)
        settings.load_profile("daily")


def pytest_collection_modifyitems(items):
    """Refuse names that are not the same in each of several processes, and what a file registers for all others."""
    if addresses := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"give these parameters an id: {addresses}")
    if names := strangers():  # every table of the registry in other files would hold them
        raise pytest.UsageError(f"register these in a fixture, not where a test file is imported: {names}")
