"""Checks of input: arrays against declared fields, and actions against action spaces.

Compiled code indexes with what it is given, so actions and a team's messages pass these functions in every round.  What
wrappers and laws return does not: `hushbandits.testing.check_wrapper` and `check_env` look for their faults.
"""

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core.messages import Field, Fields
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.utils import Array, Seeds, integer, jit, nearest, shown
from hushbandits.core.utils.validate import names_all

Space = spaces.Space[Any]
#: Stacked actions: an array, or of a ``Dict`` space one for each of its parts.
Stacked = Any
_SAYS = {"b": "bools", "i": "integers", "u": "integers", "f": "numbers"}
_TAKES = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}
_SENT = Field(dtype="?")
_FAST = frozenset(map(np.dtype, ("f8", "i8", "?")))


def locked(value: Array) -> Array:
    """Return a read-only view of `value`, so that an accidental write raises an error."""
    view = value.view()
    view.setflags(write=False)
    return view


def handed(value: Array) -> Array:
    """Return a read-only copy of `value`, which shares no memory with `value`."""
    copy = value.copy()
    copy.setflags(False)  # type: ignore[call-arg]  # takes half as long as `write=False`
    return copy


def as_array(value: object) -> Array:
    """Return `value` as an array; ragged lists become an object array of shape ()."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError):
        return np.empty((), object)


def checked(what: str, value: object, field: Field, lead: tuple[int, ...], message: str = "") -> Array:
    """Return `value` as a new array ``(*lead, *field.shape)`` of the field's dtype, or raise ``ValueError``.

    Parameters
    ----------
    what : str
        Names it in errors; with `message`, as a field of that.
    value : array
    field : Field
        Shape, dtype and range that it must have.
    lead : tuple of int
        The axes before the field's own: runs, and agents.

    Examples
    --------
    >>> checked("action", [[1, 2]], Field(dtype="i8", low=0, high=9), (1, 2))
    array([[1, 2]])
    >>> checked("action", [[1.7, 2]], Field(dtype="i8", low=0, high=9), (1, 2))
    Traceback (most recent call last):
        ...
    ValueError: action must be integers of shape (1, 2), not float64 (1, 2)
    """
    array = value if type(value) is np.ndarray else as_array(value)
    shape, kind, form = (*lead, *field.shape), field.form.kind, field.form
    if array.shape != shape or array.dtype.kind not in _TAKES[kind]:
        found = f"{array.dtype} {array.shape}" if array.dtype != object else f"{type(value).__name__}"
        raise ValueError(f"{_name(what, message)} must be {_SAYS[kind]} of shape {shape}, not {found}")
    low, high = field.range
    if array.dtype == form and form in _FAST:  # the usual case, in one pass
        copy = array.copy()
        if kind != "b" and not inside(copy.reshape(-1), low, high):
            _refuse(_name(what, message), array, low, high, kind, len(lead))
        return copy
    wide = array.astype(float) if array.dtype.kind == "f" else array  # a float32 cannot be compared with 1e100
    # NaN fails both comparisons, since min and max hand it on.
    if kind != "b" and array.size and not (low <= wide.min() and wide.max() <= high):
        _refuse(_name(what, message), wide, low, high, kind, len(lead))
    return np.array(array, form)


@jit
def inside(values, low, high):
    """Return whether all numbers of a contiguous array lie in [low, high]; NaN lies outside."""
    outside = 0
    for i in range(values.size):  # in this form it is vectorised
        outside += 0 if (values[i] >= low) & (values[i] <= high) else 1  # NaN is outside
    return outside == 0


def _name(what: str, message: str) -> str:
    return f"field {what!r} of {message}" if message else what


def _refuse(what: str, array: Array, low: float, high: float, kind: str, lead: int) -> None:
    bad = np.argwhere(~((array >= low) & (array <= high)))[0].tolist()
    names = ("run", "agent")[:lead]
    at = ", ".join(f"{name} {i}" for name, i in zip(names, bad, strict=False))
    place = (f" at {at}" if at else "") + (f" (entry {tuple(bad[lead:])})" if len(bad) > lead else "")
    whole = f"{_SAYS[kind]} in {low:g}..{high:g}" if kind == "f" else f"{_SAYS[kind]} in {low}..{high}"
    raise ValueError(f"{what} holds {array[tuple(bad)]}{place}; allowed are {whole}")


def checked_message(what: str, message: object, fields: Fields, lead: tuple[int, ...]) -> dict[str, Array]:
    """Return a message as new arrays of the declared fields and ``sent``, or raise ``ValueError``.

    Examples
    --------
    >>> said = checked_message("message", {"x": np.zeros((1, 2))}, {"x": Field()}, (1, 2))
    >>> said["sent"]
    array([[ True,  True]])
    >>> checked_message("message", {"val": np.zeros((1, 2))}, {"x": Field()}, (1, 2))
    Traceback (most recent call last):
        ...
    ValueError: message has no field 'x'; its fields: val
    """
    if type(message) is not dict and not isinstance(message, Mapping):
        raise TypeError(f"{what} must be a dict of arrays by field, not {type(message).__name__}")
    for name in fields:
        if name not in message:
            raise ValueError(f"{what} has no field {name!r}; its fields: {', '.join(map(str, message)) or 'nothing'}")
    for name in message:
        if name not in fields and name != "sent":
            raise ValueError(f"{what} has an undeclared field {name!r}{nearest(str(name), fields)}")
    out = {name: checked(name, message[name], field, lead, what) for name, field in fields.items()}
    if "sent" not in fields:
        sent = message.get("sent")
        out["sent"] = ~np.zeros(lead, bool) if sent is None else checked("sent", sent, _SENT, lead, what)
    return out


def spoken_fields(report: Fields, extra_fields: Fields | None, fields: Fields | None, n_arms: int) -> Fields:
    """Return the fields that a team sends: `report` with `extra_fields`, or `fields` if given.

    Fields of K arms are declared with that axis, those of the standard report in its ranges.
    """
    if extra_fields is not None and fields is not None:
        raise ValueError(
            "give extra_fields=, which extends the standard report, or fields=, which replaces it, but not both"
        )
    what, given = ("fields", fields) if extra_fields is None else ("extra_fields", extra_fields)
    if given is None:
        return report
    if not names_all(given, Field):
        raise ValueError(f"{what}={shown(given)} must be a dict of Field by name")
    found = {}
    for name, field in given.items():
        if name in ("sent", "sender"):
            raise ValueError(f"{what}[{name!r}]={field!r} must have another name: {name!r} is reserved")
        if extra_fields is not None and name in report:
            raise ValueError(f"extra_fields={name!r} is already a field of the standard report; choose another name")
        found[name] = field.sized(n_arms)
        own = report.get(name, field).sized(n_arms)
        if (own.shape, own.form) != (found[name].shape, found[name].form):
            form = f"Field({own.shape}, {own.dtype!r})" if own.shape else f"Field(dtype={own.dtype!r})"
            raise ValueError(
                f"{what}[{name!r}]={field!r} must be declared as in the standard report, {form}, or have another name"
            )
        if (own.low, own.high) != (None, None):
            found[name] = replace(found[name], low=own.low, high=own.high)
    return found if extra_fields is None else {**report, **found}


def checked_rows(rows: object, runs: int) -> Array:
    """Return `rows` as an array of distinct run indices, or raise ``ValueError``."""
    array = as_array(rows)
    if array.dtype.kind == "b" and array.shape == (runs,):
        array = np.flatnonzero(array)
    whole = array.ndim == 1 and array.dtype.kind in "iu" and array.size > 0
    if whole and _distinct(index := array.astype(np.int64), runs):
        return index
    raise ValueError(f"rows={rows!s:.60} must be different runs in 0..{runs - 1}, at least one, or {runs} bools")


@jit
def _distinct(index, runs):
    """Return whether all numbers of `index` are different and lie in 0..runs − 1."""
    seen = np.zeros(runs, np.bool_)
    for i in index:
        if i < 0 or i >= runs or seen[i]:
            return False
        seen[i] = True
    return True


def checked_seeds(seeds: object, runs: int, world: str = "") -> Seeds:
    """Return the seeds as an array with a row per run; `spawn_seeds` turns a given int into such an array for `world`.

    Examples
    --------
    >>> checked_seeds([1], 1)
    Traceback (most recent call last):
        ...
    ValueError: seeds must be an integer ≥ 0 or an (n, 3) array from spawn_seeds, not [1]
    """
    if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool):
        return spawn_seeds(int(integer("seed", seeds, 0, np.inf)), runs, world=world)
    if not isinstance(seeds, np.ndarray) or seeds.dtype != np.uint64 or seeds.shape[1:] != (3,) or not len(seeds):
        raise ValueError(f"seeds must be an integer ≥ 0 or an (n, 3) array from spawn_seeds, not {shown(seeds)}")
    return seeds


# -- actions of learners ------------------------------------------------------------------------------------------


def choices(space: Space) -> int:
    """Return C, the sum of the numbers of choices over an action's discrete components; a bit has two choices."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(space, spaces.MultiBinary):
        return 2 * int(np.prod(space.shape))
    if isinstance(space, spaces.Dict):
        return sum(choices(part) for part in space.values())
    return 0


