"""Rewards in compiled code: a comparison with the location, or the location plus a number that is drawn ahead."""

import math

import numpy as np

from hushbandits.core import Array, Bernoulli, Law
from hushbandits.core.random.rewards import ClippedGaussian, Constant, Gaussian, Stable, Uniform

#: The range of rewards that are a location plus a random number, by law.
SHIFTS: dict[type[Law], tuple[float, float]] = {ClippedGaussian: (0.0, 1.0)}
SHIFTS |= dict.fromkeys((Gaussian, Uniform, Constant, Stable), (-math.inf, math.inf))


def compiles(law: Law) -> bool:
    """Return whether compiled code can draw rewards of `law`."""
    return type(law) is Bernoulli or type(law) in SHIFTS


def shifted(law: Law, u: Array) -> Array:
    """Return the numbers that are added to locations, given uniform samples; `u` for Bernoulli, which compares."""
    if type(law) is Bernoulli:
        return u
    if type(law) is ClippedGaussian:
        law = Gaussian(law.sigma)
    return law.quantile(u, np.array(0.0)) + np.zeros(u.shape)
