"""Vote corruption: each vote is sent with probability 1 − ξ, otherwise lost for good (Rio et al. 2023)."""

from __future__ import annotations

import math

from hushbandits.core.env_view import World
from hushbandits.core.ground.validate import real
from hushbandits.core.guarantee import Adjacency, Guarantee
from hushbandits.core.messages import Fields, require
from hushbandits.wrappers.loss import Loss


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
        return (
            Guarantee(
                mechanism=f"each vote lost with probability {self.rate:g}",
                epsilon=math.inf,
                delta=0.0,
                adjacency=Adjacency(
                    "none: (ε, η)-privacy bounds how often an observer names an agent's best arm", "none"
                ),
                view="an observer of one agent's messages who knows the algorithm",
                assumptions=(
                    "as claimed by the paper: its proof bounds the observer's accuracy from below, and measured "
                    "accuracy exceeds the bound",
                    "seeded corruption is a simulation",
                ),
                source="Rio et al. 2023, proposition 5.1",
            ),
        )
