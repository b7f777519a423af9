"""Private exploration as a learner meets it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from hushbandits.core.jit import jit
from hushbandits.core.task import Part, Space, Task
from hushbandits.core.types import Array, Seeds
from hushbandits.envs.exploration import picture
from hushbandits.envs.exploration.votes import finished

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ExplorationTask"]


class ExplorationTask(Task):
    """One agent acts; whoever pulled last may vote.

    Action: ``MultiBinary(2K)``, arms to pull, then votes; where an activation is one arm, ``MultiDiscrete`` of that
    arm (or K: none) and K votes.  Arms count from the agent whose ``acts`` is 1, votes
    from the one whose ``speaks`` is 1; everybody else's are void.  Further parts: ``own_votes`` (what this agent
    has cast) and ``active`` (the global set 𝒦).  Everyone earns ``−1/horizon`` per counted round, and +1 at the
    end if 𝒦 is the best arm alone, else −1: a return is ``±1 − rounds/horizon``.

    Examples
    --------
    >>> import hushbandits as hb
    >>> ExplorationTask(hb.make_core("DPMASE-v0", horizon=1000)).action_space
    MultiBinary(20)
    """

    def _parts(self) -> dict[str, Part]:
        k = self.core.n_arms
        return {"own_votes": (k, 0.0, 1.0), "active": (k, 0.0, 1.0)}

    def _action_space(self) -> Space:
        core = self.core
        k = core.n_arms
        return spaces.MultiDiscrete([k + 1, *[2] * k]) if core.single else spaces.MultiBinary(2 * k)

    def fits(self, action: Array) -> bool:
        """Two rows of bits each, or an arm and a row of bits."""
        core = self.core
        k = core.n_arms
        width, most = (k + 1, k) if core.single else (2 * k, 1)
        whole = action.dtype.kind in "biu" and action.shape[1:] == (width,)
        return whole and bool(action.min() >= 0 and action[:, :-k].max() <= most and action[:, -k:].max() <= 1)

    def reset(self, seeds: int | Seeds) -> None:
        """Everything is still in the global set."""
        super().reset(seeds)
        self._runs = np.arange(self.core.runs)
        self._obs[..., self.layout["active"]] = 1.0

    def pull(self, action: Array) -> Array:
        """The next agent pulls its arm set; one more round costs everyone."""
        core = self.core
        before, who = self.obs.t, self.obs.who
        asked = action[self._runs[:, None], who, : -core.n_arms]
        self.obs = core.pull(asked == np.arange(core.n_arms) if core.single else asked.astype(bool))
        reward = self.obs.reward
        assert reward is not None
        _count_set(who, reward, self.pulls, self.sums)
        self._show("own", who, self.pulls, self.sums)
        self._tick(self.obs.t)
        return self._idle - ((self.obs.t - before) / core.horizon)[:, None]

    def talk(self, action: Array | None) -> Array:
        """Whoever pulled last votes; everyone is told 𝒦."""
        core, message = self.core, None
        if action is not None:
            seat = self._runs[:, None], self.obs.who
            vote = action[seat][..., -core.n_arms :].astype(bool) & self.obs.live[:, None, None]
            if vote.any():
                message = {**core.standard_report(), "vote": vote}
                cast = (*seat, self.layout["own_votes"])
                self._obs[cast] = np.maximum(self._obs[cast], vote)
        self.obs = core.talk(message)
        inbox = self.obs.inbox
        assert inbox is not None
        self._obs[..., self.layout["active"]] = inbox["active"][:, :, 0]
        return self._idle

    def closing(self) -> Array:
        """Nobody is left to act, or the rounds are used up."""
        core = self.core
        late: Array = core.deserted | (self.obs.t >= core.horizon)
        return late

    def final_reward(self) -> Array:
        """+1 for the right arm, else −1."""
        return np.where(self.core.metrics()["correct"], 1.0, -1.0)

    def solved(self) -> Array:
        """Decided, or nobody is left to act."""
        core = self.core
        book = core.book
        rows = zip(book.active.sum(1), book.open_seats, strict=True)
        decided = [finished(book.stop, left, seats) for left, seats in rows]
        done: Array = np.array(decided) | core.deserted
        return done

    def observe(self, pull: bool, talk: bool) -> Array:
        """The flags single out the next agent, and the one that pulled last."""
        core = self.core
        for flag, due, agent in (("acts", pull, core.upcoming), ("speaks", talk, self.obs.who[:, 0])):
            self._obs[..., self.layout[flag]] = 0.0
            if due:
                self._obs[self._runs, agent, self.layout[flag]] = 1.0
        return self._obs.copy()

    def say(self) -> list[str]:
        """As `picture.say`."""
        return picture.say(self)

    def draw(self, figure: Figure) -> None:
        """As `picture.draw`."""
        picture.draw(self, figure)


@jit
def _count_set(who, reward, pulls, sums):
    for r in range(who.shape[0]):
        for a in range(who.shape[1]):
            for k in range(reward.shape[2]):
                if not math.isnan(reward[r, a, k]):
                    pulls[r, who[r, a], k] += 1.0
                    sums[r, who[r, a], k] += reward[r, a, k]
