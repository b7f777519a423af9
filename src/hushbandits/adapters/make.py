"""Functions that build an env for each supported library, and `wrap`, which adds wrappers to an env."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import gymnasium
from gymnasium.vector import AutoresetMode
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import parallel_to_aec

from hushbandits.adapters.learners import Info, Rows, learners_core, task_options
from hushbandits.adapters.parallel import ParallelView
from hushbandits.adapters.vector import VectorView
from hushbandits.core import Env, Field, count, shown
from hushbandits.registry import AnyEnv, AnyWrapper, make_batched

if TYPE_CHECKING:
    import torch

    from hushbandits.adapters.sb3 import RowsVecEnv
    from hushbandits.adapters.torchrl import TorchRows

Wrapped = TypeVar("Wrapped", bound=Env | ParallelView)


def make(
    id: AnyEnv, *, wrappers: Sequence[AnyWrapper] = (), two_phase: bool = False, render_mode: str | None = None,
    extra_fields: Mapping[str, Field] | None = None, max_cycles: int | None = None, metrics_in_info: bool = False,
    action_format: str | None = None, agent_id: bool | None = None, squash_unbounded: bool | None = None,
    observe_messages: bool | None = None, cost_coefficients: Mapping[str, float] | None = None,
    reward_source: str | None = None,
    **kwargs: object,
) -> ParallelView:  # fmt: skip
    """Build a PettingZoo parallel env, a `ParallelView`.

    Parameters
    ----------
    id : str or class
        One of `list_envs`, ``"my_module:MyEnv"``, or an `Env` class.
    wrappers : sequence of Wrapper, of their names or classes
        Outermost first; an id's own protocol sits behind them.
    two_phase : bool
        Whether each phase of a round is a step; by default a step is a round.
    render_mode : str, optional
        ``"ansi"``, ``"rgb_array"`` or ``"human"``.
    extra_fields : mapping of str to Field, optional
        Network only: learned fields beside the standard report, bits (``"?"``) or floats in [−1, 1].
    max_cycles : int, optional
        Steps after which an episode is cut.
    metrics_in_info : bool
        Whether every info has the metrics so far.
    action_format : str, optional
        ``"discrete"`` (default), ``"multidiscrete"`` or ``"native"``: how an action is written.
    agent_id : bool, optional
        Whether an observation names its agent.
    squash_unbounded : bool, optional
        Whether what has no bounds is shown as ``x/(1 + |x|)`` (default), or as it is.
    observe_messages : bool, optional
        Network only: whether an observation also has every single message of the last round.
    cost_coefficients : mapping of str to float, optional
        What a unit of ``"messages"``, ``"bits"`` or ``"epsilon"`` takes off everyone's reward.
    reward_source : str, optional
        Feedback: ``"decoded"``, what the protocol lets the server see (default); networks with priced messages:
        ``"own"`` (default).  ``"oracle"``, the true mean of the arm, is for upper bounds only: it leaks past the
        protocol, and every info says so.
    **kwargs
        Parameters of the env and its protocol, as for `make_batched`.  Arms are shuffled in every episode unless
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
        raise TypeError("make takes no parameter 'runs', because it plays one run; use make_batched(id, runs=…)")
    asked: Info = {"action_format": action_format, "agent_id": agent_id, "squash_unbounded": squash_unbounded}
    asked |= {"observe_messages": observe_messages, "reward_source": reward_source}
    options, params = task_options(id, {**asked, "cost_coefficients": cost_coefficients, **kwargs})
    core = learners_core(id, 1, wrappers, extra_fields, params)
    options["metrics_in_info"] = metrics_in_info
    return ParallelView(core, two_phase=two_phase, render_mode=render_mode, max_cycles=max_cycles, **options)


def make_aec(id: AnyEnv, **kwargs: Any) -> AECEnv:
    """Build a PettingZoo AEC env, which PettingZoo converts from the env that `make` builds.

    A round is a turn of every agent, in order of their names; it is played when the last of them has acted.  An action
    outside its space is refused then, and the episode must be started again.

    Parameters
    ----------
    id, **kwargs
        As for `make`.

    Returns
    -------
    pettingzoo.AECEnv
        Its ``unwrapped`` is the `ParallelView`, with ``core``, ``layout``, ``metrics`` and ``privacy``.

    Examples
    --------
    >>> env = make_aec("DPMASE-v0", n_agents=8, threshold=1, horizon=100)
    >>> env.reset(seed=0)
    >>> for agent in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     over = terminated or truncated
    ...     env.step(None if over else env.action_space(agent).sample(info["action_mask"]))
    >>> env.agents, terminated or truncated
    ([], True)
    """
    return parallel_to_aec(make(id, **kwargs))


