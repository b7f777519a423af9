"""Everything that can promise: registered envs, wrappers and agents, their variants, and classes of one's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hushbandits.audits.hiding import fits
from hushbandits.core.env import Env
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.names import Kind, own_class
from hushbandits.core.team import Team
from hushbandits.core.types import Params
from hushbandits.core.validate import nearest
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.envs.feedback.env import Feedback
from hushbandits.registry import _ENVS, list_agents, list_envs, list_wrappers, make_core, make_team, make_wrapper
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle
from hushbandits.wrappers.shuffle_dp import PROTOCOLS, ShuffledSum

__all__ = ["VARIANTS", "Case", "claims", "everything", "hider", "named"]

#: Parameters to audit, by registered env, wrapper or agent; by default its own defaults alone.
VARIANTS: dict[str, list[Params]] = {
    "CentralDP-v0": [{}, {"discrete": True}],
    "DistDP-v0": [{}, {"t_min": 0.75}, {"sampler": "exact"}],
    "DistRDP-v0": [{}, {"t_min": 0.75, "scale": 1.0}],
    "DistCDP-v0": [{}, {"t_min": 0.75, "scale": 1.0}],
    "LocalDP-v0": [{}],
    "ShuffleDP-v0": [
        {},
        {"t_min": 0.75},
        {"shuffle": "pure"},
        {"shuffle": "binary-sum"},
        {"shuffle": "binary-sum", "calibrate": "exact"},
    ],
    "LocalDPNetwork-v0": [{}, {"mechanism": "bernoulli"}],
    "PrivateNetwork-v0": [{}, {"own": "noised"}],
    "LocalLaplace": [{}, {"grid": 64}, {"own": "noised"}, {"own": "noised", "grid": 64}],
}
#: Registered wrappers that an env brings under its own name, and so is audited there.
_BROUGHT = {
    "CentralLaplace", "DiscreteGaussian", "DiscreteLaplace", "LocalDiscreteLaplace", "PrivateMeans", "ShuffledNoise",
    "ShuffledSum", "Skellam",
}  # fmt: skip
_EPSILON = 1.0


@dataclass(frozen=True)
class Case:
    """Something that promises, in an env that suits it.

    Parameters
    ----------
    subject : str
        Its name and parameters.
    make : callable
        ``make(epsilon, users)`` → a new env (its runs, users, … as the check asks) or team.
    owner : Wrapper or Team
        Who promises.
    env : Env
        Where.
    promises : tuple of Guarantee
        What it claims there, and is finite.
    """

    subject: str
    owner: Wrapper | Team
    env: Env
    promises: tuple[Guarantee, ...]
    make: Callable[[float], Env] | None = field(default=None, compare=False)


def claims(owner: Wrapper | Team, env: Env) -> tuple[Guarantee, ...]:
    """Finite promises of a wrapper or team as it states them, whatever the base lets stand of them."""
    return tuple(g for g in owner.promises(env) if math.isfinite(g.epsilon))


def everything() -> list[str]:
    """Registered names that promise something, or hide something.

    Examples
    --------
    >>> {"DistDP-v0", "DP-MASE", "LocalLaplace", "SecAgg", "Shuffle"} <= set(everything())
    True
    """
    return [
        *[id for id in list_envs() if _of_env(id)],
        *[name for name in list_agents() if _of_agent(name)],
        *[name for name in list_wrappers() if name not in _BROUGHT and (_hides(name) or _of_wrapper(name))],
    ]


def _label(name: str, parameters: Params) -> str:
    return " ".join([name, *(f"{k}={v}" for k, v in parameters.items())])


def named(name: str) -> list[Case]:
    """All cases of a registered env, wrapper or agent, or of a ``module:Name`` of one's own.

    Raises
    ------
    ValueError
        Unknown; a class that is none; or one that promises nothing.
    """
    if ":" in name:
        cases = _of_class(name)
    elif name in list_envs():
        cases = _of_env(name)
    elif name in list_wrappers():
        cases = _of_wrapper(name)
    elif name in list_agents():
        cases = _of_agent(name)
    else:
        known = everything()
        raise ValueError(f"no env, wrapper or agent is named {name!r}{nearest(name, known)}")
    if not cases and not _hides(name):
        raise ValueError(f"{name} has no privacy mechanism: it promises nothing that an audit could refute")
    return cases


def hider(name: str) -> tuple[Callable[..., Wrapper], str] | None:
    """Return what makes a secure function of this name, and which one it is; ``None``: it is none."""
    for kind, base in (("SecAgg", SecAgg), ("Shuffle", Shuffle)):
        if name == kind:
            return partial(make_wrapper, name), kind
        if ":" in name and issubclass(found := _imported(name), base):
            return found, kind
    return None


def _hides(name: str) -> bool:
    return hider(name) is not None


def _cases(subject: str, env: Env, make: Callable[[float], Env] | None) -> list[Case]:
    found = [Case(subject, w, env, claims(w, env), make) for w in env.wrappers]
    return [case for case in found if case.promises]


def _of_env(id: str) -> list[Case]:
    cases: list[Case] = []
    spec = _ENVS[id]
    if isinstance(spec.entry, str) and spec.entry.startswith("hushbandits.") and not spec.wrappers:
        return []
    for parameters in VARIANTS.get(id, [{}]):
        makes = _maker(id, parameters)
        try:
            cases += _cases(_label(id, parameters), makes(_EPSILON), makes)
        except (FileNotFoundError, TypeError):  # an env that needs an argument of its own
            continue
    return cases


def _maker(id: str, parameters: Params) -> Callable[[float], Env]:
    def make(epsilon: float) -> Env:
        try:
            return make_core(id, epsilon=epsilon, **parameters)
        except TypeError:  # it has no ε
            return make_core(id, **parameters)

    return make


def _of_agent(name: str) -> list[Case]:
    try:
        team = make_team(name)
    except TypeError:  # one that needs an argument of its own
        return []
    if not isinstance(team, VotingTeam) or type(team).promises is Team.promises:
        return []
    env, team = make_core("DPMASE-v0"), make_team(name, epsilon=_EPSILON)
    return [Case(name, team, env, claims(team, env))] if claims(team, env) else []


def _of_wrapper(name: str) -> list[Case]:
    cases: list[Case] = []
    for parameters in VARIANTS.get(name, [{}]):
        try:
            wrapper = make_wrapper(name, epsilon=_EPSILON, **parameters)
        except TypeError:
            wrapper = make_wrapper(name, **parameters)
        for setting in ("feedback", "network"):
            if setting == "feedback" and parameters.get("own") == "noised":
                continue
            if (env := _suited(wrapper, setting)) is not None:
                cases += _cases(f"{_label(name, parameters)}, {setting}", env, None)
    return cases


def _suited(wrapper: Wrapper, setting: str) -> Env | None:
    """An env of this setting that the wrapper fits, with the secure function that its promise stands on."""
    if setting == "network":
        made = partial(make_core, "CoopNetwork-v0", n_agents=4, horizon=3)
        return made(wrappers=[wrapper]) if fits(made, wrapper) else None
    if not fits(partial(Feedback, users="each"), wrapper):
        return None
    behind: list[Wrapper] = []
    if isinstance(wrapper, Mechanism) and wrapper.hidden_by == "sum":
        sums: list[Wrapper] = [SecAgg(), *(ShuffledSum(p, getattr(wrapper, "security", 40)) for p in PROTOCOLS)]
        own = getattr(wrapper, "shuffle", None)
        behind = [s for s in sums if wrapper.seals(s) and (own is None or getattr(s, "shuffle", None) == own)][:1]
    return Feedback(users="each", wrappers=[wrapper, *behind])


def _of_class(path: str) -> list[Case]:
    found = _imported(path)
    if issubclass(found, Env):
        return _cases(path, found(), None)
    if issubclass(found, Team):
        team, env = found(), make_core("DPMASE-v0")
        if not hasattr(team, "routine") or not hasattr(team, "beta"):
            raise ValueError(f"{path}: a team's promise is audited where it votes by a Routine with a parameter beta")
        return [Case(path, team, env, claims(team, env))] if claims(team, env) else []
    cases: list[Case] = []
    for setting in ("feedback", "network"):
        if (suited := _suited(found(), setting)) is not None:
            cases += _cases(path, suited, None)
    return cases


_PROMISING = Kind("mechanism", lambda cls: issubclass(cls, (Wrapper, Env, Team)), "a class of wrappers, envs or teams")


def _imported(path: str) -> Any:
    """Import ``module:Name``, and look at it before anything of it is called."""
    found = own_class(_PROMISING, path)
    needed = [
        p.name for p in inspect.signature(found).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]  # fmt: skip
    if needed:
        raise ValueError(f"{path} needs arguments ({', '.join(needed)}); give them defaults to have it audited")
    return found
