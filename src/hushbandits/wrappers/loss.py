"""Loss: messages that never leave their sender."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core.world import World
from hushbandits.core.messages import Fields, require
from hushbandits.core.tapes import Ragged
from hushbandits.core.types import Seeds
from hushbandits.core.validate import probability
from hushbandits.core.wrapper import Wrapper

__all__ = ["Loss"]


class Loss(Wrapper):
    """Each message is lost at its source with probability `rate`, independently.

    What is lost is lost for all receivers and for good; a receiver of states (published means) goes by the last
    one that reached it.  Exploration loses vote by vote, not ballot by ballot; network one agent's report of one
    round; feedback one user's report.

    Parameters
    ----------
    rate : float
        Loss probability, in [0, 1].
    name : str, optional

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_core("DPMASE-v0", wrappers=[Loss(0.1)]).wrappers
    (Loss(rate=0.1),)
    """

    def __init__(self, rate: float = 0.1, *, name: str | None = None):
        super().__init__(name=name)
        self.rate = probability("rate", rate)

    def accept(self, fields: Fields, env: World) -> Fields:
        """Takes any message that is still whole: in exploration it needs single votes."""
        if env.setting == "exploration":
            require(self.name, ("vote",), fields)
        return fields

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open the tape."""
        self._users = self.generators(seeds)
        self._votes = Ragged(seeds, self._tape)
        self._luck = self.uniforms(seeds, (env.n_agents,), "/messages")

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]:
        """Drop what luck picks."""
        if env.setting == "exploration":
            vote = message["vote"] & env.live[:, None, None]
            for r in np.flatnonzero(vote.any((1, 2))):  # only who votes has something to lose
                vote[r, 0] &= self._votes.take(int(r), env.n_arms) >= self.rate
            return {**message, "vote": vote}
        if env.setting == "feedback":
            return {**message, "reward": message["reward"].drop(self.rate, self._users)}
        return {**message, "sent": message["sent"] & (self._luck.next() >= self.rate)}

    @property
    def _tape(self) -> str:
        return f"wrapper/{self.name}/votes"

    @property
    def loses(self) -> bool:  # type: ignore[override]
        """Unless its rate is 0."""
        return self.rate > 0

    @property
    def vote_loss(self) -> tuple[float, str] | None:
        """Exactly that."""
        return self.rate, self._tape
