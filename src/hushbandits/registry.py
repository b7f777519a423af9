"""Functions that register, list and build envs, agents and wrappers.

What is built in stands in `hushbandits.builtin`; entries are imported when they are first used.
"""

import re
from collections.abc import Callable, Mapping, Sequence

import gymnasium
import numpy as np
import pettingzoo

from hushbandits import builtin
from hushbandits.core import Env, Params, Privatizer, Team, Wrapper, shown
from hushbandits.core.team import SHOWN
from hushbandits.core.utils import Registry, Spec, parameters
from hushbandits.core.utils.registry import Entry
from hushbandits.policies.registry import POLICIES

#: What may stand for an env, an agent, a wrapper: a registered name, ``"module:Class"``, or the class itself; for an
#: agent also a model of Stable-Baselines3.
AnyEnv = str | type[Env]
AnyAgent = str | type | Callable[..., Team] | object
AnyWrapper = str | Wrapper | type[Wrapper]
#: Plays what was trained.
_TRAINED = "hushbandits.baselines.sb3:Trained"


def _announce(id: str) -> None:
    """Register an env's id with PettingZoo (from 1.27 on) and as a vector env with Gymnasium.

    ``ValueError``, and nothing is registered, where one of them has such an id or takes none.
    """
    if not re.fullmatch(r"[\w:.-]+", id):  # as PettingZoo and Gymnasium read ids
        raise ValueError(f"id={shown(id)} must consist of letters, digits, '_', '.', ':' and '-', such as 'Mine-v0'")
    public = f"hushbandits/{id}"
    petting = hasattr(pettingzoo, "register")
    spelled = pettingzoo.EnvSpec(public).id if petting else public  # as PettingZoo spells it
    taken = petting and (spelled in pettingzoo.parallel_registry or spelled in pettingzoo.aec_registry)
    if public in gymnasium.registry or taken:  # they would only warn
        raise ValueError(f"an env {public!r} is registered with Gymnasium or PettingZoo already; choose another name")
    makers = "hushbandits.adapters.pettingzoo_modules"
    try:
        # `id` is a word of gymnasium.make's own.
        gymnasium.register(
            public, f"{makers}:one_agent", vector_entry_point=f"{makers}:of_gymnasium", kwargs={"env_id": id}
        )
    except gymnasium.error.Error as refused:  # it takes no name both with and without a version
        raise ValueError(f"id={id!r} cannot be registered with Gymnasium: {refused}") from None
    if petting:
        pettingzoo.register("parallel", spelled, "hushbandits.adapters.make:make", kwargs={"id": id})
        pettingzoo.register("aec", spelled, "hushbandits.adapters.make:make_aec", kwargs={"id": id})


def _acts(cls: type) -> bool:
    return issubclass(cls, Team) or callable(getattr(cls, "act", None))


ENVS = Registry("env", "an Env class", lambda cls: issubclass(cls, Env), builtin.ENVS, "envs", _announce)
AGENTS = Registry(
    "agent", "a Team class, or a class with act (and compose, receive) for PerAgent", _acts, builtin.AGENTS, "agents"
)
WRAPPERS = Registry("wrapper", "a Wrapper class", lambda cls: issubclass(cls, Wrapper), builtin.WRAPPERS, "wrappers")
_TABLES = (ENVS, AGENTS, WRAPPERS)


def register_env(id: str, entry: Entry, /, *, wrappers: tuple[str, ...] = (), **defaults: object) -> None:
    """Register an env as `id`, and as ``hushbandits/<id>`` with PettingZoo and (for `make_vec`) Gymnasium.

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

    Examples
    --------
    >>> register_env("CoopNetwork-Star-v0", "hushbandits.envs.network:CoopNetwork", graph="star", n_agents=5)
    >>> make_batched("CoopNetwork-Star-v0").n_agents
    5
    """
    ENVS.register(id, Spec(entry, defaults, wrappers))


def register_agent(name: str, entry: Entry, /, **defaults: object) -> None:
    """Register `entry` as the agent `name`, with `defaults` for its parameters.

    Parameters
    ----------
    name : str
        A duplicate, or what is no string, raises ``ValueError``.
    entry : callable or str
        A `Team` class, one for `PerAgent`, a function that returns a team, or ``"package.module:Class"``.
    **defaults
        Parameters that differ from the class's own defaults.

    Examples
    --------
    >>> register_agent("UCB-wide", "hushbandits.baselines.independent:Alone", policy="UCB", sigma=1.0)
    >>> "UCB-wide" in list_agents()
    True
    """
    AGENTS.register(name, Spec(entry, defaults))


