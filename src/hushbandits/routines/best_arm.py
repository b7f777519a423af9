"""Best-arm identification at fixed confidence, for one player: the table of routines, and how to run one alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import probability, shown
from hushbandits.routines.fixed_design import median_elimination, naive_elimination
from hushbandits.routines.lucb import kl_lucb, lucb, ugapec
from hushbandits.routines.racing import kl_racing, ser3, ser4, successive_elimination_by_passes
from hushbandits.routines.routine import RESETS, Routine

__all__ = ["ROUTINES", "arm_selection", "identify", "reset_rate"]

#: Arm-selection routines by name: ``f(n_arms, eta, epsilon)``, an ε-optimal arm at confidence 1 − η.
ROUTINES: dict[str, Callable[..., Routine]] = {
    "Naive": naive_elimination,
    "Median": median_elimination,
    "SE": successive_elimination_by_passes,
    "SER3": ser3,
    "SER4": ser4,
    "KL-Racing": kl_racing,
    "LUCB": lucb,
    "KL-LUCB": kl_lucb,
    "UGapEc": ugapec,
}


def reset_rate(routine: str, phi: float | None) -> float | None:
    """Return φ of SER4, 1e-4 unless given; ``None`` for the routines that never reset.

    Raises
    ------
    ValueError
        φ outside [0, 1], or given with another routine.

    Examples
    --------
    >>> reset_rate("SER4", None), reset_rate("SER3", None)
    (0.0001, None)
    """
    if routine == "SER4":
        return probability("phi", 1e-4 if phi is None else phi)
    if phi is not None:
        raise ValueError(f"phi={shown(phi)} is how often SER4 resets; routine={routine!r} never does")
    return None


def arm_selection(
    name: str, n_arms: int, failure: float, epsilon: float, phi: float | None = None, alone: bool = False
) -> Routine:
    """Return the routine of that name at confidence 1 − failure; `phi` and `alone` are SER4's."""
    own = {} if phi is None else {"phi": phi, "alone": alone}
    return ROUTINES[name](n_arms, failure, epsilon, **own)


def identify(
    routine: Routine,
    pull: Callable[[int], float],
    n_arms: int,
    *,
    seed: int = 0,
    limit: int | None = None,
) -> tuple[int, int]:
    """Run one routine alone until it has given up all arms but one.

    Parameters
    ----------
    routine : Routine
        Such as ``ROUTINES["LUCB"](n_arms, eta=0.05, epsilon=0.1)``.
    pull : callable
        ``pull(arm)`` → a reward in [0, 1].
    n_arms : int
        K.
    seed : int
        Of the routine's own luck.
    limit : int, optional
        Pulls after which a ``RuntimeError`` is raised.

    Returns
    -------
    arm, pulls : int

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> means = [0.2, 0.8, 0.5]
    >>> identify(ROUTINES["KL-LUCB"](3, eta=0.05, epsilon=0.1), lambda k: float(rng.random() < means[k]), 3)
    (1, 429)
    """
    rng = np.random.default_rng(seed)
    state = routine.state(1, 1, n_arms)
    p = np.array(routine.params)
    active, reward = np.ones(n_arms, bool), np.zeros(n_arms)
    pulls = 0
    while state[0].sum() > 1:
        if limit is not None and pulls >= limit:
            raise RuntimeError(f"{limit} pulls did not suffice: {state[0].sum()} arms are left")
        arms: Array = np.zeros(n_arms, bool)
        routine.plan(state, 0, 0, p, active, arms, rng.random(routine.draws))
        for k in np.flatnonzero(arms):
            reward[k] = pull(int(k))
            pulls += 1
        if routine.learn(state, 0, 0, p, arms, reward, rng.random(routine.luck), np.zeros(n_arms, bool)) == RESETS:
            state = routine.state(1, 1, n_arms)
    return int(state[0].argmax()), pulls
