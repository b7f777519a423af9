"""The non-private multi-agent UCB that Dubey & Pentland 2020 compare with."""

from hushbandits.baselines.independent import each_alone
from hushbandits.core import Streams, World, jit
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.policies.policy import Sums, sums
from hushbandits.policies.ucb import UCB1


@jit
def pool(own, r, heard, t):
    """Add the received counts and reward sums `heard` to ``own.n`` and ``own.s`` of the agents of run r."""
    first = r * heard.shape[0]
    for m in range(heard.shape[0]):
        for k in range(heard.shape[1]):
            own.n[first + m, k] += heard[m, k, 0]
            own.s[first + m, k] += heard[m, k, 1]


class MultiUCB(NetworkTeam):
    """UCB1 on the agent's own pulls and all reports from agents within γ hops.

    Index ``s_k/N_k + √(2 ln t / N_k)`` with N_k, s_k over own and received pulls; an arm without one is
    played first, ties go to the lowest index.  Dubey & Pentland 2020 compare with it.
    """

    required_inbox: tuple[str, ...] = ("tally",)
    rules = each_alone(UCB1.choose, UCB1.update, jit)._replace(receive=pool, takes="tally")

    def begin(self, env: World, rng: Streams) -> Sums:
        return sums(len(rng) * env.n_agents, env.n_arms)
