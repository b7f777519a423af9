"""Every agent by itself: a single-agent policy, no messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hushbandits.agents.policy_team import PolicyTeam, Turned
from hushbandits.core import LONGEST, Streams, World
from hushbandits.envs.network.rules import Rules, nothing
from hushbandits.policies.start import tried


def each_alone(choose: Callable[..., int], update: Callable[..., None], turned: Turned) -> Rules:
    """Return the rules of agents who play a policy each, row by row of its state, and hear nothing."""

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
    """Each agent plays a policy by itself; it sends nothing and hears nothing.

    On a network of one it is the plain bandit.  The policies name their sources; to play them alone is our own
    baseline.
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
        """A user-defined policy goes by the phases."""
        return super().ahead() if self._ships else 0
