"""Interface of single-agent bandit algorithms, with a rule that chooses an arm and a rule that updates the state.

A policy plays many learners at once, one row of its state each: runs, or agents that play by themselves.  Its clock
counts its own updates.  The same rules serve an agent alone, a leader who feeds π from queues, and a plain loop:

>>> import numpy as np
>>> from hushbandits.policies.ucb import UCB1
>>> policy = UCB1()
>>> state = policy.state(learners=1, n_arms=3, plays=100)
>>> for _ in range(100):
...     arm = policy.choose(state, 0)
...     policy.update(state, 0, arm, (0.9, 0.5, 0.1)[arm])
>>> int(state.n[0].argmax())
0
"""

import math
from collections.abc import Callable
from copy import copy
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from hushbandits.core import Array, Streams, World, Wrapper, lean, spawn_seeds
from hushbandits.core.random.rewards import Stable
from hushbandits.core.utils import Rule, words
from hushbandits.core.utils.jit import ours


class Sums(NamedTuple):
    """The state of index policies, with plays and reward sums per learner and arm."""

    n: Array  # (L, K)
    s: Array  # (L, K)
    t: Array  # (L,) updates


class Tuned(NamedTuple):
    """The state of index policies with one parameter."""

    n: Array  # (L, K)
    s: Array  # (L, K)
    t: Array  # (L,)
    parameter: float


class Drawing(NamedTuple):
    """The state of randomized policies with one parameter."""

    n: Array  # (L, K)
    s: Array  # (L, K)
    t: Array  # (L,)
    cursors: Array  # (L, 10)
    parameter: float


def sums(learners: int, n_arms: int) -> Sums:
    """Return the initial state of learners without plays."""
    return Sums(np.zeros((learners, n_arms)), np.zeros((learners, n_arms)), np.zeros(learners, np.int64))


class Policy:
    """Base of single-agent bandit algorithms, built-in or user-defined.

    A subclass gives `state` and two static rules, compiled (`hushbandits.core.utils.jit.jit`) or plain Python:

    ``choose(state, r) → int``
        The arm that learner r plays next.  Between two updates it may be asked once only.
    ``update(state, r, arm, reward)``
        Learner r played `arm` and got `reward`.

    Attributes
    ----------
    random : bool
        Whether it draws: then `state` is given `cursors`, (L, 10) words that `hushbandits.policies.draws` draws from.
    order : float
        It needs rewards whose absolute moment of this order is finite.
    unit_interval : bool
        It is defined for rewards in [0, 1] alone; an env with other rewards raises an error.
    shared : tuple of str
        Parameters that are also those of the mechanism which noises its rewards: given on either side, they hold for
        both; ``None``: the mechanism's.

    Examples
    --------
    >>> import hushbandits as hb
    >>> class Greedy(Policy):
    ...     def state(self, learners, n_arms, plays, cursors=None):
    ...         return sums(learners, n_arms)
    ...
    ...     @staticmethod
    ...     def choose(state, r):
    ...         return int(((state.s[r] + 1) / (state.n[r] + 1)).argmax())
    ...
    ...     @staticmethod
    ...     def update(state, r, arm, reward):
    ...         state.n[r, arm] += 1
    ...         state.s[r, arm] += reward
    >>> results = hb.evaluate("CoopNetwork-v0", "QuACK", runs=2, env={"horizon": 20}, agent_kwargs={"policy": Greedy()})
    >>> results.final("regret").shape
    (2,)
    """

    choose: ClassVar[Callable[..., int]]
    update: ClassVar[Callable[..., None]]
    random: ClassVar[bool] = False
    order: float = 1.0
    unit_interval: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        """The registered name, which also names the random stream."""
        return type(self).__name__

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> NamedTuple:
        """Return the initial state, a named tuple of numbers and of arrays with a leading axis of learners.

        Parameters
        ----------
        learners, n_arms : int
            L and K.
        plays : float
            The total number of plays of each learner, n.
        cursors : (L, 10) uint64 array, optional
            Of policies that draw.
        """
        raise NotImplementedError(f"{type(self).__name__} must define state(learners, n_arms, plays, cursors)")

    @property
    def ships(self) -> bool:
        """Return whether `choose` and `update` are compiled code of this package."""
        return all(ours(rule) for rule in (self.choose, self.update))


@lean
def argmax(x, r):
    """Return ``argmax_k x[r, k]``; ties take the lowest index."""
    best, top = 0, -math.inf
    for k in range(x.shape[1]):
        if x[r, k] > top:
            best, top = k, x[r, k]
    return best


@lean
def log_clock(state, r):
    """Return ``ln t`` for the next play t of learner r."""
    return math.log(state.t[r] + 1.0)


@lean
def nothing_shared(state, r):
    """Return 0, for indices that use no exploration level."""
    return 0.0


@lru_cache
def by_index(index: Callable[..., float], level: Callable[..., float] = log_clock, once: bool = True) -> Rule:
    """Return the rule that plays the arm of the largest index; ties take the lowest arm.

    Parameters
    ----------
    index : compiled ``(state, r, k, x) → float``
        Asked for every arm, of which the first array of the state, (L, K), has a column each.
    level : compiled ``(state, r) → float``
        The x that all arms share, worked out once per choice.
    once : bool
        Whether each arm is played once first: an arm whose count in the first array is 0 has the index ∞.
    """

    @lean
    def choose(state, r):
        best, top, shared = 0, -math.inf, level(state, r)
        for k in range(state[0].shape[1]):
            x = math.inf if once and state[0][r, k] == 0.0 else index(state, r, k, shared)
            if x > top:
                best, top = k, x
        return best

    return choose


@lean
def add(state, r, arm, reward):
    """Add a play of `arm` and its `reward` to the counts, sums and clock of learner r."""
    state.n[r, arm] += 1.0
    state.s[r, arm] += reward
    state.t[r] += 1


class Counting(Policy):
    """Policy that keeps the count of plays and the sum of rewards of each arm."""

    update = staticmethod(add)

    def state(self, learners: int, n_arms: int, plays: float, cursors: Array | None = None) -> NamedTuple:
        return sums(learners, n_arms)


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
    for wrapper in env.wrappers:
        alters = type(wrapper).alter_own_reward is not Wrapper.alter_own_reward  # the agents' own rewards
        for name in policy.shared if alters else ():
            mine, its = getattr(policy, name), getattr(wrapper, name, None)
            if its is not None and mine not in (None, its):
                raise ValueError(f"{name}={mine!r} of policy {policy.name} must equal {name}={its!r} of {wrapper.name}")
            policy = copy(policy)
            setattr(policy, name, mine if its is None else its)
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
