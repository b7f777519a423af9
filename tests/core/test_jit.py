"""Compiled rules: what only rules have called may be called from Python as well, in any order."""

import copy
import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest
from cloudpickle import cloudpickle

import hushbandits.core.ground.sources as sources_module
from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.sources import reached
from hushbandits.policies.policy import argmax


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
    assert len(inner.compiled.overloads) == len(outer.compiled.overloads) == 2


def test_a_rule_that_was_called_by_a_rule_alone_has_no_way_in_from_python():
    inner, outer = rules()
    assert outer(1j) == 2 * (1 + 1j)
    (compiled,) = inner.compiled.overloads.values()
    assert not compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cpython_wrapper_name)
    assert inner(1j) == 1 + 1j
    (compiled,) = inner.compiled.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cpython_wrapper_name)


def test_compiled_code_of_others_calls_a_rule_by_name_closed_over_or_handed_in():
    inner, outer = rules()

    @numba.njit
    def closed(x):
        return outer(x) + inner(x)

    @numba.njit
    def handed(rule, x):
        return rule(x)

    @jit
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    assert (closed(1.0), handed(inner, 1.0), factorial(5)) == (6.0, 2.0, 120)


def test_a_rule_is_one_thing_however_it_is_copied():
    for copied in (copy.copy(argmax), copy.deepcopy(argmax), pickle.loads(pickle.dumps(argmax))):
        assert copied is argmax
    inner, outer = rules()
    assert copy.deepcopy({"a": inner})["a"] is inner
    assert cloudpickle.loads(cloudpickle.dumps(outer))(1.0) == 4.0
    np.testing.assert_equal(argmax.py_func(np.eye(3), 1), 1)


def test_a_rule_of_a_class_is_bound_as_a_function_is():
    class Counter:
        step = 2

        @jit
        def of_all(x):
            return x + 1

        def plain(self):
            return type(self).of_all(self.step)

    assert Counter().plain() == 3
    with pytest.raises(TypeError):
        Counter().of_all(1)


def test_nothing_is_compiled_and_no_numba_imported_before_the_first_call(tmp_path):
    (tmp_path / "late.py").write_text(
        "import sys\nfrom hushbandits.core.ground.jit import jit\n@jit\ndef f(x):\n    return x\n"
        "print('numba' in sys.modules)\nf(1)\nprint('numba' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "late.py"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_switched_off_a_rule_is_its_function(tmp_path):
    (tmp_path / "off.py").write_text(
        "from hushbandits.core.ground.jit import jit\n@jit\ndef f(x):\n    return [x, {}]\nprint(f(1))\n"
    )
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, tmp_path / "off.py"], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "[1, {}]"


def test_code_on_disk_for_a_class_that_is_gone_is_forgotten(tmp_path):
    (tmp_path / "kit.py").write_text(
        "from hushbandits.core.ground.jit import jit\n@jit\ndef first(state):\n    return state[0]\n"
    )
    for name in ("Old", "New", "New"):
        (tmp_path / "shape.py").write_text(f"from typing import NamedTuple\nclass {name}(NamedTuple):\n    x: float\n")
        play = (
            f"import kit, shape; print(kit.first(shape.{name}(1.0)), sum(kit.first.compiled.stats.cache_hits.values()))"
        )
        done = subprocess.run([sys.executable, "-c", play], capture_output=True, text=True, check=True, cwd=tmp_path)
        said = done.stdout.split()
    assert said == ["1.0", "1"]


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
    known = (sources_module._file, sources_module._imports, reached, sources_module.whole)
    monkeypatch.setattr(sources_module, "_ROOT", tmp_path)
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
