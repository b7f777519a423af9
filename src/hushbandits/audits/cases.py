"""Everything that can promise: registered envs, wrappers and agents, their variants, and classes of one's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hushbandits.audits.verdict import Verdict
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.env import Env
from hushbandits.core.ground.table import Table
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import nearest
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.play import meet
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.envs.feedback.env import Feedback
from hushbandits.registry import (
    assemble,
    list_agents,
    list_envs,
    list_wrappers,
    make_core,
    make_team,
    make_wrapper,
    takes,
)
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle
from hushbandits.wrappers.shuffle_dp import PROTOCOLS, ShuffledSum

__all__ = ["GRID", "VARIANTS", "Budget", "Case", "everything", "fits", "hider", "named", "stage"]

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
    "PrivateNetwork-v0": [{}, {"own": "exact"}],
    "LocalLaplace": [{}, {"grid": 64}, {"own": "exact"}, {"own": "exact", "grid": 64}],
}
#: Registered wrappers that an env brings under its own name, and so is audited there.
_BROUGHT = {
    "CentralLaplace", "DiscreteGaussian", "DiscreteLaplace", "LocalDiscreteLaplace", "PrivateMeans", "ShuffledNoise",
    "ShuffledSum", "Skellam",
}  # fmt: skip
_EPSILON = 1.0
GRID = (0.1, 0.5, 1.0, 4.0, 10.0, 12.0)


@dataclass(frozen=True)
class Budget:
    """How much is run.

    Parameters
    ----------
    level : float
        Probability that an honest mechanism fails a statistical check.
    seed : int
    samples : int
        Runs a side of a black box.
    thorough : bool
        Black boxes, and drawn laws in full, at every ε of the grid, more sizes, longer runs.
    largest, runs : int
        Laws, and drawn ones: every block size up to `largest`, drawn in so many runs.
    """

    level: float = 1e-6
    seed: int = 0
    samples: int = 6000
    thorough: bool = False
    largest: int = 256
    runs: int = 16


@dataclass(frozen=True)
class Case:
    """Something that promises, in an env that suits it; ``make(epsilon)``: a new env, where it has an ε."""

    subject: str
    owner: Any
    env: Env
    make: Callable[[float], Env] | None = field(default=None, compare=False)

    @property
    def promises(self) -> tuple[Guarantee, ...]:
        """What it claims there, and is finite, whatever the base lets stand of it."""
        return tuple(g for g in self.owner.promises(self.env) if math.isfinite(g.epsilon))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The grid, where it can be made at any ε; else its own."""
        return GRID if self.make is not None else (self.owner.epsilon,)

    @property
    def team(self) -> Team | None:
        """The agent that promises, where it is one."""
        return self.owner if isinstance(self.owner, Team) else None

    def within(self, env: Env) -> Case:
        """The same in another env that carries it."""
        owner = self.team or next(w for w in env.wrappers if w.name == self.owner.name)
        return replace(self, env=env, owner=owner)

    def at(self, epsilon: float) -> Case:
        """The same at this ε, where it can be made so, in an env that has begun."""
        env = self.env if self.make is None else self.make(epsilon)
        env.reset(0)
        return replace(self.within(env), subject=f"{self.subject} ε={epsilon:g}")


#: Cases, and verdicts on what could not be looked at.
Found = list[Case | Verdict]


def _unbuilt(subject: str, why: str, broken: bool = False) -> Verdict:
    """It is an error where it is broken; else it needs arguments that only its maker knows."""
    return Verdict(subject, why, 0, float(broken), "errors", untested="" if broken else why)


def everything() -> list[str]:
    """Registered names that promise something, or hide something; and all that cannot be looked at."""
    return [
        name for names, table, look in _TABLES for name in names()
        if name not in _BROUGHT and (hider(name) or _of(name, table, look))
    ]  # fmt: skip


def named(name: str) -> Found:
    """All cases of a registered env, wrapper or agent, or of a ``module:Name`` of one's own.

    Raises
    ------
    ValueError
        An unknown name; something else than a class; or a class that promises nothing.
    """
    if ":" in name:
        cases = _of_class(name)
    else:
        tables = [(table, look) for names, table, look in _TABLES if name in names()]
        if not tables:
            raise ValueError(f"no env, wrapper or agent is named {name!r}{nearest(name, everything())}")
        cases = _of(name, *tables[0])
    if not cases and hider(name) is None:
        raise ValueError(f"{name} has no privacy mechanism: it promises nothing that an audit could refute")
    return cases


def hider(name: str) -> tuple[Callable[..., Wrapper], str] | None:
    """Return what makes a secure function of this name, and which one it is; ``None`` for another name."""
    for kind, base in (("SecAgg", SecAgg), ("Shuffle", Shuffle)):
        if name == kind:
            return partial(make_wrapper, name), kind
        if ":" in name and issubclass(found := _imported(name), base):
            return found, kind
    return None


def fits(make: Callable[..., Env], wrapper: Wrapper) -> bool:
    """Whether the env that `make` builds takes the wrapper."""
    try:
        make(wrappers=[wrapper])
    except ValueError:
        return False
    return True


