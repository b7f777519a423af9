"""Spaces of actions: how many choices one offers, which actions it holds, and how those of all agents are stacked."""

from __future__ import annotations

import contextlib
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core.utils import Array, short
from hushbandits.core.validation import inside

Space = spaces.Space[Any]
#: Stacked actions: an array, or of a ``Dict`` space one for each of its parts.
Stacked = Any
#: What most actions are, and surely short.
_PLAIN = frozenset({int, np.int64, np.int32, np.ndarray})


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


def fits(space: Space, action: Stacked) -> bool:
    """Whether stacked actions, one after the other, plainly all lie in `space`."""
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
    """Return the actions of R·M agents, one after the other, as ``(R, M, …)``."""
    if isinstance(action, dict):
        return {name: shaped(part, lead) for name, part in action.items()}
    return action.reshape(*lead, *action.shape[1:])


def stacked(space: Space, values: Sequence[Any], names: Sequence[str]) -> Stacked:
    """Return actions in one array, one after the other; ``ValueError`` names the first outside its space."""
    action = _at_once(space, values)
    if action is None:
        action = _at_once(space, [_spelled(space, name, value) for name, value in zip(names, values, strict=True)])
    return action


def _at_once(space: Space, values: Sequence[Any]) -> Stacked:
    """Stack them in one go, if they plainly lie in the space; else ``None``."""
    if not _PLAIN.issuperset(map(type, values)) and not all(map(_short, values)):
        return None
    try:
        action: Stacked
        if isinstance(space, spaces.Dict):
            action = {name: np.array([value[name] for value in values]) for name in space}
        else:
            action = np.array(values)
    except (KeyError, TypeError, IndexError, ValueError, RuntimeError):  # ragged, no dict, or a tensor with a gradient
        return None
    return action if fits(space, action) else None


def _spelled(space: Space, name: str, value: Any) -> Any:
    """An action of `name` that is spelled differently (lists, bits as floats), as its space has it."""
    if hasattr(value, "__array__") and not isinstance(value, np.generic):  # another library's
        with contextlib.suppress(TypeError, ValueError, RuntimeError):  # on another device, or with a gradient
            value = np.asarray(value)
    with warnings.catch_warnings(), contextlib.suppress(TypeError, ValueError):
        warnings.simplefilter("ignore")  # Gymnasium warns about lists before it judges them
        # a MultiBinary takes 1 + 0j for a bit
        parts = value.values() if isinstance(value, dict) else [value]
        if _short(value) and space.contains(value) and not any(map(np.iscomplexobj, parts)):
            if isinstance(space, spaces.Dict):
                return {part: np.asarray(value[part], own.dtype) for part, own in space.items()}
            return np.asarray(value, space.dtype)
    raise ValueError(f"action {_brief(value)} of {name} lies outside its space {space}")


def _short(value: object) -> bool:
    if isinstance(value, (np.ndarray, np.generic, int, float)):
        return True
    return all(map(_short, value.values())) if isinstance(value, Mapping) else short(value)


def _brief(value: object) -> str:
    text = textwrap.shorten(repr(value), 60, placeholder=" …")
    if isinstance(value, np.ndarray):
        return f"{text} ({value.dtype}, shape {value.shape})"
    return f"{text} ({type(value).__name__})"
