"""The examples of every page of the documentation run."""

import doctest
from pathlib import Path

import pytest

PAGES = sorted(p for p in (Path(__file__).parents[1] / "docs").glob("*.md") if ">>>" in p.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_examples_run(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert result.attempted > 0
    assert result.failed == 0
