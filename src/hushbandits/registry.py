"""The tables of envs, agents and wrappers, and how they are put together.

Adding one is one line here; entries are imported when they are first used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pettingzoo
from pettingzoo.env_registry.exceptions import PettingZooRegistryError

from hushbandits.core.env import Env
from hushbandits.core.roles import Privatizer
from hushbandits.core.team import Team
from hushbandits.core.validate import check_flags, check_keywords, nearest, shown
from hushbandits.core.wrapper import Wrapper

__all__ = [
    "assemble",
    "clock",
    "list_agents",
    "list_envs",
    "list_wrappers",
    "make_core",
    "make_team",
    "make_wrapper",
    "register_agent",
    "register_env",
    "register_wrapper",
]

Entry = str | Callable[..., Any]


@dataclass(frozen=True)
class _Spec:
    entry: Entry
    defaults: dict[str, Any] = field(default_factory=dict)
    #: Registered wrappers that belong to an env; each takes those of the env's parameters that it knows.
    wrappers: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        if not isinstance(self.entry, str):
            return self.entry
        module, _, name = self.entry.partition(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return loaded


_ENVS: dict[str, _Spec] = {}
_AGENTS: dict[str, _Spec] = {}
_WRAPPERS: dict[str, _Spec] = {}


def _add(table: dict[str, _Spec], kind: str, name: str, spec: _Spec) -> None:
    if name in table:
        raise ValueError(f"{kind} {name!r} is registered already; choose another name")
    table[name] = spec


def _get(table: dict[str, _Spec], kind: str, name: str) -> _Spec:
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"no {kind} is named {shown(name)}{nearest(str(name), table)}")
    return table[name]


def register_env(id: str, entry: Entry, /, *, wrappers: tuple[str, ...] = (), **defaults: Any) -> None:
    """Add an env, here and as ``hushbandits/<id>`` in PettingZoo's own registry.

    Parameters
    ----------
    id : str
        Such as ``"Mine-v0"``; a duplicate, or one that PettingZoo cannot read, raises ``ValueError``.
    entry : callable or str
        An `Env` class, or ``"package.module:Class"``, imported at first use.
    wrappers : tuple of str
        Registered wrappers that are part of it; their parameters become the env's.
    **defaults
        Parameters that differ from the class's own defaults.
    """
    try:
        public = pettingzoo.EnvSpec(f"hushbandits/{id}").id  # as PettingZoo spells it
    except PettingZooRegistryError:
        raise ValueError(f"id={id!r} must be letters, digits, '_', '.', ':' or '-', as in 'Mine-v0'") from None
    if id not in _ENVS and public in pettingzoo.parallel_registry:  # PettingZoo itself would only warn
        raise ValueError(f"an env {public!r} is registered with PettingZoo already; choose another name")
    _add(_ENVS, "an env", id, _Spec(entry, defaults, wrappers))
    # The entry point is a name: views are imported when PettingZoo makes one.
    pettingzoo.register("parallel", public, "hushbandits.views.parallel:make", kwargs={"id": id})


def register_agent(name: str, entry: Entry, /, **defaults: Any) -> None:
    """Add a team: a `Team` class, a function that returns one, or ``"package.module:Class"``."""
    _add(_AGENTS, "an agent", name, _Spec(entry, defaults))


def register_wrapper(name: str, entry: Entry, /, **defaults: Any) -> None:
    """Add a wrapper: a `Wrapper` class or ``"package.module:Class"``."""
    _add(_WRAPPERS, "a wrapper", name, _Spec(entry, defaults))


def list_envs() -> list[str]:
    """Return all env ids, sorted.

    Examples
    --------
    >>> "DPMASE-v0" in list_envs()
    True
    """
    return sorted(_ENVS)


def list_agents() -> list[str]:
    """Return all agent names, sorted.

    Examples
    --------
    >>> "DP-MASE" in list_agents()
    True
    """
    return sorted(_AGENTS)


def list_wrappers() -> list[str]:
    """Return all wrapper names, sorted.

    Examples
    --------
    >>> "Huber" in list_wrappers()
    True
    """
    return sorted(_WRAPPERS)


def clock(id: str) -> str:
    """Return what an env's time is counted in.

    Examples
    --------
    >>> clock("CoopNetwork-v0")
    'rounds'
    """
    return str(getattr(_get(_ENVS, "env", id).load(), "clock", "time"))


def make_team(name: str, /, **kwargs: Any) -> Team:
    """Build a registered agent.

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
    spec = _get(_AGENTS, "agent", name)
    entry = spec.load()
    check_keywords(f"agent {name}", entry, kwargs)
    check_flags(entry, kwargs)
    team: Team = entry(**{**spec.defaults, **kwargs})
    return team


