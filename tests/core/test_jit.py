"""Compiled rules: what only rules have called may be called from Python as well, in any order."""

import pytest

from hushbandits.core.jit import jit


def rules():
    @jit
    def inner(x):
        return x + 1

    @jit
    def outer(x):
        return 2 * inner(x)

    return inner, outer


@pytest.mark.parametrize("turns", ["io", "oi", "ioio", "ooii"])
def test_rules_answer_python_and_each_other_in_any_order(turns):
    """The later cases find the earlier ones' code on disk, where there are two of `inner`."""
    inner, outer = rules()
    ask = {"i": (inner, 1), "o": (outer, 2)}
    for x in (3, 0.5):
        for turn in turns:
            rule, factor = ask[turn]
            assert rule(x) == factor * (x + 1)
    assert len(inner.overloads) == len(outer.overloads) == 2


def test_a_rule_that_was_called_by_a_rule_alone_has_no_way_in_from_python():
    inner, outer = rules()
    assert outer(1j) == 2 * (1 + 1j)
    (compiled,) = inner.overloads.values()
    assert not compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cpython_wrapper_name)
    assert inner(1j) == 1 + 1j
    (compiled,) = inner.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cpython_wrapper_name)
