"""Every agent by itself: a single-agent policy, no messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.luck.tapes import LONGEST, streams
from hushbandits.core.obs import Obs
from hushbandits.core.team import Protocol
from hushbandits.core.world import World
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.envs.network.rules import Rules, interpreted, nothing
from hushbandits.policies.luck import words
from hushbandits.policies.shelf import AnyPolicy, given_to, make_policy
from hushbandits.policies.watched import Watched, started, tried

__all__ = ["Alone"]


class _Learners(NamedTuple):
    pi: Any  # the policy's, one learner per run and agent


@lru_cache
def _compiled(choose: Callable[..., int], update: Callable[..., None]) -> Rules:
    return _rules(choose, update, jit)


def _rules(choose: Callable[..., int], update: Callable[..., None], turned: Callable[..., Any]) -> Rules:
    @turned
    def act(own, t, r, arms):
        agents = arms.shape[1]
        for m in range(agents):
            arms[r, m] = choose(own.pi, r * agents + m)

    @turned
    def learn(own, r, arms, rewards):
        agents = arms.shape[1]
        for m in range(agents):
            update(own.pi, r * agents + m, arms[r, m], rewards[r, m])

    return Rules(act, learn, nothing)


class Alone(NetworkTeam):
    """Each agent plays a policy by itself; it sends nothing and hears nothing.

    On a network of one it is the plain bandit.  The policies name their sources; to play them alone is our own
    baseline.

    Parameters
    ----------
    policy : str, class or Policy
        One of `list_policies`, ``"my_module:MyPolicy"``, a class or a policy.
    **params
        The policy's.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("CoopNetwork-v0", "UCB1", runs=2, env={"horizon": 10}).final("regret").shape
    (2,)
    """

    quiet = LONGEST

    def __init__(self, policy: AnyPolicy = "UCB1", **params: object):
        self.policy = make_policy(policy, **params)
        self._ships = self.policy.ships
        if not self._ships:
            self.made = interpreted

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """Compiled around the policy's; one's own policy is watched, call by call."""
        if self._ships:
            return _compiled(self.policy.choose, self.policy.update)
        return _rules(self._watched.choose, self._watched.update, lambda rule: rule)

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """The mechanism gets the policy's ε."""
        return Protocol(env=given_to(self.policy, settings))

    def meets(self, env: World) -> None:
        """Raise ``ValueError`` where the policy cannot play."""
        tried(self.policy, env, env.horizon)

    def begin(self, env: World, seeds: Seeds) -> _Learners:
        luck = words(streams(seeds, f"policy/{self.policy.name}"), env.n_agents) if self.policy.random else None
        pi = started(self.policy, env, len(seeds) * env.n_agents, env.horizon, luck)
        self._watched = Watched(self.policy, pi, env.n_arms)
        return _Learners(pi)

    def act(self, obs: Obs) -> Array:
        if not self._ships:
            self._watched.t = int(obs.t[0]) + 1
        return super().act(obs)

    def ahead(self) -> int:
        """One's own policy goes by the beats, where it is watched."""
        return super().ahead() if self._ships else 0
