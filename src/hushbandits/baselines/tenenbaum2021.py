"""Tenenbaum, Kaplan, Mansour & Stemmer 2021, "Differentially Private Multi-Armed Bandits in the Shuffle Model".

`VB-SDP-AE`, the related work's comparator of Chowdhury & Zhou 2023.
"""

import math
from typing import ClassVar

import numpy as np

from hushbandits.agents.feedback import BatchedSE
from hushbandits.core import Array, Inbox, Params, Streams, World
from hushbandits.wrappers.mechanism import Mechanism


class VBSDPAE(BatchedSE):
    """VB-SDP-AE: arm elimination with growing batches, a shuffled binary sum, and estimates from all past data.

    A reconstruction.  Batches: ``l(b) = ⌈η^b⌉`` users per active arm, as algorithm 1 of Chowdhury & Zhou 2023.
    Estimate: all of an arm's decoded sums over all its users.  Radius after N users in b batches, with
    ``L = ln(4mb²/p)``: ``√(L/(2N)) + (√(2VL) + 2L/3)/N``, Hoeffding for the rewards and Bernstein for the noise bits,
    V the sum of their variances.  Rewards are binary: others are rounded at random.
    """

    name = "VB-SDP-AE"
    _mechanism: Mechanism
    mechanisms = ("BinarySum",)
    fixed: ClassVar[Params] = {"shuffle": "binary-sum"}
    wrappers = ("ShuffledNoise", "ShuffledSum")

    def validate_env(self, env: World) -> None:
        super().validate_env(env)
        self._horizon = env.horizon
        if self._mechanism.planned(self._block(env.n_arms, 1)).noise is None:
            raise ValueError(f"{self.name} needs users who add noise; those of {self._mechanism.name} add none")

    def reset(self, env: World, rng: Streams) -> None:
        super().reset(env, rng)
        self._sums, self._users, self._variance = (np.zeros(self._mean.shape) for _ in range(3))

    def receive(self, inbox: Inbox) -> None:
        """Add each block's sum and users to the totals of the block's arm."""
        total, n = inbox.total("reward"), inbox.total("n")
        for r, i in zip(*np.nonzero(inbox.arrived[:, :, 0]), strict=True):
            seat = r, i, self._arm[r, i]
            self._sums[seat] += total[r, i]
            self._users[seat] += n[r, i]
            noise = self._mechanism.planned(int(self._n[r, i])).noise
            assert noise is not None
            self._variance[seat] += n[r, i] * noise.variance
        super().receive(inbox)

    def estimate(self, total: Array, n: Array) -> Array:
        sums, users = (np.take_along_axis(x, self._arm[..., None], 2)[..., 0] for x in (self._sums, self._users))
        return sums / np.maximum(users, 1)

    def interval(self, r: int, i: int, m: int, b: int) -> float:
        """Return one radius for all active arms, from the fewest users and the largest noise variance of these arms."""
        active = self._active[r, i]
        users, variance = self._users[r, i, active].min(), self._variance[r, i, active].max()
        tail = math.log(4 * m * b * b / self._p)
        return math.sqrt(tail / (2 * users)) + (math.sqrt(2 * variance * tail) + 2 * tail / 3) / users
