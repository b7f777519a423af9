"""What every room of the tests may ask for."""

import pytest
from children import hears_ctrl_c


@pytest.fixture
def ctrl_c():
    """Ctrl-C works here and in what is started here, also where pytest runs in the background of a shell."""
    with hears_ctrl_c():
        yield


def pytest_collection_modifyitems(items):
    """Several processes share the tests by name: a name must be the same in each of them."""
    if addresses := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"give these parameters an id: {addresses}")
