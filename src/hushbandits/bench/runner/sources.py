"""User modules and data files that cells name: their digests, and the transfer of classes to workers."""

import contextlib
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from modulefinder import ModuleFinder
from pathlib import Path

import cloudpickle

from hushbandits.bench.runner.batch import Batch
from hushbandits.bench.runner.rows import digest_of
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.core.utils import imported, reach
from hushbandits.policies.registry import POLICIES
from hushbandits.registry import AGENTS, ENVS, WRAPPERS, own_entries

_PACKAGE = __name__.partition(".")[0]


def used(*values: object) -> set[str]:
    """Return all strings in `values`: names of envs, agents and wrappers, and texts in their parameters.

    Examples
    --------
    >>> sorted(used(Component("LTR-v0", path="rows.txt"), [Component("mine:Agent", graph={"mine:Law": {"p": 1}})]))
    ['LTR-v0', 'graph', 'mine:Agent', 'mine:Law', 'p', 'path', 'rows.txt']
    """
    found: set[str] = set()
    for value in values:
        if isinstance(value, str):
            found |= {value, *(ENVS[value].wrappers if value in ENVS else ())}
        elif isinstance(value, Component):
            found |= used(value.name, value.on, value.params)
        elif isinstance(value, Mapping):
            found |= used(*value.keys(), *value.values())
        elif isinstance(value, (list, tuple)):
            found |= used(*value)
    return found


def _entry(name: str) -> object:
    """Return the object registered under a name, or the name itself."""
    tables = (table for table in (ENVS, AGENTS, WRAPPERS, POLICIES) if name in table)
    return next((table[name].entry for table in tables), name)


def _home(entry: object) -> str:
    """Return the top-level user module of an entry; ``""`` if the entry is not user-defined."""
    module = entry.partition(":")[0] * (":" in entry) if isinstance(entry, str) else getattr(entry, "__module__", "")
    top, *rest = module.split(".")
    foreign = top in (_PACKAGE, "__main__") or top in sys.stdlib_module_names
    return "" if foreign or not all(part.isidentifier() for part in (top, *rest)) else top


def source_digests(experiments: Sequence[Experiment]) -> dict[str, str]:
    """Return a digest of each user module and data file, by the name that cells use.

    The digest of a module covers its file and the files of its folder that it imports; that of a package covers all of
    its files.  Nothing is imported.

    Parameters
    ----------
    experiments : sequence of Experiment
        Their envs, agents, wrappers and swept values name the modules and files.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> source_digests([Experiment(name="x", title="x", env=Component("CoopNetwork-v0"), agents=[Component("UCB1")])])
    {}
    """
    reach(os.getcwd())
    found = {}
    for name in sorted(used(*((e.env, e.agents, e.wrappers, e.sweep) for e in experiments))):
        files = _data(name) or _sources(_home(_entry(name)))
        if parts := [file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest() for file in files]:
            found[name] = digest_of(b"".join(parts))
    return found


def _data(name: str) -> list[Path]:
    """Return the files that `name` refers to: a data file, or the files of a trained policy; else an empty list."""
    # "grid" is a graph even if a file of that name exists.
    if name.startswith("sb3:") or {"/", ".", os.sep} & set(name):
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            file = Path(name.removeprefix("sb3:")).expanduser()
            if file.is_file():
                return [file]
            if (file / "card.json").is_file():
                return [file / "card.json", file / "weights.npz"]
    return []


def _sources(module: str) -> list[Path]:
    """Return the source files of a top-level module and of the modules in its folder that it imports."""
    spec = None
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(module)
    file = Path(spec.origin if spec is not None and spec.origin is not None else "")
    if file.name == "__init__.py" or not file.is_file():
        return sorted(file.parent.rglob("*.py")) if file.is_file() else []
    finder = ModuleFinder([] if _installed(file) else [str(file.parent)])
    with contextlib.suppress(ImportError, SyntaxError, ValueError):
        finder.import_hook(module)
    found = (getattr(module, "__file__", None) for module in finder.modules.values())
    return sorted({file, *map(Path, filter(None, found))})


def _installed(file: Path) -> bool:
    return bool({"site-packages", "dist-packages"} & set(file.parts))


@contextlib.contextmanager
def sent(tasks: Sequence[Batch]) -> Iterator[bytes]:
    """Yield the pickled classes and registrations that batches need; during the block, pickle user modules by value.

    A user's module is sent in its current state, with the modules of its folder that it imports.  A worker imports no
    user file, so none can be out of date.
    """
    named: dict[str, object] = {}
    parts = [part for task in tasks for part in (task.env, task.agent, *task.wrappers)]
    words = used(parts, [[task.env_params, task.params] for task in tasks])
    entries = [*map(_entry, words), *(spec.entry for table in own_entries() for spec in table.values())]
    built = [part for part in parts if not isinstance(part, (str, Component))]
    objects = [part if isinstance(part, type) else type(part) for part in built]
    homes = set(filter(None, map(_home, [*entries, *objects])))
    for word in filter(_home, words):
        with contextlib.suppress(ValueError):  # a word with a colon may name nothing
            named[word] = imported("name", word)
    files = {str(file) for home in homes for file in _sources(home)}
    loaded = [(name, module, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    own = [m for name, m, file in loaded if file and not _installed(Path(file)) and (name in homes or file in files)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield cloudpickle.dumps((named, own_entries()))
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
