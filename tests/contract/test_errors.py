"""Refused input: the error, the argument and the value that it names; the rows are in `errors`."""

import importlib
import math
import tomllib
from collections import ChainMap
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from refusals import refused

import hushbandits as hb
from hushbandits.registry import builtin_classes

KNOWN = {"hb": hb, "np": np, "nx": nx, "math": math} | {cls.__name__: cls for cls in builtin_classes()}


def tables():
    """Read names, errors and calls with the words of their messages; `uses` are the modules that a table names."""
    for path in sorted(Path(__file__).parent.glob("errors/*.toml")):
        table = tomllib.loads(path.read_text())
        uses = table.pop("uses", ())
        for error, calls in table.items():
            yield pytest.param(uses, error, calls, id=f"{path.stem}: {error}")


@pytest.mark.parametrize(("uses", "error", "calls"), [*tables()])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_bad_call_names_the_argument_and_shows_the_value(uses, error, calls):
    names = dict(ChainMap(KNOWN, *(vars(importlib.import_module(module)) for module in uses)))
    refused(error, {call: (partial(eval, call, names), *words) for call, words in calls.items()})
