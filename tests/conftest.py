"""What every room of the tests may ask for."""

import pytest
from children import hears_ctrl_c


@pytest.fixture
def ctrl_c():
    """Ctrl-C works here and in what is started here, also where pytest runs in the background of a shell."""
    with hears_ctrl_c():
        yield
