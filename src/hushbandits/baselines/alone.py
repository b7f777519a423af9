"""Every agent by itself: a single-agent policy, no messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.luck.tapes import streams
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.team import Protocol
from hushbandits.core.world import World
from hushbandits.envs.network.episode import NetworkTeam, Rules
from hushbandits.policies.luck import words
from hushbandits.policies.shelf import AnyPolicy, given_to, make_policy
from hushbandits.policies.watched import Watched, started, tried

__all__ = ["Alone"]


class _Learners(NamedTuple):
    pi: Any  # the policy's, one learner per run and agent


@jit
def _ignore(own, r, mail, t):
    pass


@lru_cache
def _rules(choose: Callable[..., int], update: Callable[..., None]) -> Rules:
    @jit
    def act(own, t, r, arms):
        agents = arms.shape[1]
        for m in range(agents):
            arms[r, m] = choose(own.pi, r * agents + m)

    @jit
    def learn(own, r, arms, rewards):
        agents = arms.shape[1]
        for m in range(agents):
            update(own.pi, r * agents + m, arms[r, m], rewards[r, m])

    return Rules(act, learn, _ignore, sends=False)


class Alone(NetworkTeam):
    """Each agent plays a policy by itself; it sends nothing and hears nothing.

    On a network of one it is the plain bandit.

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

    def __init__(self, policy: AnyPolicy = "UCB1", **params: object):
        self.policy = make_policy(policy, **params)

    @property
    def name(self) -> str:
        """The policy's."""
        return self.policy.name

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """The mechanism gets the policy's ε."""
        return Protocol(env=given_to(self.policy, settings))

    def meets(self, env: World) -> None:
        """Raise ``ValueError`` where the policy cannot play."""
        tried(self.policy, env, env.horizon)

    def reset(self, env: World, seeds: Seeds) -> None:
        """Forget everything."""
        runs, agents = len(seeds), env.n_agents
        luck = words(streams(seeds, f"policy/{self.policy.name}"), agents) if self.policy.random else None
        self._pi = started(self.policy, env, runs * agents, env.horizon, luck)
        self._asked = Watched(self.policy, self._pi, env.n_arms)
        self._arm = np.zeros((runs, agents), np.int64)

    def act(self, obs: Obs) -> Array:
        """Everyone asks its policy."""
        self._asked.choose(self._arm.reshape(-1), int(obs.t[0]) + 1)
        return self._arm

    def speak(self, reward: Array) -> dict[str, Any]:
        """Every policy takes its own reward; nobody tells anybody."""
        self._asked.update(self._arm.reshape(-1), np.ascontiguousarray(reward).reshape(-1))
        return {"arm": self._arm, "reward": reward, "sent": np.zeros(reward.shape, bool)}

    def hear(self, inbox: Inbox) -> None:
        """Ignore it."""

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """Compiled around the policy's."""
        return _rules(self.policy.choose, self.policy.update)

    def state(self) -> _Learners:
        """The policy's."""
        return _Learners(self._pi)

    def ahead(self) -> int:
        """One's own policy goes by the beats, where it is watched."""
        return super().ahead() if self.policy.ships else 0
