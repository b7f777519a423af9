"""The command line wherever it writes: pipes, narrow encodings, full disks; and files that others write too."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.bench.report import figures
from hushbandits.cli import console
from hushbandits.cli import main as cli
from hushbandits.cli.terminal import spell_out
from hushbandits.core.ground import files
from hushbandits.core.ground.files import replacing

SPEC = """
title = "ε ≥ 猫, “so to speak”"
runs = 2
metrics = ["regret"]
env = { use = "CoopNetwork-v0", horizon = 10, n_agents = 3 }
agents = [{ use = "UCB1", label = "γ ∈ 猫" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def said(*args, **env):
    code = "import sys; from hushbandits.cli.main import main; sys.exit(main(sys.argv[1:]))"
    whole = {**os.environ, "PYTHONUTF8": "0", **env}
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, env=whole, check=False, timeout=120)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_output_in_a_narrow_encoding_works(folder, encoding, monkeypatch):
    # What is printed is looked at; the files of pictures, most of the time that this takes, are not.
    monkeypatch.setattr(figures, "pictures", lambda store, experiment, folder, trusted: [folder / "mine.png"])

    def told(*args):
        pipes = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        monkeypatch.setattr(sys, "stdout", pipes[0])
        monkeypatch.setattr(sys, "stderr", pipes[1])
        code = cli.main(args)
        for pipe in pipes:
            pipe.flush()
        return code, *(pipe.buffer.getvalue().decode(encoding) for pipe in pipes)

    assert told("run", "mine.toml", "--jobs", "1")[0] == 0
    code, out, err = told("report", "runs/mine")
    assert (code, err) == (0, "")
    assert "gamma" in out
    assert told("list", "experiments")[0] == told("--help")[0] == 0
    assert told("audit", "LocalBernoulli", "--samples", "100")[0] == 0
    for args in (["run", "gibt-es-nicht-ε-猫"], ["reproduce", "ε"], ["check", "猫"], ["audit", "ε"]):
        code, _, err = told(*args)
        assert (code, err.count("\n")) == (2, 1)


def test_output_in_an_encoding_of_the_system_works(folder):
    done = said("run", "gibt-es-nicht-ε-猫", PYTHONIOENCODING="cp1252")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"gibt-es-nicht-epsilon-?" in done.stderr


@given(st.text())
def test_every_text_can_be_written_in_every_encoding(text):
    for encoding in ("ascii", "cp1252", "latin-1", "utf-8", "cp437"):
        text.encode(encoding, "hushbandits.ascii")


def test_letters_are_spelt_out():
    assert "ε ≥ ½, café — 猫".encode("ascii", "hushbandits.ascii") == b"epsilon >= 1/2, cafe - ?"
    spell_out()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("args", [["list", "envs"]])
def test_a_full_disk_is_one_line(folder, args):
    code = "import sys; from hushbandits.cli.main import main; sys.exit(main(sys.argv[1:]))"
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", code, *args]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


@pytest.mark.parametrize("args", [["list", "envs"], ["report", "runs/mine"]])
def test_a_reader_that_goes_ends_it_quietly(folder, args):
    assert cli.main(["run", "mine.toml", "--jobs", "1"]) == 0
    code = "import sys; from hushbandits.cli.main import main; sys.exit(main(sys.argv[1:]))"
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", code, *args]
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


@pytest.mark.parametrize("name", ["[red]", "[/x]", "a[b]"])
def test_a_folder_with_brackets_is_shown_as_it_is(folder, capsys, monkeypatch, name):
    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("hushbandits.bench.run.run", stopped)
    asked = console.asked("mine.toml", None, False, (), ())
    assert console.into(Path(name), asked, 0, hb.RunOptions()) == 130
    assert f"are in {name};" in capsys.readouterr().err.replace("\n", " ")


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


@pytest.mark.parametrize("moment", ["open", "lock"])
def test_ctrl_c_as_a_file_is_begun_leaves_nothing(tmp_path, monkeypatch, moment):
    """It comes when the part is there, and nobody knows its name yet."""
    mine = signal.signal(signal.SIGINT, signal.default_int_handler)
    own = {"open": Path.open, "lock": files.lock}[moment]

    def interrupted(*args, **kwargs):
        made = own(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGINT)
        return made

    monkeypatch.setattr(*{"open": (Path, "open"), "lock": (files, "lock")}[moment], interrupted)
    try:
        with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "page") as out:
            out.write("never")
    finally:
        signal.signal(signal.SIGINT, mine)
    assert os.listdir(tmp_path) == []


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    with pytest.raises(OSError, match="It is a device"), replacing(Path(os.devnull)):
        pass
    with replacing(Path(os.devnull), device=True) as out:
        out.write("x")
    assert not Path(os.devnull).is_file()
    with pytest.raises(OSError, match="directory"), replacing(tmp_path):
        pass


def test_simultaneous_reports_of_one_folder_do_not_meet(folder):
    assert cli.main(["run", "mine.toml", "--jobs", "1"]) == 0
    page = Path("runs/mine/report.html").read_bytes()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: said("report", "runs/mine"), range(2)))
    assert [f.returncode for f in found] == [0] * 2, [f.stderr for f in found]
    assert not list(Path("runs/mine").glob("*.part"))
    assert Path("runs/mine/report.html").read_bytes() == page
