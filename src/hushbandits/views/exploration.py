"""Private exploration as a learner meets it."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core.types import Array, Seeds
from hushbandits.views.lens import Lens, Part

__all__ = ["ExplorationLens"]


class ExplorationLens(Lens):
    """One agent acts; whoever pulled last may vote.

    Action: ``MultiBinary(2K)``, arms to pull, then votes.  Arms count from the agent whose ``acts`` is 1, votes
    from the one whose ``speaks`` is 1; everybody else's are void.  Further parts: ``own_votes`` (what this agent
    has cast) and ``active`` (the global set 𝒦).  Everyone earns ``−1/horizon`` per counted round, and +1 at the
    end if 𝒦 is the best arm alone, else −1: a return is ``±1 − rounds/horizon``.

    Examples
    --------
    >>> import hushbandits as hb
    >>> ExplorationLens(hb.make_vec("DPMASE-v0", horizon=1000)).action_space
    MultiBinary(20)
    """

    def _parts(self) -> dict[str, Part]:
        k = self.core.n_arms
        return {"own_votes": (k, 0.0, 1.0), "active": (k, 0.0, 1.0)}

    def _action_space(self) -> spaces.Space[Any]:
        return spaces.MultiBinary(2 * self.core.n_arms)

    def fits(self, action: Array) -> bool:
        """Two rows of bits each."""
        bits = action.dtype.kind in "biu" and action.shape[1:] == (2 * self.core.n_arms,)
        return bits and bool(action.min() >= 0 and action.max() <= 1)

    def reset(self, seeds: int | Seeds) -> None:
        """Everything is still in the global set."""
        super().reset(seeds)
        self._runs = np.arange(self.core.runs)
        self._obs[..., self.layout["active"]] = 1.0

    def pull(self, action: Any) -> Array:
        """The next agent pulls its arm set; one more round costs everyone."""
        core, k = self.core, self.core.n_arms
        who = core.who[:, 0]
        before = core.t
        reward = core.pull(action[self._runs, who, :k].astype(bool)[:, None]).reward
        assert reward is not None
        pulled = ~np.isnan(reward[:, 0])
        seat = self._runs, who
        self.pulls[seat] += pulled
        self.sums[seat] += np.where(pulled, reward[:, 0], 0.0)
        self._show("own", self.pulls[seat], self.sums[seat], seat)
        self._tick(core.t)
        return self._idle - ((core.t - before) / core.horizon)[:, None]

    def talk(self, action: Any | None) -> Array:
        """Whoever pulled last votes; everyone is told 𝒦."""
        core, k = self.core, self.core.n_arms
        vote = None
        if action is not None:
            seat = self._runs, core.who[:, 0]
            vote = action[seat][:, k:].astype(bool) & core.live[:, None]
            cast = (*seat, self.layout["own_votes"])
            self._obs[cast] = np.maximum(self._obs[cast], vote)
        inbox = core.talk(None if vote is None else {"vote": vote[:, None]}).inbox
        assert inbox is not None
        self._obs[..., self.layout["active"]] = inbox["active"][:, :, 0]
        return self._idle

    def closing(self) -> Array:
        """Nobody is left to act, or the rounds are used up."""
        core: Any = self.core
        late: Array = core.deserted | (core.t >= core.horizon)
        return late

    def verdict(self) -> Array:
        """+1 for the right arm, else −1."""
        return np.where(self.core.metrics()["correct"], 1.0, -1.0)

    def solved(self) -> Array:
        """At most one arm, or nobody, is left."""
        core: Any = self.core
        done: Array = (core.metrics()["arms"] <= 1) | core.deserted
        return done

    def observe(self, pull: bool, talk: bool) -> Array:
        """The flags single out the next agent, and the one that pulled last."""
        core: Any = self.core
        for flag, due, agent in (("acts", pull, core.upcoming), ("speaks", talk, core.who[:, 0])):
            self._obs[..., self.layout[flag]] = 0.0
            if due:
                self._obs[self._runs, agent, self.layout[flag]] = 1.0
        return self._obs.copy()
