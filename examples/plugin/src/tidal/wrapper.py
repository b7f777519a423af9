"""A wrapper with a privacy guarantee."""

import math

import numpy as np

import hushbandits as hb
from hushbandits.core import Bernoulli, set_rows


class Coins(hb.Wrapper):
    """Replaces a reward by a fair coin with probability `rate`, otherwise by its rounding to 0 or 1 (Warner 1965)."""

    operations = ("replace", "map")

    def __init__(self, rate=0.5, *, name=None):
        super().__init__(name=name)
        self.rate = rate

    def message_fields(self, fields, env):
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        return {**fields, "reward": hb.Field(low=0, high=1)}

    def reset(self, env, rng, rows=None):
        set_rows(self, rows, _stream=env.message_class.stream("replace", env, rng))

    def send(self, message, env):
        coins = message.replace(self.rate, Bernoulli(), 0.5, self._stream)
        return coins.map(lambda x: np.rint(np.clip(x, 0, 1)))

    def claimed_guarantees(self, env):
        return (
            hb.Guarantee(
                mechanism=f"a fair coin instead of the reward, with probability {self.rate:g}",
                epsilon=math.log(2 / self.rate - 1),
                delta=0.0,
                adjacency=hb.Adjacency("one report's reward replaced by any other in [0, 1]", "reward"),
                view="everyone else: one report by itself, its arm and time taken as given",
                assumptions=("seeded coins are a simulation",),
                source="Warner 1965",
                single_release=True,
            ),
        )
