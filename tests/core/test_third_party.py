"""Third-party texts cannot control the terminal, and files are written atomically."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from hushbandits.bench.report.terminal import printable
from hushbandits.bench.runner.files import replacing

WRITER = """
import sys
from pathlib import Path
from hushbandits.bench.runner.files import replacing
with replacing(Path(sys.argv[1]) / "page") as out:
    out.write("half")
    print("begun", flush=True)
    sys.stdin.read()
"""


def writer(folder):
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_writer_that_is_killed_leaves_the_old_file(tmp_path):
    (tmp_path / "page").write_text("old")
    with writer(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "page").read_text() == "old"


def test_a_link_is_replaced_and_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for place in (victim, tmp_path / "nowhere", "/dev/null"):
        page = tmp_path / "page"
        page.unlink(missing_ok=True)
        page.symlink_to(place)
        with replacing(page) as out:
            out.write("page")
        assert not page.is_symlink()
        assert page.read_text() == "page"
    assert victim.read_text() == "mine"
    os.mkfifo(tmp_path / "pipe")
    with replacing(tmp_path / "pipe") as out:
        out.write("page")
    assert (tmp_path / "pipe").read_text() == "page"


@given(st.text())
def test_what_is_printed_steers_nothing(text):
    said = printable(text)
    assert all(c.isprintable() or c in "\n\t" or c.isspace() for c in said)
    assert "\x1b" not in said
    assert not text.isprintable() or said == text
