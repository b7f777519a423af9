"""Modules and data files of the user that cells name: their digests, and how classes travel to workers."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.machinery
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import cloudpickle

from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.runner.task import Task
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.names import imported, reach
from hushbandits.policies.shelf import POLICIES
from hushbandits.registry import own_entries

__all__ = ["sent", "source_digests", "used"]

_PACKAGE = __name__.partition(".")[0]
_TABLES = (ENVS, AGENTS, WRAPPERS, POLICIES)


# -- names ------------------------------------------------------------------------------------------------------------


def texts(value: object) -> Iterator[str]:
    """Yield all words in a parameter's value that may name something."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str) and ":" in key)  # a user-defined law
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from texts(part)


def used(*uses: Use) -> set[str]:
    """Return the names, and all words in the parameters, of what is used.

    Examples
    --------
    >>> sorted(used(Use("LTR-v0", path="rows.txt"), Use("mine:Agent")))
    ['LTR-v0', 'mine:Agent', 'rows.txt']
    """
    found: set[str] = set()
    for use in uses:
        found |= {use.name, *([use.on] if use.on else []), *texts(use.params)}
    for name in list(found):
        if name in ENVS:
            found |= set(ENVS[name].wrappers)
    return found


def _module(name: str) -> str:
    """Return the user's module that `name` is from; empty: none."""
    for table in _TABLES:
        if name in table:
            entry = table[name].entry
            name = entry if isinstance(entry, str) else f"{getattr(entry, '__module__', '')}:"
    module, colon, _ = name.partition(":")
    parts = module.split(".")
    if not colon or parts[0] == _PACKAGE or parts[0] in sys.stdlib_module_names:
        return ""
    return module if all(part.isidentifier() for part in parts) else ""


# -- digests ----------------------------------------------------------------------------------------------------------


def source_digests(experiments: Sequence[Experiment]) -> dict[str, str]:
    """Return a digest of each user module and data file, by the name under which cells use it.

    A module's digest covers its file and what that imports from its own folder, a package's all of its files.  Nothing
    is imported.

    Examples
    --------
    >>> source_digests([Experiment(name="x", title="x", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])])
    {}
    """
    names: set[str] = set()
    for e in experiments:
        choices = [use for uses in e._choices().values() for use in uses]
        names |= used(e.env, *e.agents, *choices) | set(texts(e.sweep))
    return {name: digest for name in sorted(names) if (digest := _digest(name))}


def _digest(name: str) -> str:
    content = hashlib.sha256()
    files = _data(name) or _sources(_module(name))
    for file in files:
        content.update(file.name.encode() + b"\0")
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()[:16] if files else ""


def _data(name: str) -> list[Path]:
    """Return the data file that a word names, or the files of a trained policy; else nothing."""
    path = name.removeprefix("sb3:")
    # "grid" is a graph even where a file of that name lies about.
    if "/" not in path and "." not in path and os.sep not in path and path == name:
        return []
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        file = Path(path).expanduser()
        if file.is_file():
            return [file]
        if (file / "policy.json").is_file():
            return [file / "policy.json", *sorted(file.glob("*.npz"))]
    return []


def _sources(module: str) -> list[Path]:
    """Return the files of a module as it is imported, or would be."""
    top = module.partition(".")[0]
    if not top:
        return []
    origin = getattr(sys.modules.get(top), "__file__", None)
    if origin is None:
        reach(os.getcwd())
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.machinery.PathFinder.find_spec(top)
            origin = None if spec is None else spec.origin
    if not origin or not Path(origin).is_file():
        return []
    file = Path(origin)
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else sorted(_neighbours(file))


def _neighbours(file: Path) -> set[Path]:
    """Return a module's file and what it imports, directly or not, from its own folder."""
    found, ahead = {file}, [file]
    if file.suffix != ".py" or {"site-packages", "dist-packages"} & set(file.parts):
        return found
    while ahead:
        with contextlib.suppress(OSError, SyntaxError, ValueError):
            for name in _imports(ahead.pop().read_bytes()):
                package = file.parent / name
                inside = package.rglob("*.py") if (package / "__init__.py").is_file() else ()
                new = {path for path in (package.with_suffix(".py"), *inside) if path.is_file()}
                ahead += sorted(new - found)
                found |= new
    return found


def _imports(source: bytes) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ([node.module.partition(".")[0]] if node.module else [alias.name for alias in node.names])


# -- the way to workers -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def sent(tasks: Iterable[Task]) -> Iterator[bytes]:
    """Pickle the classes that tasks name, and what the user registered; within the block user modules go by value.

    A user's module travels as it is in this process, with the modules of its folder that it imports: a worker imports
    no file of the user's, so none can be out of date there.
    """
    named: dict[str, object] = {}
    modules: dict[str, ModuleType] = {}
    for name in sorted({text for task in tasks for text in _words(task)}):
        if home := _module(name):
            if name not in _known():
                with contextlib.suppress(ValueError):  # a word with a colon that names nothing
                    named[name] = imported("name", name)
            _by_value(home, modules)
    for entries in own_entries().values():
        for spec in entries.values():
            entry = spec.entry
            _by_value(entry.partition(":")[0] if isinstance(entry, str) else getattr(entry, "__module__", ""), modules)
    for task in tasks:
        for part in (task.env, task.agent, *task.wrappers):
            if not isinstance(part, (str, Use)):
                _by_value((part if isinstance(part, type) else type(part)).__module__, modules)
    for module in modules.values():
        cloudpickle.register_pickle_by_value(module)
    try:
        yield cloudpickle.dumps((named, own_entries()))
    finally:
        for module in modules.values():
            cloudpickle.unregister_pickle_by_value(module)


def _known() -> set[str]:
    return {name for table in _TABLES for name in table}


def _words(task: Task) -> set[str]:
    found = set(texts([task.env_params, task.params]))
    for part in (task.env, task.agent, *task.wrappers):
        if isinstance(part, str):
            found.add(part)
        elif isinstance(part, Use):
            found |= used(part)
    return found


def _by_value(module: str, found: dict[str, ModuleType]) -> None:
    """Add a user's module, and those of its folder that are imported, to what travels by value."""
    top = module.partition(".")[0]
    home = getattr(sys.modules.get(top), "__file__", None)
    if not home or top in (_PACKAGE, "__main__") or top in sys.stdlib_module_names or top in found:
        return
    if {"site-packages", "dist-packages"} & set(Path(home).parts):
        return
    found[top] = sys.modules[top]
    for file in _sources(top):
        beside = sys.modules.get(file.stem)
        if file.parent == Path(home).parent and beside is not None and getattr(beside, "__file__", None) == str(file):
            found[file.stem] = beside
