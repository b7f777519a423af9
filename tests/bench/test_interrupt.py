"""Ctrl-C gives one line and exit code 130, after the end of a compilation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from children import started

pytestmark = pytest.mark.usefixtures("ctrl_c")

SPEC = """
title = "Short"
runs = 4
env = {{ type = "{}", horizon = 300 }}
agents = [{{ type = "{}" }}]
"""

#: Prints when the interpreter reaches an import, and waits there for the signal.
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


@pytest.mark.parametrize(
    ("env", "agent", "module"),
    [("CoopNetwork-v0", "Multi-UCB", "rich.console"), ("DistDP-v0", "Dist-DP-SE", "numba.core.typing")],
)
def test_ctrl_c_in_a_command_is_one_line(tmp_path, env, agent, module):
    (tmp_path / "slow.toml").write_text(SPEC.format(env, agent))
    (tmp_path / "sitecustomize.py").write_text(HOOK.format(module=module))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    whole = [sys.executable, "-m", "hushbandits", "run", "slow.toml", "--jobs", "1"]
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    with started(whole, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, text=True, **pipes) as process:
        assert process.stdout.readline() == "here\n"
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    *before, last = err.splitlines()
    assert last.startswith("hushbandits: stopped")
    assert all(line.startswith("hushbandits: expected") for line in before)


#: Sends Ctrl-C whenever LLVM calls Python, which drops exceptions raised there.
COMPILES = """
import os, signal, sys
from llvmlite.binding.executionengine import ExecutionEngine
from hushbandits.cli.main import COMMANDS, main
from hushbandits.core.utils.jit import jit
real = ExecutionEngine.set_object_cache
def pressed(self, notify, getbuffer):
    def told(*args):
        os.kill(os.getpid(), signal.SIGINT)
        notify(*args)
    real(self, told, getbuffer)
ExecutionEngine.set_object_cache = pressed
@jit
def half(x):
    return x / 2
def report() -> int:
    print(half(3.0))
    return 0
COMMANDS.entries["report"] = type(COMMANDS["report"])(report)
sys.exit(main(["report"]))
"""


def test_ctrl_c_while_a_rule_is_compiled_ends_the_command(tmp_path):
    (tmp_path / "compiles.py").write_text(COMPILES)
    done = subprocess.run([sys.executable, tmp_path / "compiles.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith("hushbandits: stopped")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_inside_an_exec_ends_with_130(tmp_path):
    """``python -m`` remembers such an interruption, and would end by the signal although it was caught."""
    (tmp_path / "mine.py").write_text("exec('raise KeyboardInterrupt')")
    whole = [sys.executable, "-m", "hushbandits", "evaluate", "CoopNetwork-v0", "mine:Agent"]
    done = subprocess.run(whole, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr.count("\n")) == (130, 1), done.stderr