def make_vec(
    id: AnyEnv, runs: int = 1, *, wrappers: Sequence[AnyWrapper] = (), extra_fields: Mapping[str, Field] | None = None,
    autoreset: str | AutoresetMode = "same-step", render_mode: str | None = None, **kwargs: object,
) -> VectorView:  # fmt: skip
    """Build a Gymnasium vector env, a `VectorView`.

    ``gymnasium.make_vec("hushbandits/<id>", num_envs=R·M)`` builds the same, without `wrappers`: Gymnasium keeps that
    word for its own.

    Parameters
    ----------
    runs : int
        R, the runs played at once; the view's own ``num_envs`` is R·M, one for each agent of each run.
    autoreset : str or AutoresetMode
        ``"same-step"``, ``"next-step"`` or ``"disabled"``.
    render_mode : str, optional
        ``"ansi"`` or ``"rgb_array"``.
    id, wrappers, extra_fields, **kwargs
        As for `make`, which alone has ``two_phase``, ``max_cycles`` and ``metrics_in_info``.

    Returns
    -------
    VectorView
        A ``gymnasium.vector.VectorEnv``.

    Examples
    --------
    >>> env = make_vec("CoopNetwork-v0", 3, n_agents=4, horizon=2)
    >>> env.num_envs, env.runs, env.n_agents
    (12, 3, 4)
    >>> observation, infos = env.reset(seed=0)
    >>> for _ in range(2):
    ...     observation, reward, terminated, truncated, infos = env.step(env.action_space.sample())
    >>> truncated.all(), infos["final_obs"][0].shape, sorted(infos["final_info"]["metrics"])[3:]
    (np.True_, (43,), ['agent_regret', 'messages', 'regret'])
    """
    settings: Info = {"autoreset": autoreset, "render_mode": render_mode}
    view = VectorView(_rows(id, runs, wrappers, extra_fields, kwargs), **settings)
    known = gymnasium.registry.get(f"hushbandits/{id}") if isinstance(id, str) and not wrappers else None
    if known is not None:
        given = {"num_envs": view.num_envs, "extra_fields": extra_fields, **settings, **kwargs}
        own = {name: value for name, value in given.items() if value is not None}
        view.spec = replace(known, kwargs={**known.kwargs, **own})
    return view


def make_sb3(
    id: AnyEnv, runs: int = 1, *, wrappers: Sequence[AnyWrapper] = (),
    extra_fields: Mapping[str, Field] | None = None, render_mode: str | None = None, **kwargs: object,
) -> RowsVecEnv:  # fmt: skip
    """Build a ``VecEnv`` of Stable-Baselines3 with `runs` runs, in which every agent of every run is a sub-env.

    Parameters
    ----------
    id : str or class
        One of `list_envs`, ``"my_module:MyEnv"``, or an `Env` class.
    runs : int
        R, the runs; there are R·M sub-envs, agent-fastest (`RowsVecEnv`).
    wrappers : sequence of Wrapper, of their names or classes
        Outermost first; an id's own protocol sits behind them.
    extra_fields : mapping of str to Field, optional
        Network only: learned fields beside the standard report, bits (``"?"``) or floats in [−1, 1].
    render_mode : str, optional
        ``"rgb_array"``.
    **kwargs
        Parameters of the env and its protocol, as for `make_batched`, and the options of the task: ``action_format``
        (``"discrete"``, ``"multidiscrete"`` or ``"native"``), ``agent_id``, ``squash_unbounded``, ``observe_messages``,
        ``cost_coefficients`` and ``reward_source``, as for `make`.

    Returns
    -------
    RowsVecEnv

    Raises
    ------
    ImportError
        Stable-Baselines3 is missing; it comes with the extra ``sb3``.

    Examples
    --------
    >>> import numpy as np
    >>> venv = make_sb3("CoopNetwork-v0", 3, n_agents=4, horizon=2)
    >>> venv.num_envs, venv.reset().shape
    (12, (12, 43))
    >>> observations, rewards, dones, infos = venv.step(np.zeros(12, int))
    >>> dones.any(), venv.step(np.zeros(12, int))[3][0]["TimeLimit.truncated"]
    (np.False_, True)
    """
    from hushbandits.adapters.sb3 import RowsVecEnv

    return RowsVecEnv(_rows(id, runs, wrappers, extra_fields, kwargs), render_mode)


