"""Folders made to harm whoever looks at them: nothing outside is touched, nothing runs away, nothing steers."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import zipfile

import pytest
from attacks import attack
from bench_helpers import played, small
from damage import everything, forged
from policies import trained
from refusals import rows

import hushbandits as hb
from hushbandits.baselines.sb3_file import read
from hushbandits.bench.opened import open_run
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.integrity import text_sum
from hushbandits.bench.play.lock import Lock
from hushbandits.bench.play.merge import merge
from hushbandits.bench.play.opening import JOURNAL
from hushbandits.bench.play.store import FILE, LOCK, Store
from hushbandits.bench.run import run
from hushbandits.cli.main import main

ONE = small(runs=2, sweep={}, agents=[hb.Use("UCB1"), hb.Use("Multi-UCB")])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    played(ONE, folder)
    return (folder / FILE).read_bytes()


@pytest.fixture
def theirs(tmp_path, whole):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / FILE).write_bytes(whole)
    return folder


def change(folder, *statements):
    db = sqlite3.connect(folder / FILE)
    for statement in statements:
        db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    forged(db)
    db.commit()
    db.close()


def declare(folder, told):
    """Let it describe other experiments, with a checksum that fits."""
    text = json.dumps(told)
    value = "UPDATE spec SET value = ? WHERE name = ?"
    change(folder, (value, (text, "experiments")), (value, (str(text_sum(text, "0")), "checksum")))


def declared(folder):
    with sqlite3.connect(folder / FILE) as db:
        ((text,),) = db.execute("SELECT value FROM spec WHERE name = 'experiments'")
    db.close()
    return json.loads(text)


LOOKS = {
    "check": lambda at: main(["check", str(at)]),
    "report": lambda at: main(["report", str(at)]),
    "export": lambda at: main(["export", str(at)]),
    "compare": lambda at: main(["compare", str(at)]),
    "open_run": lambda at: open_run(at).metrics and 0,
    "merge": lambda at: merge([at], at.parent / "merged").close() or 0,
    "run": lambda at: run(ONE, at, progress=False).store.close() or 0,
}


def tree(folder):
    return {p.name: (p.is_symlink(), p.read_bytes() if p.is_file() else None) for p in sorted(folder.iterdir())}


# -- journals -----------------------------------------------------------------------------------------------------

KILLED = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE finals SET value = value + 1")
db.execute("UPDATE curves SET value = value + 1")
db.execute("CREATE TABLE much (x)")
db.executemany("INSERT INTO much VALUES (?)", [("x" * 900,)] * 400)
os.kill(os.getpid(), 9)
"""


