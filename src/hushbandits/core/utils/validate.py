"""Checks of arguments, and of the memory that they require."""

import difflib
import math
import numbers
import os
from collections.abc import Collection, Iterable, Mapping
from itertools import repeat

import numpy as np

from hushbandits.core.utils.types import Array

#: The largest integer that an array can hold.
LARGEST = 2**63 - 1
#: The most agents, arms, runs or rounds of delay.
MOST = 1 << 31
#: The least that something may be divided by.
_LEAST = 1e-9
_SHOWN = 80  # characters of a bad value in its sentence
_NEAR = 0.63  # how alike a name must be that is meant: difflib's ratio, in which "seed" and "extra_fields" have 0.6
_LISTED = 40  # names that a sentence lists in full


def shown(value: object) -> str:
    """Return a short one-line repr of an invalid value, for an error message."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to write more than 4300 digits
        return f"an int of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 8]}…{text[-7:]}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the text ``"; did you mean A or B?"`` for the names in `known` that are similar to `name`.

    Without similar names, the text lists the known names or says how many there are.

    Examples
    --------
    >>> nearest("cylce", ["cycle", "grid"]), nearest("eps", ["epsilon", "delta"])
    ('; did you mean cycle?', '; did you mean epsilon?')
    """
    known = sorted(known)
    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=_NEAR)
    close = close or [k for k in folded if len(name) > 1 and k.startswith(name.casefold())][:3]
    if close:
        return f"; did you mean {' or '.join(folded[c] for c in close)}?"
    if len(known) > _LISTED:
        return f"; none of the {len(known)} known names is near"
    return f"; known: {', '.join(known)}" if known else "; there are none"


