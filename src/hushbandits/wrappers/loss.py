"""Loss: messages that never leave their sender."""

from __future__ import annotations

from hushbandits.core.env_view import World
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.ground.validate import probability
from hushbandits.core.payload import Payload
from hushbandits.core.wrapper import Wrapper


class Loss(Wrapper):
    """Each message is lost at its source with probability `rate`, independently.

    What is lost is lost for all receivers and for good; a receiver of states (published means) goes by the last
    one that reached it.  Exploration loses vote by vote, not ballot by ballot; network one agent's report of one
    round; feedback one user's report.  A model of our own.

    Parameters
    ----------
    rate : float
        Loss probability, in [0, 1].
    """

    verbs = ("drop",)

    def __init__(self, rate: float = 0.1, *, name: str | None = None):
        super().__init__(name=name)
        self.rate = self.drop_prob = probability("rate", rate)

    def reset(self, env: World, seeds: Seeds) -> None:
        self._luck = env.payload.luck("drop", self.name, env, seeds)

    def _begin(self, env: World, seeds: Seeds, rows: Array) -> None:
        self._luck.begin(seeds, rows)

    def send(self, message: Payload, env: World) -> Payload:
        return message.drop(self.rate, self._luck)