def kill(folder):
    """A writer dies in the middle of a commit."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder / FILE)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (folder / f"{FILE}{JOURNAL}").stat().st_size > 0


def name_another(folder, victim):
    name = os.fsencode(victim)
    tail = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF)
    with (folder / f"{FILE}{JOURNAL}").open("ab") as file:
        file.write(tail + bytes.fromhex("d9d505f920a163d7"))


@pytest.mark.parametrize("look", LOOKS)
def test_a_journal_that_names_another_file_is_refused_and_that_file_stays(theirs, look):
    victim = theirs.parent / "victim.txt"
    victim.write_text("mine")
    kill(theirs)
    name_another(theirs, victim)
    before = tree(theirs)
    try:
        assert LOOKS[look](theirs) != 0
    except StoreError as error:
        assert "names another file" in str(error)  # noqa: PT017
    assert victim.read_text() == "mine"
    assert tree(theirs) == before


@pytest.mark.parametrize("look", [name for name in LOOKS if name != "run"])
def test_what_a_killed_writer_left_is_read_without_touching_it(theirs, look):
    kill(theirs)
    before = tree(theirs)
    assert LOOKS[look](theirs) == 0
    after = tree(theirs)
    assert {name: after[name] for name in before} == before


def test_nothing_is_lost_with_a_killed_writer(theirs, tmp_path):
    before = everything(theirs / FILE)
    kill(theirs)
    theirs.chmod(0o500)
    assert everything(theirs / FILE) == before
    theirs.chmod(0o700)
    assert played(ONE, theirs) == played(ONE, tmp_path / "fresh")
    assert os.listdir(theirs) == [FILE]
    assert everything(theirs / FILE) == before


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
@pytest.mark.parametrize("look", ["check", "merge", "run"])
def test_a_journal_that_is_no_file_is_refused(theirs, kind, look):
    journal, victim = theirs / f"{FILE}{JOURNAL}", theirs.parent / "victim"
    victim.write_text("mine")
    {"pipe": lambda: os.mkfifo(journal), "link": lambda: journal.symlink_to(victim), "folder": journal.mkdir}[kind]()
    try:
        assert LOOKS[look](theirs) != 0
    except StoreError as error:
        assert "is no file" in str(error)  # noqa: PT017
    assert victim.read_text() == "mine"
    assert os.path.lexists(journal)


def test_a_journal_that_asks_for_a_file_without_end_is_refused(theirs):
    kill(theirs)
    with (theirs / f"{FILE}{JOURNAL}").open("r+b") as file:
        file.seek(16)
        file.write(struct.pack(">I", 2**31))
    with pytest.raises(StoreError, match="asks for 2,147,483,648 pages"):
        Store(theirs / FILE, readonly=True)


@pytest.mark.parametrize("kind", ["header", "wal"])
@pytest.mark.parametrize("look", LOOKS)
def test_another_journal_mode_is_a_sentence_and_makes_no_files(theirs, kind, look):
    if kind == "wal":
        (theirs / f"{FILE}-wal").write_bytes(b"x")
    else:
        with (theirs / FILE).open("r+b") as file:
            file.seek(18)
            file.write(b"\2\2")
    before = tree(theirs)
    try:
        assert LOOKS[look](theirs) != 0
    except StoreError as error:
        assert "journal mode" in str(error)  # noqa: PT017
    assert tree(theirs) == before


# -- links --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["link", "name", "text", "pipe", "nowhere"])
def test_what_is_no_lock_of_ours_stays_as_it_is(theirs, kind):
    lock, victim = theirs / LOCK, theirs.parent / "thesis.txt"
    victim.write_text("mine")
    {
        "link": lambda: lock.symlink_to(victim),
        "name": lambda: os.link(victim, lock),
        "text": lambda: lock.write_text("mine"),
        "pipe": lambda: os.mkfifo(lock),
        "nowhere": lambda: lock.symlink_to("nowhere"),
    }[kind]()
    shutil.copytree(theirs, theirs.parent / "copy", ignore=lambda *_: [LOCK])
    writers = (
        lambda: run(ONE, theirs, progress=False),
        lambda: merge([theirs.parent / "copy"], theirs),
        lambda: Lock(lock),
    )
    for write in writers:
        with pytest.raises(StoreError, match="is no lock file of hushbandits"):
            write()
    assert victim.read_text() == "mine"
    assert os.path.lexists(lock)
    assert kind != "text" or lock.read_text() == "mine"


@pytest.mark.parametrize("content", ["", '{"pid": 1, "host": "x"}', '{"pi', "\0\0\0"])
def test_the_lock_file_of_a_killed_process_is_taken_over(theirs, content):
    (theirs / LOCK).write_text(content)
    Lock(theirs / LOCK).release()
    assert os.listdir(theirs) == [FILE]


def test_results_behind_a_link_are_read_and_not_written(theirs, tmp_path):
    before = everything(theirs / FILE)
    other = tmp_path / "other"
    other.mkdir()
    (other / FILE).symlink_to(theirs / FILE)
    assert everything(other / FILE) == before
    with pytest.raises(StoreError, match="is a link and is not written to"):
        run(ONE, other, progress=False)
    kill(theirs)
    assert everything(other / FILE) == before


@pytest.mark.parametrize("to", ["nowhere", "out", "file"])
@pytest.mark.parametrize("below", ["", "sub"])
def test_an_out_that_is_a_link_to_no_folder_is_a_sentence(tmp_path, to, below):
    (tmp_path / "file").touch()
    (tmp_path / "out").symlink_to(to)
    with pytest.raises(StoreError, match=r"cannot write to .*not a directory"):
        run(ONE, tmp_path / "out" / below, progress=False)
    assert sorted(os.listdir(tmp_path)) == ["file", "out"]


# -- without end --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", ["check", "report", "export", "compare"])
@pytest.mark.parametrize("kind", ["sweep", "lines", "deep", "deep session", "not a list"])
def test_what_would_never_end_is_one_sentence(theirs, kind, look, capsys):
    told = declared(theirs)
    match kind:
        case "sweep":
            told[0]["sweep"] = {f"env.{name}": [*range(60)] for name in "abcd"}
        case "lines":
            told[0]["agents"] = [{"use": f"A{i}"} for i in range(3000)]
        case "not a list":
            told = {"sweep": {}}
    declare(theirs, told)
    deep = "[" * 200_000 + "]" * 200_000
    if kind == "deep":
        value = "UPDATE spec SET value = ? WHERE name = ?"
        change(theirs, (value, (deep, "experiments")), (value, (str(text_sum(deep, "0")), "checksum")))
    if kind == "deep session":
        change(theirs, ("UPDATE sessions SET about = ?", (f'{{"own": {deep}}}',)))
    code = main([look, str(theirs)])
    err = capsys.readouterr().err
    if kind == "deep session" and look in ("export", "compare"):
        assert code in (0, 2)
    else:
        assert code in (1, 2)
        assert err.count("\n") == 1
        assert "HUSHBANDITS_TRACEBACK" not in err


POLICIES = {
    "zero": lambda file, content: (file.unlink(), file.symlink_to("/dev/zero")),
    "pipe": lambda file, content: (file.unlink(), os.mkfifo(file)),
    "bomb": lambda file, content: pack(file, content, zipfile.ZIP_DEFLATED),
    "braces": lambda file, content: pack(file, {k: npy(b"{" * 9000) for k in content}),
    "twice": lambda file, content: pack(file, content, twice=True),
    "long": lambda file, content: file.write_bytes(file.read_bytes() + b"\0" * 10**7),
    "call": lambda file, content: pack(file, {k: npy(b"__import__('os').abort()\n") for k in content}),
}


def npy(header):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.filterwarnings("ignore:Duplicate name")
def pack(file, content, how=zipfile.ZIP_STORED, twice=False):
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, data in [*content.items()] * (1 + twice):
            archive.writestr(name, data + b"\0" * 10**6 * (how == zipfile.ZIP_DEFLATED))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", POLICIES)
def test_weights_that_are_none_are_a_sentence(tmp_path, kind):
    folder = trained(tmp_path / "p")
    (file,) = folder.glob("weights-*.npz")
    with zipfile.ZipFile(io.BytesIO(file.read_bytes())) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    POLICIES[kind](file, content)
    with pytest.raises(ValueError, match=r"weights-\d+\.npz|header that is not NumPy's") as error:
        read(folder)
    assert "\n" not in str(error.value)


# -- texts --------------------------------------------------------------------------------------------------------

NASTY = "\x1b[2J\x1b]0;x\x07\u202e\x9b"


@pytest.mark.parametrize("look", ["check", "report", "compare"])
def test_what_a_folder_says_steers_no_terminal(theirs, look, capsys):
    about = {"sources": NASTY, "hushbandits": NASTY, "own": {NASTY: NASTY}, "command": NASTY}
    told = declared(theirs)
    key = ONE.cells()[0].key
    about["privacy"] = {key: [[NASTY] * 8]}
    declare(theirs, told)
    change(
        theirs,
        ("UPDATE sessions SET started = ?, about = ?", (NASTY, json.dumps(about))),
        ("INSERT INTO failures VALUES (1, 0, 1, ?)", (f"Traceback\n{NASTY}",)),
    )
    main([look, str(theirs)])
    said = "".join(capsys.readouterr())
    assert not {c for c in said if c in NASTY and not c.isprintable()}
    (line, *_) = open_run(theirs).select("UCB1")
    assert "\x1b" not in str(line.privacy)


@pytest.mark.parametrize(
    "about",
    [{"sources": [1]}, {"sources": {}}, {"own": [1]}, {"own": 3}, {"own": {"a": []}}, {"own": None}, [], 3, None],
    ids=str,
)
@rows("look", LOOKS)
def test_a_session_of_another_shape_is_a_sentence(theirs, look, about, capsys):
    change(theirs, ("UPDATE sessions SET about = ?", (json.dumps(about),)))
    try:
        LOOKS[look](theirs)
    except StoreError as error:
        assert "its sessions cannot be read" in str(error)  # noqa: PT017
    assert "HUSHBANDITS_TRACEBACK" not in capsys.readouterr().err


@pytest.mark.parametrize("look", LOOKS)
def test_a_session_that_says_nothing_is_read(theirs, look):
    change(theirs, "UPDATE sessions SET about = '{}'")
    assert LOOKS[look](theirs) == 0


@pytest.mark.parametrize("x", ["env.nothing", "", "env.n_agents", "\u202e"])
def test_a_figure_along_what_is_not_swept_costs_no_page(theirs, x, capsys):
    told = declared(theirs)
    told[0]["figures"] = [{"y": "regret", "x": x}, {"y": "regret"}]
    declare(theirs, told)
    assert main(["report", str(theirs)]) == 0, capsys.readouterr().err
    assert f"No figure along {x} is drawn" in (theirs / "report.html").read_text()


# -- what kills leave ---------------------------------------------------------------------------------------------


def test_check_names_what_kills_left(theirs, capsys):
    (theirs / ".17-0123456789abcdef.part").touch()
    kill(theirs)
    assert main(["check", str(theirs)]) == 0
    out = capsys.readouterr().out
    assert ".17-0123456789abcdef.part: part of a file whose writer was killed" in out
    assert f"{FILE}{JOURNAL}: a writer is at work or was killed" in out
    assert main(["report", str(theirs)]) == 0
    assert not (theirs / ".17-0123456789abcdef.part").exists()


ATTACKS = [("kills", 500), ("trainings", 200), ("stores", 1000), ("policies", 2000), ("folders", 200)]


@pytest.mark.weekly
@pytest.mark.parametrize(("name", "count"), ATTACKS)
def test_attacks_in_numbers_find_nothing(name, count):
    assert attack(name, count) == {}
