"""Bad input: one sentence that names the argument, the value and what is allowed, word for word."""

import importlib
import math
import re
import tomllib
from collections import ChainMap
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import hushbandits as hb
from hushbandits.registry import shipped_classes

KNOWN = {"hb": hb, "np": np, "nx": nx, "math": math} | {cls.__name__: cls for cls in shipped_classes()}


def cases():
    """Calls and what they say, by kind of error; `uses` are the modules that a table names things of."""
    for path in sorted(Path(__file__).parent.glob("errors/*.toml")):
        table = tomllib.loads(path.read_text())
        used = [vars(importlib.import_module(module)) for module in table.pop("uses", ())]
        names = dict(ChainMap(KNOWN, *used))
        for error, calls in table.items():
            for call, says in calls.items():
                yield pytest.param(call, error, says, names, id=f"{path.stem}: {call}")


@pytest.mark.parametrize(("call", "error", "says", "names"), [*cases()])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_bad_call_says_what_is_allowed(call, error, says, names):
    """The sentence is the whole one, but for what … stands for."""
    with pytest.raises(Exception, match="") as caught:
        eval(call, names)
    (said,) = caught.value.args
    assert caught.type.__name__ == error
    if isinstance(says, list):
        assert [part for part in says if part not in said] == [], said
        return
    assert re.fullmatch(".*".join(map(re.escape, says.split("…"))), said), said