def register_wrapper(name: str, entry: Entry, /, **defaults: object) -> None:
    """Register `entry` as the wrapper `name`, with `defaults` for its parameters.

    Parameters
    ----------
    name : str
        A duplicate, or what is no string, raises ``ValueError``.
    entry : callable or str
        A `Wrapper` class, or ``"package.module:Class"``.
    **defaults
        Parameters that differ from the class's own defaults.

    Examples
    --------
    >>> register_wrapper("Loss-half", "hushbandits.wrappers.loss:Loss", rate=0.5)
    >>> make_wrapper("Loss-half").rate
    0.5
    """
    WRAPPERS.register(name, Spec(entry, defaults))


def title(given: AnyEnv | AnyAgent | AnyWrapper | Team) -> str:
    """Return `given` if it is a text, else the name of an agent or wrapper instance, or of a class."""
    if isinstance(given, str):
        return given
    return given.name if isinstance(given, (Team, Wrapper)) else str(getattr(given, "__name__", type(given).__name__))


def list_envs() -> list[str]:
    """Return all env ids, sorted.

    Examples
    --------
    >>> list_envs()[:2]
    ['ByzantineNetwork-v0', 'CentralDP-v0']
    """
    return sorted(ENVS)


def list_agents() -> list[str]:
    """Return all agent names, sorted.

    Examples
    --------
    >>> [name for name in list_agents() if name.startswith("Dist-")]
    ['Dist-CDP-SE', 'Dist-DP-SE', 'Dist-RDP-SE']
    """
    return sorted(AGENTS)


def list_wrappers() -> list[str]:
    """Return all wrapper names, sorted.

    Examples
    --------
    >>> [name for name in list_wrappers() if name.startswith("Local")]
    ['LocalBernoulli', 'LocalDiscreteLaplace', 'LocalLaplace', 'LocalMechanism', 'LocalTruncated']
    """
    return sorted(WRAPPERS)


def make_team(agent: AnyAgent, /, **kwargs: object) -> Team:
    """Return a new instance of `agent` with the parameters `kwargs`.

    Parameters
    ----------
    agent : str, class or callable
        One of `list_agents`; ``"my_module:MyAgent"`` or a class: a `Team`, or one agent's code, which `PerAgent` lifts;
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
    if not isinstance(entry, type) or issubclass(entry, Team):
        return spec.build(Team, f"agent {title(agent)}", kwargs)
    from hushbandits.agents.per_agent import PerAgent  # read where one class plays every seat

    return PerAgent(entry, params=kwargs)


def _agent(agent: AnyAgent) -> Spec:
    """Return the registry entry of an agent, given its name, class or function, or a trained model."""
    if hasattr(agent, "predict") and not isinstance(agent, type):
        return Spec(_TRAINED, {"source": agent})
    if isinstance(agent, str) and agent.startswith("sb3:"):
        return Spec(_TRAINED, {"source": agent.removeprefix("sb3:")})
    if callable(agent) and not isinstance(agent, type | Wrapper):
        return Spec(agent)
    return AGENTS.find(agent)


def make_wrapper(wrapper: str | type[Wrapper], /, **kwargs: object) -> Wrapper:
    """Return a new instance of `wrapper` with the parameters `kwargs`; errors are those of `make_team`.

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


def make_batched(id: AnyEnv, /, runs: int = 1, *, wrappers: Sequence[AnyWrapper] = (), **kwargs: object) -> Env:
    """Return the batched env `id`, an `Env` that plays `runs` runs at once.

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
    >>> make_batched("CoopNetwork-v0", runs=3, n_agents=4).runs
    3
    """
    return assemble(id, None, runs=runs, env=kwargs, wrappers=wrappers)


def takes(id: AnyEnv, name: str) -> bool:
    """Return whether an env has the parameter `name` and its id does not fix it."""
    spec = ENVS.find(id)
    return name in _env_parameters(spec) and name not in spec.defaults