def an(noun: str) -> str:
    """Return a noun with its article "a" or "an".

    Examples
    --------
    >>> an("str"), an("int")
    ('a str', 'an int')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def choice(name: str, value: object, options: Collection[str]) -> str:
    """Return `value` if it is one of `options`, else raise ``ValueError`` with a list of all options."""
    if isinstance(value, str) and value in options:
        return str(value)
    raise ValueError(f"{name}={shown(value)} is not one of {', '.join(options)}")


def flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False, else raise ``ValueError``.

    Examples
    --------
    >>> flag("permute_arms", "no")
    Traceback (most recent call last):
        ...
    ValueError: permute_arms='no' must be true or false
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ValueError(f"{name}={shown(value)} must be true or false")


def real(name: str, value: object, low: float = -math.inf, high: float = math.inf, *, closed: str = "") -> float:
    """Return `value` as a finite float between `low` and `high`, else raise ``ValueError``.

    Parameters
    ----------
    low, high : float
        The ends of the interval.
    closed : str
        Which ends belong to it: ``""``, ``"low"``, ``"high"`` or ``"both"``.

    Examples
    --------
    >>> real("epsilon", 1, 0)
    1.0
    >>> real("beta", 1, 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: beta=1 must be a finite number in (0, 1)
    """
    number = value if type(value) is float else _float(value)
    above = number >= low if closed in ("low", "both") else number > low
    below = number <= high if closed in ("high", "both") else number < high
    if above and below and math.isfinite(number):
        return number
    left = "[" if closed in ("low", "both") else "("
    right = "]" if closed in ("high", "both") else ")"
    where = "" if math.isinf(low) and math.isinf(high) else f" in {left}{low:g}, {high:g}{right}"
    raise ValueError(f"{name}={shown(value)} must be a finite number{where}")


def divisor(name: str, value: object, high: float = math.inf, *, closed: str = "") -> float:
    """Return `value` as a float that is at least 10⁻⁹ and within the bound `high`, else raise ``ValueError``.

    Examples
    --------
    >>> divisor("epsilon", 0.5)
    0.5
    >>> divisor("epsilon", 5e-324)
    Traceback (most recent call last):
        ...
    ValueError: epsilon=5e-324 is too small to divide by; it must be at least 1e-09
    """
    number = real(name, value, 0, high, closed=closed)
    if number < _LEAST:
        raise ValueError(f"{name}={shown(value)} is too small to divide by; it must be at least {_LEAST:g}")
    return number


def _float(value: object) -> float:
    """Return `value` as a float; NaN if it is no number or too large."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def _whole(value: object) -> int | None:
    """Return `value` as an integer of any size, or ``None`` if it is not an integer."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    number = _float(value)
    return int(number) if number.is_integer() else None


def probability(name: str, value: object) -> float:
    """Return `value` as a float in [0, 1], else raise ``ValueError``."""
    return real(name, value, 0, 1, closed="both")


def integer(name: str, value: object, low: int, high: float = LARGEST) -> int:
    """Return `value` as an int in [low, high], else raise ``ValueError``.

    A whole float is one too.  `high` may be infinite: seeds are.

    Examples
    --------
    >>> integer("n_agents", 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: n_agents=0 must be an integer ≥ 1
    """
    whole = value if type(value) is int else _whole(value)
    if whole is not None and low <= whole <= high:
        return whole
    bound = f"in {low}..{high}" if high < MOST or (whole or 0) > high else f"≥ {low}"
    raise ValueError(f"{name}={shown(value)} must be an integer {bound}")


def count(name: str, value: object, low: int, high: int = MOST) -> int:
    """Return `value` as an int in [low, high], or raise ``ValueError``; by default `high` is 2³¹.

    Examples
    --------
    >>> count("n_agents", 10**12, 1)
    Traceback (most recent call last):
        ...
    ValueError: n_agents=1000000000000 must be an integer in 1..2147483648
    """
    return integer(name, value, low, high)


def reals(name: str, values: object) -> Array:
    """Return `values` as an array of floats, else raise ``ValueError``.

    Examples
    --------
    >>> reals("means", [0, 0.5]).tolist()
    [0.0, 0.5]
    >>> reals("means", [0.5, "high"])
    Traceback (most recent call last):
        ...
    ValueError: means=[0.5, 'high'] must be numbers
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO":  # O: fractions, or integers that may be too large
            return array.astype(float)
    except (ValueError, TypeError, OverflowError):
        pass
    raise ValueError(f"{name}={shown(values)} must be numbers")


#: Numbers beyond ± this are refused: sums and products of them would not stay finite.
LARGEST_NUMBER = 1e100


def affordable(what: str, size: float) -> None:
    """Raise ``ValueError`` if `size` bytes exceed the limit in the environment variable ``HUSHBANDITS_MEMORY``.

    It is in GiB, by default 8.

    Parameters
    ----------
    what : str
        What asks for them, with the numbers that make it large.
    size : float
        An estimate, in bytes.

    Examples
    --------
    >>> affordable("n_agents=10", 800)
    >>> affordable("n_agents=1000000 on a complete graph", 8e12)
    Traceback (most recent call last):
        ...
    ValueError: n_agents=1000000 on a complete graph would take 7451 GiB, more than the 8 GiB allowed; ...
    """
    text = os.environ.get("HUSHBANDITS_MEMORY", "8")
    try:
        most = float(text or 8)
    except ValueError:
        most = 0.0
    if not most > 0:
        raise ValueError(f"HUSHBANDITS_MEMORY={text!r} must be a number of GiB > 0")
    if size > most * 2**30:
        raise ValueError(
            f"{what} would take {size / 2**30:.4g} GiB, more than the {most:g} GiB allowed; "
            f"set HUSHBANDITS_MEMORY (GiB) to allow more"
        )


def checked_names(title: str, part: object, *attributes: str) -> None:
    """Raise ``ValueError`` unless the attributes of `part` (in errors: `title`) are tuples or lists of strings."""
    for name in attributes:
        value = getattr(part, name)
        if not isinstance(value, (tuple, list)) or not all(map(isinstance, value, repeat(str))):
            raise ValueError(f"{title}.{name}={shown(value)} must be a tuple of names")


def names_all(value: object, kind: type) -> bool:
    """Return whether `value` is a mapping from names to instances of `kind`."""
    if not isinstance(value, Mapping) or not all(map(isinstance, value, repeat(str))):
        return False
    return all(map(isinstance, value.values(), repeat(kind)))
