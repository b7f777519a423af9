"""The tables of envs, agents and wrappers, and how they are put together.

What ships stands in `hushbandits.shipped`; entries are imported when they are first used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from hushbandits import shipped
from hushbandits.announce import announce, announce_bandit
from hushbandits.core.edge import as_array
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS, AnyAgent, AnyEnv, AnyWrapper, Model, misplaced, title
from hushbandits.core.env import Env
from hushbandits.core.face import known_settings
from hushbandits.core.ground.keywords import named
from hushbandits.core.ground.spec import Entry, Spec, called, needed, open_ended, parameters
from hushbandits.core.ground.table import first_of
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import shown
from hushbandits.core.roles import Privatizer
from hushbandits.core.team import Team
from hushbandits.core.whose import elsewhere
from hushbandits.core.wrapper import Wrapper
from hushbandits.plugins import plug
from hushbandits.policies.shelf import POLICIES

__all__ = [
    "adopt", "assemble", "clock", "env_entry", "known_wrappers", "list_agents", "list_envs", "list_wrappers",
    "make_core", "make_team", "make_wrapper", "not_the_envs", "own_entries", "register_agent", "register_env",
    "register_wrapper", "shipped_classes", "takes",
]  # fmt: skip

_TABLES = (ENVS, AGENTS, WRAPPERS)
#: Plays what was trained.
_TRAINED = "hushbandits.baselines.sb3:Trained"
#: Ids as PettingZoo and Gymnasium read them.
_ID = re.compile(r"[\w:.-]+")


def register_env(id: str, entry: Entry, /, *, wrappers: tuple[str, ...] = (), **defaults: object) -> None:
    """Add an env, here and as ``hushbandits/<id>`` in the registries of PettingZoo and (for `make_vec`) Gymnasium.

    Parameters
    ----------
    id : str
        Such as ``"Mine-v0"``; a duplicate, or one that those registries do not take, raises ``ValueError``.
    entry : callable or str
        An `Env` class, or ``"package.module:Class"``, imported at first use.
    wrappers : tuple of str
        Registered wrappers that are part of it; their parameters become the env's.
    **defaults
        Parameters that differ from the class's own defaults.
    """
    _spelled(id)
    if id not in ENVS:
        announce(id)
    ENVS.register(id, Spec(entry, defaults, wrappers), sys._getframe(1).f_globals)


def _spelled(id: str) -> None:
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise ValueError(f"id={shown(id)} must be letters, digits, '_', '.', ':' or '-', as in 'Mine-v0'")


def register_agent(name: str, entry: Entry, /, **defaults: object) -> None:
    """Add an agent.

    Parameters
    ----------
    name : str
        A duplicate, or what is no string, raises ``ValueError``.
    entry : callable or str
        A `Team` class, one for `Each`, a function that returns a team, or ``"package.module:Class"``.
    **defaults
        Parameters that differ from the class's own defaults.
    """
    AGENTS.register(name, Spec(entry, defaults), sys._getframe(1).f_globals)


def register_wrapper(name: str, entry: Entry, /, **defaults: object) -> None:
    """Add a wrapper.

    Parameters
    ----------
    name : str
        A duplicate, or what is no string, raises ``ValueError``.
    entry : callable or str
        A `Wrapper` class, or ``"package.module:Class"``.
    **defaults
        Parameters that differ from the class's own defaults.
    """
    WRAPPERS.register(name, Spec(entry, defaults), sys._getframe(1).f_globals)


def list_envs() -> list[str]:
    """Return all env ids, sorted."""
    return sorted(ENVS)


def list_agents() -> list[str]:
    """Return all agent names, sorted."""
    return sorted(AGENTS)


def list_wrappers() -> list[str]:
    """Return all wrapper names, sorted."""
    return sorted(WRAPPERS)


def env_entry(id: AnyEnv) -> Spec:
    """Return what stands for an env."""
    return ENVS.find(id)


def clock(id: str) -> str:
    """Return what a registered env's time is counted in.

    Examples
    --------
    >>> clock("CoopNetwork-v0")
    'rounds'
    """
    return str(getattr(env_entry(id).load(), "clock", "time"))


@named(first_of(AGENTS))
def make_team(agent: AnyAgent, /, **kwargs: object) -> Team:
    """Build an agent.

    Parameters
    ----------
    agent : str, class or callable
        One of `list_agents`; ``"my_module:MyAgent"`` or a class: a `Team`, or one agent's code, which `Each` lifts;
        or a function that returns a team.  Also ``"sb3:FOLDER"`` and ``"sb3:my.zip"``, and a model of
        Stable-Baselines3 as it is in memory (`hushbandits.baselines.sb3.Trained`).
    **kwargs
        Its parameters.

    Raises
    ------
    ValueError
        Unknown name (with the nearest ones), or a bad parameter.
    TypeError
        A parameter that the agent does not take.

    Examples
    --------
    >>> make_team("DP-MASE", epsilon=0.5).epsilon
    0.5
    """
    spec = _agent(agent)
    entry = spec.load()
    if not isinstance(entry, type) and (needs := needed(entry, {**spec.defaults, **kwargs})):
        raise TypeError(
            f"agent {title(agent)} is a function of {', '.join(needs)}, and must build a Team of agent_kwargs alone: "
            f"Each(f) plays a function of (m, rng) that builds one agent, Acts(f) a function of observations"
        )
    if not isinstance(entry, type) or issubclass(entry, Team):
        return spec.build(Team, f"agent {title(agent)}", kwargs)
    if kwargs:
        raise TypeError(
            f"agent {title(agent)!r} is built as {entry.__name__}(m, rng) and takes no parameters: {shown(kwargs)}"
        )
    from hushbandits.core.each import Each  # read where one class plays every seat

    return Each(entry)


def _agent(agent: AnyAgent) -> Spec:
    """The entry of an agent: of its name, class or function, or of a trained model."""
    if not isinstance(agent, (str, type)):
        if isinstance(agent, Model):
            return Spec(_TRAINED, {"source": agent})
        if callable(agent) and not isinstance(agent, Wrapper):
            return Spec(agent)
    return AGENTS.find(agent)


@named(first_of(WRAPPERS))
def make_wrapper(wrapper: str | type[Wrapper], /, **kwargs: object) -> Wrapper:
    """Build a wrapper; errors as `make_team`.

    Parameters
    ----------
    wrapper : str or class
        One of `list_wrappers`, ``"my_module:MyWrapper"``, or a `Wrapper` class.
    **kwargs
        Its parameters.

    Examples
    --------
    >>> make_wrapper("Huber", rate=0.1).rate
    0.1
    """
    return WRAPPERS.find(wrapper).build(Wrapper, f"wrapper {title(wrapper)}", kwargs)


def known_wrappers(wrappers: Sequence[AnyWrapper]) -> tuple[Wrapper, ...]:
    """Return wrappers as instances; a name or a class stands for one with its defaults."""
    if not isinstance(wrappers, (list, tuple)):
        raise ValueError(f"wrappers={shown(wrappers)} must be a list of wrappers, such as [Huber(0.05)] or ['Loss']")
    for w in wrappers:
        if not isinstance(w, (str, type, Wrapper)):
            raise ValueError(f"wrappers: {shown(w)} must be a Wrapper, its class or its name")
    return tuple(w if isinstance(w, Wrapper) else make_wrapper(w) for w in wrappers)


def _brought(spec: Spec) -> dict[str, list[str]]:
    """The wrappers that an env's id brings, each with its parameters."""
    return {name: parameters(WRAPPERS.find(name)) for name in spec.wrappers}


