"""Cases of an audit (wrappers and agents with guarantees), its budget, and the verdicts of its checks."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from hushbandits.agents.zhou2024 import tree_of
from hushbandits.core import Env, Guarantee, Params, Team, Wrapper
from hushbandits.core.utils import Registry, nearest, parameters, ships
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.envs.feedback.env import Feedback
from hushbandits.envs.linear.payload import Increments
from hushbandits.registry import AGENTS, ENVS, WRAPPERS, AnyEnv, assemble, make_batched, make_team, make_wrapper, takes
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle
from hushbandits.wrappers.shuffled_sum import PROTOCOLS, ShuffledSum

_BINARY = {"shuffle": "binary-sum"}
_TRUE, _LEVELS = {"own_feedback": "true"}, {"quantization_levels": 64}
#: Parameters to audit, by registered env, wrapper or agent; by default only its default parameters.
VARIANTS: dict[str, list[Params]] = {
    "CentralDP-v0": [{}, {"discrete": True}],
    "DistDP-v0": [{}, {"min_participants": 0.75}, {"noise": "exact"}],
    "DistRDP-v0": [{}, {"min_participants": 0.75, "scale": 1.0}],
    "DistCDP-v0": [{}, {"min_participants": 0.75, "scale": 1.0}],
    "ShuffleDP-v0": [{}, {"min_participants": 0.75}, {"shuffle": "pure"}, _BINARY, {**_BINARY, "calibrate": "exact"}],
    "LocalDPNetwork-v0": [{}, {"mechanism": "bernoulli"}],
    "PrivateNetwork-v0": [{}, _TRUE],
    "PrivateFedLinear-v0": [{}, {"delta": 0.1}, {"batch": 1, "n_agents": 1}],
    "LocalLaplace": [{}, _LEVELS, _TRUE, {**_TRUE, **_LEVELS}],
}
#: Default reason why a check has no power.
_TOO_LARGE = "too few runs for so large an ε or δ"
#: Reason why a passed check says nothing about a guarantee: its neighbouring inputs cannot be played.
_WORDS = "its adjacency is in words alone, and only one reward was changed: say what is `replaced`"


@dataclass(frozen=True)
class Verdict:
    """Outcome of one check of an audit.

    Parameters
    ----------
    subject, check : str
        The audited part, and the check.
    claimed, measured : float
        The claim is refuted if ``measured > claimed``.
    unit : str
        Unit of the two numbers.
    power : str
        What the check can detect; empty: every deviation from the law.
    level : float
        Probability that a correct mechanism fails it; 0: it is exact.
    promise : Guarantee or None
        The guarantee that is checked.
    least : float
        The smallest true ε that it refutes, with 90 % power for a statistical check; ``inf``: none; NaN: the check
        is not about an ε.
    untested : str
        Why the check has no power; ``""``: it has power.
    other : bool
        Whether it only compares laws: a deviation then refutes no guarantee, since it gives no ε or δ.

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
        """Return why the check has no power, or ``""`` if it has power."""
        words = self.promise is not None and self.promise.adjacency.replaced == "unknown"
        return self.untested or (_WORDS if words else _TOO_LARGE if math.isinf(self.least) else "")

    @property
    def word(self) -> str:
        """Return the verdict as text: ``FAILS``, ``other law``, ``not tested`` (no power), or ``passes``."""
        slack = self.claimed if self.unit.startswith("δ") else max(1.0, self.claimed)  # a δ may be tiny
        if self.measured > self.claimed + 1e-9 * slack:
            return "other law" if self.other else "FAILS"
        return "not tested" if self.why else "passes"

    @property
    def passed(self) -> bool:
        """Return ``True`` unless the check refutes the claim."""
        return self.word != "FAILS"


