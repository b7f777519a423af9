"""Attacks on folders, each from a number: kills of writers, damaged stores and policies, folders made to harm.

``python tests/support/attacks.py kills 500 --first 0`` makes so many and says what was found; 0 findings end with 0.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from bench_helpers import played, small
from damage import damage, everything, forged
from policies import SHORT, trained

import hushbandits as hb
from hushbandits.baselines.sb3_file import FILE as POLICY
from hushbandits.baselines.sb3_file import read
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.integrity import text_sum
from hushbandits.bench.play.store import FILE, Store
from hushbandits.learning.folder import LOCK

SWEEP = small(runs=6, sweep={"env.n_agents": (3, 4)}, agents=[hb.Use("UCB1"), hb.Use("Multi-UCB")])

WRITER = """
import sys, time, resource
sys.path[:0] = [{support!r}]
from attacks import SWEEP
from hushbandits.bench.run import run
from hushbandits.bench.play.merge import merge
how, folder, *others = sys.argv[1:]
if how == "clock":
    real, steps = time.time, [0]
    def jumping():
        steps[0] += 1
        return real() + (-1) ** steps[0] * 1e6 * (steps[0] % 7)
    time.time = jumping
if how == "full":  # a write beyond some size fails, as on a full disk
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = int(others[0])
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
print("ready", flush=True)
if how == "merge":
    merge(others, folder).close()
else:
    run(SWEEP, folder, progress=False, batch=1, shard=others[0] if how == "shard" else None).store.close()
print("done", flush=True)
"""


def began(how, folder, *others):
    code = WRITER.format(support=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, how, str(folder), *map(str, others)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def subset(folder, whole):
    """Whether every row that a folder holds is one of the whole table."""
    with Store(folder / FILE, readonly=True) as store:
        for _ in store.verify():
            pass
        return {repr(row) for row in store.rows()} <= whole


def kills(count, first, home):
    """Kill writers at random moments; the rows that are there stay right, grow, and end as the whole table."""
    reference = home / "whole"
    wanted = played(SWEEP, reference)
    with Store(reference / FILE, readonly=True) as store:
        whole = {repr(row) for row in store.rows()}
    for i in (1, 2):
        with began("shard", home / f"s{i}", f"{i}/2") as process:
            process.communicate()
    found = Counter()
    folder, before = home / "killed", 0
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        how = ("run", "merge", "clock", "full", "readonly")[number % 5]
        if rng.random() < 0.15 or not (how == "run" or folder.exists()):
            shutil.rmtree(folder, ignore_errors=True)
            before = 0
        others = [home / "s1", home / "s2"] if how == "merge" else [8192 * int(rng.integers(1, 30))]
        with began("run" if how == "readonly" else how, folder, *others) as process:
            process.stdout.readline()
            time.sleep(float(rng.random() * rng.choice([0.02, 0.2, 0.6])))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        if not (folder / FILE).exists():
            continue
        if how == "readonly":
            folder.chmod(0o500)
        try:
            there = len(everything(folder / FILE)) if subset(folder, whole) else -1
        except StoreError as error:
            there = 0 if "is empty" in str(error) else -1
            found[str(error)[:200]] += there < 0
        folder.chmod(0o700)
        found["rows that are none"] += there < 0
        found["rows lost"] += 0 <= there < before
        before = max(there, 0)
    found["the end differs"] += played(SWEEP, folder) != wanted
    with_part = [p.name for p in folder.iterdir() if p.name != FILE]
    found[f"left behind: {with_part}"] += bool(with_part)
    return found


def trainings(count, first, home):
    """Kill trainings at random moments and go on: what is there plays, and the end is that without a kill."""
    given = {**SHORT, "steps": 96, "evaluations": 6}
    wanted = {path.name: path.read_bytes() for path in trained(home / "whole", **given).iterdir()}
    folder, found = home / "killed", Counter()
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        child = os.fork()
        if child == 0:
            try:
                trained(folder, **given, resume=(folder / POLICY).exists())
            finally:
                os._exit(0)
        time.sleep(float(rng.random() * rng.choice([0.02, 0.3, 1.0])))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if (folder / POLICY).exists():
            try:
                complete = read(folder).told["training"]["complete"]
            except ValueError as error:
                found[str(error)[:200]] += 1
                continue
            if complete:
                there = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK}
                found["the end differs"] += there != wanted
                shutil.rmtree(folder)
    if folder.exists():
        trained(folder, **given, resume=(folder / POLICY).exists())
        found["the end differs"] += {path.name: path.read_bytes() for path in folder.iterdir()} != wanted
    return found


def stores(count, first, home):
    """Damage a store; it is read as it was, or refused in a sentence, and never changed by that."""
    folder = home / "store"
    played(SWEEP, folder)
    whole, said = (folder / FILE).read_bytes(), everything(folder / FILE)
    found = Counter()
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        content = damage(whole, rng)
        (folder / FILE).write_bytes(content)
        if number % 4 == 0:  # with a journal of noise, or of the store itself
            journal = rng.bytes(600) if number % 8 else bytes.fromhex("d9d505f920a163d7") + whole[:3000]
            (folder / f"{FILE}-journal").write_bytes(journal)
        try:
            found["believed"] += everything(folder / FILE) != said
        except StoreError:
            pass
        except Exception as error:
            found[f"{type(error).__name__}: {error}"[:200]] += 1
        found["changed by reading"] += (folder / FILE).read_bytes() != content
        (folder / f"{FILE}-journal").unlink(missing_ok=True)
    return found


def policies(count, first, home):
    """Damage a policy; it is refused in a sentence, or is what its files say."""
    folder = trained(home / "policy")
    files = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    found = Counter()
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        for path, content in files.items():
            path.write_bytes(content)
        path = [*files][number % len(files)]
        content = bytearray(files[path])
        match number % 3:
            case 0:
                for _ in range(rng.integers(1, 5)):
                    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
            case 1:
                del content[rng.integers(len(content)) :]
            case 2:
                at = rng.integers(len(content))
                content[at:at] = rng.choice([b"{" * 5000, b"[" * 5000, b"\0" * 5000, bytes(content[:500])])
        path.write_bytes(bytes(content))
        try:
            weights = read(folder).weights
            found["not finite"] += not all(np.isfinite(array).all() for array in weights.values())
        except ValueError as error:
            found["more than a sentence"] += "\n" in str(error)
        except Exception as error:
            found[f"{type(error).__name__}: {error}"[:200]] += 1
    return found


JUNK = [
    None,
    True,
    -1,
    10**400,
    1e308,
    "",
    "\x1b[2J",
    "x" * 5000,
    [],
    {},
    [[]],
    {"a": {}},
    "../../x",
    "os:system",
    ["a"] * 300,
    {"Graph": {"nodes": 99999, "edges": []}},
    [*range(400)],
    {f"k{i}": [*range(60)] for i in range(4)},
]


def bent(value, rng, depth=0):
    """A declaration, or what a session says, with something else somewhere in it."""
    if depth > 5 or rng.random() < 0.15 or not isinstance(value, (dict, list)) or not value:
        return JUNK[rng.integers(len(JUNK))]
    if isinstance(value, list):
        at = int(rng.integers(len(value)))
        return [*value[:at], bent(value[at], rng, depth + 1), *value[at + 1 :]]
    key = list(value)[rng.integers(len(value))]
    return {**value, key: bent(value[key], rng, depth + 1)}


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from hushbandits.cli.main import main
codes = [main([look, sys.argv[1]]) for look in ("check", "report", "compare", "export")]
print("CODES", codes, file=sys.stderr)
"""


