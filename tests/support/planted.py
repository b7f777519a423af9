"""Faults that checkers must find: a correct class with one changed method or attribute."""

import pytest


def fault(name, base, **body):
    """Return a class of that name with that body."""
    return type(name, (base,), body)


def caught(check, faulty, says, *args):
    """Check that the checker reports the fault, in one sentence."""
    with pytest.raises(AssertionError, match=says) as error:
        check(faulty, *args)
    assert "\n" not in str(error.value)
