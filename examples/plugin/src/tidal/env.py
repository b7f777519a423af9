"""Cooperation over a graph whose arm means rise and fall."""

import numpy as np

from hushbandits.core.random.arms import Arms
from hushbandits.envs.network import CoopNetwork


class _Tidal(Arms):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.moving = True

    def move(self, start, t):
        k = np.arange(start.shape[-1]) / start.shape[-1]
        return np.clip(start + 0.2 * np.sin(2 * np.pi * (np.asarray(t)[..., None] / 500 + k)), 0.0, 1.0)


class Tides(CoopNetwork):
    """Cooperation over a graph whose arm means rise and fall, each arm at another time."""

    arms_class = _Tidal
