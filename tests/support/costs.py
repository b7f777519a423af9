"""Which tests a developer waits for: the cheap ones always, the costly ones in turn, as many as fit a budget.

``tests/seconds.json`` has what each costly case took.  It is made anew from a whole run::

    pytest -n 2 --dist worksteal --all --junitxml=suite.xml && python tests/support/costs.py suite.xml
"""

import heapq
import json
import math
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

TESTS = Path(__file__).parents[1]
SECONDS = TESTS / "seconds.json"
#: A case that took at most so many seconds is always played.
CHEAP = 0.5
#: Seconds of costly cases in a turn.
BUDGET = 90


def commits():
    """Return how many commits led here: each of them plays the next part."""
    try:
        said = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=TESTS, capture_output=True, text=True)
    except OSError:
        return 0
    return int(said.stdout) if said.returncode == 0 else 0


def waiting(names, seconds, turn):
    """Return the names that wait in a turn; in as many turns as there are parts, each is played once."""
    costly = sorted((name for name in names if name in seconds), key=lambda name: (-seconds[name], name))
    count = max(1, math.ceil(sum(seconds[name] for name in costly) / BUDGET))
    parts = [(0.0, i) for i in range(count)]
    stay = {}
    for name in costly:
        filled, i = heapq.heappop(parts)
        stay[name] = i
        heapq.heappush(parts, (filled + seconds[name], i))
    return {name for name, i in stay.items() if i != turn % count}


def measured(junit):
    """Return seconds by name of the costly cases in a JUnit file."""
    took = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        name = f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
        took[name] = round(float(case.get("time")), 1)
    return {name: took[name] for name in sorted(took) if took[name] > CHEAP}


def known():
    return json.loads(SECONDS.read_text(encoding="utf8"))


if __name__ == "__main__":
    SECONDS.write_text(json.dumps(measured(sys.argv[1]), indent=0, ensure_ascii=False) + "\n", encoding="utf8")