def folders(count, first, home, memory=2**30, seconds=10):
    """Folders whose checksums fit and that say anything: looked at by every command under limits."""
    base, found = home / "base", Counter()
    played(SWEEP, base)
    whole = (base / FILE).read_bytes()
    victim = home / "victim.txt"
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        folder = home / "theirs"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        victim.write_text("mine")
        (folder / FILE).write_bytes(whole)
        db = sqlite3.connect(folder / FILE)
        which = number % 4
        if which in (0, 1):
            ((text,),) = db.execute("SELECT value FROM spec WHERE name = 'experiments'")
            text = json.dumps(bent(json.loads(text), rng))
            db.execute("UPDATE spec SET value = ? WHERE name = 'experiments'", (text,))
            db.execute("UPDATE spec SET value = ? WHERE name = 'checksum'", (str(text_sum(text, "0")),))
        if which in (1, 2):
            ((text,),) = db.execute("SELECT about FROM sessions")
            db.execute(
                "UPDATE sessions SET about = ?, started = '\x1b[31m'", (json.dumps(bent(json.loads(text), rng)),)
            )
            db.execute("INSERT INTO failures VALUES (1, 0, 1, 'x\x1b[2J')")
        forged(db)
        db.commit()
        db.close()
        if which == 3:
            hostile(folder, victim, rng)
        code = LIMITED.format(memory=memory, seconds=seconds)
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=300, check=False,
            cwd=home, env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        last = (done.stderr.strip().splitlines() or [""])[-1]
        found[f"{number}: died with {done.returncode}: {last[:150]}"] += done.returncode != 0
        for line in done.stderr.splitlines():
            found[f"{number}: {line[:200]}"] += "HUSHBANDITS_TRACEBACK" in line
        found[f"{number}: steers"] += "\x1b" in done.stdout.partition("experiment,")[0] + done.stderr
        found[f"{number}: victim"] += victim.read_text() != "mine"
        found[f"{number}: outside"] += {p.name for p in home.iterdir()} != {"base", "theirs", "victim.txt"}
    return found


def hostile(folder, victim, rng):
    """Links, pipes and journals in the place of files."""
    name = os.fsencode(victim)
    tail = struct.pack(">I", 0x40000001) + name + struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF)
    magic = bytes.fromhex("d9d505f920a163d7")
    beside = folder / f"{FILE}{rng.choice(['-journal', '-wal', '-shm', '.lock'])}"
    match rng.integers(7):
        case 0:
            beside.symlink_to(victim)
        case 1:
            os.mkfifo(beside)
        case 2:
            (folder / f"{FILE}-journal").write_bytes(magic + rng.bytes(504) + tail + magic)
        case 3:
            for page in ("report.html", "small.png", "small.svg", "small.pdf"):
                (folder / page).symlink_to(victim)
        case 4:
            (folder / FILE).unlink()
            (folder / FILE).symlink_to(rng.choice(["/dev/zero", "/dev/full", str(victim), FILE]))
        case 5:
            with (folder / FILE).open("ab") as file:
                file.truncate(2**40)
        case 6:
            (folder / FILE).unlink()
            os.mkfifo(folder / FILE)


ATTACKS = {"kills": kills, "trainings": trainings, "stores": stores, "policies": policies, "folders": folders}


def attack(name, count, first=0):
    """Return what was found, by how often; nothing is as it should be."""
    with tempfile.TemporaryDirectory() as home:
        return {what: n for what, n in ATTACKS[name](count, first, Path(home)).items() if n}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", choices=ATTACKS)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    found = attack(given.attack, given.count, given.first)
    for what, n in found.items():
        print(f"{n} × {what}".encode("ascii", "backslashreplace").decode())
    print(f"{given.count} {given.attack} from {given.first}: {sum(found.values())} findings")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
