"""Abbasi-Yadkori, Pál & Szepesvári 2011, "Improved Algorithms for Linear Stochastic Bandits": OFUL.

A learner plays the arm with the largest ``x·θ̂ + β ‖x‖`` in the norm of V⁻¹, where V = λI + Σ x xᵀ and θ̂ = V⁻¹ Σ r x.
The federated algorithms differ in whose pulls V holds, and when.  Thompson sampling stands beside it.
"""

import numpy as np

from hushbandits.agents.linear_team import LinearTeam, never
from hushbandits.core import Array, Streams, World, real
from hushbandits.core.messages import Observation
from hushbandits.core.random.gauss import normal
from hushbandits.core.random.names import DRAWS


class LinUCB(LinearTeam):
    """OFUL on the pulls of all agents: everybody uploads every pull, and downloads the sums in every round.

    Parameters
    ----------
    beta, ridge, sigma, delta
        As in `LinearTeam`.

    Notes
    -----
    Source: Abbasi-Yadkori et al. 2011, theorem 2; the central baseline of He et al. 2022.
    """

    alike = True


class LinUCBAlone(LinearTeam):
    """OFUL of each agent on its own pulls, without messages.

    Parameters
    ----------
    beta, ridge, sigma, delta
        As in `LinearTeam`.
    """

    required_inbox = ()
    trigger = never


class LinTS(LinUCB):
    """Thompson sampling on the pulls of all agents: ``argmax x·θ̃`` with θ̃ ∼ N(θ̂, v² V⁻¹).

    Parameters
    ----------
    v : float
        v.
    ridge : float
        λ.

    Notes
    -----
    Source: Agrawal & Goyal 2013, "Thompson Sampling for Contextual Bandits with Linear Payoffs", algorithm 1.
    """

    def __init__(self, v: float = 0.5, ridge: float = 1.0):
        super().__init__(beta=0.0, ridge=ridge)
        self.v = real("v", v, 0)

    def reset(self, env: World, rng: Streams) -> None:
        super().reset(env, rng)
        self._draws = rng.reader((env.n_agents if env.activity == "all" else 1, env.n_features), DRAWS)

    def act(self, obs: Observation) -> Array:
        spread = np.linalg.cholesky(self.played.inverse[:, 0])
        noise = self.v * np.einsum("rij,raj->rai", spread, normal(self._draws.next()))
        features, sample = self.env.features, self.played.theta[:, :1] + noise
        self.who = obs.active_agents
        arm: Array = np.einsum("rakd,rad->rak", features, sample).argmax(2)
        return arm
