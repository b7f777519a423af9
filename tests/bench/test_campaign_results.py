"""The campaign against results: simultaneous runs and damaged files; small by default, large with ``-m weekly``."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from bench_helpers import TOML, played, small, table
from damage import damage, everything

from hushbandits.bench.declare.toml import read_toml
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.run import run

# Forked before anything is compiled by threads, so that each start costs no import.
PAIRS = """
import json, os, sys, time
from pathlib import Path
from hushbandits.cli import main as cli

spec, root, seeds = sys.argv[1], Path(sys.argv[2]), sys.argv[4].split(",")
pairs, crew = int(sys.argv[3]), int(sys.argv[5])
cli.main(["run", spec, "--jobs", "1", "--out", str(root / "warm")])
for pair in range(pairs):
    begin, children = time.time() + 0.05, []
    for i in range(crew):
        child = os.fork()
        if not child:
            code = 99
            try:
                sys.stdout = open(root / f"{pair}-{i}.out", "w")
                sys.stderr = open(root / f"{pair}-{i}.err", "w")
                os.dup2(sys.stderr.fileno(), 2)
                time.sleep(max(0, begin - time.time() + 0.01 * (pair % 5) * i))
                command = ["run", spec, "--jobs", "1", "--out", str(root / str(pair)), "--seed", seeds[i % len(seeds)]]
                code = cli.main(command)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(json.dumps(codes), file=sys.__stdout__, flush=True)
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "pair.toml"
    path.write_text(TOML)
    return path


def together(spec, folder, pairs, seeds, crew=2):
    """Exit codes of a crew of first runs that start at once, folder by folder."""
    command = [sys.executable, "-c", PAIRS, str(spec), str(folder), str(pairs), ",".join(map(str, seeds)), str(crew)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [eval(line) for line in done.stdout.splitlines() if line.startswith("[")]


#: The first pair starts at once, the second one after the other.
MANY = [pytest.param(2), pytest.param(100, marks=pytest.mark.weekly)]


@pytest.mark.parametrize("pairs", MANY)
def test_first_runs_that_meet_all_end_with_the_whole_table(tmp_path, spec, pairs):
    whole = played(read_toml(spec), tmp_path / "alone")
    codes = together(spec, tmp_path, pairs, [0], crew=3)
    for pair in range(pairs):
        errors = [(tmp_path / f"{pair}-{i}.err").read_text() for i in range(3)]
        assert codes[pair] == [0, 0, 0], errors
        assert sorted(os.listdir(tmp_path / str(pair))) == ["pair.pdf", "pair.png", "pair.svg", "report.html", FILE]
        with Store(tmp_path / str(pair) / FILE, readonly=True) as store:
            assert table(store) == whole
            assert len(list(store.verify())) == 4
        tables = {(tmp_path / f"{pair}-{i}.out").read_text().partition(str(tmp_path))[0] for i in range(3)}
        assert len(tables) == 1
    assert len(codes) == pairs


@pytest.mark.parametrize("pairs", MANY)
def test_of_first_runs_with_two_seeds_one_is_refused(tmp_path, spec, pairs):
    whole = [played(read_toml(spec), tmp_path / f"alone{seed}", seed=seed) for seed in (0, 1)]
    codes = together(spec, tmp_path, pairs, [0, 1])
    for pair in range(pairs):
        errors = [(tmp_path / f"{pair}-{i}.err").read_text() for i in range(2)]
        assert sorted(codes[pair]) == [0, 2], errors
        loser = codes[pair].index(2)
        assert f"it holds seed {1 - loser}, asked for is {loser}" in errors[loser]
        assert "Traceback" not in errors[loser]
        assert (tmp_path / f"{pair}-{loser}.out").read_text() == ""
        with Store(tmp_path / str(pair) / FILE, readonly=True) as store:
            assert table(store) == whole[1 - loser]
    assert len(codes) == pairs


@pytest.mark.parametrize("damages", [pytest.param(30), pytest.param(500, marks=pytest.mark.weekly)])
def test_a_damaged_store_is_refused_or_reads_as_before(tmp_path, damages):
    with run(small(runs=12), tmp_path, progress=False).store:
        pass
    good, whole = (tmp_path / FILE).read_bytes(), everything(tmp_path / FILE)
    refused = []
    for seed in range(damages):
        (tmp_path / FILE).write_bytes(damage(good, np.random.default_rng(seed)))
        try:
            read = everything(tmp_path / FILE)
        except StoreError as error:
            refused.append(str(error))
        else:
            assert read == whole, seed
        for journal in tmp_path.glob(FILE + "-*"):
            journal.unlink()
    assert len(refused) > damages / 2
    assert not [text for text in refused if "\n" in text]
