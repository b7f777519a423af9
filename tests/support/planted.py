"""Faults that checkers must find: a sound class with one method or datum of its own."""

import pytest


def fault(name, base, **body):
    """Return a class of that name with that body."""
    return type(name, (base,), body)


def caught(check, faulty, says, *args):
    """The checker says what is wrong, in one sentence."""
    with pytest.raises(AssertionError, match=says) as error:
        check(faulty, *args)
    assert "\n" not in str(error.value)
