"""Privacy guarantees that mechanisms claim, and checks whether these guarantees hold in an env."""

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, ClassVar, final

from hushbandits.core.utils import choice, probability, ships, shown
from hushbandits.core.world import World

#: Below this δ, the ε of a run is not composed: the transform of the noise law has an absolute error of about 1e-14.
RESOLVED = 1e-10
#: What neighbouring inputs differ in: one reward; all rewards of one agent or user; what one user of one round brings,
#: its contexts and its reward; nothing (two inputs that a secure function makes indistinguishable); or only described
#: in words.
ADJACENCIES = ("reward", "participant", "user", "none", "unknown")
#: Assumptions of seeded noise, of noise in floating point, and of a seeded mean of rewards with Laplace noise.
SIMULATED, IDEALISED = "seeded noise is a simulation", "idealised floating point"
NOISED_MEAN = "rewards in [0, 1]", IDEALISED, SIMULATED

#: Attributes that a user-defined class may set without affecting its base's guarantees.
_HARMLESS = frozenset({
    "logged_metrics", "metrics_spec", "validate_env", "metrics", "name", "preserves_guarantees", "requirements",
    "reward_free_fields", "runs_at_once", "setting", "vetted",
})  # fmt: skip
#: Hooks of an env that carry reward information.
_CARRIES = (
    "report", "_report", "standard_report", "_standard", "_said", "_payload", "_spoken", "_checked", "_passing",
    "_counted", "_offers", "_transport", "message_class", "pull", "communicate", "_seen",
)  # fmt: skip
#: Fields that mechanisms cover in every env.
_KNOWN = frozenset({"arm", "reward", "sender"})


@dataclass(frozen=True)
class Adjacency:
    """The adjacency relation of a guarantee: what differs between two neighbouring inputs.

    Parameters
    ----------
    words : str
        In words.
    replaced : str
        What differs, as data, so that an audit can play it: ``"reward"``, one reward; ``"participant"``, all rewards
        of one agent or user; ``"user"``, the context set and the reward of one user of one round; ``"none"``, nothing
        that a mechanism would have to hide; ``"unknown"``.
    low, high : float
        Range of the rewards that are replaced and put in.

    Examples
    --------
    >>> Adjacency("one reward replaced by any other in [0, 5]", "reward", high=5.0).replaced
    'reward'
    """

    words: str
    replaced: str = "unknown"
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        choice("replaced", self.replaced, ADJACENCIES)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Run:
    """Composition over a run: a participant has at most `times` rewards, and each reward costs (ε, δ) once.

    Parameters
    ----------
    times : int
        How many of its rewards there are, at most; each costs (ε, δ) once.
    words : str
        Who that is.
    """

    times: int
    words: str


#: Adjacency and composition of protocols over blocks of users, in which each user takes part once.
ONE_USER = Adjacency("one user's reward replaced by any other in [0, 1]; a user takes part once", "reward")
ONCE = Run(1, "a user takes part once; in k blocks, at most k times ε and δ")


@dataclass(frozen=True)
class Guarantee:
    """A differential-privacy guarantee, with its mechanism, observer and assumptions.

    Parameters
    ----------
    mechanism : str
        The mechanism and its scale, in words.
    epsilon, delta : float
        The differential-privacy parameters of one use; ``inf`` where nothing is promised.
    adjacency : Adjacency or str
        The adjacency of a guarantee: which two inputs are neighbours.  Of words alone an audit can only try one reward,
        and says so.
    view : str
        Who sees what is protected: the observer of the claim.
    assumptions : tuple of str
        What must hold for the claim; seeded noise is a simulation and always listed here.
    source : str
        The paper and statement that it comes from.
    invalid_reason : str
        Why nothing holds, where an assumption is known to fail; ``""``: none is.
    single_release : bool
        Whether it is about one message by itself, whose arm and time are taken as given, and about nothing else of a
        run.
    run : Run, optional
        How it adds up over a participant's run; ``None``: nothing adds it up.
    claimed_by : str
        The user-defined class whose word it is; ``""``: this package's.
    exact : callable, optional
        ``exact(times, delta)`` → ε at δ of so many uses together, worked out from the law of the noise, and never too
        small; ``None``: it is not known.
    vetted : tuple of str
        By what the claim was checked: ``"proof"``, ``"exact law"``, ``"audit"``, or the name of another package; empty:
        by nothing.

    Raises
    ------
    ValueError
        ε that is no number ≥ 0, or δ outside [0, 1].

    Examples
    --------
    >>> noise = Guarantee(
    ...     mechanism="Laplace noise of scale 2 on every reward",
    ...     epsilon=0.5,
    ...     delta=0.0,
    ...     adjacency=Adjacency("one reward replaced by any other in [0, 1]", "reward"),
    ...     view="everyone else: one message by itself",
    ...     assumptions=("seeded noise is a simulation",),
    ...     source="Dwork et al. 2006",
    ...     single_release=True,
    ... )
    >>> noise.epsilon, noise.invalid_reason
    (0.5, '')
    """

    mechanism: str
    epsilon: float
    delta: float
    adjacency: Adjacency
    view: str
    assumptions: tuple[str, ...]
    source: str
    invalid_reason: str = ""
    single_release: bool = False
    run: Run | None = None
    claimed_by: str = ""
    exact: Callable[[int, float], float] | None = field(default=None, compare=False)
    vetted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.adjacency, str):
            object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if not isinstance(self.epsilon, numbers.Real) or isinstance(self.epsilon, bool) or not self.epsilon >= 0:
            raise ValueError(f"epsilon={shown(self.epsilon)} of a Guarantee must be a number ≥ 0, or inf")
        probability("delta", self.delta)


