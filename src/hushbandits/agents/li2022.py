"""Li & Wang 2022, "Asynchronous Upper Confidence Bound Algorithms for Federated Linear Bandits": Async-LinUCB.

Agents upload, and the server sends, whatever has made a determinant grow by a factor γ.
"""

import math

from hushbandits.agents.linear_team import LinearTeam
from hushbandits.core import Requirements, World, real


class AsyncLinUCB(LinearTeam):
    """Asynchronous LinUCB with an upload and a download event (Li & Wang 2022, algorithm 1).

    Agent m plays by V_m, its own newest pulls included; U are those that it has not uploaded.  It uploads U if
    ``det V_m > γ det(V_m − U)``.  The server then sends the difference D_j to each agent j for which
    ``det V > γ det(V − D_j)``.

    Parameters
    ----------
    gamma : float
        γ > 1, of both events.
    beta, ridge, sigma, delta
        As in `LinearTeam`.

    Notes
    -----
    A download holds the server's sums, which tell the agent as much as D_j, because it knows what it has.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("FedLinear-v0", "Async-LinUCB", runs=4, env={"horizon": 300})
    >>> bool((result.final("downloads") <= 14 * result.final("uploads")).all())
    True
    """

    server = "differences"

    def __init__(
        self, gamma: float = 6.0, beta: float | None = 0.5, ridge: float = 1.0, sigma: float = 0.5, delta: float = 0.05
    ):
        super().__init__(beta, ridge, sigma, delta)
        self.gamma = real("gamma", gamma, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require the server's rule, with the same γ and λ."""
        return Requirements(env={"server": self.server, "growth": self.gamma, "ridge": self.ridge})

    def threshold(self, env: World) -> float:
        return math.log(self.gamma)
