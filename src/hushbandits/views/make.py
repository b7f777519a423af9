"""Building the PettingZoo view, and building one anew with more wrappers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from hushbandits.core.entries import AnyEnv, AnyWrapper
from hushbandits.core.env import Env
from hushbandits.core.ground.validate import shown
from hushbandits.core.messages import Field
from hushbandits.registry import make_core
from hushbandits.views.learners import learners_core, task_options
from hushbandits.views.parallel import ParallelView
from hushbandits.views.run import OneRun

__all__ = ["make", "wrap"]

Wrapped = TypeVar("Wrapped", bound="Env | OneRun")


def make(
    id: AnyEnv, *, wrappers: Sequence[AnyWrapper] = (), beats: int = 1, render_mode: str | None = None,
    speech: Mapping[str, Field] | None = None, max_cycles: int | None = None, info: str | None = None,
    actions: str | None = None, agent_id: bool | None = None, normalize: bool | None = None,
    observation: str | None = None, price: Mapping[str, float] | None = None, reward: str | None = None,
    **kwargs: object,
) -> ParallelView:  # fmt: skip
    """Build a PettingZoo parallel env; what its steps are, `ParallelView` says.

    Parameters
    ----------
    id : str or class
        One of `list_envs`, ``"my_module:MyEnv"``, or an `Env` class.
    wrappers : sequence of Wrapper, of their names or classes
        Outermost first; an id's own protocol sits behind them.
    beats : int
        1 or 2.
    render_mode : str, optional
        ``"ansi"``, ``"rgb_array"`` or ``"human"``.
    speech : mapping of str to Field, optional
        Network only: learned fields beside the standard report, bits (``"?"``) or floats in [−1, 1].
    max_cycles : int, optional
        Steps after which an episode is cut.
    info : str, optional
        ``"metrics"``: every info tells the metrics so far.
    actions : str, optional
        ``"discrete"`` (default), ``"multidiscrete"`` or ``"native"``: how an action is written.
    agent_id : bool, optional
        Whether an observation names its agent.
    normalize : bool, optional
        Whether what has no bounds is shown as ``x/(1 + |x|)`` (default), or as it is.
    observation : str, optional
        Network only: ``"pooled"`` (default), or ``"slots"``: also every single message.
    price : mapping of str to float, optional
        What a unit of ``"messages"``, ``"bits"`` or ``"epsilon"`` takes off everyone's reward.
    reward : str, optional
        Feedback only: ``"decoded"``, what the protocol lets the server see (default), or ``"oracle"``, the true mean
        of the arm: for upper bounds only, it leaks past the protocol, and every info says so.
    **kwargs
        Parameters of the env and its protocol, as for `make_core`.  Arms are shuffled in every episode unless
        ``permute_arms=False``; an exploration env without a `horizon` gets `HORIZON` rounds.

    Returns
    -------
    ParallelView
        A ``pettingzoo.ParallelEnv``.

    Raises
    ------
    ValueError, TypeError
        Unknown id (with the nearest ones), a bad parameter, or one that neither the env nor its protocol takes.

    Examples
    --------
    >>> env = make("CoopNetwork-v0", n_agents=4, horizon=2)
    >>> observations, infos = env.reset(seed=0)
    >>> while env.agents:
    ...     actions = {agent: env.action_space(agent).sample() for agent in env.agents}
    ...     observations, rewards, terminations, truncations, infos = env.step(actions)
    >>> sorted(infos["agent_0"]["metrics"])
    ['agent_regret', 'messages', 'regret']
    """
    if "runs" in kwargs:
        raise TypeError("make takes no parameter 'runs': a view plays one run; make_core(id, runs=…) plays many")
    asked = {"actions": actions, "agent_id": agent_id, "normalize": normalize, "observation": observation}
    options, params = task_options(id, {**asked, "price": price, "reward": reward, **kwargs})
    core = learners_core(id, 1, wrappers, speech, params)
    return ParallelView(core, beats=beats, render_mode=render_mode, max_cycles=max_cycles, info=info, **options)


def wrap(env: Wrapped, *wrappers: AnyWrapper) -> Wrapped:
    """Return a new env with more wrappers.

    They go behind the wrappers that `env` was made with, next on a message's way, and before an id's own protocol:
    ``wrap(make(id), A, B)`` is ``make(id, wrappers=[A, B])`` is ``wrap(wrap(make(id), A), B)``.  `env` itself is
    left alone; the new one starts with a `reset`.

    Parameters
    ----------
    env : Env, ParallelView or AECView
        From `make_core`, `make` or `make_aec`.
    *wrappers : Wrapper, its name or class

    Raises
    ------
    ValueError
        `env` was not made from an id, two wrappers share a name, or one does not fit the setting.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = wrap(hb.make("CoopNetwork-v0"), hb.make_wrapper("Huber"), hb.make_wrapper("Loss"))
    >>> [w.name for w in env.core.wrappers]
    ['Huber', 'Loss']
    """
    core = env.core if isinstance(env, OneRun) else env
    if not isinstance(core, Env):
        raise ValueError(
            f"env={shown(env)} must be an env from make or make_core, and comes first: wrap(env, *wrappers)"
        )
    if core.spec is None:
        raise ValueError(
            f"wrap needs an env from make or make_core, not {env!r}; else give wrappers= when you build it"
        )
    id, kwargs, before = core.spec
    new = make_core(id, runs=core.runs, wrappers=(*before, *wrappers), **kwargs)
    return cast(Wrapped, type(env)(new, **env.settings) if isinstance(env, OneRun) else new)
