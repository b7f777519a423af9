"""The table of routines that identify the best arm at fixed confidence, and a function that runs one routine."""

from collections.abc import Callable

import numpy as np

from hushbandits.best_arm.fixed_design import median_elimination, naive_elimination
from hushbandits.best_arm.lucb import kl_lucb, lucb, ugapec
from hushbandits.best_arm.racing import kl_racing, ser3, ser4, successive_elimination_by_passes
from hushbandits.best_arm.routine import RESETS, Routine
from hushbandits.core import Array

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


def identify(
    routine: Routine, pull: Callable[[int], float], n_arms: int, *, seed: int = 0, limit: int | None = None
) -> tuple[int, int]:
    """Run `routine` alone until one arm is left; return this arm and the number of pulls.

    Parameters
    ----------
    routine : Routine
        Such as ``ROUTINES["LUCB"](n_arms, eta=0.05, epsilon=0.1)``.
    pull : callable
        ``pull(arm)`` → a reward in [0, 1].
    n_arms : int
        K.
    seed : int
        Seed of the routine's random numbers.
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
            raise RuntimeError(f"limit={limit} pulls did not suffice: {state[0].sum()} arms remain")
        arms: Array = np.zeros(n_arms, bool)
        routine.plan(state, 0, 0, p, active, arms, rng.random(routine.draws))
        for k in np.flatnonzero(arms):
            reward[k] = pull(int(k))
            pulls += 1
        if routine.learn(state, 0, 0, p, arms, reward, rng.random(routine.uniforms), np.zeros(n_arms, bool)) == RESETS:
            state = routine.state(1, 1, n_arms)
    return int(state[0].argmax()), pulls
