"""The cost of a pull as a table, and a saved table for comparisons."""

import json
import platform
from pathlib import Path

import numba
import numpy as np

import hushbandits as hb
from benchmarks.clock import least

FILE = Path(__file__).with_name("ratios.json")
#: Relative change of a ratio above which it is reported.
MOVED = 0.10


def measured(cells, turns):
    """Return CPU nanoseconds per pull, those of the loop, and their ratio of each cell but loops; best turns count."""
    plays = {cell.name: cell.made() for cell in cells}
    pulls = {name: play() for name, play in plays.items()}  # this also compiles
    ns = {name: seconds / pulls[name] * 1e9 for name, seconds in least(plays, turns).items()}
    found = {}
    for cell in cells:
        if cell.name != cell.unit:
            mine, its = ns[cell.name], ns[cell.unit]
            found[cell.name] = {"ns": short(mine), "hand": short(its), "times": short(mine / its)}
    return found


def short(x):
    """Round to three digits: a fourth digit is not reproducible."""
    return float(f"{x:.3g}")


def table(found):
    """Return the cells as a table for a page."""
    rows = [f"| {name} | {cell['ns']:,g} | {cell['hand']:,g} | {cell['times']:,g} |" for name, cell in found.items()]
    return "\n".join(["| agent | ns per pull | by hand | ratio |", "|---|---|---|---|", *rows])


def machine():
    """Return the versions and hardware that the numbers depend on."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    return {"cpu": cpu(), "versions": {**versions, "hushbandits": hb.__version__}}


def cpu():
    """Return the name of the processor."""
    shown = Path("/proc/cpuinfo")
    lines = shown.read_text(encoding="utf8").splitlines() if shown.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def write(found):
    """Write the file."""
    FILE.write_text(json.dumps({**machine(), "cells": found}, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def read():
    """Return the content of the file."""
    return json.loads(FILE.read_text(encoding="utf8"))


def moved(found, saved):
    """Yield sentences: ratios that differ from the saved one by more than a tenth, and cells that are not in both."""
    for name in [*found, *(name for name in saved if name not in found)]:
        if name not in saved or name not in found:
            yield f"{name}: {'not saved' if name in found else 'saved, but not played'}; --write saves the table"
            continue
        now, before = found[name]["times"], saved[name]["times"]
        if abs(now / before - 1) > MOVED:
            yield f"{name}: {now:,g} times by hand, {before:,g} before ({100 * (now / before - 1):+.0f} %)"
