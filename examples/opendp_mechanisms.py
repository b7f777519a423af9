"""OpenDP's measurements as mechanisms of a third party: noise and claim are OpenDP's, and our audit tests the claim.

It needs ``opendp``.  Name a class in this folder: ``hushbandits audit opendp_mechanisms:Laplace``.  OpenDP draws from
the operating system's randomness, so a seed does not repeat the noise.
"""

from functools import lru_cache

import numpy as np
import opendp.prelude as dp

import hushbandits as hb

dp.enable_features("contrib")

#: δ at which the Gaussian measurement's zCDP is converted.
DELTA = 1e-6


@lru_cache
def laplace(scale):
    """Return OpenDP's discrete Laplace measurement of a list of integers."""
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=scale)


@lru_cache
def gaussian(scale):
    """Return OpenDP's discrete Gaussian measurement of a list of integers."""
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float), scale=scale)


def converted(measurement, levels):
    """Return the ε at δ to which OpenDP converts the zCDP of a Gaussian measurement."""
    return dp.c.make_zCDP_to_approxDP(measurement).map(d_in=float(levels)).epsilon(DELTA)


@lru_cache
def calibrated(epsilon, levels):
    """Return the smallest scale, in steps, of the Gaussian measurement with this ε."""
    return dp.binary_search(lambda scale: converted(gaussian(scale), levels) <= epsilon, bounds=(1.0, 1e6))


class Noise:
    """Draws of a measurement on zeros, in steps of 1/levels."""

    integer = False

    def __init__(self, measurement, levels):
        self._measurement, self._levels = measurement, levels

    def draw(self, rng, size):
        return np.array(self._measurement([0] * int(np.prod(size)))).reshape(size) / self._levels

    def onto(self, x, u):  # OpenDP cannot use the uniforms u
        return x + self.draw(None, np.shape(x))

    def total(self, rng, n):
        return self.draw(rng, n).sum()


class Laplace(hb.Wrapper):
    """Each reward is clipped to [0, 1], rounded to a multiple of 1/levels, and gets OpenDP's Laplace noise.

    Parameters
    ----------
    epsilon : float
        The scale of the noise is levels/ε steps.
    levels : int
        Number of steps between the rewards 0 and 1.
    """

    operations = ("map", "add")
    preserves_guarantees = True  # OpenDP draws separate noise for each message

    def __init__(self, epsilon=1.0, levels=64, *, name=None):
        super().__init__(name=name)
        self.epsilon, self.levels = epsilon, levels

    @property
    def measurement(self):
        """OpenDP's measurement, which adds the noise and knows its cost."""
        return laplace(self.levels / self.epsilon)

    def spent(self):
        """Return the ε and δ that OpenDP's map states for a reward that moves by all levels."""
        return self.measurement.map(d_in=self.levels), 0.0

    def message_fields(self, fields, env):
        return {**fields, "reward": hb.Field()}

    def send(self, message, env):
        noise = Noise(self.measurement, self.levels)
        rounded = message.clip().map(lambda x: np.rint(x * self.levels) / self.levels)
        return rounded.add(lambda n: noise, self._stream)

    def reset(self, env, rng, rows=None):
        self._stream = env.message_class.stream("add", env, rng)

    def claimed_guarantees(self, env):
        epsilon, delta = self.spent()
        return (
            hb.Guarantee(
                mechanism=f"OpenDP's {type(self).__name__} noise on rewards in steps of 1/{self.levels}",
                epsilon=epsilon,
                delta=delta,
                adjacency=hb.Adjacency("one report's reward replaced by any other in [0, 1]", "reward"),
                view="everyone else: one report by itself, its arm and time taken as given",
                assumptions=("the operating system's randomness",),
                source="OpenDP's privacy map",
                single_release=True,
            ),
        )


class Gaussian(Laplace):
    """The same with OpenDP's discrete Gaussian noise, at the smallest scale for which OpenDP states this ε at δ."""

    @property
    def measurement(self):
        return gaussian(calibrated(self.epsilon, self.levels))

    def spent(self):
        return converted(self.measurement, self.levels), DELTA

    def claimed_guarantees(self, env):
        return super().claimed_guarantees(env)
