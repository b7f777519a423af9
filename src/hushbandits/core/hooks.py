"""What wrappers and teams return through their hooks, held against what each hook must return.

Every sentence names whose hook it is.  What a wrapper declares is read by `hushbandits.core.fold`; its `send` is held
against that by the edge, its `tell` and `told` by `Told`, promises by `GuaranteeSource`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hushbandits.core.edge import as_array
from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import shown
from hushbandits.core.messages import Inbox
from hushbandits.core.wrapper import Wrapper

__all__ = ["arrived", "measurements"]


def arrived(wrapper: Wrapper, inbox: object, heard: frozenset[str]) -> Inbox:
    """Return the inbox behind a wrapper, which offers the fields `heard` that it declared, or raise.

    Raises
    ------
    TypeError
        It is no inbox.
    ValueError
        It offers other fields.
    """
    if not isinstance(inbox, Inbox):
        raise TypeError(f"{wrapper.name}.deliver must return an Inbox, not {shown(inbox)}")
    fields = inbox.fields
    if not isinstance(fields, tuple) or not set(map(type, fields)) <= {str}:
        raise TypeError(f"{wrapper.name}.deliver: the fields of an inbox must be a tuple of names, not {shown(fields)}")
    if heard.symmetric_difference(fields):
        offers = f"{', '.join(fields) or 'nothing'}, not {', '.join(sorted(heard))} as it declared"
        raise ValueError(f"the inbox behind {wrapper.name} offers {offers}")
    return inbox


def measurements(
    whose: str, found: object, runs: int, taken: Collection[str] = (), curves: Collection[str] = ()
) -> dict[str, Array]:
    """Return metrics as arrays ``(R, …)`` of numbers, or raise.

    Parameters
    ----------
    whose : str
        Names them in errors.
    found : dict of arrays
    runs : int
        R.
    taken : collection of str
        What others measure already.
    curves : collection of str
        Those that must be there, one number per run.

    Raises
    ------
    TypeError
        No dict of arrays by name.
    ValueError
        A name that is taken, or values that are no numbers of that shape: texts, dates, complex numbers, ragged lists.

    Examples
    --------
    >>> measurements("Mine", {"height": ["tall", "small"]}, 2)
    Traceback (most recent call last):
        ...
    ValueError: Mine.metrics: 'height' must be numbers of shape (2, …), not <U5 (2,)
    """
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"{whose}.metrics must return a dict of arrays by name, not {shown(found)}")
    out: dict[str, Array] = {}
    for name, value in found.items():
        array = as_array(value)
        if name in taken:
            raise ValueError(f"{whose}.metrics: {name!r} is measured already; give its own another name")
        known = array.dtype.kind in "biuf" and array.shape[:1] == (runs,)
        if not known or (name in curves and array.ndim > 1):
            shape = f"({runs},)" if name in curves else f"({runs}, …)"
            what = f"{array.dtype} {array.shape}" if array.dtype != object else shown(value)
            raise ValueError(f"{whose}.metrics: {name!r} must be numbers of shape {shape}, not {what}")
        out[name] = array
    for name in curves:
        if name not in out:
            raise ValueError(f"{whose}.curve_metrics names {name!r}, which its metrics() does not measure")
    return out
