"""Privatized feedback as a learner meets it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core import Array, Coding, Observation, Part, World, choice
from hushbandits.core.task import add_pulls
from hushbandits.envs.feedback.render import BlockPicture


class FeedbackTask(BlockPicture):
    """Every server prescribes an arm to a block of new users, and is told what the protocol lets through.

    Action: arm k and j: the block has ``n = 2^j`` users, cut at the horizon; ``Discrete(K·J)`` of ``k·J + j`` with
    ``J = ⌊log₂ T⌋ + 1``, or ``MultiDiscrete([K, J])``.
    The shared parts count users: ``own_mean`` and ``own_width`` are of what was decoded.  A server earns the decoded
    mean of its block times the share of its T users who were asked, ``n/T`` (0 where nothing arrived), so that a
    return is what a user pays on average, and orders servers as their regret does.  A server whose users are
    used up goes on without effect until all are (``acts`` is 0).

    Parameters
    ----------
    core : Feedback or its EnvView
    reward : str
        ``"decoded"``, or ``"oracle"``: the true mean of the prescribed arm, which no protocol would let through.
    **options
        As for `Task`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> FeedbackTask(hb.make_batched("DistDP-v0", horizon=1000), actions="multidiscrete").action_space
    MultiDiscrete([10 10])
    """

    def __init__(self, core: World, *, reward: str = "decoded", **options: Any):
        self._oracle = choice("reward", reward, ("decoded", "oracle")) == "oracle"
        self.labels = {"reward": "oracle"} if self._oracle else {}
        super().__init__(core, **options)

    @property
    def _plain(self) -> bool:
        return False  # what is decoded is noisy

    def _parts(self) -> dict[str, Part]:
        return {}

    def _codings(self) -> dict[str, Coding]:
        k, j = self.core.n_arms, int(self.core.horizon).bit_length()
        several = Coding(spaces.MultiDiscrete([k, j]), self._as_is, self._pairs)
        one = Coding(spaces.Discrete(k * j), self._divided, self._ones)
        return {"discrete": one, "multidiscrete": several, "native": several}

    def _divided(self, action: Array) -> Array:
        pair = np.empty((*action.shape, 2), np.int64)
        np.divmod(action, int(self.core.horizon).bit_length(), pair[..., 0], pair[..., 1])
        return pair

    def _acting(self) -> Array:
        """(R, M) servers that still have users."""
        return self.observations[..., self.layout["acts"].start] > 0

    def _ones(self) -> Array:
        space = self.codings["discrete"].space
        assert isinstance(space, spaces.Discrete)
        acting = self._acting()
        mask = np.empty((*acting.shape, space.n), bool)
        mask[:] = acting[..., None]
        mask[..., 0] = True
        return mask

    def _pairs(self) -> Array:
        k, j = self.core.n_arms, int(self.core.horizon).bit_length()
        mask = np.repeat(self._acting()[..., None], k + j, -1)
        mask[..., [0, k]] = True
        return mask

    def _start(self, rows: slice | Array) -> None:
        if isinstance(rows, slice):
            self._served = np.zeros(self._seats.shape, np.int64)
        self._served[rows] = 0
        self.observations[rows, :, self.layout["acts"]] = 1.0

    def arms(self, action: Array) -> tuple[Array, Array]:
        """An arm for a block, and its users."""
        self.arm = np.ascontiguousarray(action[..., 0], np.int64)
        return self.arm, 1 << action[..., 1].astype(np.int64)

    def pulled(self, obs: Observation) -> None:
        """The users have yet to answer."""
        self._before, self._served = self._served, np.array(self.core.served)

    def earned(self, before: Observation) -> Array:
        """Nothing, before the users have reported."""
        return np.zeros(self._seats.shape)

    def heard(self, obs: Observation) -> None:
        """The users have reported."""
        inbox = obs.inbox
        assert inbox is not None
        self._n, self._total = inbox.total("n"), inbox.total("reward")
        add_pulls(self.arm, self._n, self._total, self.pulls, self.sums)
        self.show_arms("own", self._seats, self.pulls, self.sums)
        self.observations[..., self.layout["time"]] = (self._served / self.core.horizon)[..., None]

    def answered(self) -> Array:
        """What its users pay."""
        core = self.core
        mean = self._total / np.maximum(self._n, 1)
        if self._oracle:
            mean = core.law.mean(core.arms.pick(self.arm, self._before)[0])
        return mean * ((self._served - self._before) / core.horizon)

    def show_turn(self, pull: bool, talk: bool) -> None:
        """Servers never speak; one whose users are used up does not act either."""
        self.observations[..., self.layout["acts"]] = (pull & (self._served < self.core.horizon))[..., None]