@dataclass(frozen=True)
class Budget:
    """Settings of an audit: significance level, seed, numbers of runs, block sizes and values of ε.

    Parameters
    ----------
    level : float
        Probability that a correct mechanism fails a statistical check.
    seed : int
    samples : int
        Runs on each of the two inputs of a black-box check.
    largest, runs : int
        For drawn noise: every block size up to `largest`, in so many runs.
    grid, full : tuple of float
        Each ε at which laws are computed, and those at which all runs are played.
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
    """A wrapper or agent with a guarantee, the env in which it is audited, and the `Budget` of its checks.

    ``make(epsilon=…)`` returns a new team (or ``None``) and env; `claim`: the guarantee to check, by default the first.
    """

    subject: str
    owner: Any
    env: Env
    make: Callable[..., tuple[Team | None, Env]] | None = field(default=None, compare=False)
    budget: Budget = Budget()
    claim: Guarantee | None = None

    @property
    def promises(self) -> tuple[Guarantee, ...]:
        """Return the guarantees with finite ε that `owner` claims, even if they are invalid in this env."""
        return tuple(g for g in self.owner.claimed_guarantees(self.env) if math.isfinite(g.epsilon))

    @property
    def promise(self) -> Guarantee:
        """Return the guarantee to check: `claim`, or by default the first of `promises`."""
        return self.claim or self.promises[0]

    @property
    def team(self) -> Team | None:
        """Return the `Team` that claims the guarantee, or ``None`` if a wrapper claims it."""
        return self.owner if isinstance(self.owner, Team) else None

    @property
    def watched(self) -> str:
        """Return what is seen: messages of ``"users"`` or ``"agents"``, sums of ``"silos"``, or ``"actions"``."""
        if issubclass(self.env.message_class, Increments):
            return "silos"
        acts = self.team is not None and self.env.setting != "network"
        return "actions" if acts else "agents" if self.env.message_class.identified_senders else "users"

    def within(self, env: Env) -> "Case":
        """Return the case moved to `env`, with the same team, or with the wrapper of the same name in `env`."""
        return replace(self, env=env, owner=self.team or next(w for w in env.wrappers if w.name == self.owner.name))

    def over(self, *epsilons: float) -> "Iterator[Case]":
        """Yield the case rebuilt and reset for each of the `epsilons`; without an ε parameter, yield the case once."""
        for epsilon in epsilons if self.make else (self.promise.epsilon,):
            team, env = self.make(epsilon=epsilon) if self.make else (self.team, self.env)
            env.reset(0)
            yield replace(self, subject=f"{self.subject} ε={epsilon:g}", owner=team or self.owner).within(env)


#: Cases, and verdicts on parts that cannot be audited.
Found = list[Case | Verdict]


def everything() -> list[str]:
    """Return the names of the envs, wrappers and agents that an audit checks by default.

    These are the secure functions, and all registered parts that claim a finite guarantee or cannot be built.
    """
    brought = {wrapper for spec in ENVS.values() for wrapper in spec.wrappers}  # they are audited with their env
    names = [(name, kind) for kind, (table, _) in _KINDS.items() for name in sorted(table)]
    return [name for name, kind in names if hider(name) or (name not in brought and _of(name, kind))]


def named(name: str) -> Found:
    """Return the audit cases of the env, wrapper or agent `name`, registered or given as ``module:Name``.

    Raises
    ------
    ValueError
        An unknown name, an object that is not a class, or a class without guarantees.
    """
    own = _imported(name) if ":" in name else ()
    kinds = [kind for kind, (table, _) in _KINDS.items() if name in table or (own and issubclass(own, kind))]
    if not kinds:
        raise ValueError(f"no env, wrapper or agent is named {name!r}{nearest(name, everything())}")
    cases = _of(name, kinds[0])
    if not cases and hider(name) is None:
        raise ValueError(f"{name} has no privacy mechanism, so there is no guarantee to audit")
    return cases


def hider(name: str) -> tuple[Callable[..., Wrapper], str] | None:
    """Return the constructor and kind (``"SecAgg"`` or ``"Shuffle"``) of the secure function `name`, else ``None``."""
    for kind, base in (("SecAgg", SecAgg), ("Shuffle", Shuffle)):
        if name == kind or (":" in name and issubclass(_imported(name), base)):
            return partial(make_wrapper, name), kind
    return None


_PROMISING = Registry("mechanism", "a Wrapper, Env or Team", lambda cls: issubclass(cls, Wrapper | Env | Team))


def _imported(path: str) -> type:
    """Import and return the class ``module:Name``, an env, wrapper or agent whose arguments all have defaults."""
    found = cast(type, _PROMISING.find(path).load())
    if missing := _needed(found, {}):
        raise ValueError(f"{path} cannot be audited: give each of its arguments ({', '.join(missing)}) a default")
    return found


def _needed(entry: Callable[..., object], given: Params) -> list[str]:
    """Return the names of the required arguments of `entry` that `given` lacks."""
    return [name for name, p in parameters(entry).items() if p.default is p.empty and name not in given]


def _of(name: str, kind: type) -> Found:
    """Return the cases of each variant of `name`; a variant that cannot be built gives a verdict with the reason."""
    table, look = _KINDS[kind]
    spec = table.find(name)
    entry = spec.load()
    cases: Found = []
    if isinstance(entry, type) and not issubclass(entry, kind):
        return cases  # the code of one agent, for `PerAgent`, has no guarantee
    for given in VARIANTS.get(name, [{}]):
        subject = " ".join([name, *(f"{k}={v}" for k, v in given.items())])
        try:
            if missing := _needed(entry, {**spec.defaults, **given}):
                raise NotImplementedError(f"needs arguments ({', '.join(missing)}): give each a default")
            cases += look(name, entry, subject, given)
        except NotImplementedError as error:
            cases.append(Verdict(subject, str(error), 0, 0, "errors", untested=str(error)))
        except Exception as error:  # third-party code may raise any error: report it
            cases.append(Verdict(subject, f"cannot be built: {type(error).__name__}: {error}", 0, 1, "errors"))
    return cases


def _cases(subject: str, make: Callable[..., tuple[Team | None, Env]], at: bool) -> Found:
    """Return a case for the team that `make` builds, or, without a team, one for each wrapper of the env.

    A team or wrapper without a finite guarantee has no case.

    `at`: whether to build them at ε = 1.
    """
    team, env = make(epsilon=1.0) if at else make()
    owners = env.wrappers if team is None else [team]
    return [case for owner in owners if (case := Case(subject, owner, env, make if at else None)).promises]


def _env(name: str, entry: Callable[..., object], subject: str, given: Params) -> Found:
    if name in ENVS and not ENVS[name].wrappers and ships(entry):
        return []  # it has no wrapper in front of its mechanism
    return _cases(subject, lambda **at: (None, make_batched(name, **given, **at)), takes(name, "epsilon"))


#: Envs in which the guarantees of a team are audited, by setting; in other settings, teams that vote by a routine.
_HOMES: dict[str, AnyEnv] = {"feedback": Feedback, "network": "CoopNetwork-v0", "linear": "PrivateFedLinear-v0"}


def home(team: Team) -> Env:
    """Return the env, chosen by the team's setting, in which the guarantee of `team` is audited."""
    if team.setting in _HOMES:
        return assemble(_HOMES[team.setting], team, runs=1, env={})
    if isinstance(team, VotingTeam):
        return make_batched("DPMASE-v0")
    settings = " or ".join(_HOMES)
    raise NotImplementedError(f"{team.name}: an audit needs a team of the {settings} setting, or a VotingTeam")


