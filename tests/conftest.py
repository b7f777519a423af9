"""Shared fixtures of all tests."""

import os
import sys

import pytest
from children import hears_ctrl_c
from hypothesis import settings
from registries import kept, third_party


@pytest.fixture(autouse=True)
def registries():
    """Remove a test's registrations after it."""
    with kept():
        yield


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C work here and in child processes, also if pytest runs in the background of a shell."""
    with hears_ctrl_c():
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder; modules imported from it are unloaded afterwards."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def pytest_configure(config):
    """Compile lightly and run a property on thirty examples by default; weekly, compile fully and run a hundred."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # idle threads of PyTorch and BLAS would spin beside other workers
    if "not weekly" in config.option.markexpr:
        os.environ.setdefault("NUMBA_OPT", "1")  # LLVM's light passes: a third less of its time, the same bits
        settings.register_profile("daily", max_examples=30)
        settings.load_profile("daily")


def pytest_collection_modifyitems(items):
    """Refuse test names that differ between processes, and registrations at import, which affect all other files."""
    if addresses := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"give these parameters an id: {addresses}")
    if names := third_party():  # every table of the registry in other files would contain them
        raise pytest.UsageError(f"register these in a fixture, not where a test file is imported: {names}")
