"""Interface of best-arm routines: three compiled rules, `plan`, `learn` and `sync`, on one agent's samples."""

from collections.abc import Callable
from typing import NamedTuple

from hushbandits.core import Array, lean

#: What an agent has learned from an activation: nothing to say, the end of a phase, or that all must begin afresh.
SILENT, VOTES, RESETS = 0, 1, 2


#: A named tuple of arrays with leading axes (R, N); the first is bool, the arms that each agent has not given up.
State = tuple[Array, ...]


@lean
def _nothing_to_take_in(state, r, n, p, active):
    pass


class Routine(NamedTuple):
    """The rules of one agent, as compiled scalar functions on a named tuple of state arrays.

    Parameters
    ----------
    state : callable
        ``state(R, N, K)`` → a `State`.
    params : tuple of float
        Handed to every rule as `p`.
    plan : compiled ``(state, r, n, p, active, arms, uniforms) → int``
        Mark the arms to pull in this activation in `arms`, ``(K,)`` bool, all false; return how many, 0: idle.
    learn : compiled ``(state, r, n, p, arms, reward, uniforms, vote) → int``
        Take in the rewards, ``(K,)``, of the marked `arms`, and mark votes in `vote`, ``(K,)`` bool, all false;
        return ``SILENT`` (false), ``VOTES`` (true: a phase ends, the votes are sent, `uniforms` is spent, and `sync`
        follows), or ``RESETS``: everybody begins afresh, where the env passes resets on (else the same as ``VOTES``).
    sync : compiled ``(state, r, n, p, active)``
        Take in the global set after the votes were counted; by default nothing, for who reads it before it plays.
    uniforms : int
        Uniforms spent by `learn` at the end of a phase.
    draws : int
        Uniforms spent by `plan` in every activation.
    resets : bool
        Whether `learn` may return ``RESETS``.
    several : bool
        Whether `plan` may pull more than one arm in an activation.
    unit_interval : bool
        Whether the rules are defined for rewards in [0, 1] alone.

    Examples
    --------
    >>> import hushbandits as hb
    >>> from hushbandits.best_arm.best_arm import ROUTINES
    >>> routine = ROUTINES["SE"](3, eta=0.1, epsilon=0.1)
    >>> routine.several, routine.unit_interval
    (False, False)
    """

    state: Callable[[int, int, int], State]
    params: tuple[float, ...]
    plan: Callable[..., int]
    learn: Callable[..., int]
    sync: Callable[..., None] = _nothing_to_take_in
    uniforms: int = 0
    draws: int = 0
    resets: bool = False
    several: bool = False
    unit_interval: bool = False