def _agent(name: str, entry: Callable[..., object], subject: str, given: Params) -> Found:
    def make(**at: float) -> tuple[Team | None, Env]:
        team = make_team(name, **given, **at)
        return team, home(team)

    if type(make_team(name, **given)).claimed_guarantees is Team.claimed_guarantees:
        return []
    promises = bool(_cases(subject, make, False))  # else its ε is a tolerance or a share of liars
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
    """Return whether the env that `build` makes accepts the wrapper."""
    try:
        build(wrappers=[wrapper])
    except ValueError:
        return False
    return True


def _behind(wrapper: Wrapper) -> list[Wrapper]:
    """Return a list with the secure function that must follow `wrapper` for the guarantee to hold, or an empty list."""
    if not isinstance(wrapper, Mechanism) or wrapper.hidden_by != "sum":
        return []
    sums: list[Wrapper] = [SecAgg(), *(ShuffledSum(p, getattr(wrapper, "security", 40)) for p in PROTOCOLS)]
    own = getattr(wrapper, "shuffle", None)
    return [s for s in sums if wrapper.seals(s) and (own is None or getattr(s, "shuffle", None) == own)][:1]


def _silos(wrappers: Sequence[Wrapper]) -> Env:
    """Return a linear env; raise ``ValueError`` if it has no tree, for noise on single rewards is audited elsewhere."""
    sizes = {"n_agents": 1, "n_arms": 10, "n_features": 10}
    env = make_batched("FedLinear-All-v0", wrappers=wrappers, contexts="sphere+1", rewards="bernoulli", **sizes)
    tree_of(env)
    return env


#: Envs in which wrappers are audited.
_SETTINGS: dict[str, Callable[..., Env]] = {
    "feedback": partial(Feedback, simulate_users="individual"),
    "network": partial(make_batched, "CoopNetwork-v0", n_agents=4, horizon=3),
    "linear": _silos,
}
#: Registries, with the function that audits an entry of each.
_KINDS = {Env: (ENVS, _env), Team: (AGENTS, _agent), Wrapper: (WRAPPERS, _wrapper)}
