"""Parts of a declaration: dataclasses that msgspec checks, the tables that stand for them, and names in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from hushbandits.bench.declare.canonical import plain, thaw
from hushbandits.core.entries import AGENTS
from hushbandits.core.ground.extras import extra
from hushbandits.core.ground.spec import open_ended, parameters
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import nearest, shown
from hushbandits.core.team import Team

__all__ = ["Part", "check", "checked_table", "lacking", "plain_name", "swept"]


class Part:
    """A part of a declaration: a dataclass, which a TOML file has as a table of its fields."""

    def to_dict(self) -> dict[str, object]:
        """As in a TOML file; fields at their defaults are left out."""
        found = {}
        for f in fields(self):  # type: ignore[arg-type]  # every part is a dataclass
            default = f.default if f.default_factory is MISSING else f.default_factory()
            if f.compare and (value := getattr(self, f.name)) != default:
                found[f.name] = plain(value)
        return found

    @classmethod
    def from_dict(cls, table: Params) -> Self:
        """Inverse of `to_dict`; unknown names in `table` raise ``ValueError`` with the nearest ones."""
        own = [f for f in fields(cls) if f.compare]  # type: ignore[arg-type]
        needed = [f.name for f in own if f.default is MISSING and f.default_factory is MISSING]
        return cls(**checked_table(cls.__name__.lower(), table, [f.name for f in own], needed))

    @classmethod
    def read(cls, key: str, given: Any) -> Self:
        """Return `given` if it is such a part, else the one that it stands for; `key` is where it is."""
        try:
            return given if isinstance(given, cls) else cls.from_dict(given)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None

    @classmethod
    def several(cls, key: str, given: object) -> tuple[Self, ...]:
        """Return a list of such parts, or of what stands for them; `key` is where it is."""
        if not isinstance(given, (list, tuple)):
            raise ValueError(f"{key}={shown(given)} must be a list")
        return tuple(cls.read(f"{key}[{i}]", part) for i, part in enumerate(given))


@cache
def _annotations(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def check(part: Any, *but: str) -> None:
    """Set the fields of a dataclass, those of `but` apart, to what msgspec makes of them by their annotations.

    Raises
    ------
    ValueError
        A field holds something else; the sentence says what its annotation lets in.
    """
    with extra("bench"):
        import msgspec

    for name in (f.name for f in fields(part) if f.name not in but):
        kind, value = _annotations(part.__class__)[name], getattr(part, name)
        try:
            found = thaw(msgspec.convert(plain(value), kind))
        except (TypeError, msgspec.ValidationError) as error:
            why = f"one of {', '.join(map(repr, get_args(kind)))}" if get_origin(kind) is Literal else error
            raise ValueError(f"{name}={shown(value)} is not allowed: {why}") from None
        object.__setattr__(part, name, tuple(found) if isinstance(found, list) else found)


def checked_table(what: str, given: object, known: Collection[str], needed: Iterable[str]) -> Params:
    """Return `given` if it is a table of `known` fields that has the `needed` ones, else raise ``ValueError``."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{what}: {shown(given)} must be a table")
    for key in given:
        if key not in known:
            raise ValueError(f"{what}: there is no field {shown(key)}{nearest(str(key), known)}")
    for key in needed:
        if key not in given:
            raise ValueError(f"{what}: the field {key!r} is missing (in TOML it comes before the first table)")
    return given


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
        if key not in plain and not (parameter and prefix in prefixes):
            write = f"write env.{parameter} or agent.{parameter}, to say whose it is"
            why = f"nothing here is called {prefix!r}{nearest(prefix, prefixes)}" if prefix else write
            raise ValueError(f"{what} {shown(key)}: {why}")


def lacking(what: str, keys: Iterable[str], agents: Sequence[str]) -> None:
    """Raise ``ValueError`` where ``agent.…`` is meant for all agents, and some take the parameter and some do not.

    Where nobody takes it, whoever builds the agents says so, and whose it is.

    Examples
    --------
    >>> lacking("sweep", ["agent.epsilon"], ["Private-UCB", "UCB1"])
    Traceback (most recent call last):
        ...
    ValueError: sweep 'agent.epsilon': it is no parameter of UCB1; write Private-UCB.epsilon
    """
    for key in keys:
        prefix, _, parameter = key.rpartition(".")
        takes = {name: _takes(name, parameter) for name in agents if prefix == "agent"}
        if len(set(takes.values())) == 2:
            without = " and ".join(name for name, taken in takes.items() if not taken)
            write = " and ".join(f"{name}.{parameter}" for name, taken in takes.items() if taken)
            raise ValueError(f"{what} {shown(key)}: it is no parameter of {without}; write {write}")


def _takes(agent: str, parameter: str) -> bool:
    try:
        spec = AGENTS.find(agent)
        entry = spec.load()
    except ValueError:
        return True  # there is no such agent, which another sentence says
    if isinstance(entry, type) and not issubclass(entry, Team):
        return False  # one agent's code, built as Class(m, rng)
    return open_ended(spec) or parameter in parameters(spec)
