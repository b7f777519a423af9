"""Tables as one test case: all rows are played, and failing rows are reported together."""

from __future__ import annotations

import inspect
import re
import traceback
from functools import wraps

import pytest


def says(text, word):
    """Return whether a text contains a word by itself: ``1`` is not in ``1.5`` or ``21``."""
    before, after = r"(?<!\w)(?<!\d\.)" * word[:1].isalnum(), r"(?!\w|\.\d)" * word[-1:].isalnum()
    return re.search(before + re.escape(word) + after, text) is not None


def refusal(error, call, *words):
    """Return the fault of a refusal, or nothing: one line, of this error, with these words."""
    try:
        call()
    except Exception as caught:
        said, kind = str(caught.args[0] if caught.args else caught), type(caught)
    else:
        return "is not refused"
    known = {cls.__name__ for cls in kind.__mro__} if isinstance(error, str) else kind.__mro__
    errors = error if isinstance(error, tuple) else (error,)
    if not any(one in known for one in errors):
        return f"raises {kind.__name__}: {said}"
    if lacking := [word for word in words if not says(said, str(word))]:
        return f"does not say {lacking}: {said}"
    return f"says it in several lines: {said}" if "\n" in said else None


def refused(error, rows):
    """Fail unless a call is refused by the error, in one line that contains the words.

    Rows are a call and its words, by a name, or in order.
    """
    named = rows.items() if isinstance(rows, dict) else enumerate(rows)
    wrong = [f"{name} {fault}" for name, (call, *words) in named if (fault := refusal(error, call, *words))]
    assert not wrong, "\n".join(wrong)


def rows(names, table):
    """Decorate a test like ``pytest.mark.parametrize``, with all rows as one case.

    Fixtures are shared by the rows: this is for tests that leave them as they were.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    plain = [row.values if hasattr(row, "values") and hasattr(row, "marks") else row for row in table]
    given = [value if len(names) > 1 or value is not row else (row,) for row, value in zip(table, plain, strict=True)]

    def decorate(test):
        @wraps(test)
        def case(**fixtures):
            wrong = []
            for row in given:
                try:
                    test(**dict(zip(names, row, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception):
                    wrong.append(f"{row!r:.200}\n{traceback.format_exc(limit=-3)}")
            assert not wrong, "\n".join([f"{len(wrong)} of {len(given)} rows fail", *wrong[:5]])

        kept = inspect.signature(test).parameters
        case.__signature__ = inspect.Signature([p for name, p in kept.items() if name not in names])
        return case

    return decorate
