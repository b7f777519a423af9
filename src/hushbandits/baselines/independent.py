"""Independent agents, each of which plays a single-agent policy without messages."""

from collections.abc import Callable
from typing import NamedTuple

from hushbandits.agents.policy_team import PolicyTeam, Turned
from hushbandits.core import LONGEST, Streams, World
from hushbandits.envs.network.rules import Rules, nothing
from hushbandits.policies.policy import tried


def each_alone(choose: Callable[..., int], update: Callable[..., None], turned: Turned) -> Rules:
    """Return the rules of agents that each play a policy on one row of the policy's state, without messages."""

    @turned
    def act(own, t, r, arms):
        agents = arms.shape[1]
        for m in range(agents):
            arms[r, m] = choose(own, r * agents + m)

    @turned
    def learn(own, r, arms, rewards):
        agents = arms.shape[1]
        for m in range(agents):
            update(own, r * agents + m, arms[r, m], rewards[r, m])

    return Rules(act, learn, nothing)


class Alone(PolicyTeam):
    """Independent agents, each of which plays a policy without messages.

    On a network of one agent it is the plain bandit.  The policies name their sources; independent play is a baseline
    of this package.
    """

    quiet = LONGEST
    around = staticmethod(each_alone)

    @property
    def name(self) -> str:
        return self.policy.name

    def validate_env(self, env: World) -> None:
        tried(self.policy, env, env.horizon)

    def begin(self, env: World, rng: Streams) -> NamedTuple:
        return self.learners(env, rng, env.n_agents, env.horizon)

    def ahead(self) -> int:
        """Return how many rounds compiled code may play; 0 for a user-defined policy."""
        return super().ahead() if self._ships else 0
