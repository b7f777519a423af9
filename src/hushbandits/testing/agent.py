"""A checker for agents: what a `Team`, or a class for `Each`, owes to every env that it plays in."""

from __future__ import annotations

from collections.abc import Sequence

from hushbandits.core import Params
from hushbandits.core.each import Unlearning
from hushbandits.core.env import Env
from hushbandits.core.team import Team
from hushbandits.registry import AnyAgent, AnyEnv, AnyWrapper, make_team
from hushbandits.testing.games import check_games, check_hooks, check_promises, grounds, has_epsilon, written

_HOOKS = ("act", "speak", "hear")
_TEAM_HOOKS = (*_HOOKS, "reset", "meets", "protocol", "metrics", "claimed_guarantees", "episode", "runs_at_once")


def check_agent(
    agent: AnyAgent,
    env_id: AnyEnv | None = None,
    *,
    seed: int = 0,
    env: Params | None = None,
    wrappers: Sequence[AnyWrapper] = (),
    **kwargs: object,
) -> None:
    """Raise ``AssertionError``, in a sentence with class and hook, unless an agent keeps what every agent promises.

    A few short games are played, with a number of runs that is neither that of the agents nor that of the arms.
    What is checked:

    * names: no method is called almost as a hook (``heer``, ``speeks``), and what is data in `Team` (``hears``) is no
      method;
    * one agent's class has `speak` or `hear`, without which it never learns, or says ``blind = True``;
    * actions and messages: shape, dtype and range, ``(R, A, …)``; runs and agents exchanged are noticed, and so are
      rewards that no arm pays;
    * the seed decides all actions, messages and metrics, whatever the global random generators hold, and leaves these
      alone;
    * a run alone plays as its row of a batch;
    * `reset` forgets: an instance that has played plays again as a new one, and no data of the class changes;
    * metrics are finite numbers, a row per run;
    * whoever has an ``epsilon`` meets a promise: its own (``claimed_guarantees``, which returns ``()`` where that ε is
      no privacy), or its env's.

    Parameters
    ----------
    agent : str, class or callable
        As in `make_team`; every game gets a new one.
    env_id : str or class, optional
        Where it plays; default: the first env of `list_envs` that takes it.
    seed : int
        Seeds the runs.
    env : dict, optional
        Parameters of the env; by default it is small and short.
    wrappers : sequence of Wrapper, of their names or classes
        On messages' way.
    **kwargs
        The agent's parameters.

    Raises
    ------
    ValueError, TypeError
        Unknown names, bad parameters, or no env takes it.

    Examples
    --------
    >>> import numpy as np
    >>> check_agent("Multi-UCB")
    >>> class Stuck:
    ...     blind = True
    ...     def __init__(self, m, rng):
    ...         self.rng = np.random.default_rng()
    ...     def act(self, t):
    ...         return int(self.rng.integers(2))
    >>> check_agent(Stuck, "CoopNetwork-v0")
    Traceback (most recent call last):
        ...
    AssertionError: Stuck: the same seed, after numpy.random.seed(1): ... differ at ...
    """

    def make() -> Team:
        try:
            return agent if isinstance(agent, Team) else make_team(agent, **kwargs)
        except Unlearning as error:
            raise AssertionError(str(error)) from None

    cls = written(make())
    base, hooks = (Team, _TEAM_HOOKS) if issubclass(cls, Team) else (object, _HOOKS)
    check_hooks(cls, base, hooks)

    def promises(core: Env, team: Team) -> None:
        check_promises(team, core, "has an epsilon" * (has_epsilon(cls, team) and not core.guarantees()))

    check_games(cls, grounds(make, env_id, env, wrappers), seed, promises)