def sample_mask(space: Space, mask: Array) -> object:
    """Return the mask ``(C,)`` in the form that ``space.sample(mask)`` takes, ``None`` for a space without choices."""
    if isinstance(space, spaces.MultiDiscrete):
        ends = np.cumsum(space.nvec)[:-1]
        return tuple(part.astype(np.int8) for part in np.split(mask, ends))
    if isinstance(space, spaces.MultiBinary):
        zero, one = mask.reshape(*space.shape, 2).astype(np.int8).T
        return np.where(zero & one, 2, one).astype(np.int8).T  # Gymnasium's 2: either
    if isinstance(space, spaces.Dict):
        ends = np.cumsum([choices(part) for part in space.values()])[:-1]
        parts = zip(space.items(), np.split(mask, ends), strict=True)
        return {name: sample_mask(part, row) if len(row) else None for (name, part), row in parts}
    return mask.astype(np.int8) if mask.size else None


def fits(space: Space, action: Stacked) -> bool:
    """Return whether all stacked actions lie in `space` and need no conversion."""
    if isinstance(space, spaces.Discrete):
        return action.dtype.kind in "iu" and action.ndim == 1 and bool(inside(action, 0, space.n - 1))
    if isinstance(space, spaces.Dict):
        return all(fits(part, action[name]) for name, part in space.items())
    kind, shape = action.dtype.kind, action.shape[1:]
    if isinstance(space, spaces.MultiDiscrete):
        whole = kind in "iu" and shape == space.shape
        return whole and bool(action.min() >= 0 and (action < space.nvec).all())
    if isinstance(space, spaces.MultiBinary):
        return kind in "biu" and shape == space.shape and bool(action.min() >= 0 and action.max() <= 1)
    assert isinstance(space, spaces.Box)
    return kind == "f" and shape == space.shape and bool((action >= space.low).all() and (action <= space.high).all())