def make_core(id: AnyEnv, /, runs: int = 1, *, wrappers: Sequence[AnyWrapper] = (), **kwargs: object) -> Env:
    """Build the array core of an env.

    Parameters
    ----------
    id : str or class
        One of `list_envs`, ``"my_module:MyEnv"``, or an `Env` class.
    runs : int
        R, the runs played at once.
    wrappers : sequence of Wrapper, of their names or classes
        Outermost first; the env's own protocol, if its id names one, sits behind them.
    **kwargs
        The env's parameters and those of its protocol (``epsilon``, ``confidence``, …).

    Raises
    ------
    ValueError
        Unknown id (with the nearest ones), or a bad parameter.
    TypeError
        A parameter that neither the env nor its protocol takes.

    Examples
    --------
    >>> make_core("CoopNetwork-v0", runs=3, n_agents=4).runs
    3
    """
    spec = env_entry(id)
    entry = spec.load()
    brought = _brought(spec)
    taken = {p for names in brought.values() for p in names}
    made = known_wrappers(wrappers)
    if not {"runs", "wrappers"} <= set(known := parameters(entry)) and not open_ended(entry):
        raise TypeError(f"env {title(id)} must take runs= and wrappers=, and hand them on to Env.__init__")
    if not open_ended(entry):
        elsewhere(f"env {title(id)}", [*known, *taken], kwargs, str(getattr(entry, "setting", "")))
    spec.check(f"env {title(id)}", kwargs, also=taken)
    merged = {**spec.defaults, **kwargs}
    protocol = [make_wrapper(name, **{k: merged[k] for k in names if k in merged}) for name, names in brought.items()]
    mine = {k: v for k, v in merged.items() if k not in taken or k in known}
    env: Env = called(f"env {title(id)}", entry, {**mine, "runs": runs, "wrappers": (*made, *protocol)})
    env.spec = (id, dict(kwargs), made)
    return env


def takes(id: AnyEnv, name: str) -> bool:
    """Whether an env has a parameter, and its id leaves it open."""
    spec = env_entry(id)
    inits = [vars(cls)["__init__"] for cls in getattr(spec.load(), "__mro__", ()) if "__init__" in vars(cls)]
    handed = {p for init in inits for p in parameters(init)} if open_ended(spec.load()) else set()
    return name in {*_env_parameters(spec), *handed} and name not in spec.defaults


