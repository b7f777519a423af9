"""The examples of docs/feedback.md."""

import doctest
from pathlib import Path


def test_the_examples_run():
    page = Path(__file__).parent.parent / "docs" / "feedback.md"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert result.attempted > 20
    assert result.failed == 0
