"""Loss: messages that never leave their sender."""

from __future__ import annotations

from typing import Any

from hushbandits.core.env import Env
from hushbandits.core.messages import Fields
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
    >>> hb.make_vec("DPMASE-v0", wrappers=[Loss(0.1)]).wrappers
    (Loss(rate=0.1),)
    """

    def __init__(self, rate: float = 0.1, *, name: str | None = None):
        super().__init__(name=name)
        self.rate = probability("rate", rate)

    def accept(self, fields: Fields, env: Env) -> Fields:
        """Takes any message."""
        return fields

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Open the tape."""
        self._users = self.generators(seeds)
        width = env.n_arms if env.setting == "exploration" else env.n_agents
        self._luck = self.uniforms(seeds, (width,), "/messages")

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]:
        """Drop what luck picks."""
        kept = self._luck.next() >= self.rate
        if env.setting == "exploration" and "vote" in message:
            return {**message, "vote": message["vote"] & kept[:, None]}
        return {**message, "sent": message["sent"] & kept}
