"""The command line writes to pipes, narrow encodings and full disks; and shares files with other writers."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hushbandits.bench.report import figures
from hushbandits.bench.runner.files import replacing
from hushbandits.cli import main as cli

CODE = "import sys; from hushbandits.cli.main import main; sys.exit(main(sys.argv[1:]))"
SPEC = """
title = "ε ≥ 猫, “so to speak”"
runs = 2
metrics = ["regret"]
env = { type = "CoopNetwork-v0", horizon = 10, n_agents = 3 }
agents = [{ type = "UCB1", label = "γ ∈ 猫" }]
"""


@pytest.fixture
def folder(here):
    (here / "mine.toml").write_text(SPEC, encoding="utf-8")
    return here


@pytest.mark.parametrize("encoding", [pytest.param("cp1252", marks=pytest.mark.weekly), "ascii"])
def test_output_in_a_narrow_encoding_works(folder, encoding, monkeypatch):
    # Printed output is checked; drawing figures, which takes most of the time, is skipped.
    monkeypatch.setattr(figures, "pictures", lambda store, experiment, folder, trusted: [folder / "mine.png"])

    def shown(*args):
        pipes = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        monkeypatch.setattr(sys, "stdout", pipes[0])
        monkeypatch.setattr(sys, "stderr", pipes[1])
        code = cli.main(args)
        for pipe in pipes:
            pipe.flush()
        return code, *(pipe.buffer.getvalue().decode(encoding) for pipe in pipes)

    assert shown("run", "mine.toml", "--jobs", "1")[0] == 0
    code, out, err = shown("report", "runs/mine")
    assert (code, err) == (0, "")
    assert "\\u03b3 " in out
    assert shown("list", "experiments")[0] == shown("--help")[0] == 0
    assert shown("audit", "LocalBernoulli", "--samples", "100")[0] == 0
    for args in (["run", "gibt-es-nicht-ε-猫"], ["reproduce", "ε"], ["check", "猫"], ["audit", "ε"]):
        code, _, err = shown(*args)
        assert (code, err.count("\n")) == (2, 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(folder):
    args = ["list", "envs"]
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", CODE, *args]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


@pytest.mark.weekly
def test_a_reader_that_goes_ends_it_quietly(folder):
    assert cli.main(["run", "mine.toml", "--jobs", "1"]) == 0
    args = ["report", "runs/mine"]
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", CODE, *args]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, timeout=120)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("error", [KeyError("a"), RecursionError("deep\ndeeper"), OSError(5, "no"), MemoryError()])
def test_what_nobody_foresaw_is_one_line(folder, monkeypatch, capsys, error):
    def broken(*args):
        raise error

    monkeypatch.setattr("hushbandits.cli.run.asked", broken)
    monkeypatch.delenv("HUSHBANDITS_TRACEBACK", raising=False)
    assert cli.main(["run", "mine.toml"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith(f"hushbandits: {type(error).__name__}")
    assert "HUSHBANDITS_TRACEBACK=1 shows where" in err
    monkeypatch.setenv("HUSHBANDITS_TRACEBACK", "1")
    assert cli.main(["run", "mine.toml"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as out:  # noqa: PT012
        out.write("half")
        raise RuntimeError
    assert path.read_text() == "old"
    with replacing(path) as out, replacing(path) as other:
        out.write("one")
        other.write("two")
    assert path.read_text() == "one"  # ended last
    assert os.listdir(tmp_path) == ["a.txt"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    with pytest.raises(OSError, match="It is a device"), replacing(Path(os.devnull)):
        pass
    assert not Path(os.devnull).is_file()
    with pytest.raises(OSError, match="directory"), replacing(tmp_path):
        pass
