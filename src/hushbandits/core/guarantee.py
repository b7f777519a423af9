"""A privacy claim, spelled out."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import final

from hushbandits.core.ground.validate import choice, probability, shown
from hushbandits.core.world import World

__all__ = ["ADJACENCIES", "ONCE", "ONE_USER", "Adjacency", "Guarantee", "Promising", "Run", "void"]

_PACKAGE = __name__.partition(".")[0] + "."
#: What neighbouring inputs differ in, as data: one reward; all rewards of one agent or user; nothing that is replaced
#: (two inputs that a secure function makes alike); not said, except in words.
ADJACENCIES = ("reward", "participant", "none", "unknown")


@dataclass(frozen=True)
class Adjacency:
    """Which two inputs count as neighbours.

    Parameters
    ----------
    words : str
        In words.
    replaced : str
        What differs, as data, so that an audit can play it: ``"reward"``, one reward; ``"participant"``, all rewards
        of one agent or user; ``"none"``, nothing that a mechanism would have to hide; ``"unknown"``.
    low, high : float
        Range of the rewards that are replaced and put in.
    """

    words: str
    replaced: str = "unknown"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        choice("replaced", self.replaced, ADJACENCIES)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Run:
    """How a promise about one reward adds up over all rewards of a participant in a run.

    Parameters
    ----------
    times : int
        How many of its rewards there are, at most; each costs (ε, δ) once.
    words : str
        Who that is.
    """

    times: int
    words: str


#: What protocols over blocks of users promise: a user is met once.
ONE_USER = Adjacency("one user's reward replaced by any other in [0, 1]; a user takes part once", "reward")
ONCE = Run(1, "a user takes part once; in k blocks, at most k times ε and δ")


@dataclass(frozen=True)
class Guarantee:
    """What a mechanism promises, to whom, under which assumptions.

    Parameters
    ----------
    mechanism : str
        The mechanism and its scale, in words.
    epsilon, delta : float
        The differential-privacy parameters of one use; ``inf`` where nothing is promised.
    adjacency : Adjacency or str
        Which two inputs count as neighbours.  Of words alone an audit can only try one reward, and says so.
    view : str
        Who sees what is protected: the observer of the claim.
    assumptions : tuple of str
        What must hold for the claim; seeded noise is a simulation and always listed here.
    source : str
        The paper and statement that it comes from.
    void : str
        Why nothing holds, where an assumption is known to fail; ``""``: none is.
    alone : bool
        Whether it is about one message by itself, whose arm and time are taken as given, and about nothing else of a
        run.
    run : Run, optional
        How it adds up over a participant's run; ``None``: nothing adds it up.

    Raises
    ------
    ValueError
        ε that is no number ≥ 0, or δ outside [0, 1].
    """

    mechanism: str
    epsilon: float
    delta: float
    adjacency: Adjacency
    view: str
    assumptions: tuple[str, ...]
    source: str
    void: str = ""
    alone: bool = False
    run: Run | None = None

    def __post_init__(self) -> None:
        if isinstance(self.adjacency, str):
            object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if not isinstance(self.epsilon, numbers.Real) or isinstance(self.epsilon, bool) or not self.epsilon >= 0:
            raise ValueError(f"epsilon={shown(self.epsilon)} of a Guarantee must be a number ≥ 0, or inf")
        probability("delta", self.delta)


def void(guarantee: Guarantee, why: str) -> Guarantee:
    """Return what is left of a promise where an assumption of it is known to fail: nothing, and why."""
    return replace(guarantee, epsilon=math.inf, delta=0.0, void=why, run=None)


class Promising:
    """Base of what may promise privacy, wrappers and teams: a subclass claims, this class says what holds."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "privacy" in vars(cls):
            raise TypeError(f"{cls.__name__} must define promises(env), not privacy(env): the base says what holds")

    def ships(self, hook: str) -> bool:
        """Whether a hook of its class is code of this package; what has no module (a ``partial``) is not."""
        return str(getattr(getattr(type(self), hook), "__module__", "")).startswith(_PACKAGE)

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        """What it promises on rewards in [0, 1], where all is well; empty: nothing.  For subclasses."""
        return ()

    @final
    def privacy(self, env: World) -> tuple[Guarantee, ...]:
        """What of its `promises` holds in `env`: none with an ε where rewards have no bound, or parts are unknown."""
        held, why = self._holding(env), self._refuted(env)
        if not isinstance(held, (tuple, list)) or not all(isinstance(g, Guarantee) for g in held):
            name = getattr(self, "name", type(self).__name__)
            raise TypeError(f"{name}.promises must return a tuple of Guarantee, not {shown(held)}")
        return tuple(void(g, why) if why and math.isfinite(g.epsilon) else g for g in held)

    def _refuted(self, env: World) -> str:
        """Why no ε holds in `env`, whatever it is that promises; ``""``: nothing says so."""
        if not env.law.unit_interval:
            return f"rewards of {env.law!r} have no bound, and so no sensitivity"
        unknown = [w.name for w in env.wrappers if not w.ours and w.name != getattr(self, "name", "")]
        if unknown:
            return (
                f"{' and '.join(unknown)} is a wrapper of one's own, and nothing says what it does to a single reward "
                f"(keeps_promises)"
            )
        return ""

    def _holding(self, env: World) -> tuple[Guarantee, ...]:
        """Hook of the mechanisms' base: `promises`, less what the env refutes."""
        return self.promises(env)
