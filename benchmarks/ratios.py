"""What a pull costs, as a table; and a file of it, against which later ones are held."""

import json
import platform
from pathlib import Path

import numba
import numpy as np

import hushbandits as hb
from benchmarks.clock import least

FILE = Path(__file__).with_name("ratios.json")
#: How far a ratio may move before it is said.
MOVED = 0.10


def measured(cells, turns):
    """Of each cell: nanoseconds of CPU time per pull, the best of the turns, and how many times its unit's that is."""
    plays = {cell.name: cell.made() for cell in cells}
    pulls = {name: play() for name, play in plays.items()}  # and all is compiled
    ns = {name: seconds / pulls[name] * 1e9 for name, seconds in least(plays, turns).items()}
    return {cell.name: {"ns": short(ns[cell.name]), "times": short(ns[cell.name] / ns[cell.unit])} for cell in cells}


def short(x):
    """Three digits: the fourth is never the same twice."""
    return float(f"{x:.3g}")


def table(found):
    """The cells as a table of a page."""
    rows = [f"| {name} | {cell['ns']:,g} | {cell['times']:,g} |" for name, cell in found.items()]
    return "\n".join(["| who plays | ns per pull | times by hand |", "|---|---|---|", *rows])


def machine():
    """What numbers hang on besides the code."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__}
    return {"cpu": cpu(), "versions": {**versions, "hushbandits": hb.__version__}}


def cpu():
    """What the processor calls itself."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf8").splitlines() if told.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def write(found):
    """Make the file anew."""
    FILE.write_text(json.dumps({**machine(), "cells": found}, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def read():
    """What the file says."""
    return json.loads(FILE.read_text(encoding="utf8"))


def moved(found, saved):
    """Sentences: which ratio differs from the saved one by more than a tenth, and who is not in both."""
    for name in [*found, *(name for name in saved if name not in found)]:
        if name not in saved or name not in found:
            yield f"{name}: {'not saved' if name in found else 'saved, but not played'}; --write makes the file anew"
            continue
        now, before = found[name]["times"], saved[name]["times"]
        if abs(now / before - 1) > MOVED:
            yield f"{name}: {now:,g} times by hand, {before:,g} before ({100 * (now / before - 1):+.0f} %)"