def assemble(
    env_id: AnyEnv,
    team: Team,
    *,
    runs: int,
    env: Params | None = None,
    wrappers: Sequence[AnyWrapper] = (),
) -> Env:
    """Build the env that `team`'s protocol asks for.

    Raises
    ------
    ValueError
        An env parameter given here differs from what the agent's own parameters imply.
    """
    given = dict(env or {})
    spec = env_entry(env_id)
    for key in _PLAYERS:
        if key in given and (key in ("runs", "wrappers") or not takes(env_id, key)):
            raise TypeError(
                f"{key}={shown(given[key])} is no parameter of env {title(env_id)}: give {key} to whoever plays it, "
                f"beside env= (evaluate, an experiment, the command line's --{key})"
            )
    setting = getattr(spec.load(), "setting", team.setting)
    if team.setting and setting != team.setting:
        raise ValueError(f"{team.name} plays the {team.setting} setting; {title(env_id)} is {setting}")
    made = known_wrappers(wrappers)
    owners = [(f"agent {team.name}", parameters(type(team)), "in agent_kwargs (agent.{} in an experiment)")]
    owners += [(f"wrapper {w.name}", parameters(type(w)), "to the wrapper") for w in made]
    misplaced(f"env {title(env_id)}", given, spec, _env_parameters(spec), owners)
    brought = {p for names in _brought(spec).values() for p in names}
    known = known_settings(spec.load(), {**spec.defaults, **given}, brought)
    protocol = team.protocol({**known, "mechanism": _mechanism(spec, made)})
    implied = dict(protocol.env)
    own = []
    for name, params in protocol.wrappers:  # one that the env's id brings already is set, not doubled
        if name in spec.wrappers:
            implied |= params
        else:
            own.append(make_wrapper(name, **params))
    for key, value in implied.items():
        if key in given and not _same(given[key], value):
            raise ValueError(
                f"env {key}={given[key]!r} conflicts with {key}={value!r} of agent {team.name}: what both have is "
                f"given on one side, or alike; set it in agent_kwargs, or leave it out of env"
            )
    if team.fields is not None:
        given["fields"] = team.fields
    return make_core(env_id, runs=runs, wrappers=(*made, *own), **{**given, **implied})


#: What is said of a game as a whole, beside the env and its parameters.
_PLAYERS = ("runs", "wrappers", "seed", "seeds", "jobs", "checkpoints")


def _same(one: object, other: object) -> bool:
    """Whether two values of a parameter are equal, arrays included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(as_array(one), as_array(other))
    return bool(one == other)


def _mechanism(spec: Spec, wrappers: Sequence[Wrapper]) -> str:
    """What the env's privacy mechanism calls its noise; empty: it has none, and an agent may bring its own."""
    for name in spec.wrappers:
        entry = WRAPPERS.find(name).load()
        return str(getattr(entry, "noise_as", "") or (entry.__name__ if isinstance(entry, type) else name))
    return next(
        (str(getattr(w, "noise_as", "") or type(w).__name__) for w in wrappers if isinstance(w, Privatizer)), ""
    )


def _env_parameters(spec: Spec) -> list[str]:
    return [*parameters(spec), *(p for names in _brought(spec).values() for p in names)]


def not_the_envs(env_id: AnyEnv, agent: AnyAgent, params: Params) -> None:
    """Raise ``TypeError`` where a parameter given to the agent is the env's."""
    if params and (isinstance(agent, (type, str, Model)) or not callable(agent)):
        env = f"env {title(env_id)}", _env_parameters(env_entry(env_id)), "in env (env.{} in an experiment)"
        misplaced(f"agent {title(agent)}", params, _agent(agent), (), [env])


def own_entries() -> dict[str, dict[str, Spec]]:
    """Return what was registered since the package was imported, for workers to `adopt`."""
    return {table.kind: own for table in _TABLES if (own := table.own())}


def adopt(entries: Mapping[str, Mapping[str, Spec]]) -> None:
    """Register in a worker what its parent had registered."""
    for table in _TABLES:
        table.adopt(entries.get(table.kind, {}))


def shipped_classes() -> list[type]:
    """Return the classes of envs, wrappers and agents that ship, imported; nothing is built."""
    found = [table[name].load() for table in (ENVS, WRAPPERS, AGENTS) for name in table if name in table.shipped]
    return list(dict.fromkeys(entry for entry in found if isinstance(entry, type)))


def _announced(id: str) -> None:
    _spelled(id)
    announce(id)


#: ``sb3:FOLDER``, ``sb3:my.zip``: a policy that somebody has trained.
AGENTS.shelves["sb3"] = lambda path: Spec(_TRAINED, {"source": path})
ENVS.ship(shipped.ENVS)
AGENTS.ship(shipped.AGENTS)
WRAPPERS.ship(shipped.WRAPPERS)
for _id in shipped.ENVS:
    announce(_id)
announce_bandit()
plug(ENVS, "envs", _announced)
plug(AGENTS, "agents")
plug(WRAPPERS, "wrappers")
plug(POLICIES, "policies")
