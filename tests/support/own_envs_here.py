"""User-defined envs in a third-party module on the path."""

import numpy as np

from hushbandits.core.random.arms import Arms
from hushbandits.core.rows import set_rows
from hushbandits.envs.rounds.env import Rounds


class Jumps(Arms):
    """The best arm moves on every `period` rounds, without notice."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.moving = True

    def move(self, start, t):
        arms = np.arange(start.shape[-1])
        source = (arms - np.asarray(t)[..., None] // 7) % arms.size
        shape = np.broadcast_shapes(start.shape, source.shape)
        return np.take_along_axis(np.broadcast_to(start, shape), np.broadcast_to(source, shape), -1)


class Weather(Rounds):
    """Rain halves all agents' rewards of a round: with a random stream, a parameter and a metric of its own."""

    setting = "weather"
    arms_class = Jumps

    def __init__(self, *, rain=0.3, **rest):
        self.rain = rain
        super().__init__(**rest)

    def _reset(self, rng, rows=None):
        super()._reset(rng, rows)
        set_rows(self, rows, _sky=rng.reader((), "weather"), _wet=np.zeros(len(rng), np.int64))

    def _rewards(self, arm, location, u):
        wet = self._sky.next() < self.rain
        self._wet += wet & self._live
        return super()._rewards(arm, location, u) * np.where(wet, 0.5, 1.0)[:, None]

    def _metrics(self):
        return {**super()._metrics(), "wet": self._wet.copy()}
