"""NumPy's own binomials and the like, for many generators in one compiled call.

What draws them is NumPy's C code (its ``distributions.h``, which libraries may link to), called with the state of one
scratch generator: the four words of a generator (`seeding`) go in, and come out as far as they are drawn from.  So the
numbers are NumPy's, to the bit.  Where a build of NumPy keeps the functions to itself, or Numba is switched off,
`found` is false, and generators are asked one by one.
"""

from __future__ import annotations

import ctypes
import math

import numba
import numpy as np
from llvmlite import binding
from numba import types

from hushbandits.core.utils import Array, jit

__all__ = ["binomials", "differences", "found"]

_POINTER, _WHOLE, _REAL = types.intp, types.int64, types.float64
_SIGNATURES = {
    "binomial": _WHOLE(_POINTER, _REAL, _WHOLE, _POINTER),
    "negative_binomial": _WHOLE(_POINTER, _REAL, _REAL),
    "poisson": _WHOLE(_POINTER, _REAL),
}

_scratch = np.random.PCG64(0)
_bits = int(_scratch.ctypes.bit_generator.value)  # what C calls a bitgen_t
_kept = np.zeros(64)  # what NumPy keeps of the last binomial: some twenty numbers, which follow from its n and p


def _memory() -> Array:
    """Four words: where the scratch generator has its state and its increment."""
    at = ctypes.c_void_p.from_address(_scratch.ctypes.state_address).value
    return np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(at or 0))


def _order() -> Array | None:
    """Which of them is each word of a generator that is data, which has the high ones first; ``None``: none is."""
    state = _scratch.state["state"]
    words = [part for number in (state["state"], state["inc"]) for part in divmod(number, 1 << 64)]
    orders = [1, 0, 3, 2], [0, 1, 2, 3]
    return next((np.array(order) for order in orders if _live[order].tolist() == words), None)


def _shown() -> bool:
    """Tell compiled code where NumPy's functions are, if NumPy shows them."""
    import numpy.random._generator as module

    library = ctypes.CDLL(module.__file__)
    if not all(hasattr(library, f"random_{name}") for name in _SIGNATURES):
        return False
    for name in _SIGNATURES:
        function = ctypes.cast(getattr(library, f"random_{name}"), ctypes.c_void_p)
        binding.add_symbol(f"hushbandits_{name}", function.value)
    return True


_live = _memory()
_at = _order()
#: Whether compiled code can draw here what NumPy would.
found = not numba.config.DISABLE_JIT and _at is not None and _shown()
_binomial, _negative_binomial, _poisson = (
    types.ExternalFunction(f"hushbandits_{name}", signature) for name, signature in _SIGNATURES.items()
)


def binomials(words: Array, n: Array, p: Array) -> Array:
    """Return the next draws of each generator, from Bin(n, p) with `n` and `p` ``(R, C)``."""
    out = np.empty(n.shape, np.int64)
    _draw_binomials(words, n, p, out, _live, _at, _bits, _kept.ctypes.data)
    return out


def differences(words: Array, a: Array, p: Array) -> Array:
    """Return the next difference of two draws of each generator, from NB(a, p) with `a` and `p` ``(R, C)``.

    Where `p` is NaN, the law is Poisson(a); where `a` is 0, nothing is drawn.
    """
    out = np.empty(a.shape, np.int64)
    _draw_differences(words, a, p, out, _live, _at, _bits)
    return out


@jit
def _draw_binomials(words, n, p, out, live, at, bits, kept):
    for r in range(n.shape[0]):
        for i in range(4):
            live[at[i]] = words[r, i]
        for c in range(n.shape[1]):
            out[r, c] = _binomial(bits, p[r, c], n[r, c], kept)
        for i in range(4):
            words[r, i] = live[at[i]]


@jit
def _draw_differences(words, a, p, out, live, at, bits):
    for r in range(a.shape[0]):
        for i in range(4):
            live[at[i]] = words[r, i]
        for c in range(a.shape[1]):
            out[r, c] = 0
            if a[r, c] > 0.0:
                for sign in (1, -1):
                    if math.isnan(p[r, c]):
                        out[r, c] += sign * _poisson(bits, a[r, c])
                    else:
                        out[r, c] += sign * _negative_binomial(bits, a[r, c], p[r, c])
        for i in range(4):
            words[r, i] = live[at[i]]
