"""How a learner's action is written: its space, what it stands for, and which choices count for nothing."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from hushbandits.core.utils import Array, short
from hushbandits.core.validation import inside

__all__ = ["Coding", "Space", "Stacked", "choices", "fits", "read", "sample_mask", "sample_masks", "shaped"]

Space = spaces.Space[Any]
#: Stacked actions: an array, or of a ``Dict`` space one for each of its parts.
Stacked = Any


class Coding(NamedTuple):
    """One way to write an action down.

    Parameters
    ----------
    space : gymnasium space
        Of one agent.
    decode : callable
        Stacked actions ``(R, M, …)`` of this space to the task's own.
    mask : callable
        Which choices count now, ``(R, M, C)`` bool: see `choices`.
    """

    space: Space
    decode: Callable[[Stacked], Stacked]
    mask: Callable[[], Array]


def choices(space: Space) -> int:
    """Return C, how many choices an action offers: those of all its discrete parts in a row, two for a bit."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(space, spaces.MultiBinary):
        return 2 * int(np.prod(space.shape))
    if isinstance(space, spaces.Dict):
        return sum(choices(part) for part in space.values())
    return 0


def sample_mask(space: Space, mask: Array) -> Any:
    """Return ``(C,)`` bools in the form that ``space.sample(mask)`` takes."""
    if isinstance(space, spaces.MultiDiscrete):
        ends = np.cumsum(space.nvec)[:-1]
        return tuple(part.astype(np.int8) for part in np.split(mask, ends))
    if isinstance(space, spaces.MultiBinary):
        zero, one = mask.reshape(*space.shape, 2).astype(np.int8).T
        return np.where(zero & one, 2, one).astype(np.int8).T  # Gymnasium's 2: either
    if isinstance(space, spaces.Dict):
        ends = np.cumsum([choices(part) for part in space.values()])[:-1]
        return {
            name: sample_mask(part, row) if len(row) else None
            for (name, part), row in zip(space.items(), np.split(mask, ends), strict=True)
        }
    return mask.astype(np.int8)


def sample_masks(space: Space, masks: Array) -> list[Any]:
    """Return each row of ``(n, C)`` bools in the form of `sample_mask`, of memory of its own."""
    if isinstance(space, spaces.Discrete):
        return [row.copy() for row in masks.astype(np.int8)]
    return [sample_mask(space, row) for row in masks]


def fits(space: Space, action: Stacked) -> bool:
    """Whether stacked actions, one after the other, plainly all lie in `space`."""
    if isinstance(space, spaces.Discrete):
        return action.dtype.kind in "iu" and action.ndim == 1 and bool(inside(action, 0, int(space.n) - 1))
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
    """Return the actions of R·M agents, one after the other, as ``(R, M, …)``."""
    if isinstance(action, dict):
        return {name: shaped(part, lead) for name, part in action.items()}
    return action.reshape(*lead, *action.shape[1:])


def read(space: Space, values: Sequence[object], names: Sequence[str], lead: tuple[int, int]) -> Stacked:
    """Stack the actions of R·M agents to ``(R, M, …)``.

    Raises
    ------
    ValueError
        One of them lies outside `space`; `names` says whose.
    """
    if not _PLAIN.issuperset(map(type, values)):
        values = [_plain(value) for value in values]
    action = _stacked(space, values, lead)
    if action is not None:
        return action
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Gymnasium warns about lists before it judges them
        for name, value in zip(names, values, strict=True):
            if not _inside(space, value):
                raise ValueError(f"action {_brief(value)} of {name} lies outside its space {space}")
    # Each is inside, only spelled differently (lists, bits as floats).
    return _stacked(space, [_spell(space, value) for value in values], lead)


def _plain(value: Any) -> Any:
    """An action as NumPy has it, where another library (PyTorch, JAX) wrote it; one that NumPy cannot read stays."""
    if type(value) in _PLAIN or not hasattr(value, "__array__") or isinstance(value, np.generic):
        return value
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # on another device, or with a gradient
        return value


def _inside(space: Space, value: object) -> bool:
    """Whether a space contains what may be anything: also ragged lists, or such as never end."""
    try:
        return _short(value) and bool(space.contains(value)) and not _complex(value)
    except (TypeError, ValueError):
        return False


#: What most actions are, and surely short.
_PLAIN = frozenset({int, np.int64, np.int32, np.ndarray})


def _short(value: object) -> bool:
    if isinstance(value, (np.ndarray, np.generic, int, float)):
        return True
    return all(map(_short, value.values())) if isinstance(value, Mapping) else short(value)


def _stacked(space: Space, values: Sequence[Any], lead: tuple[int, int]) -> Stacked | None:
    """Stack them in one go, if they plainly lie in the space."""
    if not _PLAIN.issuperset(map(type, values)) and not all(map(_short, values)):
        return None
    try:
        if not isinstance(space, spaces.Discrete) and isinstance(space, spaces.Dict):  # whose check takes its time
            parts = {name: np.array([value[name] for value in values]) for name in space}
            return shaped(parts, lead) if fits(space, parts) else None
        action = np.array(values)
    except (KeyError, TypeError, IndexError, ValueError):  # ragged, or no dict
        return None
    return shaped(action, lead) if fits(space, action) else None


def _brief(value: object) -> str:
    text = textwrap.shorten(repr(value), 60, placeholder=" …")
    if isinstance(value, np.ndarray):
        return f"{text} ({value.dtype}, shape {value.shape})"
    return f"{text} ({type(value).__name__})"


def _complex(value: object) -> bool:
    # a MultiBinary takes 1 + 0j for a bit
    return any(map(np.iscomplexobj, value.values() if isinstance(value, dict) else [value]))


def _spell(space: Space, value: Stacked) -> object:
    if isinstance(space, spaces.Dict):
        return {name: np.asarray(value[name], part.dtype) for name, part in space.items()}
    return np.asarray(value, space.dtype)
