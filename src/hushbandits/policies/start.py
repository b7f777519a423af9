"""Functions that start a policy in an env and check the env's rewards and ε."""

from copy import copy
from typing import NamedTuple

from hushbandits.core import Array, Streams, World, Wrapper, spawn_seeds
from hushbandits.core.random.rewards import Stable
from hushbandits.core.utils import words
from hushbandits.policies.policy import Policy


def check_unit_rewards(who: str, env: World, heard: bool = False) -> None:
    """Raise ``ValueError`` if an env may give rewards outside [0, 1] to a rule for rewards in [0, 1].

    Parameters
    ----------
    who : str
        Whose rule it is.
    env : World
        The env, or its view.
    heard : bool
        Whether the rule learns from reports of other agents, too.  A report that an adversary replaced is no reason.

    Raises
    ------
    ValueError
        Names the law, where it is shown, or the wrapper that takes rewards beyond.
    """
    reward = env.own_reward_fields.get("reward")
    if reward is not None and (reward.range[0] < 0.0 or reward.range[1] > 1.0):
        tellers = [w.name for w in env.wrappers if type(w).alter_own_reward is not Wrapper.alter_own_reward]
        law = getattr(env, "law", None)  # a user-defined env may hide its law
        paid = f"those of {tellers[0]}" if tellers else "those of this env" if law is None else repr(law)
        raise ValueError(f"{who} needs rewards in [0, 1], not {paid}")
    noisy = [wrapper.name for wrapper in env.wrappers if "add" in wrapper.operations]
    if heard and noisy:
        raise ValueError(f"{who} needs reported rewards in [0, 1], but {noisy[0]} adds noise to the reports")


def started(
    policy: Policy, env: World, learners: int, plays: int, cursors: Array | None = None, heard: bool = False
) -> NamedTuple:
    """Return the initial state of a policy's learners in `env`.

    Raises
    ------
    ValueError
        The policy needs a moment that the rewards do not have, rewards in [0, 1], or another ε than that of the
        mechanism which noises them; or a user-defined policy raised it.
    """
    if policy.unit_interval:
        check_unit_rewards(f"policy {policy.name}", env, heard)
    law = getattr(env, "law", None)  # a user-defined env may hide its law
    if isinstance(law, Stable) and policy.order >= law.alpha:
        raise ValueError(
            f"policy {policy.name} needs a finite moment of order {policy.order:g}; {law!r} has finite moments only "
            f"below order {law.alpha:g} (use Robust-UCB with excess < {law.alpha - 1:.3g})"
        )
    policy = _tied(policy, env)
    try:
        return policy.state(learners, env.n_arms, plays, cursors)
    except Exception as error:
        if policy.ships:
            raise
        raise ValueError(f"policy {policy.name}: state raised {words(error)}") from error


def tried(policy: Policy, env: World, plays: int, heard: bool = False) -> None:
    """Raise ``ValueError`` if a policy cannot start in `env`."""
    cursors = Streams(spawn_seeds(0, 1)).cursors() if policy.random else None
    started(policy, env, 1, plays, cursors, heard)


def _tied(policy: Policy, env: World) -> Policy:
    for wrapper in env.wrappers if policy.shared else ():
        if type(wrapper).alter_own_reward is Wrapper.alter_own_reward:  # it does not change the agents' own rewards
            continue
        for name in policy.shared:
            mine, its = getattr(policy, name), getattr(wrapper, name, None)
            if its is not None and mine not in (None, its):
                raise ValueError(f"{name}={mine!r} of policy {policy.name} must equal {name}={its!r} of {wrapper.name}")
            policy = copy(policy)
            setattr(policy, name, mine if its is None else its)
    return policy
