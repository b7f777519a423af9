"""A privacy claim, spelled out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

from hushbandits.core.world import World

__all__ = ["Guarantee", "Promising", "void"]


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


class Promising:
    """Base of what may promise privacy, wrappers and teams: a subclass claims, this class says what holds."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "privacy" in vars(cls):
            raise TypeError(f"{cls.__name__} must define promises(env), not privacy(env): the base says what holds")

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        """What it promises on rewards in [0, 1], where all is well; empty: nothing.  For subclasses."""
        return ()

    @final
    def privacy(self, env: World) -> tuple[Guarantee, ...]:
        """What of its `promises` holds in `env`: on rewards without a bound no ε does."""
        held = self._holding(env)
        if env.law.unit_interval:
            return held
        why = f"rewards of {env.law!r} have no bound, and so no sensitivity"
        return tuple(void(g, why) if math.isfinite(g.epsilon) else g for g in held)

    def _holding(self, env: World) -> tuple[Guarantee, ...]:
        """Hook of the mechanisms' base: `promises`, less what the env refutes."""
        return self.promises(env)
