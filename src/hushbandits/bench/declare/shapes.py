"""Shapes of a declaration's fields: what each annotation of `Experiment`, `Figure` and `Claim` lets in."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeGuard

import numpy as np

from hushbandits.core.entries import AGENTS
from hushbandits.core.ground.spec import open_ended, parameters
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import nearest, shown
from hushbandits.core.team import Team

__all__ = ["check", "lacking", "mapping", "plain_name", "sequence", "swallowed", "swept", "table", "tables", "text"]

_Test = Callable[[object], bool]


def text(value: object) -> TypeGuard[str]:
    r"""Whether `value` is a text that can be written anywhere: no half characters, nothing that steers a terminal.

    Examples
    --------
    >>> text("ε = 1"), text("\x1b[2J"), text("\ud800"), text(3)
    (True, False, False, False)
    """
    if not isinstance(value, str):
        return False
    return value.isprintable() or not any(unicodedata.category(c) in ("Cc", "Cs") for c in value if c not in "\n\t")


def sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Whether `value` lists things; a text does not."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def mapping(value: object) -> TypeGuard[Params]:
    """Whether `value` is a table with texts for keys."""
    return isinstance(value, Mapping) and all(map(text, value))


def table(what: str, given: object, known: Collection[str], needed: Iterable[str]) -> Params:
    """Return `given` if it is a table of `known` fields that has the `needed` ones, else raise ``ValueError``."""
    if not mapping(given):
        raise ValueError(f"{what}: {shown(given)} must be a table")
    for key in given:
        if key not in known:
            raise ValueError(f"{what}: there is no field {key!r}{nearest(key, known)}")
    for key in needed:
        if key not in given:
            raise ValueError(f"{what}: the field {key!r} is missing")
    return given


def swallowed(what: str, given: Params) -> None:
    """Raise ``ValueError`` where TOML has put a field of an experiment into a table that stands before it.

    Examples
    --------
    >>> swallowed("x", {"env": {"use": "CoopNetwork-v0", "agents": ["UCB1"]}})
    Traceback (most recent call last):
        ...
    ValueError: x: 'agents' stands in the table [env]; in TOML what stands in no table comes before the first one
    >>> swallowed("x", {"sweep": {"env": {"n_agents": [2, 4]}}})
    Traceback (most recent call last):
        ...
    ValueError: x: sweep: write "env.n_agents" = [2, 4], in quotation marks
    """
    env = given.get("env")
    if mapping(env) and "agents" in env and "agents" not in given:
        raise ValueError(
            f"{what}: 'agents' stands in the table [env]; in TOML what stands in no table comes before the first one"
        )
    for field in ("sweep", "quick"):
        parts = given.get(field)
        for owner, inner in parts.items() if mapping(parts) else ():
            for key, value in inner.items() if mapping(inner) and "." not in owner else ():
                raise ValueError(f'{what}: {field}: write "{owner}.{key}" = {shown(value)}, in quotation marks')


def tables(key: str, parts: object) -> Sequence[Any]:
    """Return `parts` if it is a list, else raise ``ValueError``; its items are checked by whoever reads them."""
    if not sequence(parts):
        raise ValueError(f"{key}={shown(parts)} must be a list of tables")
    return parts


_LONGEST = 100
#: What some system takes for a path, a wildcard or a stream.
_SPECIAL = frozenset('<>:"/\\|?*')
#: Names of devices on Windows, whatever comes after a dot.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def plain_name(what: str, name: object) -> str:
    """Return `name` if it is a file name, on every system, that stays in its folder; else raise ``ValueError``."""
    if (
        isinstance(name, str)
        and 0 < len(name.encode("utf-8", "replace")) <= _LONGEST
        and name.isprintable()
        and name == name.strip(" .")
        and not name.startswith("-")
        and not _SPECIAL & set(name)
        and name.partition(".")[0].strip().lower() not in _DEVICES
    ):
        return name
    raise ValueError(
        f"{what}={shown(name)} must be a plain file name: 1 to {_LONGEST} bytes of characters that print, "
        f"no < > : \" / \\ | ? *, no device's name, no space or dot at either end, no '-' in front"
    )


#: Most entries of a list that is looked through.
LONGEST = 1_000_000


def _many(test: _Test) -> _Test:
    return lambda value: sequence(value) and len(value) <= LONGEST and all(map(test, value))


def _table(test: _Test) -> _Test:
    return lambda value: mapping(value) and all(map(test, value.values()))


def _maybe(test: _Test) -> _Test:
    return lambda value: value is None or test(value)


def _whole(value: object) -> bool:
    # a bool is an int to Python, and no number of anything to a reader
    whole = isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and value.is_integer())
    return whole and not isinstance(value, bool)


def _number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _named(kind: str) -> _Test:
    return lambda value: type(value).__name__ == kind


_PARTS = {kind: _named(kind) for kind in ("Use", "Figure", "Claim")}
#: What an annotation lets in, and in words.
KINDS: dict[str, tuple[_Test, str]] = {
    "str": (text, "a text without control characters"),
    "str | None": (_maybe(text), "a text without control characters"),
    "bool": (lambda v: isinstance(v, (bool, np.bool_)), "true or false"),
    "int": (_whole, "an integer"),
    "float | None": (_maybe(_number), "a number"),
    "int | Sequence[int] | None": (
        _maybe(lambda v: _whole(v) or _many(_whole)(v)),
        f"an integer or a list of at most {LONGEST:,} integers",
    ),
    "Sequence[int]": (_many(_whole), f"a list of at most {LONGEST:,} integers"),
    "Sequence[str]": (_many(text), "a list of texts"),
    "Params": (mapping, "a table"),
    "Mapping[str, str]": (_table(text), "a table of texts"),
    "Mapping[str, Sequence[object]]": (mapping, "a table"),
    "Line": (lambda v: text(v) or mapping(v) or _named("Use")(v), "an agent, a text or a table"),
    "Line | None": (_maybe(lambda v: text(v) or mapping(v) or _named("Use")(v)), "an agent, a text or a table"),
    "Effect": (lambda v: type(v).__name__ in ("Value", "Difference", "Ratio", "Slope"), "an effect"),
    "Origin": (text, "a text without control characters"),
    "Use": (_PARTS["Use"], "a name or a Use"),
    **{f"Sequence[{kind}]": (_many(test), f"a list of {kind}") for kind, test in _PARTS.items()},
    "Sequence[Use]": (_many(_PARTS["Use"]), "a list of names or Use"),
    "Sequence[Use] | Mapping[str, Sequence[Use]]": (
        lambda v: _many(_PARTS["Use"])(v) or _table(_many(_PARTS["Use"]))(v),
        "a list of names or Use, or a table of such lists",
    ),
}


def check(kind: type, given: Params, what: str) -> None:
    """Raise ``ValueError`` for the first of the given fields that has another shape than `kind` says."""
    known = {f.name: str(f.type) for f in fields(kind)}
    for name, value in given.items():
        test, words = KINDS[known[name]]
        if not test(value):
            raise ValueError(f"{what}: {name}={shown(value)} must be {words}")


def swept(what: str, keys: Iterable[str], names: Iterable[str], plain: Sequence[str] = ()) -> None:
    """Raise ``ValueError`` where a key names no parameter of the env, the agents or the wrappers.

    Parameters
    ----------
    what : str
        Where the keys stand, for the sentence.
    keys : iterable of str
        Such as ``"env.n_agents"``.
    names : iterable of str
        Of the agents and wrappers.
    plain : sequence of str
        Keys without a prefix that are allowed.

    Examples
    --------
    >>> swept("sweep", ["n_agents"], [])
    Traceback (most recent call last):
        ...
    ValueError: sweep 'n_agents': write env.n_agents or agent.n_agents, to say whose it is
    """
    prefixes = list(dict.fromkeys(["env", "agent", *names]))
    for key in keys:
        prefix, _, parameter = key.rpartition(".")
        if key in plain or (parameter and prefix in prefixes):
            continue
        if not prefix and parameter:
            name = key if key.isprintable() else "…"
            raise ValueError(f"{what} {shown(key)}: write env.{name} or agent.{name}, to say whose it is")
        raise ValueError(f"{what} {shown(key)}: nothing here is called {prefix!r}{nearest(prefix, prefixes)}")


def lacking(what: str, parameter: str, agents: Sequence[str]) -> None:
    """Raise ``ValueError`` where ``agent.…`` is meant for all agents, and some take the parameter and some do not.

    Where nobody takes it, whoever builds the agents says so, and whose it is.

    Examples
    --------
    >>> lacking("sweep", "epsilon", ["Private-UCB", "UCB1"])
    Traceback (most recent call last):
        ...
    ValueError: sweep 'agent.epsilon': UCB1 takes no parameter 'epsilon'; write Private-UCB.epsilon
    """
    without = [name for name in dict.fromkeys(agents) if not _takes(name, parameter)]
    takers = [f"{name}.{parameter}" for name in dict.fromkeys(agents) if name not in without]
    if without and takers:
        verb = "takes" if len(without) == 1 else "take"
        raise ValueError(
            f"{what} {shown(f'agent.{parameter}')}: {' and '.join(without)} {verb} no parameter {parameter!r}; "
            f"write {' and '.join(takers)}"
        )


def _takes(agent: str, parameter: str) -> bool:
    try:
        spec = AGENTS.find(agent)
        entry = spec.load()
    except ValueError:
        return True  # there is no such agent, which another sentence says
    if isinstance(entry, type) and not issubclass(entry, Team):
        return False  # one agent's code, built as Class(m, rng)
    return open_ended(spec) or parameter in parameters(spec)
