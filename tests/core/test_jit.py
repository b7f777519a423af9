"""Compiled functions are cached on disk: found again, never stale, never another function's."""

import ast
import copy
import errno
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from cloudpickle import cloudpickle
from numba.core.caching import IndexDataCacheFile

import hushbandits as hb
from hushbandits.core import jit
from hushbandits.core.utils import jit_cache
from hushbandits.core.utils.jit import within
from hushbandits.policies.policy import argmax


def rules():
    @jit
    def inner(x):
        return x + 1

    @jit
    def outer(x):
        return 2 * inner(x)

    return inner, outer


@pytest.mark.parametrize("turns", ["io", "oi"])
def test_rules_answer_python_and_each_other_in_any_order(turns):
    inner, outer = rules()
    ask = {"i": (inner, 1), "o": (outer, 2)}
    for x in (3, 0.5):
        for turn in turns:
            rule, factor = ask[turn]
            assert rule(x) == factor * (x + 1)


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


def test_a_rule_within_its_callers_answers_as_before():
    inner, _ = rules()

    @jit
    def outer(x):
        return 2 * inside(x)

    inside = within(inner)
    assert (outer(1), inner(1), inside(1)) == (4, 2, 2)
    assert within(max) is max


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


def play(folder, code, **env):
    """Return the output of a fresh process in a folder, which keeps its compiled code there."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **env}
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=env, stdout=subprocess.PIPE, text=True)


def said(process):
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return out.split()


def test_numba_is_imported_at_the_first_call_and_switched_off_by_its_variable(tmp_path):
    (tmp_path / "late.py").write_text(
        "import sys\nfrom hushbandits.core.utils.jit import jit\n@jit\ndef f(x):\n    return x\n"
        "print('numba' in sys.modules)\nf(1)\nprint('numba' in sys.modules)\n"
    )
    assert said(play(tmp_path, "import late")) == ["False", "True"]
    (tmp_path / "off.py").write_text(
        "from hushbandits.core.utils.jit import jit\n@jit\ndef f(x):\n    return [x, {}]\nprint(f(1))\n"
    )
    assert said(play(tmp_path, "import off", NUMBA_DISABLE_JIT="1")) == ["[1,", "{}]"]


# -- on disk -------------------------------------------------------------------------------------------------------

#: A third party's functions: one calls another file's, one is passed to a closure, one takes a named tuple.
MINE = """
import sys
from typing import NamedTuple
from hushbandits.core.utils.jit import jit
from hushbandits.policies.policy import add
from mine_too import closing, two
class State(NamedTuple):
    n: object
    s: object
    t: object
@jit
def three(x):
    return two(x) + 1.0
"""
TOO = """
from hushbandits.core.utils.jit import jit
@jit
def two(x):
    return 2.0 * x
def closing(rule):
    @jit
    def closed(x):
        return 10.0 * rule(x)
    return closed