def make_torchrl(
    id: AnyEnv, runs: int = 1, *, wrappers: Sequence[AnyWrapper] = (),
    extra_fields: Mapping[str, Field] | None = None, device: torch.device | str = "cpu", **kwargs: object,
) -> TorchRows:  # fmt: skip
    """Build a batched TorchRL env of `runs` runs, whose episodes start independently.

    Its batch is [R].  All agents are one group, ``"agents"``: ``("agents", "observation")`` [R, M, D],
    ``("agents", "action")`` [R, M, …] (categories, never one-hot; of ``action_format="native"`` it may have parts),
    ``("agents", "action_mask")`` [R, M, C], all discrete choices in a row, as the transform ``ActionMask`` wants it,
    and ``("agents", "reward")`` [R, M, 1].  ``done``, ``terminated`` and ``truncated`` are [R, 1]: an env decides
    (termination) or its horizon is over (truncation), where a learner must bootstrap.  A run that is done stays so
    until it is reset, and earns nothing.

    Parameters
    ----------
    runs : int
        R.
    device : torch.device or str
        Where tensors go; the env itself runs on the CPU.
    id, wrappers, extra_fields, **kwargs
        As for `make`, which alone has ``two_phase``, ``max_cycles`` and ``metrics_in_info``.

    Returns
    -------
    TorchRows
        A ``torchrl.envs.EnvBase``.  Its ``rows`` hold the core and the task; ``rows.metrics(i)`` are those of run i so
        far.  After ``set_seed(s)``, the next reset of all runs plays what ``make_batched(id, R).reset(s)`` plays, run
        by run.

    Raises
    ------
    ImportError
        TorchRL is not installed.

    Examples
    --------
    >>> env = make_torchrl("CoopNetwork-v0", runs=8, n_agents=4, horizon=50)  # doctest: +SKIP
    >>> env.rollout(100, break_when_any_done=False)["next", "agents", "reward"].shape  # doctest: +SKIP
    torch.Size([8, 100, 4, 1])
    """
    from hushbandits.adapters.torchrl import TorchRows

    return TorchRows(_rows(id, runs, wrappers, extra_fields, kwargs), device)


def _rows(
    id: AnyEnv, runs: int, wrappers: Sequence[AnyWrapper], extra_fields: Mapping[str, Field] | None, given: Info
) -> Rows:
    """Return the `Rows` of a vector view."""
    for name in given.keys() & {"num_envs", "n_envs"}:
        raise TypeError(f"{name}={shown(given[name])} is no parameter: give runs=; .num_envs is runs × n_agents")
    options, params = task_options(id, given)
    return Rows(learners_core(id, count("runs", runs, 1), wrappers, extra_fields, params), **options)


def wrap(env: Wrapped, *wrappers: AnyWrapper) -> Wrapped:
    """Return a new env built like `env`, with `wrappers` after the wrappers that `env` was built with.

    They go behind the wrappers that `env` was made with, next on a message's way, and before an id's own protocol:
    ``wrap(make(id), A, B)`` is ``make(id, wrappers=[A, B])`` is ``wrap(wrap(make(id), A), B)``.  `env` itself is
    left alone; the new one starts with a `reset`.

    Parameters
    ----------
    env : Env or ParallelView
        From `make_batched` or `make`.
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
    core = env.core if isinstance(env, ParallelView) else env
    if not isinstance(core, Env):
        raise ValueError(f"env={shown(env)} must be an env from make or make_batched, as in wrap(env, *wrappers)")
    if core.spec is None:
        raise ValueError(
            f"wrap needs an env from make or make_batched, not {env!r}; give wrappers=[…] to the env's constructor"
        )
    id, kwargs, before = core.spec
    new = make_batched(id, runs=core.runs, wrappers=(*before, *wrappers), **kwargs)
    return cast(Wrapped, ParallelView(new, **env.settings) if isinstance(env, ParallelView) else new)