def make_wrapper(name: str, /, **kwargs: Any) -> Wrapper:
    """Build a registered wrapper; errors as `make_team`.

    Examples
    --------
    >>> make_wrapper("Huber", rate=0.1).rate
    0.1
    """
    spec = _get(_WRAPPERS, "wrapper", name)
    entry = spec.load()
    check_keywords(f"wrapper {name}", entry, kwargs)
    check_flags(entry, kwargs)
    wrapper: Wrapper = entry(**{**spec.defaults, **kwargs})
    return wrapper


def _parameters(function: Callable[..., Any]) -> list[str]:
    import inspect

    return [p for p in inspect.signature(function).parameters if p not in ("self", "name")]


def make_core(id: str, /, runs: int = 1, *, wrappers: Sequence[Wrapper] = (), **kwargs: Any) -> Env:
    """Build the array core of an env.

    Parameters
    ----------
    id : str
        One of `list_envs`.
    runs : int
        R, the runs played at once.
    wrappers : sequence of Wrapper
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
    spec = _get(_ENVS, "env", id)
    entry = spec.load()
    own = [_get(_WRAPPERS, "wrapper", w) for w in spec.wrappers]
    known = {name: _parameters(w.load()) for name, w in zip(spec.wrappers, own, strict=True)}
    taken = {p for names in known.values() for p in names}
    check_keywords(f"env {id}", entry, [k for k in kwargs if k not in taken])
    check_flags(entry, kwargs)
    merged = {**spec.defaults, **kwargs}
    protocol = [make_wrapper(name, **{k: merged[k] for k in names if k in merged}) for name, names in known.items()]
    mine = {k: v for k, v in merged.items() if k not in taken or k in _parameters(entry)}
    env: Env = entry(runs=runs, wrappers=(*wrappers, *protocol), **mine)
    env.spec = (id, dict(kwargs), tuple(wrappers))
    return env


def assemble(
    env_id: str,
    team: Team,
    *,
    runs: int,
    env: dict[str, Any] | None = None,
    wrappers: Sequence[Wrapper] = (),
) -> Env:
    """Build the env that `team`'s protocol asks for.

    Raises
    ------
    ValueError
        An env parameter given here differs from what the agent's own parameters imply.
    """
    given = dict(env or {})
    spec = _get(_ENVS, "env", env_id)
    setting = getattr(spec.load(), "setting", team.setting)
    if team.setting and setting != team.setting:
        raise ValueError(f"{team.name} plays the {team.setting} setting; {env_id} is {setting}")
    private = bool(spec.wrappers) or any(
        isinstance(w, Privatizer) for w in wrappers
    )  # else an agent may bring its mechanism
    protocol = team.protocol({**spec.defaults, **given, "mechanism": private})
    implied = dict(protocol.env)
    own = []
    for name, params in protocol.wrappers:  # one that the env's id brings already is set, not doubled
        if name in spec.wrappers:
            implied |= params
        else:
            own.append(make_wrapper(name, **params))
    for key, value in implied.items():
        if key in given and given[key] != value:
            raise ValueError(
                f"env {key}={given[key]!r} conflicts with {key}={value!r} of agent {team.name}; "
                f"set it in agent_kwargs, or leave it out of env"
            )
    if team.fields is not None:
        given["fields"] = team.fields
    return make_core(env_id, runs=runs, wrappers=(*wrappers, *own), **{**given, **implied})


register_env("DPMASE-v0", "hushbandits.envs.exploration.env:Exploration")
register_env(
    "CorruptedElimination-v0", "hushbandits.envs.exploration.env:Exploration", wrappers=("VoteCorruption",), eta=0.9
)
register_env(
    "DecentralizedExploration-v0", "hushbandits.envs.exploration.env:Exploration",
    eta=0.9, comparison=">=", idle="stays", stop="players", single=True, precision=0.25, strict=True,
)  # fmt: skip
register_env("CoopNetwork-v0", "hushbandits.envs.network.env:CoopNetwork")
register_env("PrivateNetwork-v0", "hushbandits.envs.network.env:CoopNetwork", wrappers=("PrivateMeans",))
register_env("ByzantineNetwork-v0", "hushbandits.envs.network.env:CoopNetwork", wrappers=("Huber",), rate=1e-3)
register_env("CentralDP-v0", "hushbandits.envs.feedback.env:Feedback", wrappers=("CentralLaplace",))
register_env("DistDP-v0", "hushbandits.envs.feedback.env:Feedback", wrappers=("DiscreteLaplace", "SecAgg"))
register_env("DistRDP-v0", "hushbandits.envs.feedback.env:Feedback", wrappers=("Skellam", "SecAgg"))
register_env("DistCDP-v0", "hushbandits.envs.feedback.env:Feedback", wrappers=("DiscreteGaussian", "SecAgg"))
register_env("LocalDP-v0", "hushbandits.envs.feedback.env:Feedback", wrappers=("LocalDiscreteLaplace",))
register_env("LTR-v0", "hushbandits.envs.feedback.ltr:LTR")
register_env("ShuffleDP-v0", "hushbandits.envs.feedback.env:Feedback", wrappers=("ShuffledNoise", "ShuffledSum"))

register_agent("DP-SE", "hushbandits.baselines.sajed2019:DPSE")
register_agent("Dist-DP-SE", "hushbandits.agents.chowdhury2023:DistDPSE")
register_agent("Dist-RDP-SE", "hushbandits.agents.chowdhury2023:DistRDPSE")
register_agent("Dist-CDP-SE", "hushbandits.agents.chowdhury2023:DistCDPSE")
register_agent("CDP-SE", "hushbandits.agents.chowdhury2023:CDPSE")
register_agent("LDP-SE", "hushbandits.agents.chowdhury2023:LDPSE")
register_agent("Shuffle-DP-SE", "hushbandits.agents.chowdhury2023:ShuffleDPSE")
register_agent("VB-SDP-AE", "hushbandits.baselines.tenenbaum2021:VBSDPAE")
register_agent("DP-MASE", "hushbandits.agents.rio2023:DPMASE")
register_agent("Corrupted-Elimination", "hushbandits.agents.rio2023:CorruptedElimination")
register_agent("Central", "hushbandits.baselines.rio2023:Central")
register_agent("Independent", "hushbandits.baselines.rio2023:Independent")
for _routine in ("Naive", "Median", "SE", "SER3", "KL-Racing", "LUCB", "KL-LUCB", "UGapEc"):
    register_agent(f"Decentralized-{_routine}", "hushbandits.agents.feraud2019:Decentralized", routine=_routine)
    register_agent(f"0-Privacy-{_routine}", "hushbandits.baselines.feraud2019:ZeroPrivacy", routine=_routine)
    register_agent(f"1-Privacy-{_routine}", "hushbandits.baselines.feraud2019:OnePrivacy", routine=_routine)
register_agent("Decentralized-SER4", "hushbandits.agents.feraud2019:DSER4")
register_agent("0-Privacy-SER4", "hushbandits.baselines.feraud2019:ZeroPrivacySER4")
register_agent("1-Privacy-SER4", "hushbandits.baselines.feraud2019:OnePrivacySER4")
register_agent("Multi-UCB", "hushbandits.baselines.dubey2020:MultiUCB")
register_agent("Private-UCB", "hushbandits.agents.dubey2020:PrivateUCB")
register_agent("Byzantine-UCB", "hushbandits.agents.dubey2020:ByzantineUCB")
register_agent("DP-UCB-INT", "hushbandits.baselines.tossou2016:DPUCBInt")
register_agent("QuACK-UCB", "hushbandits.agents.howson2024:QuACKUCB")
register_agent("Random", "hushbandits.baselines.uniform:Random")
register_agent("UCB1", "hushbandits.baselines.auer2002:UCB1")

register_wrapper("CentralLaplace", "hushbandits.wrappers.central_dp:CentralLaplace")
register_wrapper("DiscreteGaussian", "hushbandits.wrappers.distributed_dp:DiscreteGaussian")
register_wrapper("LocalDiscreteLaplace", "hushbandits.wrappers.local_dp:LocalDiscreteLaplace")
register_wrapper("ShuffledNoise", "hushbandits.wrappers.shuffle_dp:shuffled_noise")
register_wrapper("ShuffledSum", "hushbandits.wrappers.shuffle_dp:ShuffledSum")
register_wrapper("Skellam", "hushbandits.wrappers.distributed_dp:Skellam")
register_wrapper("DiscreteLaplace", "hushbandits.wrappers.distributed_dp:DiscreteLaplace")
register_wrapper("SecAgg", "hushbandits.wrappers.secagg:SecAgg")
register_wrapper("Huber", "hushbandits.wrappers.huber:Huber")
register_wrapper("LocalLaplace", "hushbandits.wrappers.local_laplace:LocalLaplace")
register_wrapper("Loss", "hushbandits.wrappers.loss:Loss")
register_wrapper("VoteCorruption", "hushbandits.wrappers.vote_corruption:VoteCorruption")
register_wrapper("Shuffle", "hushbandits.wrappers.shuffle:Shuffle")
register_wrapper("PrivateMeans", "hushbandits.wrappers.private_means:PrivateMeans")
