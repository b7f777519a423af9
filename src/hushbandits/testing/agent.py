"""A checker for agents: what a `Team`, or a class for `Each`, owes to every env that it plays in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from hushbandits.core.each import Each, Unlearning
from hushbandits.core.entries import AnyAgent, AnyEnv, AnyWrapper
from hushbandits.core.env import Env
from hushbandits.core.face import Face, revealed
from hushbandits.core.ground.types import Array, Message, Params, Seeds
from hushbandits.core.hooks import measurements
from hushbandits.core.team import Team
from hushbandits.registry import make_team
from hushbandits.testing.parts import calling, check_games, check_hooks, check_metrics, grounds, says_epsilon
from hushbandits.testing.seen import mapped, required

__all__ = ["check_agent", "played"]

_HOOKS = ("act", "speak", "hear")
_TEAM_HOOKS = (*_HOOKS, "reset", "meets", "protocol", "metrics", "promises", "episode", "runs_at_once")


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
    * whoever has an ``epsilon`` meets a promise: its own (``promises``, which returns ``()`` where that ε is no
      privacy), or its env's.

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

    cls = _class_of(make())
    if issubclass(cls, Team):
        check_hooks(cls, Team, _TEAM_HOOKS)
    else:
        check_hooks(cls, object, _HOOKS)

    def promises(core: Env, team: Team) -> tuple[Team, str]:
        return team, "has an epsilon" if says_epsilon(team, cls) and not core.privacy() else ""

    check_games(cls, grounds(make, env_id, env or {}, wrappers), promises, partial(played, cls=cls), seed)


def _class_of(team: Team) -> type:
    """The class that somebody wrote: the agent's, where `Each` lifts it."""
    factory: object = team.factory if isinstance(team, Each) else type(team)
    return factory if isinstance(factory, type) else Each


def played(core: Env, team: Team, seeds: Seeds, cls: type) -> dict[str, object]:
    """Play a game by the beats; return what was done and said, by round, with metrics at the end."""
    obs = core.reset(seeds)
    with calling(cls, "reset"):
        team.reset(Face(core), core.seeds)
    trace: dict[str, object] = {}
    while obs.live.any():
        at = f"round {len(trace) + 1}"
        live = obs.live.copy()
        with calling(cls, "act", at):
            action = team.act(obs)
            obs = core.pull(action)
            done = _kept(action, live)
        with calling(cls, "speak", at):
            said = team.speak(obs.reward)  # type: ignore[arg-type]
            words = _kept(_said(core, said), live)
            obs = core.talk(said)
        _check_rewards(core, said, cls, at)
        assert obs.inbox is not None
        with calling(cls, "hear", at):
            team.hear(obs.inbox)
        trace[at] = {"act": done, "speak": words, "live": live}
    with calling(cls, "metrics"), revealed(core) as its:
        own = measurements(team.name, team.metrics(its), len(seeds))
    check_metrics(cls, own)
    trace["metrics"] = {**core.metrics(), **own}
    return trace


def _check_rewards(core: Env, said: Message | None, cls: type, at: str) -> None:
    """Raise ``AssertionError`` where a reward is said that no arm of the env pays."""
    if said is None or not {"reward"} <= {*said} & {*core.told}:
        return
    low, high = core.told["reward"].range
    reward = np.asarray(said["reward"])[np.asarray(said.get("sent", core.who >= 0), bool)]
    odd = reward[(reward < low) | (reward > high)]
    required(not odd.size, f"{cls.__name__}.speak, {at}: says a reward of {odd[:1]}; arms pay from {low:g} to {high:g}")


def _said(core: Env, message: Message | None) -> Message:
    """What a message says: ``None`` is the standard report, and whoever is not named as silent speaks."""
    if not core.payload.named:
        return {}
    said = core.standard_report() if message is None else message
    return {"sent": np.ones(core.who.shape, bool), **said}


def _kept(said: object, live: Array) -> object:
    """A copy of what was done or said, 0 where a run has ended: there it is ignored."""

    def kept(array: Array) -> Array:
        array = array.copy()
        array[~live] = 0
        return array

    return mapped(said, kept)
