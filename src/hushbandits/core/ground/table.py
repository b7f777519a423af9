"""What can be named: a table each for envs, agents, wrappers, policies, reward laws.

Wherever a name may stand, ``"module:Class"`` and the class itself may stand as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hushbandits.core.ground.keywords import Hint
from hushbandits.core.ground.names import imported, is_module
from hushbandits.core.ground.spec import Entry, Spec, parameters
from hushbandits.core.ground.validate import an, nearest, shown

__all__ = ["Table", "first_of"]

#: What yields names, what they stand for, and who brings them.
Source = Callable[[], Iterable[tuple[str, Spec, str]]]
#: Tables whose names and classes are told apart where one of them stands in another's place.
_PLACES: list[Table] = []


class Table(Mapping[str, Spec]):
    """What can be named of one kind, by name.

    Parameters
    ----------
    kind : str
        ``"agent"``, ``"env"``, …
    base : class or tuple of classes
        What a class of this kind inherits.
    says : str
        What fits, in words.
    where : str, optional
        Where it belongs, for whoever put it in another's place; ``{name}`` is what was given.
    seat : callable, optional
        ``seat(cls)``: whether a class fits that inherits nothing, and of which every agent gets its own.

    Examples
    --------
    >>> laws = Table("law", dict, "a dict")
    >>> laws.register("Plain", Spec(dict), {})
    >>> laws.find("Plain").load(), list(laws)
    (<class 'dict'>, ['Plain'])
    >>> laws.find("plan")
    Traceback (most recent call last):
        ...
    ValueError: no law is named 'plan'; did you mean Plain?
    """

    def __init__(
        self,
        kind: str,
        base: type | tuple[type, ...],
        says: str,
        where: str = "",
        seat: Callable[[type], bool] = lambda cls: False,
    ):
        self.kind, self.base, self.says, self.where, self.seat = kind, base, says, where, seat
        self.entries: dict[str, Spec] = {}
        #: What ``"prefix:rest"`` stands for besides a class, by its prefix: a function of the rest.
        self.shelves: dict[str, Callable[[str], Spec]] = {}
        #: Names that ship.
        self.shipped: frozenset[str] = frozenset()
        #: Who brings a name that came from a source; and who bring one that two of them have.
        self.brought: dict[str, str] = {}
        self.disputed: dict[str, str] = {}
        self._sources: list[tuple[Source, Callable[[str], None]]] = []
        #: The namespace of the module that registered a name; what ships has none, nor what another process registered.
        self._by: dict[str, dict[str, object]] = {}
        if where:
            _PLACES.append(self)

    def __getitem__(self, name: str) -> Spec:
        if name not in self.entries:
            self._ask()
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        self._ask()
        return iter(self.entries)

    def __len__(self) -> int:
        self._ask()
        return len(self.entries)

    def source(self, entries: Source, seen: Callable[[str], None] = lambda name: None) -> None:
        """Add a source of entries, such as plug-ins, which is asked when a name is not known, or all are listed.

        A name that is taken stays whose it is, and a warning says so.  A name that two of the sources bring stands for
        neither: `find` refuses it.

        Parameters
        ----------
        entries : callable
            Yields a name, what it stands for, and who brings it.
        seen : callable
            Called with each new name before it is taken in; it may refuse it (``ValueError``).
        """
        self._sources.append((entries, seen))

    def _ask(self) -> None:
        while self._sources:
            entries, seen = self._sources.pop(0)
            for name, spec, whence in entries():
                self._bring(name, spec, whence, seen)

    def _bring(self, name: str, spec: Spec, whence: str, seen: Callable[[str], None]) -> None:
        what, wrong = f"{self.kind} {name!r} of {whence}", ""
        if name in self.disputed:
            self.disputed[name] += f" and {whence}"
        elif name in self.brought:
            self.disputed[name] = f"{self.brought.pop(name)} and {whence}"
            del self.entries[name]
        elif name in self.entries:
            wrong = f"{'hushbandits' if name in self.shipped else 'somebody here'} has one of that name"
        else:
            try:
                seen(name)
            except ValueError as error:
                wrong = str(error)
            else:
                self.entries[name], self.brought[name] = spec, whence
        if wrong:
            warnings.warn(f"{what} is left out: {wrong}", stacklevel=2)

    def ship(self, entries: Mapping[str, Spec]) -> None:
        """Take in what ships."""
        self.entries |= entries
        self.shipped |= entries.keys()

    def own(self) -> dict[str, Spec]:
        """Return what was registered beside what ships and what sources bring, for other processes to `adopt`."""
        return {name: spec for name, spec in self.entries.items() if name not in self.shipped | self.brought.keys()}

    def adopt(self, entries: Mapping[str, Spec]) -> None:
        """Take in what another process has registered; a module that is imported here may register it again."""
        self.entries |= entries
        for name in entries:
            self._by.pop(name, None)

    def register(self, name: str, spec: Spec, by: dict[str, object]) -> None:
        """Add an entry.

        Parameters
        ----------
        name : str
        spec : Spec
        by : dict
            The namespace of the module that registers it.

        Raises
        ------
        ValueError
            The name is no string, or is taken by something else than what is registered anew here.
        """
        if not isinstance(name, str):
            raise ValueError(f"{self.kind} name={shown(name)} must be a string")
        if name in self.entries and not self._anew(name, spec, by):
            raise ValueError(f"{an(self.kind)} {name!r} is registered already; choose another name")
        self.entries[name], self._by[name] = spec, by

    def _anew(self, name: str, spec: Spec, by: dict[str, object]) -> bool:
        """Whether it is registered by a module that is imported anew, or is what was defined anew in its place."""
        if name in self.shipped:
            return False
        before, old, new = self._by.get(name), self.entries[name].entry, spec.entry
        if before is None or (before is not by and before.get("__name__") == by.get("__name__")):
            return True
        return _home(old) == _home(new) != "" and (old is not new or isinstance(new, str))

    def find(self, given: object) -> Spec:
        """Return what a registered name, ``"module:Class"``, ``"prefix:rest"`` or a class stands for.

        Raises
        ------
        ValueError
            Nothing of that name (the message has the nearest ones), or something of another kind.
        """
        if isinstance(given, type):
            return Spec(self.checked(f"{self.kind} {given.__name__}", given))
        if not isinstance(given, str):
            raise ValueError(f"{self.kind}={shown(given)} must be {self.says}, or a name{self.advice(given)}")
        if given in self.disputed:
            raise ValueError(
                f"{self.kind} {given!r} is brought by {self.disputed[given]}: uninstall one, or write module:Class"
            )
        if given in self:  # a registered name may hold a colon, as PettingZoo's may
            return self[given]
        prefix, colon, rest = given.partition(":")
        if colon:
            return self.shelves[prefix](rest) if prefix in self.shelves else Spec(self.own_class(given))
        if advice := self.advice(given):
            raise ValueError(f"no {self.kind} is named {shown(given)}{advice}")
        if is_module(given):
            raise ValueError(f"no {self.kind} is named {shown(given)}; it is a module: name its class, {given}:MyClass")
        hint = "; one of your own reads module:Class" if "." in given else ""
        raise ValueError(f"no {self.kind} is named {shown(given)}{nearest(given, self)}{hint}")

    def own_class(self, path: str) -> type:
        """Import what ``"module:Class"`` names, and return it if it fits; nothing of it is called before.

        Raises
        ------
        ValueError
            Nothing importable under that path, or something else.
        """
        what = f"{self.kind} {shown(path)}"
        return self.checked(what, imported(what, path))

    def checked(self, what: str, found: object) -> type:
        """Return `found` if it is a class that fits, else raise ``ValueError``; nothing of it is called."""
        if isinstance(found, type) and (issubclass(found, self.base) or self.seat(found)):
            return found
        is_ = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise ValueError(f"{what} must be {self.says}; it is {is_}{self.advice(found)}")

    def advice(self, given: object) -> str:
        """Return what to do with something that does not fit, to end a sentence; ``""``: nothing is known."""
        cls = given if isinstance(given, type) else type(given)
        built = not isinstance(given, (str, type))
        name = given if isinstance(given, str) else cls.__name__
        found = [t for t in _PLACES if issubclass(cls, t.base) or (isinstance(given, str) and given in t)]
        if built and any(table is self for table in found):
            return f"; it is built already; give its class, {name}"
        if built and not found and any(table.seat(cls) for table in _PLACES):
            return f"; give its class, {name}, of which every seat gets its own"
        other = next((table for table in found if table is not self), None)
        if other is None:
            return ""
        return f"; {name} is {an(other.kind)}: {other.where.format(name=name)}"


def _home(entry: Entry) -> str:
    """Where what is registered may be defined anew, ``"module:Class"``; empty: nowhere."""
    home = entry if isinstance(entry, str) else f"{entry.__module__}:{getattr(entry, '__qualname__', '<nowhere>')}"
    return "" if "<" in home or home.startswith("hushbandits.") else home


def first_of(table: Table) -> Hint:
    """Return a hint: what is given by position may be the first parameter of the class that was named before it."""

    def hint(name: str, value: object, args: Sequence[Any], given: Mapping[str, Any]) -> str:
        try:
            takes = parameters(table.find(args[0])) if not name else []
        except ValueError:  # of nothing that is known
            takes = []
        return f", such as {takes[0]}={shown(value)}" if takes else ""

    return hint
