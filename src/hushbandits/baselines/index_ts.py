"""Gaussian Thompson sampling on all received reports, a baseline of this package."""

from typing import NamedTuple

from hushbandits.baselines.dubey2020 import pool
from hushbandits.baselines.independent import each_alone
from hushbandits.core import Streams, World, jit, real
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.policies.thompson import GaussianTS


class IndexTS(NetworkTeam):
    """Gaussian Thompson sampling on the agent's own pulls and all reports from agents within γ hops.

    Each agent plays the arm of the largest draw from ``N((μ₀ + s_k)/(N_k + 1), σ²/(N_k + 1))``, with N_k, s_k over own
    and received pulls.  Source: own; the index is that of Agrawal & Goyal 2013 (`GaussianTS`), and it pools what
    `MultiUCB` pools.  The defaults were tuned on `CoopNetwork-Train-v0`; docs/to-beat.md says how.

    Parameters
    ----------
    sigma : float
        σ of the draws.
    prior : float
        μ₀, the mean of an arm without pulls.
    """

    name = "Index-TS"
    required_inbox: tuple[str, ...] = ("tally",)
    rules = each_alone(GaussianTS.choose, GaussianTS.update, jit)._replace(receive=pool, takes="tally")

    def __init__(self, sigma: float = 0.15, prior: float = 1.0):
        self.sigma, self.prior = real("sigma", sigma, 0), real("prior", prior)

    def begin(self, env: World, rng: Streams) -> NamedTuple:
        cursors = rng.cursors(env.n_agents)
        state = GaussianTS(self.sigma).state(len(rng) * env.n_agents, env.n_arms, env.horizon, cursors)
        state.s[:] = self.prior
        return state