"""
ASKED = """
import numpy as np
from mine import State, add, closing, three, two
closed = closing(three)
state = State(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros(1, np.int64))
add(state, 0, 1, 0.5)
print(three(1.0), closed(1.0), state.n[0, 1], state.s[0, 1])
print(sum(sum(rule.compiled.stats.cache_hits.values()) for rule in (three, closed, add)))
"""


def test_an_edit_of_ones_own_rules_or_state_is_never_stale(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "mine_too.py").write_text(TOO)
    assert said(play(tmp_path, ASKED)) == ["3.0", "30.0", "1.0", "0.5", "0"]
    assert said(play(tmp_path, ASKED)) == ["3.0", "30.0", "1.0", "0.5", "3"]
    (tmp_path / "mine_too.py").write_text(TOO.replace("2.0 * x", "4.0 * x"))
    assert said(play(tmp_path, ASKED)) == ["5.0", "50.0", "1.0", "0.5", "0"]
    fields = "n: object\n    s: object", "s: object\n    n: object"
    (tmp_path / "mine.py").write_text(MINE.replace(*fields).replace("+ 1.0", "+ 2.0"))
    assert said(play(tmp_path, ASKED)) == ["6.0", "60.0", "1.0", "0.5", "0"]


@pytest.mark.weekly
def test_processes_that_compile_at_once_keep_their_own(tmp_path):
    """Both close over another function, in one function of one file: Numba would number their files alike."""
    (tmp_path / "kit.py").write_text(
        "from hushbandits.core.utils.jit import jit\n"
        + "".join(f"@jit\ndef r{i}(x):\n    return x + {i}.0\n" for i in range(2))
        + "def closing(rule):\n    @jit\n    def closed(x):\n        return rule(x)\n    return closed\n"
    )
    code = (
        "import kit, sys; f = kit.closing(kit.r{i}); print(f(0.0), sum(f.compiled.stats.cache_hits.values()))"
    ).format
    at_once = [play(tmp_path, code(i=i)) for i in (0, 1, 1)]
    assert [said(process)[0] for process in at_once] == ["0.0", "1.0", "1.0"]
    assert [said(play(tmp_path, code(i=i))) for i in range(2)] == [["0.0", "1"], ["1.0", "1"]]


def test_the_folder_goes_where_it_can_be_written_and_three_are_kept(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(jit_cache, "ROOT", tmp_path / "file")  # a read-only installation
    (home / "numba" / "hushbandits-of-mine").mkdir(parents=True)
    for age in range(4):
        old = home / "numba" / f"hushbandits-{age:016}"
        old.mkdir(parents=True)
        os.utime(old, (1e9 + age, 1e9 + age))
    made = Path(jit_cache.folder.__wrapped__())
    kept = {f"hushbandits-{age:016}" for age in (2, 3)}
    assert {path.name for path in made.parent.iterdir()} == {"hushbandits-of-mine", made.name, *kept}
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "mine"))
    assert Path(jit_cache.folder.__wrapped__()) == tmp_path / "mine" / made.name


@pytest.mark.parametrize(("method", "error"), [("save", OSError(errno.ENOSPC, "full")), ("load", EOFError("torn"))])
def test_a_full_or_torn_cache_costs_nothing(monkeypatch, method, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(IndexDataCacheFile, method, fail)
    assert rules()[1](3) == 8


def test_no_folder_at_all_costs_nothing(tmp_path):
    (tmp_path / "cache").touch()
    code = (
        "from hushbandits.core.utils import jit_cache\njit_cache.ROOT = jit_cache.ROOT / '__init__.py'\n"
        "from hushbandits.policies.kl import kl_upper; print(kl_upper(0.5, 0.5) > 0.5)"
    )
    assert said(play(tmp_path, code, XDG_CACHE_HOME=str(tmp_path / "cache"))) == ["True"]


def home(place, name):
    """Return the file that holds a name imported from `place`: the file itself if the name is that of a module."""
    return place / f"{name}.py" if (place / f"{name}.py").is_file() else place.with_suffix(".py")


def test_what_rules_take_from_other_files_is_in_files_that_the_folders_name_covers():
    """The digest covers files with compiled functions or named tuples; a constant elsewhere would go unnoticed."""
    root = Path(hb.__file__).parent
    sources = {path: path.read_text() for path in root.rglob("*.py")}
    covered = {path for path, text in sources.items() if re.search(r"@jit|@lean|\(NamedTuple\)", text)}
    for path, text in sources.items():
        tree = ast.parse(text)
        homes = {
            name.asname or name.name: home(root.joinpath(*node.module.split(".")[1:]), name.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hushbandits.")
            for name in node.names
        }
        for rule in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            if {"jit", "lean", "turned"} & {d.id for d in rule.decorator_list if isinstance(d, ast.Name)}:
                used = {node.id for part in rule.body for node in ast.walk(part) if isinstance(node, ast.Name)}
                assert {homes[name] for name in used & homes.keys()} <= covered, (path, rule.name)


TWINS = """
import sys
import numpy as np
from hushbandits.core.utils.jit import jit

@jit
def one(i):
    return 1.0

@jit
def two(i):
    return 2.0

def made(rule):
    @jit
    def inner(x, out):  # too long to become part of its callers
        for i in range(x):
            for j in range(x):
                for k in range(3):
                    out[k] += rule(i + j + k) + 0.0 * out[(k + 1) % 3]
        for i in range(x):
            for j in range(x):
                for k in range(3):
                    out[k] += rule(i * j * k) - 0.0 * out[(k + 2) % 3]

    @jit
    def outer(x, out):
        inner(x, out)
        inner(x + 1, out)
        if x > 3:
            inner(x + 2, out)

    return outer

if __name__ == "__main__":
    for name in sys.argv[1:]:
        out = np.zeros(3)
        made(globals()[name])(2, out)
        print(name, out[0])
"""


def test_functions_of_one_name_that_two_processes_compiled_stay_apart(tmp_path):
    (tmp_path / "twins.py").write_text(TWINS)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def said(*names):
        command = [sys.executable, str(tmp_path / "twins.py"), *names]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert said("one") + said("two") == said("one", "two") == ["one", "26.0", "two", "52.0"]
