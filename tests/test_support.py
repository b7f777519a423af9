"""The tests' own tools."""

import os
import select
import signal
import subprocess
import sys

import pytest
from children import hears_ctrl_c, started

HEARS = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
PARENT = r"import os, time; os.fork(); os.write(1, b'here\n'); time.sleep(60)"


def test_children_hear_ctrl_c_where_pytest_runs_in_the_background():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with hears_ctrl_c():
            child = subprocess.run([sys.executable, "-c", HEARS], capture_output=True, text=True, check=True)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert child.stdout == "True\n"


def test_a_child_and_what_it_started_are_gone_though_the_test_fails():
    read, write = os.pipe()
    with open(read) as heard:
        with (  # noqa: PT012
            pytest.raises(AssertionError, match="the test fails"),
            started([sys.executable, "-c", PARENT], stdout=write) as process,
        ):
            os.close(write)
            assert heard.readline() == heard.readline() == "here\n"
            raise AssertionError("the test fails")
        assert process.returncode == -signal.SIGKILL
        assert select.select([heard], [], [], 10)[0]
        assert heard.read() == ""  # nobody is left who could write
