"""A checker for policies: what two rules on rows of state owe to whoever plays them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core import Array, integer, shown
from hushbandits.core.luck.tapes import run_seeds, streams
from hushbandits.policies.luck import words
from hushbandits.policies.policy import Policy
from hushbandits.policies.shelf import AnyPolicy, make_policy
from hushbandits.testing.compare import repeatable, required, same
from hushbandits.testing.games import calling, check_hooks, remembering

_PLAYS, _LEARNERS = 40, 3
_HOOKS = ("state", "choose", "update")


def check_policy(policy: AnyPolicy, *, n_arms: int = 4, seed: int = 0, **params: object) -> None:
    """Raise ``AssertionError``, in a sentence with class and rule, unless a policy keeps what every policy promises.

    What is checked:

    * names: no method is called almost as a rule (``chose``, ``updated``);
    * `state` returns a named tuple, whose arrays have a leading axis of learners;
    * ``choose`` answers an arm, an integer in 0..K − 1;
    * rows: a learner's update touches no other learner's row, and a learner alone plays as its row among others;
    * the seed decides all arms, whatever the global random generators hold, and leaves these alone;
    * a new state knows nothing of an old one, and no data of the class changes.

    Parameters
    ----------
    policy : str, class or Policy
        As in `make_policy`.
    n_arms : int
        K; a square, for policies that play duels.
    seed : int
        Seeds its luck, and the rewards in [0, 1].
    **params
        The policy's.

    Raises
    ------
    ValueError, TypeError
        Unknown names or bad parameters.

    Examples
    --------
    >>> check_policy("UCB1")
    """
    n_arms = integer("n_arms", n_arms, 2)
    for cls in (policy, type(policy)):
        if isinstance(cls, type) and issubclass(cls, Policy):  # a rule that is misspelt is missing in `make_policy`
            check_hooks(cls, Policy, _HOOKS)
    made = make_policy(policy, **params)
    cls = type(made)
    check_hooks(cls, Policy, _HOOKS)
    learners = _LEARNERS + (n_arms == _LEARNERS)
    luck = words(streams(run_seeds(seed, 1), "policy"), learners) if made.random else None
    rewards = np.random.default_rng(seed).random((learners, _PLAYS))
    with remembering(cls):
        first = repeatable(lambda: _arms(made, n_arms, rewards, luck), cls.__name__, "the same luck")
        for r in range(learners):
            alone = _arms(made, n_arms, rewards[r : r + 1], None if luck is None else luck[r : r + 1])
            same(alone, first[:, r : r + 1], f"{cls.__name__}: learner {r} alone and its row among {learners}")


def _arms(policy: Policy, n_arms: int, rewards: Array, luck: Array | None) -> Array:
    """Play, and return the arms, (plays, L)."""
    cls, (learners, plays) = type(policy), rewards.shape
    with calling(cls, "state"):
        state = policy.state(learners, n_arms, plays, None if luck is None else luck.copy())
    if not isinstance(state, tuple) or not hasattr(state, "_asdict"):
        raise AssertionError(f"{cls.__name__}.state must return a named tuple of arrays, not {type(state).__name__}")
    rows = {name: value for name, value in state._asdict().items() if isinstance(value, np.ndarray)}
    for name, value in rows.items():
        required(
            value.shape[:1] == (learners,),
            f"{cls.__name__}.state: {name} must have shape ({learners}, …), a row per learner, not {value.shape}",
        )
    arms = np.zeros((plays, learners), np.int64)
    for t in range(plays):
        for r in range(learners):
            at = f"play {t + 1} of learner {r}"
            with calling(cls, "choose", at):
                arm: Any = policy.choose(state, r)
            whole = isinstance(arm, (int, np.integer)) and not isinstance(arm, bool)
            if not whole or not 0 <= arm < n_arms:
                told = f"answered {shown(arm)}; arms are 0..{n_arms - 1}"
                raise AssertionError(f"{cls.__name__}.choose, {at}: it {told}")
            arms[t, r] = arm
            others = {name: np.delete(value, r, 0) for name, value in rows.items()}
            with calling(cls, "update", at):
                policy.update(state, r, int(arms[t, r]), float(rewards[r, t]))
            now = {name: np.delete(value, r, 0) for name, value in rows.items()}
            same(others, now, f"{cls.__name__}.update of learner {r} writes to another learner: before and after")
    return arms
