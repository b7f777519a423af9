"""What is audited: registered envs, wrappers and agents that promise, and classes of one's own; and what is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hushbandits.core import Env, Guarantee, Params, Team, Wrapper
from hushbandits.core.utils import Registry, nearest, parameters, ships
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.envs.feedback.env import Feedback
from hushbandits.registry import AGENTS, ENVS, WRAPPERS, assemble, make_batched, make_team, make_wrapper, takes
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle
from hushbandits.wrappers.shuffled_sum import PROTOCOLS, ShuffledSum

_BINARY = {"shuffle": "binary-sum"}
#: Parameters to audit, by registered env, wrapper or agent; by default its own defaults alone.
VARIANTS: dict[str, list[Params]] = {
    "CentralDP-v0": [{}, {"discrete": True}],
    "DistDP-v0": [{}, {"t_min": 0.75}, {"noise": "exact"}],
    "DistRDP-v0": [{}, {"t_min": 0.75, "scale": 1.0}],
    "DistCDP-v0": [{}, {"t_min": 0.75, "scale": 1.0}],
    "ShuffleDP-v0": [{}, {"t_min": 0.75}, {"shuffle": "pure"}, _BINARY, {**_BINARY, "calibrate": "exact"}],
    "LocalDPNetwork-v0": [{}, {"mechanism": "bernoulli"}],
    "PrivateNetwork-v0": [{}, {"own": "exact"}],
    "LocalLaplace": [{}, {"grid": 64}, {"own": "exact"}, {"own": "exact", "grid": 64}],
}
#: Why nothing could have been found, where nobody says more.
_TOO_LARGE = "too few runs for so large an ε or δ"
#: Why what passes says nothing of a promise whose neighbours nobody can play.
_WORDS = "its adjacency is in words alone, and only one reward was changed: say what is `replaced`"


@dataclass(frozen=True)
class Verdict:
    """One check of one promise.

    Parameters
    ----------
    subject, check : str
        What was audited, and how.
    claimed, measured : float
        The claim stands where ``measured ≤ claimed``.
    unit : str
        What the two numbers are.
    power : str
        What the check could have caught; empty: everything that its law can show.
    level : float
        Probability that an honest mechanism fails it; 0: it is exact.
    promise : Guarantee or None
        The promise that it bears on.
    least : float
        The smallest true ε that it refutes, with 90 % power where it is statistical; ``inf``: none; NaN: it is not
        about an ε.
    untested : str
        Why nothing could have been found; ``""``: something could.
    other : bool
        What it finds is no ε or δ, only that something is not as planned: that refutes no promise.

    Examples
    --------
    >>> Verdict("mine", "white box", claimed=1.0, measured=1.2).passed
    False
    """

    subject: str
    check: str
    claimed: float
    measured: float
    unit: str = "ε"
    power: str = ""
    level: float = 0.0
    promise: Guarantee | None = field(default=None, compare=False)
    least: float = math.nan
    untested: str = ""
    other: bool = False

    @property
    def why(self) -> str:
        """Why nothing could have been found; ``""``: something could."""
        words = self.promise is not None and self.promise.adjacency.replaced == "unknown"
        return self.untested or (_WORDS if words else _TOO_LARGE if math.isinf(self.least) else "")

    @property
    def word(self) -> str:
        """``FAILS``, ``other law``, ``not tested`` (nothing could have been found), or ``passes``."""
        slack = self.claimed if self.unit.startswith("δ") else max(1.0, self.claimed)  # a δ may be tiny
        if self.measured > self.claimed + 1e-9 * slack:
            return "other law" if self.other else "FAILS"
        return "not tested" if self.why else "passes"

    @property
    def passed(self) -> bool:
        """Whether nothing refutes the claim."""
        return self.word != "FAILS"


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
    largest, runs : int
        Laws, and drawn ones: every block size up to `largest`, drawn in so many runs.
    grid, full : tuple of float
        Each ε at which laws are looked at, and those at which all is played.
    """

    level: float = 1e-6
    seed: int = 0
    samples: int = 6000
    largest: int = 256
    runs: int = 16
    grid: tuple[float, ...] = (0.1, 0.5, 1.0, 4.0, 10.0, 12.0)
    full: tuple[float, ...] = (1.0,)


