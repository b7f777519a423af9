"""Privatized feedback as a reinforcement-learning task."""

import math
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core import Array, Coding, Observation, World, choice, jit
from hushbandits.core.task import WIDE
from hushbandits.envs.feedback.render import BlockPicture


class FeedbackTask(BlockPicture):
    """Task in which each server prescribes an arm to a block of new users and observes the privacy protocol's output.

    An action is an arm k and an exponent j: the block has ``n = 2^j`` users, cut at the horizon.  The space is
    ``Discrete(K·J)`` with the code ``k·J + j`` and ``J = ⌊log₂ T⌋ + 1``, or ``MultiDiscrete([K, J])``.
    The shared parts of the observation count users: ``own_mean`` and ``own_width`` describe decoded rewards.
    A server earns the decoded mean of its block times ``n/T``, the block's share of its T users (0 if nothing
    arrived).  A return is thus the average reward of a user, and it orders servers as their regret does.  The
    actions of a server without users left have no effect (``acts`` is 0) until all servers are done.

    Parameters
    ----------
    core : Feedback or its EnvView
    reward_source : str
        ``"decoded"``, or ``"oracle"``: the true mean of the prescribed arm, which no protocol releases.
    **options
        As for `RLTask`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> FeedbackTask(hb.make_batched("DistDP-v0", horizon=1000), action_format="multidiscrete").action_space
    MultiDiscrete([10 10])
    """

    _plain = False  # decoded rewards are noisy

    def __init__(self, core: World, *, reward_source: str = "decoded", **options: Any):
        self._oracle = choice("reward_source", reward_source, ("decoded", "oracle")) == "oracle"
        self.labels = {"reward_source": "oracle"} if self._oracle else {}
        super().__init__(core, **options)
        self._columns = [self.layout[part].start for part in ("own_mean", "own_width", "time", "acts")]

    def _codings(self) -> dict[str, Coding]:
        k, j = self.core.n_arms, int(self.core.horizon).bit_length()
        several = Coding(spaces.MultiDiscrete([k, j]), self._as_is, partial(self._mask, k + j, (0, k)))
        one = Coding(spaces.Discrete(k * j), self._divided, partial(self._mask, k * j, (0,)))
        return {"discrete": one, "multidiscrete": several, "native": several}

    def _divided(self, action: Array) -> Array:
        pair = np.empty((*action.shape, 2), np.int64)
        np.divmod(action, int(self.core.horizon).bit_length(), out=(pair[..., 0], pair[..., 1]))
        return pair

    def _mask(self, width: int, always: tuple[int, ...]) -> Array:
        """Return the mask ``(R, M, width)`` of choices; servers without users left have only the choices `always`."""
        mask = (self.observations[..., self.layout["acts"]] != 0).repeat(width, -1)
        for column in always:
            mask[..., column] = True
        return mask

    def _start(self, rows: slice | Array) -> None:
        if isinstance(rows, slice):
            self._served = np.zeros(self._seats.shape, np.int64)
            self.observations[..., self.layout["acts"]] = 1.0
        self._served[rows] = 0

    def arms(self, action: Array) -> tuple[Array, Array]:
        """Return the arm and the number of users of each server's block."""
        self.arm = np.ascontiguousarray(action[..., 0], np.int64)
        return self.arm, 1 << action[..., 1].astype(np.int64)

    def pulled(self, obs: Observation) -> None:
        """Store how many users each server has served; their rewards arrive in phase 2."""
        self._before, self._served = self._served, np.array(self.core.served)

    def earned(self, before: Observation) -> Array:
        """Return zeros, because users report their rewards in phase 2."""
        return np.zeros(self._seats.shape)

    def heard(self, obs: Observation) -> None:
        """Add the users' reports to the statistics and observations."""
        inbox = obs.inbox
        assert inbox is not None
        self._paid = np.empty(self._seats.shape)
        _hear_blocks(
            self.arm, inbox.total("n"), inbox.total("reward"), self._before, self._served, self.core.horizon,
            self.pulls, self.sums, self._paid, self.observations, *self._columns
        )  # fmt: skip

    def answered(self) -> Array:
        """Return each server's reward: the mean reward of its block, times the block's share of the horizon.

        The mean reward is the decoded or the true one.
        """
        if not self._oracle:
            return self._paid
        mean: Array = self.core.law.mean(self.core.arms.pick(self.arm, self._before)[0])
        return mean * ((self._served - self._before) / self.core.horizon)

    def show_turn(self, pull: bool, talk: bool) -> None:
        """Mark in the observations which servers act: in a step with phase 1, all servers that have users left.

        Servers never send messages.
        """
        self._flagged = pull, talk
        self.observations[..., self.layout["acts"]] = (pull & (self._served < self.core.horizon))[..., None]


@jit
def _hear_blocks(  # type: ignore[no-untyped-def]
    arm, n, total, before, served, horizon, pulls, sums, paid, obs, mean, width, time, acts
):
    """Add each server's decoded sum to its statistics and observation, and write its reward to `paid`."""
    for r in range(arm.shape[0]):
        for m in range(arm.shape[1]):
            k = arm[r, m]
            pulls[r, m, k] += n[r, m]
            sums[r, m, k] += total[r, m]
            obs[r, m, mean + k] = min(max(sums[r, m, k] / max(pulls[r, m, k], 1.0), -WIDE), WIDE)
            obs[r, m, width + k] = 1.0 / math.sqrt(1.0 + pulls[r, m, k])
            obs[r, m, time] = served[r, m] / horizon
            obs[r, m, acts] = served[r, m] < horizon
            paid[r, m] = total[r, m] / max(n[r, m], 1) * ((served[r, m] - before[r, m]) / horizon)