def assemble(env_id: AnyEnv, team: Team | None, *, runs: int, env: Params, wrappers: Sequence[AnyWrapper] = ()) -> Env:
    """Build the env that meets the requirements of `team` (``None``: no requirements).

    Raises
    ------
    ValueError
        An env parameter given here differs from what the agent's own parameters imply.
    TypeError
        `env` holds ``runs`` or ``wrappers``, which are arguments.
    """
    spec, given = ENVS.find(env_id), dict(env)
    for name in given.keys() & {"runs", "wrappers"}:
        allowed = ", ".join(sorted({*_env_parameters(spec)} - {"runs", "wrappers"}))
        raise TypeError(f"env: {name}={shown(given[name])} is no parameter of {title(env_id)}; allowed are {allowed}")
    if not isinstance(wrappers, (list, tuple)):
        raise ValueError(f"wrappers={shown(wrappers)} must be a list of wrappers, such as [Huber(0.05)] or ['Loss']")
    entry, made = spec.load(), tuple(w if isinstance(w, Wrapper) else make_wrapper(w) for w in wrappers)
    brought = {name: WRAPPERS.find(name) for name in spec.wrappers}
    if had := [name for w in made if (name := getattr(w, "name", "")) in brought]:
        raise ValueError(f"env {title(env_id)} has a {had[0]} already: pass parameters of {had[0]} to the env instead")
    known_to = {name: parameters(its) for name, its in brought.items()}
    taken = [p for its in known_to.values() for p in its]
    if team is not None:
        setting = getattr(entry, "setting", team.setting)
        if team.setting and setting != team.setting:
            raise ValueError(f"{team.name} plays the {team.setting} setting, but {title(env_id)} has {setting}")
        # What a team may know before the env is built.
        known = {*SHOWN, *getattr(entry, "agent_visible", ()), *getattr(entry, "agent_visible_params", ()), *taken}
        settings = {name: value for name, value in {**spec.defaults, **given}.items() if name in known}
        protocol = team.requirements({**settings, "mechanism": _mechanism(brought, made)})
        implied = dict(protocol.env)
        for name, params in protocol.wrappers:  # one that the env's id brings already is set, not doubled
            if name in brought:
                implied |= params
            else:
                made = (*made, make_wrapper(name, **params))
        for key, value in implied.items():
            if key in given and given[key] is not value and not np.array_equal(given[key], value):
                wanted = f"must equal {key}={value!r}, which agent {team.name} requires"
                raise ValueError(f"env {key}={given[key]!r} {wanted}: leave {key} out of env")
        given |= implied if team.fields is None else {"fields": team.fields, **implied}
    takes, merged = parameters(entry), {**spec.defaults, **given}
    parts = [
        its.build(Wrapper, f"wrapper {name}", {k: merged[k] for k in known_to[name] if k in merged})
        for name, its in brought.items()
    ]
    mine = {k: v for k, v in merged.items() if k not in taken or k in takes}
    further = {"runs": runs, "wrappers": (*made, *parts)}
    built = Spec(entry).build(Env, f"env {title(env_id)}", mine, further, taken)  # type: ignore[type-abstract]
    built.spec = (env_id, given, made)
    return built


def _mechanism(brought: Mapping[str, Spec], wrappers: Sequence[Wrapper]) -> str:
    """Return `noise_as`, else the class name, of the id's first wrapper, else of the first mechanism in `wrappers`."""
    for name, its in brought.items():
        entry = its.load()
        return str(getattr(entry, "noise_as", "") or (entry.__name__ if isinstance(entry, type) else name))
    own = (w for w in wrappers if isinstance(w, Privatizer))
    return next((str(getattr(w, "noise_as", "") or type(w).__name__) for w in own), "")


def _env_parameters(spec: Spec) -> list[str]:
    """Return the names of an env's parameters, including the parameters of its id's wrappers."""
    return [p for its in (spec, *map(WRAPPERS.find, spec.wrappers)) for p in parameters(its)]


def owners(parameter: str) -> dict[str, list[str]]:
    """Return the names of the built-in envs, agents, wrappers and policies that take a parameter, by kind.

    Examples
    --------
    >>> owners("rate")["wrapper"]
    ['Huber', 'Loss']
    """
    tables = (*_TABLES, POLICIES)
    found = {t.kind: [n for n in sorted(t.builtin) if parameter in _env_parameters(t[n])] for t in tables}
    return {kind: names for kind, names in found.items() if names}


def own_entries() -> list[dict[str, Spec]]:
    """Return the entries that user code registered in this process, one dict per registry."""
    return [table.own() for table in _TABLES]


def adopt(entries: Sequence[Mapping[str, Spec]]) -> None:
    """Register `entries` of the parent process in this worker process."""
    for table, own in zip(_TABLES, entries, strict=True):
        table.entries |= own


def builtin_classes() -> list[type]:
    """Import and return the built-in classes of envs, wrappers and agents."""
    found = [table.entries[name].load() for table in _TABLES for name in table.entries if name in table.builtin]
    return list(dict.fromkeys(entry for entry in found if isinstance(entry, type)))


# For one agent alone.
_BANDIT = "hushbandits.adapters.bandit"
gymnasium.register("hushbandits/Bandit-v0", f"{_BANDIT}:BanditEnv", vector_entry_point=f"{_BANDIT}:make_bandits")
