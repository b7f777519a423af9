"""Thousands of random calls of the public API: no crash, no internal exception, no non-finite number."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parents[1] / "support" / "campaign.py"


def findings(seed, calls):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, str(CAMPAIGN), str(seed), str(calls)], capture_output=True, text=True, env=env, check=False
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
    if done.returncode or not done.stdout.rstrip().rpartition("\n")[2].startswith("CALLS"):
        found.append(f"exit {done.returncode}: {done.stderr[-2000:]}")
    return found


@pytest.mark.weekly
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_large_campaign_finds_nothing(seed):
    assert not findings(seed, 10_000)
