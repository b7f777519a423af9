"""What an experiment uses beyond the package: digests of own code and of data files."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.machinery
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.play.imported import digest_of, environment, forget
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.names import reach
from hushbandits.policies.shelf import POLICIES

__all__ = ["named", "own_sources", "renew", "texts", "used"]


def texts(value: object) -> Iterator[str]:
    """All words in a parameter's value that may name something."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str) and ":" in key)  # a law of one's own
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


def own_sources(experiments: Sequence[Experiment]) -> dict[str, str]:
    """Return a digest of each module of one's own and of each data file, by the name under which it is used.

    Nothing is imported: a module's digest covers its file and what that imports from its own folder, a package's all
    of its files.

    Examples
    --------
    >>> own_sources([Experiment(name="x", title="x", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])])
    {}
    """
    return {name: digest for name in sorted(named(*experiments)) if (digest := _digest(name))}


def named(*experiments: Experiment) -> set[str]:
    """Return all names, and all words in parameters, of experiments."""
    names: set[str] = set()
    for e in experiments:
        choices = [use for uses in e._choices().values() for use in uses]
        names |= used(e.env, *e.agents, *choices) | set(texts(e.sweep))
    return names


#: By module: digests of the files that it was made of when it was used by name, and the environment then.
_seen: dict[str, tuple[dict[str, str], dict[str, str]]] = {}


def renew(names: Iterable[str]) -> None:
    """Have modules imported anew that names of one's own stand for, where they are others by now.

    So that a name means what is found under it when a call begins, here and in workers: in the working folder, in the
    file and in those that it imports from its own folder, and with the environment's variables.
    """
    reach(os.getcwd())
    for top in dict.fromkeys(_module(name).partition(".")[0] for name in sorted(names)):
        if not top:
            continue
        now = {str(file): digest_of(file) for file in _sources(top, afresh=top in _seen)}, environment()
        if top in _seen and _seen[top] != now:
            forget(_seen[top][0])
        _seen[top] = now


def _digest(name: str) -> str:
    data = _data(name)
    files = [data] if data is not None else _policy(name) or _sources(_module(name))
    content = hashlib.sha256()
    for file in files:
        content.update(file.name.encode() + b"\0")
        content.update(hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()[:12] if files else ""


def _data(name: str) -> Path | None:
    # "grid" is a graph even where a file of that name lies about.
    if "/" not in name and "." not in name and os.sep not in name:
        return None
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        path = Path(name).expanduser()
        if path.is_file():
            return path
    return None


def _policy(name: str) -> list[Path]:
    """The files of a trained policy, by its agent's name, its folder or its zip."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        folder = Path(name.removeprefix("sb3:")).expanduser()
        if name.startswith("sb3:") and folder.is_file():
            return [folder]
        if (folder / "policy.json").is_file():
            return [folder / "policy.json", *sorted(folder.glob("*.npz"))]
    return []


def _module(name: str) -> str:
    """Return the module that `name` is from; empty: none."""
    for table in (ENVS, AGENTS, WRAPPERS, POLICIES):
        if name in table:
            entry = table[name].entry
            name = entry if isinstance(entry, str) else f"{getattr(entry, '__module__', '')}:"
    module, colon, _ = name.partition(":")
    return module if colon and module.partition(".")[0] != __name__.partition(".")[0] else ""


def _sources(module: str, afresh: bool = False) -> list[Path]:
    """The files of a module as it is imported, or would be now."""
    top = module.partition(".")[0]
    if not top.isidentifier() or top in sys.stdlib_module_names:
        return []
    reach(os.getcwd())
    origin = None
    if top in sys.modules and not afresh:
        origin = getattr(sys.modules[top], "__file__", None)
    else:
        importlib.invalidate_caches()
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.machinery.PathFinder.find_spec(top)
            origin = None if spec is None else spec.origin
    if not origin or not Path(origin).is_file():
        return []
    file = Path(origin)
    if file.name == "__init__.py":
        return sorted(file.parent.rglob("*.py"))
    return sorted(_neighbours(file))


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