@dataclass(frozen=True)
class Case:
    """Something that promises, in an env that suits it, and how much of it is run.

    ``make(epsilon=…)``: the team, if any, and the env anew; `claim`: which of its promises, by default the first one.
    """

    subject: str
    owner: Any
    env: Env
    make: Callable[..., tuple[Team | None, Env]] | None = field(default=None, compare=False)
    budget: Budget = Budget()
    claim: Guarantee | None = None

    @property
    def promises(self) -> tuple[Guarantee, ...]:
        """What it claims there, and is finite, whatever the base lets stand of it."""
        return tuple(g for g in self.owner.claimed_guarantees(self.env) if math.isfinite(g.epsilon))

    @property
    def promise(self) -> Guarantee:
        """What it is held against."""
        return self.claim or self.promises[0]

    @property
    def team(self) -> Team | None:
        """The agent that promises, where it is one."""
        return self.owner if isinstance(self.owner, Team) else None

    @property
    def watched(self) -> str:
        """Who is watched: ``"users"`` of blocks, ``"agents"`` on a graph, or an agent's ``"actions"`` elsewhere."""
        acts = self.team is not None and self.env.setting != "network"
        return "actions" if acts else "agents" if self.env.payload.named else "users"

    def within(self, env: Env) -> Case:
        """The same in another env that carries it."""
        owner = self.team or next(w for w in env.wrappers if w.name == self.owner.name)
        return replace(self, env=env, owner=owner)

    def over(self, *epsilons: float) -> Iterator[Case]:
        """The same at each of these ε, in envs that have begun; where it cannot be made so, once as it is."""
        for epsilon in epsilons if self.make else (self.promise.epsilon,):
            team, env = self.make(epsilon=epsilon) if self.make else (self.team, self.env)
            env.reset(0)
            yield replace(self, subject=f"{self.subject} ε={epsilon:g}", owner=team or self.owner).within(env)


#: Cases, and verdicts on what could not be looked at.
Found = list[Case | Verdict]


def everything() -> list[str]:
    """Registered names that promise something, or hide something; and all that cannot be looked at."""
    brought = {wrapper for spec in ENVS.values() for wrapper in spec.wrappers}  # they are audited in its name
    names = [(name, kind) for kind, (table, _) in _KINDS.items() for name in sorted(table)]
    return [name for name, kind in names if hider(name) or (name not in brought and _of(name, kind))]


def named(name: str) -> Found:
    """All cases of a registered env, wrapper or agent, or of a ``module:Name`` of one's own.

    Raises
    ------
    ValueError
        An unknown name; something else than a class; or a class that promises nothing.
    """
    own = _imported(name) if ":" in name else ()
    kinds = [kind for kind, (table, _) in _KINDS.items() if name in table or (own and issubclass(own, kind))]
    if not kinds:
        raise ValueError(f"no env, wrapper or agent is named {name!r}{nearest(name, everything())}")
    cases = _of(name, kinds[0])
    if not cases and hider(name) is None:
        raise ValueError(f"{name} has no privacy mechanism: it promises nothing that an audit could refute")
    return cases


def hider(name: str) -> tuple[Callable[..., Wrapper], str] | None:
    """Return what makes a secure function of this name, and which one it is; ``None`` for another name."""
    for kind, base in (("SecAgg", SecAgg), ("Shuffle", Shuffle)):
        if name == kind or (":" in name and issubclass(_imported(name), base)):
            return partial(make_wrapper, name), kind
    return None


_PROMISING = Registry("mechanism", "a Wrapper, Env or Team", lambda cls: issubclass(cls, Wrapper | Env | Team))


def _imported(path: str) -> type:
    """Import ``module:Name``, and look at it before anything of it is called."""
    found: Any = _PROMISING.find(path).load()
    if missing := _needed(found, {}):
        raise ValueError(f"{path} needs arguments ({', '.join(missing)}); give them defaults to have it audited")
    return found


def _needed(entry: Callable[..., object], given: Params) -> list[str]:
    """Return the names of what it must be given by name, and is not."""
    return [name for name, p in parameters(entry).items() if p.default is p.empty and name not in given]


