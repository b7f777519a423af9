"""Names of the registry: by default one represents each class; the others are played weekly."""

from functools import cache
from itertools import product

import pytest

import hushbandits as hb
from hushbandits.registry import AGENTS, ENVS, WRAPPERS

#: The name that represents a class, if another name comes first.
FIRST = ("CoopNetwork-v0", "DPMASE-v0", "DistDP-v0", "UCB1", "QuACK-UCB", "Decentralized-SER4", "GosInE", "CMP-UCB")


@cache
def kind(name):
    """Return the class that a registered name builds, and its setting."""
    if name in ENVS:
        entry = ENVS[name].load()
        return entry if isinstance(entry, type) else type(hb.make_batched(name))
    if name in AGENTS:
        team = hb.make_team(name)
        return type(team), team.setting
    return WRAPPERS[name].load() if name in WRAPPERS else name


def representatives(names):
    """Return one name for each class of some names."""
    chosen = {}
    for name in sorted(names, key=lambda name: (name not in FIRST, name)):
        chosen.setdefault(kind(name), name)
    return {*chosen.values()}


def weekly_but(kept, *cases):
    """Return cases, tuples of values, as parameters; all but those that are kept are weekly."""
    return [pytest.param(*case, marks=() if case in kept else pytest.mark.weekly) for case in cases]


def one_per_class(names):
    """Return names as parameters; of each class one is played by default."""
    names = sorted(names)
    return weekly_but([(name,) for name in representatives(names)], *((name,) for name in names))


def by_class(cases):
    """Return tuples that begin with a name as parameters; those of one name of each class are played by default."""
    cases = [*cases]
    kept = representatives({name for name, *_ in cases})
    return weekly_but([case for case in cases if case[0] in kept], *cases)


def each_once(test):
    """Play each value of a test's parameters by default, and their other combinations weekly."""
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize"][::-1]
    axes = [[_Value(mark, i) for i in range(len([*mark.args[1]]))] for mark in marks]
    daily = [[value for value in axis if not value.marks] for axis in axes]
    turns = {tuple(axis[i % len(axis)] for axis in daily) for i in range(max(map(len, daily)))}
    test.pytestmark = [mark for mark in test.pytestmark if mark.name != "parametrize"]
    names = [name for mark in marks for name in _names(mark)]
    cases = [
        pytest.param(
            *(x for value in case for x in value.values),
            marks=() if case in turns else pytest.mark.weekly,
            id="-".join(value.id for value in case),
        )
        for case in product(*axes)
    ]
    return pytest.mark.parametrize(names, cases)(test)


def _names(mark):
    return [name.strip() for name in mark.args[0].split(",")] if isinstance(mark.args[0], str) else [*mark.args[0]]


class _Value:
    """Values that one ``parametrize`` gives to its names in a case."""

    def __init__(self, mark, i):
        given, names, ids = [*mark.args[1]][i], _names(mark), mark.kwargs.get("ids")
        self.marks = getattr(given, "marks", ())
        self.values = given.values if hasattr(given, "marks") else [given] if len(names) == 1 else [*given]
        if ids is not None and not callable(ids):
            self.id = str([*ids][i])
        else:
            said = [ids and ids(value) for value in self.values]
            pairs = zip(said, self.values, names, strict=True)
            self.id = "-".join(x or (str(y) if isinstance(y, PLAIN) else f"{name}{i}") for x, y, name in pairs)


#: Values that are their own id.
PLAIN = (str, int, float, type(None))