def shaped(action: Stacked, lead: tuple[int, int]) -> Stacked:
    """Return the actions of R·M agents, ordered by run and agent, reshaped to ``(*lead, …)``."""
    if isinstance(action, dict):
        return {name: shaped(part, lead) for name, part in action.items()}
    return action.reshape(*lead, *action.shape[1:])


def stacked(space: Space, values: Sequence[Stacked], names: Sequence[str], lead: tuple[int, int]) -> Stacked:
    """Return the actions of R·M agents as ``(*lead, …)``; raise ``ValueError`` for the first action outside `space`."""
    action = _at_once(space, values)
    if action is None:
        action = _at_once(space, [_spelled(space, name, value) for name, value in zip(names, values, strict=True)])
    return shaped(action, lead) if isinstance(action, dict) else action.reshape(*lead, *action.shape[1:])


def _at_once(space: Space, values: Sequence[Stacked]) -> Stacked:
    """Return the stacked actions if all lie in `space` and need no conversion, else ``None``."""
    try:
        if isinstance(space, spaces.Dict):
            action: Stacked = {name: np.array([value[name] for value in values]) for name in space}
        else:
            action = np.array(values)
    except (KeyError, TypeError, IndexError, ValueError, RuntimeError):  # ragged, no dict, or a tensor with a gradient
        return None
    return action if fits(space, action) else None


def _spelled(space: Space, name: str, value: Stacked) -> Stacked:
    """Convert the action of agent `name` to the dtype of `space`; raise ``ValueError`` if it lies outside `space`."""
    with warnings.catch_warnings(), contextlib.suppress(TypeError, ValueError, RuntimeError):
        warnings.simplefilter("ignore")  # Gymnasium warns about lists before it judges them
        if hasattr(value, "__array__") and not isinstance(value, np.generic):  # another library's
            value = np.asarray(value)
        if isinstance(space, spaces.Dict) and space.contains(value):
            return {part: np.asarray(value[part], own.dtype) for part, own in space.items()}
        if space.contains(value):
            return np.asarray(value, space.dtype)
    raise ValueError(f"action {shown(value)} ({type(value).__name__}) of {name} lies outside its space {space}")
