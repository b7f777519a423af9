"""One decorator for every compiled function of the package.

Numba's disk cache keys a function by its own file, so it keeps serving an old callee after a rule in
*another* module was edited, and it cannot read an index that names a class which has moved.  Here a function
has index files for every version of the sources that it can reach, its module and what that imports: edit any
rule and everything that could call it is compiled anew, and nothing else.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import sigutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import CPUCodegen
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

__all__ = ["jit", "ours", "reached", "source_digest"]


def source_digest(root: Path | None = None) -> str:
    """SHA-256 over the package's Python sources, in path order.

    Parameters
    ----------
    root : Path, optional
        Folder to digest; the package's own by default.

    Examples
    --------
    >>> len(source_digest())
    64
    """
    root = root or _ROOT
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_PACKAGE = __name__.partition(".")[0]
_ROOT = Path(__file__).parent.parent.parent


@functools.cache
def _whole() -> str:
    return source_digest()


@functools.cache
def _file(module: str) -> Path | None:
    """The file of one of the package's modules; ``None``: it is no module (but a name in one)."""
    path = _ROOT.joinpath(*module.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


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

    Examples
    --------
    >>> reached("hushbandits.core.ground.jit") == reached("hushbandits.core.rows"), len(reached("elsewhere"))
    (False, 64)
    """
    if module.partition(".")[0] != _PACKAGE or _file(module) is None:
        return _whole()
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


def ours(rule: CPUDispatcher) -> bool:
    """Whether a compiled rule is of this package, and so are the rules that it is a closure over.

    Examples
    --------
    >>> ours(jit(lambda x: x))
    True
    """
    return _name(rule) is not None


def _name(rule: object) -> tuple[object, ...] | None:
    """What a rule of the package is called, with those that it is a closure over; ``None``: it is somebody else's."""
    if not isinstance(rule, CPUDispatcher) or rule.py_func.__module__.partition(".")[0] != _PACKAGE:
        return None
    cells = [_name(cell.cell_contents) for cell in rule.py_func.__closure__ or ()]
    code = rule.py_func.__code__
    return None if None in cells else (rule.py_func.__module__, rule.py_func.__qualname__, code.co_firstlineno, *cells)


def _versions(rule: Any) -> tuple[object, ...]:
    """Digests of all that a rule of the package reaches, itself and through the rules that it closes over."""
    cells = rule.py_func.__closure__ or ()
    return reached(rule.py_func.__module__), *(_versions(cell.cell_contents) for cell in cells)


#: What a cache folder can raise that is full, forbidden, gone or torn.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)


#: Above 0: what is being compiled is called by compiled code alone.  Numba's compiler lock guards it.
_inner = 0


class _Rule(CPUDispatcher):
    """A compiled function whose way in from Python is made when Python first calls it.

    Most rules are called by other rules alone, and for those with many arrays in their state the way in is longer
    than the rule, and would be optimised again within each caller.
    """

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **kwargs)
        self._bare: set[object] = set()  # signatures without a way in
        self._compiler._customize_flags = _fitted

    def get_call_template(self, args: tuple[object, ...], kws: dict[str, object]) -> object:
        global _inner
        _inner += 1
        try:
            return super().get_call_template(args, kws)
        finally:
            _inner -= 1

    def compile(self, sig: object) -> object:
        with global_compiler_lock:
            args = tuple(sigutils.normalize_signature(sig)[0])
            if not _inner and args in self._bare:
                self._bare.remove(args)
                del self.overloads[args]
            return super().compile(sig)

    def add_overload(self, compiled: Any) -> None:
        if not _inner:
            super().add_overload(compiled)
            return
        args = tuple(compiled.signature.args)
        self._bare.add(args)
        self.overloads[args] = compiled


def _fitted(flags: Flags) -> Flags:
    # Nobody takes the address of a rule.
    flags.no_cfunc_wrapper = True
    flags.no_cpython_wrapper = _inner > 0
    return flags


class _SourceCache(FunctionCache):
    def __init__(self, function: Callable[..., object]):
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}.{reached(function.__module__)[:16]}",
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def _index_key(self, sig: object, codegen: CPUCodegen) -> tuple[object, ...]:
        return _inner > 0, *self._which(sig, codegen)

    def _which(self, sig: object, codegen: CPUCodegen) -> tuple[object, ...]:
        cells = [cell.cell_contents for cell in self._py_func.__closure__ or ()]
        names = [_name(cell) for cell in cells]
        if None in names:
            return _whole(), *super()._index_key(sig, codegen)
        # A closure over the package's own rules: their names say which, what they reach in what version.
        # (Numba would pickle the cells, and a pickled dispatcher differs from process to process.)
        return sig, codegen.magic_tuple(), tuple(names), *map(_versions, cells)

    # A disk that is full, or whose folder may no longer be written, costs the compiled code's copy and nothing else.

    def load_overload(self, sig: object, target_context: object) -> object:
        try:
            return super().load_overload(sig, target_context)
        except _UNUSABLE:
            return None

    def save_overload(self, sig: object, data: object) -> None:
        with contextlib.suppress(*_UNUSABLE):
            super().save_overload(sig, data)


def jit(function: Callable[..., object]) -> CPUDispatcher:
    """Compile `function` to machine code at its first call and keep the result on disk.

    ``error_model="numpy"``: division follows IEEE (Python's zero check would block vectorising).

    Examples
    --------
    >>> @jit
    ... def half(x):
    ...     return x / 2
    >>> half(3.0)
    1.5
    """
    if numba.config.DISABLE_JIT:
        return function
    compiled = _Rule(function, targetoptions={"nopython": True, "error_model": "numpy"})
    # No file behind it (a notebook, a doctest), or no folder that can be written: compiled without a cache.
    with contextlib.suppress(RuntimeError, OSError):
        compiled._cache = _SourceCache(function)
    return compiled
