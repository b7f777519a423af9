"""Ctrl-C at any moment is one line and exit code 130; a cache folder that cannot be used costs nothing."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
from children import started
from numba.core.caching import IndexDataCacheFile

from hushbandits.core.ground.jit import jit
from hushbandits.interrupt import held_back

pytestmark = pytest.mark.usefixtures("ctrl_c")

SPEC = """
title = "Slow"
runs = 400
env = { use = "CoopNetwork-v0", horizon = 3000 }
agents = [{ use = "Multi-UCB" }]
"""

#: Compiles nothing before it plays; a graph is searched by compiled code when its env is made.
GRAPHLESS = """
title = "Slow"
runs = 400
env = { use = "DistDP-v0", horizon = 30000 }
agents = [{ use = "Dist-DP-SE" }]
"""

#: Says when the interpreter has come so far, and goes on slowly enough to be hit there.
HOOK = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            print("here", flush=True)
            end = time.monotonic() + 20
            while time.monotonic() < end:
                pass
sys.meta_path.insert(0, Slow())
"""


def command(folder, *args, module=None):
    env = dict(os.environ)
    if module:
        (folder / "sitecustomize.py").write_text(HOOK.format(module=module))
        env["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [env.get("PYTHONPATH")])])
    whole = [sys.executable, "-m", "hushbandits.cli", *args]
    return started(whole, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stopped(process):
    """Ctrl-C to all processes of the command, as a terminal sends it: one line and the code 130."""
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    return err


@pytest.mark.parametrize("module", ["numpy", "scipy", "gymnasium", "pettingzoo", "hushbandits.registry", "tyro"])
def test_ctrl_c_while_loading_is_one_line(tmp_path, module):
    with command(tmp_path, "list", module=module) as process:
        assert process.stdout.readline() == "here\n"
        assert stopped(process) == "hushbandits: stopped\n"


@pytest.mark.parametrize(
    ("spec", "module"),
    [
        (SPEC, "hushbandits.bench.declare.catalog"),
        (SPEC, "rich.console"),
        (SPEC, "numba"),
        (GRAPHLESS, "numba"),
        (GRAPHLESS, "numba.core.typing"),
    ],
)
def test_ctrl_c_in_a_command_is_one_line(tmp_path, spec, module):
    (tmp_path / "slow.toml").write_text(spec)
    with command(tmp_path, "run", "slow.toml", "--jobs", "1", module=module) as process:
        assert process.stdout.readline() == "here\n"
        said = stopped(process)
    assert said.startswith("hushbandits: stopped")
    assert said.count("\n") == 1


def test_importing_the_package_leaves_ctrl_c_alone():
    code = "import signal, hushbandits; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_ctrl_c_is_held_back_where_other_threads_could_take_it():
    reached, over = False, threading.Event()
    others = [threading.Thread(target=over.wait) for _ in range(4)]
    for thread in others:
        thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            with held_back():
                for _ in range(20):
                    os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.05)
                reached = True
            pytest.fail("it was lost")
    finally:
        over.set()
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_held_back_and_not_lost():
    reached = False
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with held_back():
            os.kill(os.getpid(), signal.SIGINT)
            reached = True
        pytest.fail("it was lost")
    assert reached


# -- Numba's cache folder ------------------------------------------------------------------------------------------


def twice(x):
    return 2 * x


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.ENOENT])
@pytest.mark.parametrize("method", ["save", "load"])
def test_a_full_or_forbidden_cache_costs_nothing(monkeypatch, method, code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(IndexDataCacheFile, method, fail)
    assert jit(twice)(21) == 42


@pytest.mark.parametrize("error", [EOFError, pickle.UnpicklingError])
def test_a_torn_cache_costs_nothing(monkeypatch, error):
    def fail(*_):
        raise error("torn")

    monkeypatch.setattr(IndexDataCacheFile, "_load_index", fail)
    assert jit(twice)(21) == 42


@pytest.mark.parametrize("place", ["file/below", "missing/deep/er", "readonly"])
def test_a_cache_folder_that_cannot_be_made_costs_nothing(tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "readonly").mkdir(mode=0o500)
    code = "import hushbandits as hb; from hushbandits.policies.kl import kl_upper; print(kl_upper(0.5, 0.5))"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / place), "HOME": str(tmp_path / "file")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert float(done.stdout) > 0.5


COMPILES = """
import os, signal, sys
from llvmlite.binding.executionengine import ExecutionEngine
from hushbandits.core.ground.jit import jit
real = ExecutionEngine.set_object_cache
def pressed(self, notify, getbuffer):
    def told(*args):  # LLVM calls this, and what it raises is lost
        os.kill(os.getpid(), signal.SIGINT)
        notify(*args)
    real(self, told, getbuffer)
ExecutionEngine.set_object_cache = pressed
@jit
def half(x):
    return x / 2
try:
    print(half(3.0))
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_while_a_rule_is_compiled_is_not_lost(tmp_path):
    code = tmp_path / "compiles.py"
    code.write_text(COMPILES)
    with started([sys.executable, str(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        out, err = process.communicate(timeout=300)
    assert (out, err) == ("stopped\n", "")
