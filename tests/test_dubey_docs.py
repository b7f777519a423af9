"""The examples of docs/network.md."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "network.md"


def test_the_examples_run():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 15
    assert failed == 0
