"""Numba's cache on disk, in a folder named by a digest of the source files that define compiled functions.

Numba looks for changes in the file of a function, not in those of the functions that it calls.  So the folder's name
covers all files of the package that hold compiled functions or the named tuples which these take: after an edit of one,
all are compiled anew; after any other edit, none.  Of functions and named tuples from elsewhere, all files in their
folder count.  Each form of arguments has files of its own: processes that compile at once do not overwrite each
other's, and no class is imported that the caller does not use.
"""

import contextlib
import functools
import hashlib
import itertools
import os
import pickle
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher
from numba.core.typing import Signature
from numba.misc.appdirs import AppDirs

from hushbandits.core.utils.files import ROOT, source_digest

#: Numba names compiled code by the function's name and a number, which counts from 1 in every process.  Code from the
#: cache would call another function of that name if two processes had given both the same number.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))

_Part = tuple[str, str, int]  # see `jit.parts`


@functools.cache
def folder() -> str:
    """Return the cache folder, or ``""`` if no folder is writable; delete all cache folders but the latest three."""
    digest = source_digest(words=(b"@jit", b"@lean", b"@inlined", b"(NamedTuple)"))
    name = f"hushbandits-{digest[:15]}{int(numba.config.OPT)}"
    for place in (numba.config.CACHE_DIR or ROOT / "__pycache__", AppDirs("numba", appauthor=False).user_cache_dir):
        with contextlib.suppress(OSError):
            made = Path(place, name)
            made.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=made).close()
            os.utime(made)
            for old in sorted(made.parent.glob("hushbandits-" + 16 * "[0-9a-f]"), key=os.path.getmtime)[:-3]:
                shutil.rmtree(old, ignore_errors=True)
            return str(made)
    return ""


@functools.cache
def _stamp(module: str) -> str:
    """Return the digest of the source files in the folder of `module`.

    ``""`` for modules of hushbandits, Numba, NumPy and the standard library, or without a file.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    known = module.partition(".")[0] in ("hushbandits", "numba", "numpy", *sys.stdlib_module_names - {"__main__"})
    return "" if known or file is None else source_digest(Path(file).parent, "*.py")


def _tuples(kinds: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Yield module and name of each named tuple among the Numba types `kinds`, nested ones included."""
    for kind in kinds:
        if cls := getattr(kind, "instance_class", None):
            yield cls.__module__, cls.__qualname__
        yield from _tuples(getattr(kind, "types", ()))


class _Cache(FunctionCache):
    """Numba's cache, with keys made from the function's `parts` and the named tuples among its arguments."""

    parts: Sequence[_Part]

    def _index_key(self, sig: Signature | tuple[object, ...], codegen: numba.core.codegen.Codegen) -> str:
        args = sig if isinstance(sig, tuple) else sig.args
        named = [*self.parts, *_tuples(args)]
        key = repr((args, codegen.magic_tuple(), named))
        if " at 0x" in key:
            raise OSError("the function cannot be cached on disk, because it refers to an object of this process")
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}.{hashlib.sha256(key.encode()).hexdigest()[:16]}",
            source_stamp=(folder(), self._impl.locator.get_source_stamp(), *(_stamp(module) for module, *_ in named)),
        )
        return key

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        """Ignore errors of the file system, such as a full disk, when the cache is read or written."""
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
            yield


class _Dispatcher(CPUDispatcher):
    def compile(self, sig: object) -> object:
        """Compile the function for the signature `sig`, and delay Ctrl-C meanwhile, because LLVM loses exceptions."""
        if threading.current_thread() is not threading.main_thread():
            return super().compile(sig)
        pressed: list[object] = []
        before = signal.signal(signal.SIGINT, lambda *at: pressed.append(at)) or signal.SIG_DFL
        try:
            return super().compile(sig)
        finally:
            signal.signal(signal.SIGINT, before)
            if pressed:
                signal.raise_signal(signal.SIGINT)


def dispatcher(function: Callable[..., object], parts: Sequence[_Part], inline: bool, lean: bool, wrapped: bool) -> Any:
    """Return Numba's dispatcher of a function, or the function itself if Numba is switched off.

    Python can call it if it is `wrapped`; compiled functions always can.  ``error_model="numpy"``: division follows
    IEEE (Python's zero check would block vectorising).  ``_nrt=False``: no reference counts of arrays.
    """
    if numba.config.DISABLE_JIT:
        return function
    options = {"nopython": True, "error_model": "numpy", "no_cfunc_wrapper": True, "forceinline": inline}
    options |= {"_nrt": not lean, "no_cpython_wrapper": not wrapped}
    made = _Dispatcher(function, targetoptions=options)
    if place := folder():
        users, numba.config.CACHE_DIR = numba.config.CACHE_DIR, place
        with contextlib.suppress(RuntimeError, OSError):  # no file is behind it: a notebook, a doctest
            made._cache = _Cache(function)
            made._cache.parts = [*parts, ("", f"wrapped={wrapped}, inline={inline}", 0)]
        numba.config.CACHE_DIR = users
    return made