def invalid(guarantee: Guarantee, reason: str) -> Guarantee:
    """Return an invalid copy of `guarantee`, with ε = ∞, δ = 0 and the `reason`."""
    return replace(guarantee, epsilon=math.inf, delta=0.0, invalid_reason=reason, run=None, vetted=())


def hides(
    mechanism: str, inputs: str, view: str, assumptions: tuple[str, ...], source: str, vetted: tuple[str, ...]
) -> tuple[Guarantee, ...]:
    """Return a tuple with one guarantee of ε = ∞, for a mechanism that only hides or drops messages."""
    return (Guarantee(mechanism, math.inf, 0.0, Adjacency(inputs, "none"), view, assumptions, source, vetted=vetted),)


class GuaranteeSource:
    """Base class of wrappers and teams; its method `guarantees` checks which claimed guarantees hold."""

    #: Hooks that a subclass may define without touching what its base claims.
    free_hooks: ClassVar[tuple[str, ...]] = ()
    #: By what its claims were checked (`Guarantee.vetted`); a user-defined class inherits none of it.
    vetted: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if not ships(cls):
            cls.vetted = vars(cls).get("vetted", ())
        if "guarantees" in vars(cls):
            raise TypeError(f"{cls.__name__} must define claimed_guarantees(env), not guarantees(env)")

    def ships(self, hook: str) -> bool:
        """Return whether this package defines the method named `hook`; for a ``functools.partial``, return False."""
        return ships(getattr(type(self), hook, None))

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claimed guarantees, which hold for rewards in [0, 1] if all their assumptions are true."""
        return ()

    @final
    def guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claimed guarantees, each with an `invalid_reason` if it does not hold in `env`.

        An invalid one has no ε.  A claim of a user-defined class is that class's word: ``claimed_by`` and the
        assumptions name it.
        """
        if getattr(self.claimed_guarantees, "__func__", None) is GuaranteeSource.claimed_guarantees:
            return ()
        env = vars(env).get("_env", env)  # what holds depends on more than a view shows
        held = self._borne_out(env)
        if not isinstance(held, (tuple, list)) or [g for g in held if not isinstance(g, Guarantee)]:
            name = getattr(self, "name", type(self).__name__)
            raise TypeError(f"{name}.claimed_guarantees must return a tuple of Guarantee, not {shown(held)}")
        if not held:
            return ()
        claimant, hooks = known = self._claimant()
        word = type(self).__name__ if hooks else "" if ships(claimant) else claimant.__name__
        finite = any([math.isfinite(claim.epsilon) for claim in held])
        reason = self.invalid_reason(env, known) if finite else ""
        words = (*((f"as claimed by {word}",) if word else ()), *declared_words(env, self)) if finite else ()
        out = []
        for claim in held:
            finite = math.isfinite(claim.epsilon)
            if broken := finite and (reason or (spoken_beside(env) if claim.single_release else "")):
                claim = invalid(claim, broken)
            elif finite and words:
                claim = replace(claim, assumptions=tuple(dict.fromkeys((*claim.assumptions, *words))))
            out.append(replace(claim, claimed_by=word) if word else claim)
        return tuple(out)

    def invalid_reason(self, env: World, known: tuple[type, list[str]] | None = None) -> str:
        """Return the reason why all guarantees of this object are invalid in `env`, or ``""`` without such a reason."""
        claimant, hooks = known or self._claimant()
        if hooks:
            name = type(self).__name__
            return (
                f"as claimed by {name} alone: {claimant.__name__} claims it of another {hooks[0]}, and {name} defines "
                f"no claimed_guarantees of its own"
            )
        if not env.law.unit_interval:
            return f"rewards of {env.law!r} have no bound, and so no sensitivity"
        me = type(self), getattr(self, "name", "")  # in the env it may be a copy, before or after a run
        unknown = [w.name for w in env.wrappers if not w.ours and (type(w), w.name) != me]
        if unknown:
            return (
                f"{' and '.join(unknown)} is a user-defined wrapper, and nothing says what it does to a single reward "
                f"(preserves_guarantees)"
            )
        return unaccounted(env, self)

    def _claimant(self) -> tuple[type, list[str]]:
        """Return the class that defines `claimed_guarantees`, and its hooks that user-defined code overrides."""
        claimant = next(cls for cls in type(self).__mro__ if "claimed_guarantees" in vars(cls))
        return claimant, overridden(self, claimant, self.free_hooks)

    def _borne_out(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claimed guarantees; the subclass `Mechanism` first checks them in `env`."""
        return self.claimed_guarantees(env)


# -- what user-defined code may reveal of rewards past a mechanism: hooks that it replaces, fields that it adds --------


def overridden(part: object, base: type, free: Iterable[str] = ()) -> list[str]:
    """Return the attributes of `base`, except `free` and `_HARMLESS`, that user-defined code overrides in `part`.

    Parameters
    ----------
    part : object
        An instance of `base`.
    base : type
    free : iterable of str
        Names that do not count.

    Examples
    --------
    >>> from hushbandits.wrappers.loss import Loss
    >>> Silent = type("Silent", (Loss,), {"__module__": "mine", "send": lambda self, message, env: message})
    >>> overridden(Silent(0.1), Loss), overridden(Loss(0.1), Loss)
    (['send'], [])
    """
    above = type(part).__mro__[: type(part).__mro__.index(base)]
    names = [name for cls in above if not ships(cls) for name in vars(cls)]
    names += [name for name, value in vars(part).items() if callable(value) and not ships(value)]
    left = dict.fromkeys(name for name in names if not name.startswith("__") and hasattr(base, name))
    return [name for name in left if name not in _HARMLESS and name not in free]


def _user_defined(part: object) -> tuple[type, ...]:
    """Return the user-defined classes of `part`, which precede its first built-in class in the MRO."""
    return tuple(takewhile(lambda cls: not ships(cls), type(part).__mro__))


def declared(part: object) -> set[str]:
    """Return the names of fields that the user-defined classes of `part` declare independent of rewards."""
    return {name for cls in _user_defined(part) for name in vars(cls).get("reward_free_fields", ())}


def unaccounted(env: World, but: object = None) -> str:
    """Return why user-defined code may reveal more than is guaranteed, or ``""``; the wrapper `but` is not checked.

    Parameters
    ----------
    env : Env
    but : object, optional
        A wrapper whose own fields are not asked about: the one that promises.
    """
    name = type(env).__name__
    if hooks := _carrying(env):
        return f"{name} has a {hooks[0]} of its own, and nothing says what it reveals of rewards (reward_free_fields)"
    others = [(wrapper, names) for wrapper, names in env.added if wrapper != getattr(but, "name", "")]
    for owner, beyond in [(name, _fields(env)), *others]:
        if beyond:
            listed = " and ".join(beyond)
            return f"{owner} adds {listed}, and nothing says that this is free of rewards (reward_free_fields)"
    return ""


def _carrying(env: World) -> list[str]:
    """Return the hooks in `_CARRIES` that user-defined code of an env overrides without `reward_free_fields`."""
    found = [hook for hook in _CARRIES if hook in vars(env) and not ships(vars(env)[hook])]
    for cls in _user_defined(env):
        if "reward_free_fields" in vars(cls):
            break
        found += [hook for hook in _CARRIES if hook in vars(cls)]
    return found


def _fields(env: World) -> list[str]:
    """Return the names that a user-defined env adds to reports, inboxes or `agent_visible` without declaring them."""
    if not (own := _user_defined(env)):
        return []
    home: Any = type(env).__mro__[len(own)]
    known = {*_KNOWN, *declared(env), *home.agent_visible, *env.sent_fields}
    report = getattr(home.report, "fget", None)
    stated = {} if getattr(home.report, "__isabstractmethod__", False) else report(env) if report else home.report
    offered = {*env._offers(env.sent_fields)} - {*home._offers(env, env.sent_fields)}
    beyond = [name for name in env.report if name not in {*_KNOWN, *declared(env), *stated}]
    shown = [name for name in (*sorted(offered), *env.agent_visible) if name not in known]
    return list(dict.fromkeys([*beyond, *shown]))


def spoken_beside(env: World) -> str:
    """Return why extra fields of messages may reveal more than the report does; ``""`` without extra fields."""
    said = [name for name in env.fields if name not in env.report]
    return f"agents say {' and '.join(said)} themselves, and they know their exact rewards" if said else ""


def declared_words(env: World, but: object = None) -> tuple[str, ...]:
    """Return texts of the assumptions that the env's class and the wrappers declare; the wrapper `but` is left out."""
    words, name, own = [], type(env).__name__, _user_defined(env)
    if own and (names := declared(env)):
        words.append(f"as claimed by {name}: nothing of rewards is in {' and '.join(sorted(names))}")
    elif own and any("reward_free_fields" in vars(cls) for cls in own):
        words.append(f"as claimed by {name}: all that it says of rewards is its report's reward")
    for wrapper in env.wrappers:
        if wrapper.name != getattr(but, "name", "") and wrapper.declares:
            words.append(f"as claimed by {wrapper.name}: promises hold across it (preserves_guarantees)")
    return tuple(words)
