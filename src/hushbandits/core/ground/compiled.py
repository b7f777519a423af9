"""What a rule becomes when it is first called: a dispatcher of Numba, whose code is kept on disk.

Numba's disk cache keys a function by its own file, so it keeps serving an old callee after a rule in
*another* module was edited, and it cannot read an index that names a class which has moved.  Here a function
has index files for every version of the sources that it can reach, its module, what that imports, and the rules that
it is a closure over: edit any rule and everything that could call it is compiled anew, and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numba
from numba.core import sigutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import CPUCodegen
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from hushbandits.core.ground.sources import identity, reached, versions, whole
from hushbandits.interrupt import later

__all__ = ["compiled"]

#: What a cache folder can raise that is full, forbidden, gone or torn.
_UNUSABLE = (OSError, EOFError, pickle.UnpicklingError)


#: Above 0: what is being compiled is called by compiled code alone.  Numba's compiler lock guards it.
_inner = 0


class _Dispatcher(CPUDispatcher):
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
        with later(), global_compiler_lock:
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


def _homes(kinds: Iterable[object]) -> set[str]:
    """Modules whose named tuples are among these types."""
    found: set[str] = set()
    for kind in kinds:
        if named := getattr(kind, "instance_class", None):
            found.add(named.__module__)
        found |= _homes(getattr(kind, "types", ()))
    return found


class _SourceCache(FunctionCache):
    def __init__(self, function: Callable[..., object]):
        super().__init__(function)
        self._files: dict[tuple[str, ...], IndexDataCacheFile] = {}
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self._names = [identity(cell) for cell in cells]
        self._versions = (whole(),) if None in self._names else tuple(map(versions, cells))
        sources = hashlib.sha256(repr((reached(function.__module__), self._versions)).encode()).hexdigest()
        self._base = f"{self._impl.filename_base}.{sources[:16]}"
        self._turn(())

    def _turn(self, sig: object) -> None:
        """Go by the index of that signature: reading one imports the modules of all named tuples in it."""
        homes = tuple(sorted(_homes(sigutils.normalize_signature(sig)[0])))
        if homes not in self._files:
            self._files[homes] = IndexDataCacheFile(
                cache_path=self._cache_path,
                filename_base=f"{self._base}.{hashlib.sha256(repr(homes).encode()).hexdigest()[:8]}",
                source_stamp=self._impl.locator.get_source_stamp(),
            )
        self._cache_file = self._files[homes]

    def _index_key(self, sig: object, codegen: CPUCodegen) -> tuple[object, ...]:
        return _inner > 0, *self._which(sig, codegen)

    def _which(self, sig: object, codegen: CPUCodegen) -> tuple[object, ...]:
        if None in self._names:
            return *self._versions, *super()._index_key(sig, codegen)
        # A closure over the package's own rules: their names say which, what they reach in what version.
        # (Numba would pickle the cells, and a pickled dispatcher differs from process to process.)
        return sig, codegen.magic_tuple(), tuple(self._names), *self._versions

    # A disk that is full, or whose folder may no longer be written, costs the compiled code's copy and nothing else.

    def load_overload(self, sig: object, target_context: object) -> object:
        self._turn(sig)
        try:
            return super().load_overload(sig, target_context)
        except (AttributeError, ImportError):  # it names a class that is gone: whatever it knew is compiled anew
            with contextlib.suppress(*_UNUSABLE):
                self._cache_file.flush()
        except _UNUSABLE:
            pass
        return None

    def save_overload(self, sig: object, data: object) -> None:
        self._turn(sig)
        with contextlib.suppress(*_UNUSABLE):
            super().save_overload(sig, data)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what compiles `function` for each form of arguments; the function itself where Numba is switched off.

    ``error_model="numpy"``: division follows IEEE (Python's zero check would block vectorising).
    """
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = _Dispatcher(function, targetoptions={"nopython": True, "error_model": "numpy"})
    # No file behind it (a notebook, a doctest), or no folder that can be written: compiled without a cache.
    with contextlib.suppress(RuntimeError, OSError):
        dispatcher._cache = _SourceCache(function)
    return dispatcher
