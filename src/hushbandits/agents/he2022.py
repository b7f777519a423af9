"""He, Wang, Min & Gu 2022, on asynchronous federated contextual linear bandits: FedLinUCB.

"A Simple and Provably Efficient Algorithm for Asynchronous Federated Contextual Linear Bandits", NeurIPS.  An agent
uploads when its own pulls have made the determinant of what it last downloaded grow by a factor 1 + α.
"""

import math

from hushbandits.agents.linear_team import LinearTeam
from hushbandits.core import World, real


class FedLinUCB(LinearTeam):
    """Asynchronous federated LinUCB (He et al. 2022, algorithm 1).

    An active agent m plays by (V, b), its last download, and adds its pull to (S, s).  It uploads (S, s) if
    ``det(V + S) > (1 + α) det V``; the server answers with its sums, and S = s = 0.  Nobody else takes part.

    Parameters
    ----------
    alpha : float
        α; 1/M² in theorem 5.1, 1 in the experiments.
    beta, ridge, sigma, delta
        As in `LinearTeam`; β = ½ and λ = 1 in the experiments.

    Notes
    -----
    V starts as λI, as in the paper; in the authors' code it starts as 0.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("FedLinear-v0", "FedLinUCB", runs=4, env={"horizon": 300})
    >>> bool((result.final("uploads") == result.final("downloads")).all())
    True
    """

    server = "answer"
    lags = True

    def __init__(
        self, alpha: float = 1.0, beta: float | None = 0.5, ridge: float = 1.0, sigma: float = 0.5, delta: float = 0.05
    ):
        super().__init__(beta, ridge, sigma, delta)
        self.alpha = real("alpha", alpha, 0)

    def threshold(self, env: World) -> float:
        return math.log1p(self.alpha)  # line 8
