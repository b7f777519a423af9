"""Privatized feedback as a learner meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from hushbandits.core.task import Part, Task, count
from hushbandits.core.types import Array
from hushbandits.core.validate import choice
from hushbandits.core.world import World
from hushbandits.envs.feedback import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FeedbackTask"]


class FeedbackTask(Task):
    """Every server prescribes an arm to a block of new users, and is told what the protocol lets through.

    Action: ``MultiDiscrete([K, ⌊log₂ T⌋ + 1])``, arm and j: the block has ``n = 2^j`` users, cut at the horizon.
    The shared parts count users: ``own_mean`` and ``own_width`` are of what was decoded.  A server earns the decoded
    mean of its block (0 where nothing arrived); the users answer within a merged step.  A server whose users are
    used up goes on without effect until all are (``acts`` is 0).

    Parameters
    ----------
    core : Feedback
    reward : str
        ``"decoded"``, or ``"oracle"``: the true mean of the prescribed arm, which no protocol would let through.

    Examples
    --------
    >>> import hushbandits as hb
    >>> FeedbackTask(hb.make_core("DistDP-v0", horizon=1000)).action_space
    MultiDiscrete([10 10])
    """

    prompt = True

    def __init__(self, core: World, reward: str = "decoded"):
        self._oracle = choice("reward", reward, ("decoded", "oracle")) == "oracle"
        self.labels = {"reward": "oracle"} if self._oracle else {}
        super().__init__(core)

    @property
    def _plain(self) -> bool:
        return False  # what is decoded is noisy

    def _parts(self) -> dict[str, Part]:
        return {}

    def _action_space(self) -> spaces.MultiDiscrete:
        return spaces.MultiDiscrete([self.core.n_arms, int(self.core.horizon).bit_length()])

    def fits(self, action: Array) -> bool:
        """An arm and a power of two each."""
        pairs = action.dtype.kind in "iu" and action.shape[1:] == (2,)
        assert isinstance(self.action_space, spaces.MultiDiscrete)
        return pairs and bool(action.min() >= 0 and (action < self.action_space.nvec).all())

    def pull(self, action: Array) -> Array:
        """Blocks of users pull what they were told."""
        core = self.core
        self.arm = np.ascontiguousarray(action[..., 0], np.int64)
        self._asked = core.served < core.horizon
        if self._oracle:
            self._true = core.law.mean(core.arms.pick(self.arm, core.served)[0])
        self.obs = core.pull((self.arm, 1 << action[..., 1].astype(np.int64)))
        return self._idle

    def talk(self, action: object) -> Array:
        """The users report; the server has nothing to say."""
        core = self.core
        self.obs = core.talk()
        inbox = self.obs.inbox
        assert inbox is not None
        n, total = inbox.total("n"), inbox.total("reward")
        count(self.arm, n, total, self.pulls, self.sums)
        self._show("own", self._seats, self.pulls, self.sums)
        self._obs[..., self.layout["time"]] = (core.served / core.horizon)[..., None]
        if self._oracle:
            return np.where(self._asked, self._true, 0.0)
        return total / np.maximum(n, 1)

    def closing(self) -> Array:
        """Every server has had its T users."""
        core = self.core
        done: Array = (core.served >= core.horizon).all(1)
        return done

    def observe(self, pull: bool, talk: bool) -> Array:
        """Servers never speak; one whose users are used up does not act either."""
        core = self.core
        self._obs[..., self.layout["acts"]] = (pull & (core.served < core.horizon))[..., None]
        return self._obs.copy()

    def say(self) -> list[str]:
        """As `picture.say`."""
        return picture.say(self)

    def draw(self, figure: Figure) -> None:
        """As `picture.draw`."""
        picture.draw(self, figure)
