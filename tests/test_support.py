"""The tests' own tools."""

import math
import os
import select
import signal
import subprocess
import sys

import costs
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


SECONDS = {f"tests/test_x.py::test_it[{i}]": 1.0 + i for i in range(40)}


def test_every_costly_test_has_its_turn_and_cheap_ones_are_always_played():
    names = [*SECONDS, "tests/test_y.py::test_cheap"]
    turns = math.ceil(sum(SECONDS.values()) / costs.BUDGET)
    played = [set(names) - costs.waiting(names, SECONDS, turn) for turn in range(turns)]
    assert all(names[-1] in part for part in played)
    assert sorted(name for part in played for name in part - {names[-1]}) == sorted(SECONDS)
    assert max(sum(SECONDS.get(name, 0) for name in part) for part in played) < costs.BUDGET + max(SECONDS.values())
    assert played[0] == set(names) - costs.waiting(names, SECONDS, turns)


def test_measured_tests_exist():
    for function in {name.partition("[")[0] for name in costs.known()}:
        path, name = function.split("::")
        assert f"def {name}(" in (costs.TESTS.parent / path).read_text(encoding="utf8"), function


def test_what_was_measured_is_read_from_a_whole_runs_junit_file(tmp_path):
    case = '<testcase classname="tests.core.test_z" name="{}" time="{}"/>'
    cases = case.format("test_slow[a::b]", 2.34) + case.format("test_fast", 0.5)
    (tmp_path / "suite.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    assert costs.measured(tmp_path / "suite.xml") == {"tests/core/test_z.py::test_slow[a::b]": 2.3}
