"""Input that needs too much memory is refused before anything is allocated."""

from __future__ import annotations

import os
import time
import tracemalloc

import pytest
from bench_helpers import small

import hushbandits as hb
from hushbandits.bench.run import run
from hushbandits.core import affordable

HUGE = {
    "runs": {"runs": 10**9},
    "cells": {"sweep": {f"env.p{i}": tuple(range(100)) for i in range(4)}, "runs": 1},
    "cells and runs": {"sweep": {f"env.p{i}": tuple(range(100)) for i in range(2)}, "runs": 10**5},
    "checkpoints": {"checkpoints": 10**9},
}


def quickly(call, message):
    """Check that `call` raises at once, with little memory."""
    tracemalloc.start()
    begun = time.process_time()
    try:
        with pytest.raises(ValueError, match=message) as caught:
            call()
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert time.process_time() - begun < 10
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("what", HUGE)
def test_an_experiment_beyond_all_memory_is_refused(tmp_path, what):
    experiment = small(**HUGE[what])
    quickly(lambda: run(experiment, tmp_path / "o"), "than the 8 GiB allowed; set HUSHBANDITS_MEMORY")
    assert os.listdir(tmp_path) == []


def test_a_list_beyond_all_reading_is_refused():
    quickly(lambda: small(checkpoints=range(10**9)), "checkpoints=.* at most 1,000,000")


@pytest.mark.parametrize(
    "kwargs",
    [{"runs": 10**9}, *({"options": hb.RunOptions(checkpoints=c)} for c in (10**9, range(10**9)))],
    ids=["runs", "points", "range"],
)
def test_an_evaluation_beyond_all_memory_is_refused(kwargs):
    call = lambda: hb.evaluate("CoopNetwork-v0", "UCB1", **kwargs)  # noqa: E731
    quickly(call, "would take .* GiB, more than the 8 GiB allowed")


def test_the_limit_can_be_raised_and_lowered(monkeypatch):
    monkeypatch.delenv("HUSHBANDITS_MEMORY", raising=False)
    affordable("x", 8 * 2**30)
    with pytest.raises(ValueError, match=r"x would take 9 GiB, more than the 8 GiB allowed"):
        affordable("x", 9 * 2**30)
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "0.5")
    with pytest.raises(ValueError, match=r"x would take 1 GiB, more than the 0\.5 GiB allowed"):
        affordable("x", 2**30)
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "2")
    affordable("x", 2**30)
    for text in ("much", "-1", "0", "nan"):
        monkeypatch.setenv("HUSHBANDITS_MEMORY", text)
        with pytest.raises(ValueError, match=f"HUSHBANDITS_MEMORY='{text}' must be a number of GiB > 0"):
            affordable("x", 1)
