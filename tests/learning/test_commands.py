"""The commands of the learning pages run: two seeds, with a fiftieth of the steps and of the runs played."""

import re
import shlex
from types import SimpleNamespace

import pages
import pytest

import hushbandits as hb
from benchmarks import __main__ as benchmarks
from benchmarks import learning, messages
from hushbandits.cli.main import main

PAGES = "".join(
    (pages.ROOT / "docs" / f"{name}.md").read_text() for name in ("learning", "learned-messages", "by-hand")
)
COMMANDS = [*map(shlex.split, re.findall(r"[`\n]((?:hushbandits train \w+-|python\s-m\sbenchmarks)[^`]*)`", PAGES))]


def hushbandits(words):
    i = words.index("--steps") + 1
    assert main([*words[:i], str(int(words[i]) // 50), *words[i + 1 :]]) == 0


@pytest.mark.weekly
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_runs(words, here, monkeypatch):
    train, evaluate = messages.train, hb.evaluate
    alone = SimpleNamespace(run=lambda words, check: hushbandits(words[3:]))
    monkeypatch.setattr(learning, "subprocess", alone)
    for studied in (learning, messages):
        monkeypatch.setattr(studied, "SEEDS", range(2))
    monkeypatch.setattr(learning, "HELD_OUT", learning.HELD_OUT // 50)
    monkeypatch.setattr(messages, "train", lambda *args, steps, **given: train(*args, steps=steps // 50, **given))
    monkeypatch.setattr(hb, "evaluate", lambda *args, runs, **given: evaluate(*args, runs=runs // 50, **given))
    learning.played.cache_clear()
    if words[0] == "hushbandits":
        hushbandits(words[1:])
    else:
        assert benchmarks.main(words[3:]) == 0
