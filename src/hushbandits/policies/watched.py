"""A policy at work: how it starts in an env, and one's own watched, so that its mistakes carry its name."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from hushbandits.core.env_view import World
from hushbandits.core.fields import check_unit_rewards
from hushbandits.core.ground.names import words
from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import shown
from hushbandits.core.luck.rewards import Stable
from hushbandits.core.luck.tapes import run_seeds, streams
from hushbandits.core.wrapper import Wrapper
from hushbandits.policies.luck import words as luck_words
from hushbandits.policies.policy import Policy

__all__ = ["Watched", "started", "tried"]


def started(
    policy: Policy, env: World, learners: int, plays: int, luck: Array | None = None, heard: bool = False
) -> NamedTuple:
    """Return the state of a policy's learners in `env`; `heard`: they learn from other agents' reports, too.

    Raises
    ------
    ValueError
        The policy needs a moment that the rewards do not have, rewards in [0, 1], or another ε than that of the
        mechanism which noises them; or one's own raised.
    """
    if policy.unit_interval:
        check_unit_rewards(f"policy {policy.name}", env, heard)
    law = getattr(env, "law", None)  # a law of one's own is not shown
    if isinstance(law, Stable) and policy.order >= law.alpha:
        raise ValueError(
            f"policy {policy.name} needs E |X|^{policy.order:g} to be finite; of {law!r} only moments of an order "
            f"below {law.alpha:g} are (Robust-UCB with excess < {law.alpha - 1:.3g})"
        )
    policy = _tied(policy, env)
    try:
        return policy.state(learners, env.n_arms, plays, luck)
    except Exception as error:
        if policy.ships:
            raise
        raise ValueError(f"policy {policy.name}: state raised {words(error)}") from error


def tried(policy: Policy, env: World, plays: int, heard: bool = False) -> None:
    """Raise ``ValueError`` where a policy cannot start in `env`: as `started` says of a learner that is thrown away."""
    luck = luck_words(streams(run_seeds(0, 1), policy.name)) if policy.random else None
    started(policy, env, 1, plays, luck, heard)


def _tied(policy: Policy, env: World) -> Policy:
    for wrapper in env.wrappers if policy.shared else ():
        if type(wrapper).tell is Wrapper.tell:  # it leaves alone what agents are told
            continue
        for name in policy.shared:
            mine, its = getattr(policy, name), getattr(wrapper, name, None)
            if its is not None and mine not in (None, its):
                raise ValueError(
                    f"{name}={mine!r} of policy {policy.name} differs from {name}={its!r} of {wrapper.name}"
                )
            policy = copy(policy)
            setattr(policy, name, mine if its is None else its)
    return policy


class Watched:
    """The two rules of one's own policy, watched call by call.

    Raises
    ------
    ValueError
        One's own policy raised, or answered with what is no arm; the sentence names policy, round and learner.
    """

    def __init__(self, policy: Policy, n_arms: int):
        self._policy, self._n_arms = policy, n_arms
        self.t = 0  #: The round, for its sentences.

    def choose(self, state: NamedTuple, r: int) -> int:
        """Return the arm of learner r, checked."""
        try:
            arm = self._policy.choose(state, r)
        except Exception as error:
            raise ValueError(f"{self._where}: choose raised {words(error)}") from error
        if not isinstance(arm, (int, np.integer)) or isinstance(arm, bool) or not 0 <= arm < self._n_arms:
            raise ValueError(f"{self._where}: choose answered {shown(arm)}; arms are 0..{self._n_arms - 1}")
        return int(arm)

    def update(self, state: NamedTuple, r: int, arm: int, reward: float) -> None:
        """Hand learner r a reward."""
        try:
            self._policy.update(state, r, int(arm), float(reward))
        except Exception as error:
            raise ValueError(f"{self._where}: update raised {words(error)}") from error

    @property
    def _where(self) -> str:
        return f"policy {self._policy.name}, round {self.t}"