def _cases(subject: str, env: Env, make: Callable[[float], Env] | None = None, team: Team | None = None) -> Found:
    owners: Sequence[Wrapper | Team] = [team] if team is not None else env.wrappers
    return [case for owner in owners if (case := Case(subject, owner, env, make)).promises]


def _needed(entry: Callable[..., object], given: Mapping[str, object]) -> list[str]:
    """Arguments without a default, that a declaration would have to give."""
    return [
        p.name for p in inspect.signature(entry).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in given
    ]  # fmt: skip


def _of(name: str, table: Table, look: Callable[[str, str, Params], Found]) -> Found:
    """What `look` finds of every variant of a name; where one cannot be built, why."""
    spec, entry = table[name], table[name].load()
    cases: Found = []
    if isinstance(entry, type) and not issubclass(entry, (Wrapper, Env, Team)):
        return cases  # one agent's code, for `Each`, which promises nothing
    for parameters in VARIANTS.get(name, [{}]):
        subject = " ".join([name, *(f"{k}={v}" for k, v in parameters.items())])
        if needed := _needed(entry, {**spec.defaults, **parameters}):
            why = f"needs {', '.join(needed)}: declare what to audit in VARIANTS, or as defaults"
            cases.append(_unbuilt(subject, why))
            continue
        try:
            cases += look(name, subject, parameters)
        except Exception as error:  # a stranger's code may raise anything: it is shown, not hidden
            cases.append(_unbuilt(subject, f"cannot be built: {type(error).__name__}: {error}", True))
    return cases


def _env(id: str, subject: str, parameters: Params) -> Found:
    spec = ENVS[id]
    if isinstance(spec.entry, str) and spec.entry.startswith("hushbandits.") and not spec.wrappers:
        return []
    if not takes(id, "epsilon"):
        return _cases(subject, make_core(id, **parameters))

    def make(epsilon: float) -> Env:
        return make_core(id, epsilon=epsilon, **parameters)

    return _cases(subject, make(_EPSILON), make)


def _agent(name: str, subject: str, parameters: Params) -> Found:
    team = make_team(name)
    if type(team).promises is Team.promises:
        return []
    if not _staged(team):
        return [_unbuilt(name, _VOTES)]
    cases = _cases(subject, stage(team), team=team)
    if cases and _has_epsilon(AGENTS[name].load()):  # that of a promise: others mean a tolerance, or liars
        team = make_team(name, epsilon=_EPSILON, **parameters)
        cases = _cases(subject, stage(team), team=team)
    return cases


#: The env where a team's promise is audited, by its setting; of other settings, those who vote by a routine.
_STAGES: dict[str, type[Env] | str] = {"feedback": Feedback, "network": "CoopNetwork-v0"}


def _staged(team: Team) -> bool:
    return isinstance(team, VotingTeam) or team.setting in _STAGES


def stage(team: Team) -> Env:
    """Where a team's promise is audited: among votes, on a graph, or where its server has the mechanism it brings."""
    if team.setting not in _STAGES:
        return make_core("DPMASE-v0")
    env = assemble(_STAGES[team.setting], team, runs=1)
    meet(env, team)
    return env


_VOTES = "a team's promise is audited in feedback, on a graph, or where it votes by a Routine"


def _has_epsilon(entry: Callable[..., object]) -> bool:
    return "epsilon" in inspect.signature(entry).parameters


def _wrapper(name: str, subject: str, parameters: Params) -> Found:
    given = {"epsilon": _EPSILON, **parameters} if _has_epsilon(WRAPPERS[name].load()) else parameters
    found: Found = []
    for setting in ("feedback", "network"):
        if setting == "feedback" and parameters.get("own") == "exact":
            continue  # users are met once, and go by nothing
        if (env := _suited(make_wrapper(name, **given), setting)) is not None:
            found += _cases(f"{subject}, {setting}", env)
    return found


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


#: What is registered: its names, their table, and how one of them is looked at.
_TABLES = (list_envs, ENVS, _env), (list_agents, AGENTS, _agent), (list_wrappers, WRAPPERS, _wrapper)


def _of_class(path: str) -> Found:
    found = _imported(path)
    if issubclass(found, Env):
        return _cases(path, found())
    if issubclass(found, Team):
        team = found()
        if not _staged(team):
            raise ValueError(f"{path}: {_VOTES}")
        return _cases(path, stage(team), team=team)
    cases: Found = []
    for setting in ("feedback", "network"):
        if (suited := _suited(found(), setting)) is not None:
            make = partial(_with_epsilon, found, setting) if _has_epsilon(found) else None
            cases += _cases(path, suited, make)
    return cases


def _with_epsilon(found: Callable[..., Wrapper], setting: str, epsilon: float) -> Env:
    env = _suited(found(epsilon=epsilon), setting)
    assert env is not None
    return env


_PROMISING = Table("mechanism", (Wrapper, Env, Team), "a class of wrappers, envs or teams")


def _imported(path: str) -> Any:
    """Import ``module:Name``, and look at it before anything of it is called."""
    found = _PROMISING.own_class(path)
    if needed := _needed(found, {}):
        raise ValueError(f"{path} needs arguments ({', '.join(needed)}); give them defaults to have it audited")
    return found
