"""Explore-then-commit on blocks of users, a baseline of this package."""

import numpy as np

from hushbandits.core import Array, Inbox, Observation, Streams, Team, World, integer


class CommitBlocks(Team):
    """Explore-then-commit: one block of users pulls each arm, and all later users pull the arm with the largest mean.

    Means are decoded means; a block that is lost is asked again.  Source: own; it is explore-then-commit.
    The default of `block` was tuned on `DistDP-Train-v0`; docs/to-beat.md says how.

    Parameters
    ----------
    block : int
        Users per arm.
    """

    name = "Commit-Blocks"
    setting = "feedback"
    required_inbox = ("reward", "n")

    def __init__(self, block: int = 32):
        self.block = integer("block", block, 1)

    def reset(self, env: World, rng: Streams) -> None:
        shape = (len(rng), env.n_agents)
        self._horizon = env.horizon
        self._mean = np.zeros((*shape, env.n_arms))
        self._tried = np.zeros(shape, np.int64)

    def act(self, obs: Observation) -> tuple[Array, Array]:
        trying = self._tried < self._mean.shape[-1]
        self._arm = np.where(trying, self._tried, self._mean.argmax(-1))
        return self._arm, np.where(trying, self.block, self._horizon)

    def receive(self, inbox: Inbox) -> None:
        mean = inbox.total("reward") / np.maximum(inbox.total("n"), 1)
        r, i = (inbox.arrived[:, :, 0] & (self._tried < self._mean.shape[-1])).nonzero()
        self._mean[r, i, self._arm[r, i]] = mean[r, i]
        self._tried[r, i] += 1
