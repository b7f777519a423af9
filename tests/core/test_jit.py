"""Compiled rules: what only rules have called may be called from Python as well, in any order."""

import pytest

import hushbandits.core.ground.jit as jit_module
from hushbandits.core.ground.jit import jit, reached


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


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A package of three modules in place of ours: a imports b late, b imports c, d stands alone."""
    sources = {
        "a": "def f():\n    from hushbandits import b",
        "b": "import hushbandits.c",
        "c": "x = 1",
        "d": "",
        "cli/__init__": "",
    }
    for name, source in sources.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    known = (jit_module._file, jit_module._imports, reached, jit_module._whole)
    monkeypatch.setattr(jit_module, "_ROOT", tmp_path)
    yield tmp_path, lambda: [cache.cache_clear() for cache in known]
    monkeypatch.undo()
    for cache in known:
        cache.cache_clear()


@pytest.mark.parametrize(
    ("edited", "changed"),
    [("a", "a"), ("b", "ab"), ("c", "abc"), ("d", "d"), ("cli/__init__", "")],
)
def test_an_edit_is_seen_by_all_that_reach_it_and_by_nobody_else(tree, edited, changed):
    root, forget = tree
    forget()
    before = {name: reached(f"hushbandits.{name}") for name in "abcd"}
    stranger = reached("elsewhere")
    (root / f"{edited}.py").write_text("x = 2\nimport hushbandits.c" if edited == "b" else "x = 2")
    forget()
    assert {name for name in "abcd" if reached(f"hushbandits.{name}") != before[name]} == set(changed)
    assert reached("elsewhere") != stranger
