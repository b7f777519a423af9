"""Numba's cache on disk, in a folder named by the digest of the files that hold compiled functions.

Numba looks for changes in the file of a function, not in those of the functions that it calls.  So the folder's name
covers all files of the package that hold compiled functions or the named tuples which these take: after an edit of one,
all are compiled anew; after any other edit, none.  Of functions and named tuples from elsewhere, all files in their
folder count.  Each form of arguments has files of its own: processes that compile at once do not overwrite each
other's, and no class is imported that the caller does not use.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.registry import CPUDispatcher
from numba.misc.appdirs import AppDirs

from hushbandits.core.utils.sources import ROOT, parts, source_digest

_KEPT = 3  # folders


@functools.cache
def folder() -> str:
    """Return the folder of the compiled code, made where it can be written; those not used of late are removed."""
    name = f"hushbandits-{source_digest(words=(b'@jit', b'(NamedTuple)'))[:16]}"
    for place in (numba.config.CACHE_DIR, ROOT / "__pycache__", AppDirs("numba", appauthor=False).user_cache_dir):
        with contextlib.suppress(OSError):
            made = Path(place or os.devnull, name)
            made.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=made).close()
            os.utime(made)
            for old in sorted(made.parent.glob("hushbandits-" + 16 * "[0-9a-f]"), key=os.path.getmtime)[:-_KEPT]:
                shutil.rmtree(old, ignore_errors=True)
            return str(made)
    return os.devnull


@functools.cache
def _stamp(module: str) -> str:
    """Return the digest of the files beside a module that is not of this package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    known = module.partition(".")[0] in ("hushbandits", "numba", "numpy", *sys.stdlib_module_names - {"__main__"})
    return "" if known or file is None else source_digest(Path(file).parent, "*.py")


def _tuples(kinds: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the modules and names of the named tuples among these types."""
    for kind in kinds:
        if cls := getattr(kind, "instance_class", None):
            yield cls.__module__, cls.__qualname__
        yield from _tuples(getattr(kind, "types", ()))


class _Locator(UserProvidedCacheLocator):
    def __init__(self, py_func: Callable[..., object], py_file: str):
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(folder(), self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> Any:
        return super(UserProvidedCacheLocator, cls).from_function(py_func, py_file)


class _Impl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    _impl_class = _Impl

    def __init__(self, function: Callable[..., object], options: dict[str, bool]):
        super().__init__(function)
        self._options = options

    def _index_key(self, sig: Any, codegen: Any) -> str:
        args = sig if isinstance(sig, tuple) else sig.args
        named = [*parts(self._py_func), *_tuples(args)]
        key = repr((args, codegen.magic_tuple(), named, self._options))
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}.{hashlib.sha256(key.encode()).hexdigest()[:16]}",
            source_stamp=(self._impl.locator.get_source_stamp(), *(_stamp(module) for module, *_ in named)),
        )
        return key

    # A disk that is full, or whose folder may no longer be written, costs the compiled code's copy and nothing else.

    def load_overload(self, sig: object, target_context: object) -> object:
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: object, data: Any) -> None:
        if " at 0x" in self._index_key(sig, data.codegen):  # it names something that only this process has
            return
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            super().save_overload(sig, data)


class _Dispatcher(CPUDispatcher):
    def compile(self, sig: object) -> object:
        with _later():
            return super().compile(sig)


@contextlib.contextmanager
def _later() -> Iterator[None]:
    """Keep Ctrl-C waiting until the block is over: LLVM swallows what the Python code that it calls raises."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


def dispatcher(function: Callable[..., Any], **options: bool) -> Any:
    """Return Numba's dispatcher of a function; the function itself where Numba is switched off.

    ``error_model="numpy"``: division follows IEEE (Python's zero check would block vectorising).
    """
    if numba.config.DISABLE_JIT:
        return function
    always = {"nopython": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    made = _Dispatcher(function, targetoptions={**always, **options})
    # No file behind it (a notebook, a doctest), or no folder that can be written: compiled without a cache.
    with contextlib.suppress(RuntimeError, OSError):
        made._cache = _Cache(function, options)
    return made
