"""Digests of the package's sources: of all of them, and of those that one module can reach."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from pathlib import Path
from typing import Any

__all__ = ["docstrings", "identity", "reached", "source_digest", "versions", "whole"]


def source_digest(root: Path | None = None) -> str:
    """SHA-256 over the package's Python sources, in path order.

    Parameters
    ----------
    root : Path, optional
        Folder to digest; the package's own by default.
    """
    root = root or _ROOT
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_PACKAGE = __name__.partition(".")[0]
_ROOT = Path(__file__).parent.parent.parent
#: A class or function as ruff writes it, and the first line of its docstring; parsing a file takes ten times as long.
_FIRST_LINE = re.compile(
    r"^(?:class|def) (\w+)(?:\([^\n]*\)|\(\n(?:    [^\n]*\n)+\))?(?: -> [^\n]+)?:(?:  # [^\n]*)?\n"
    r'    r?"""(.*?)(?:"""|$)',
    re.MULTILINE,
)


@functools.cache
def whole() -> str:
    """Return the digest of the whole package, read once."""
    return source_digest()


@functools.cache
def _file(module: str) -> Path | None:
    """The file of one of the package's modules; ``None``: it is no module (but a name in one)."""
    path = _ROOT.joinpath(*module.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@functools.cache
def docstrings(module: str) -> dict[str, str]:
    """Return the first lines of the docstrings of a module's classes and functions, of which nothing is run.

    Of a module that is not of this package: nothing.
    """
    file = _file(module) if module.partition(".")[0] == _PACKAGE else None
    return dict(_FIRST_LINE.findall(file.read_text(encoding="utf-8"))) if file is not None else {}


@functools.cache
def _imports(module: str) -> frozenset[str]:
    """Modules of the package that `module` names in imports, late ones and those for types included."""
    file = _file(module)
    named: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())) if file is not None else ():
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(name for name in named if name.startswith(f"{_PACKAGE}.") and _file(name) is not None)


@functools.cache
def reached(module: str) -> str:
    """SHA-256 over the sources of `module` and of all that it imports of the package, however indirectly.

    Of a module elsewhere, which may call anything: over the whole package.
    """
    if module.partition(".")[0] != _PACKAGE or _file(module) is None:
        return whole()
    found, queue = {module}, [module]
    while queue:
        fresh = _imports(queue.pop()) - found
        found |= fresh
        queue += fresh
    digest = hashlib.sha256()
    for name in sorted(found):
        file = _file(name)
        assert file is not None
        digest.update(name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def identity(rule: object) -> tuple[object, ...] | None:
    """Return what a compiled rule of the package is called, with those that it is a closure over.

    ``None``: it is somebody else's, or no compiled rule.
    """
    function = getattr(rule, "py_func", None)
    if function is None or function.__module__.partition(".")[0] != _PACKAGE:
        return None
    cells = [identity(cell.cell_contents) for cell in function.__closure__ or ()]
    here = function.__module__, function.__qualname__, function.__code__.co_firstlineno
    return None if None in cells else (*here, *cells)


def versions(rule: Any) -> tuple[object, ...]:
    """Return digests of what a rule of the package reaches, and of what the rules reach that it is a closure over."""
    cells = rule.py_func.__closure__ or ()
    return reached(rule.py_func.__module__), *(versions(cell.cell_contents) for cell in cells)