def _of(name: str, kind: type) -> Found:
    """What is found of every variant of a name; where one cannot be built, why."""
    table, look = _KINDS[kind]
    spec = table.find(name)
    entry = spec.load()
    cases: Found = []
    if isinstance(entry, type) and not issubclass(entry, kind):
        return cases  # one agent's code, for `PerAgent`, which promises nothing
    for given in VARIANTS.get(name, [{}]):
        subject = " ".join([name, *(f"{k}={v}" for k, v in given.items())])
        if missing := _needed(entry, {**spec.defaults, **given}):
            why = f"needs {', '.join(missing)}: declare what to audit in VARIANTS, or as defaults"
            cases.append(Verdict(subject, why, 0, 0, "errors", untested=why))
            continue
        try:
            cases += look(name, entry, subject, given)
        except NotImplementedError as error:
            cases.append(Verdict(subject, str(error), 0, 0, "errors", untested=str(error)))
        except Exception as error:  # a stranger's code may raise anything: it is shown, not hidden
            cases.append(Verdict(subject, f"cannot be built: {type(error).__name__}: {error}", 0, 1, "errors"))
    return cases


def _cases(subject: str, make: Callable[..., tuple[Team | None, Env]], at: bool) -> Found:
    """Whatever promises of what `make` builds: at ε = 1 where it has an ε."""
    team, env = make(epsilon=1.0) if at else make()
    owners = env.wrappers if team is None else [team]
    cases = [Case(subject, owner, env, make if at else None) for owner in owners]
    return [case for case in cases if case.promises]


def _env(name: str, entry: Callable[..., object], subject: str, given: Params) -> Found:
    if name in ENVS and not ENVS[name].wrappers and ships(entry):
        return []  # it has no wrapper of its own
    return _cases(subject, lambda **at: (None, make_batched(name, **given, **at)), takes(name, "epsilon"))


#: The env where a team's promise is audited, by its setting; of other settings, those who vote by a routine.
_HOMES: dict[str, type[Env] | str] = {"feedback": Feedback, "network": "CoopNetwork-v0"}


def home(team: Team) -> Env:
    """Where a team's promise is audited: among votes, on a graph, or where its server has the mechanism it brings."""
    if team.setting in _HOMES:
        return assemble(_HOMES[team.setting], team, runs=1)
    if isinstance(team, VotingTeam):
        return make_batched("DPMASE-v0")
    raise NotImplementedError("a team's promise is audited in feedback, on a graph, or where it votes by a Routine")


def _agent(name: str, entry: Callable[..., object], subject: str, given: Params) -> Found:
    def make(**at: float) -> tuple[Team | None, Env]:
        team = make_team(name, **given, **at)
        return team, home(team)

    if type(make_team(name, **given)).claimed_guarantees is Team.claimed_guarantees:
        return []
    promises = bool(_cases(subject, make, False))  # else its ε means a tolerance, or liars
    return _cases(subject, make, promises and "epsilon" in parameters(entry))


def _wrapper(name: str, entry: Callable[..., object], subject: str, given: Params) -> Found:
    own, found, at = ":" in name, [], "epsilon" in parameters(entry)
    first = make_wrapper(name, **given, **({"epsilon": 1.0} if at else {}))
    for setting, build in _SETTINGS.items():
        if fits(build, first):

            def make(build: Callable[..., Env] = build, **at: float) -> tuple[Team | None, Env]:
                wrapper = make_wrapper(name, **given, **at)
                return None, build(wrappers=[wrapper, *_behind(wrapper)])

            found += _cases(subject if own else f"{subject}, {setting}", make, at)
    return found


def fits(build: Callable[..., Env], wrapper: Wrapper) -> bool:
    """Whether the env that is built takes the wrapper."""
    try:
        build(wrappers=[wrapper])
    except ValueError:
        return False
    return True


def _behind(wrapper: Wrapper) -> list[Wrapper]:
    """The secure function that a wrapper's promise stands on."""
    if not isinstance(wrapper, Mechanism) or wrapper.hidden_by != "sum":
        return []
    sums: list[Wrapper] = [SecAgg(), *(ShuffledSum(p, getattr(wrapper, "security", 40)) for p in PROTOCOLS)]
    own = getattr(wrapper, "shuffle", None)
    return [s for s in sums if wrapper.seals(s) and (own is None or getattr(s, "shuffle", None) == own)][:1]


#: Where wrappers are audited.
_SETTINGS: dict[str, Callable[..., Env]] = {
    "feedback": partial(Feedback, users="each"),
    "network": partial(make_batched, "CoopNetwork-v0", n_agents=4, horizon=3),
}
#: What is registered, and how one of them is looked at.
_KINDS: dict[type, tuple[Registry, Callable[[str, Callable[..., object], str, Params], Found]]] = {
    Env: (ENVS, _env), Team: (AGENTS, _agent), Wrapper: (WRAPPERS, _wrapper),
}  # fmt: skip
