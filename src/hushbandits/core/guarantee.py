"""A privacy claim, spelled out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushbandits.core.env import Env

__all__ = ["Guarantee", "void", "where_bounded"]


@dataclass(frozen=True)
class Guarantee:
    """What a mechanism promises, to whom, under which assumptions.

    Parameters
    ----------
    mechanism : str
        The mechanism and its scale, in words.
    epsilon, delta : float
        The differential-privacy parameters of one use; ``inf`` where nothing is promised.
    adjacency : str
        Which two inputs count as neighbours.
    view : str
        Who sees what is protected: the observer of the claim.
    assumptions : tuple of str
        What must hold for the claim; seeded noise is a simulation and always listed here.
    source : str
        The paper and statement that it comes from.
    """

    mechanism: str
    epsilon: float
    delta: float
    adjacency: str
    view: str
    assumptions: tuple[str, ...]
    source: str


def void(guarantee: Guarantee, why: str) -> Guarantee:
    """Return what is left of a promise where an assumption of it is known to fail: nothing, and why.

    Examples
    --------
    >>> promise = Guarantee("Laplace(1)", 1.0, 0.0, "one reward", "everyone", ("seeded",), "Dwork et al. 2006")
    >>> void(promise, "rewards have no bound").epsilon
    inf
    """
    return replace(guarantee, epsilon=math.inf, assumptions=(f"none helps: {why}", *guarantee.assumptions))


def where_bounded(promises: tuple[Guarantee, ...], env: Env) -> tuple[Guarantee, ...]:
    """Void promises of ε in an env whose rewards have no bound: noise hides what has a sensitivity."""
    if env.law.unit_interval:
        return promises
    why = f"rewards of {env.law!r} have no bound, and so no sensitivity"
    return tuple(void(g, why) if math.isfinite(g.epsilon) else g for g in promises)
