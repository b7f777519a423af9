"""Messages that get lost."""

from __future__ import annotations

from hushbandits.core import Fields, Guarantee, Payload, Streams, World, Wrapper, require, set_rows
from hushbandits.core.guarantee import hides
from hushbandits.core.payload import Luck
from hushbandits.core.utils import Array, probability, real


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
    _luck: Luck

    def __init__(self, rate: float = 0.1, *, name: str | None = None):
        super().__init__(name=name)
        self.rate = self.drop_prob = probability("rate", rate)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        set_rows(self, rows, _luck=env.payload.luck("drop", env, rng))

    def send(self, message: Payload, env: World) -> Payload:
        return message.drop(self.rate, self._luck)


class VoteCorruption(Loss):
    """The corruption mask of Rio et al. 2023, algorithm 3: at the source, vote by vote, ``ν ~ Bernoulli(1 − ξ)``.

    Parameters
    ----------
    xi : float
        ξ ∈ [0, 1).
    """

    def __init__(self, xi: float = 0.0, *, name: str | None = None):
        self.xi = real("xi", xi, 0, 1, closed="low")
        super().__init__(rate=self.xi, name=name)

    def sends(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("vote",), fields)
        return fields

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        inputs = "none: (ε, η)-privacy bounds how often an observer names an agent's best arm"
        assumptions = (
            "as claimed by the paper: its proof bounds the observer's accuracy from below, and measured accuracy "
            "exceeds the bound",
            "seeded corruption is a simulation",
        )
        text = f"each vote lost with probability {self.rate:g}"
        view, source = "an observer of one agent's messages who knows the algorithm", "Rio et al. 2023, proposition 5.1"
        return hides(text, inputs, view, assumptions, source)
