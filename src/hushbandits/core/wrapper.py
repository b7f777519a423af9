"""Wrappers, which transform messages and inboxes and declare the fields of their output.

An env folds these declarations in three directions: to the transport, back to the inbox, and to the agents.
"""

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, ClassVar, NoReturn

from hushbandits.core.guarantee import GuaranteeSource, declared, overridden
from hushbandits.core.messages import Field, Fields
from hushbandits.core.metric import Metric
from hushbandits.core.payload import OPERATIONS, Channel, Payload
from hushbandits.core.utils import Array, flag, nearest, probability, ships, shown
from hushbandits.core.utils.validate import checked_names, names_all
from hushbandits.core.world import World

#: Hooks that act on a run.
HOOKS = ("reset", "alter_own_reward", "published", "send", "deliver")
#: All attributes of a built-in wrapper that affect messages.
_PARTS = (*HOOKS, "poster", "posting", "relay", "channel", "add_up", "order", "drop_prob", "max_drop_fraction")


class Wrapper(Channel, GuaranteeSource):
    """Base class of all wrappers, which itself changes nothing.

    A wrapper is configured by its constructor and holds a run's state only after `reset`; an env works on
    its own copy, so one instance may be handed to several envs.  ``send`` acts on outgoing
    messages, in the order of the wrappers; ``deliver`` acts on inboxes, in reverse order; ``alter_own_reward`` acts on
    the rewards that are returned to the agents.  The wrapper declares its changes to fields: `message_fields` for
    messages, `inbox_fields` for inboxes, `own_reward_field` for the agents' own rewards.

    A hook is given its `env`; `rng`, its own random streams; `fields`, by name, as they were declared before
    it; a `message` of arrays (R, A, …); an `inbox` of arrays (R, A, S, …); a `reward` (R, A).

    Parameters
    ----------
    name : str, optional
        Unique among the wrappers of an env; also names the random stream that it draws from.  Default: the class name.

    Raises
    ------
    ValueError
        `name` is no text, or an empty one.

    Examples
    --------
    >>> class Mute(Wrapper):
    ...     def send(self, message, env):
    ...         return message.with_fields(sent=message["sent"] & False)
    >>> Mute().name
    'Mute'
    """

    #: Verbs of a payload that it uses (`hushbandits.core.payload.OPERATIONS`).
    operations: tuple[str, ...] = ()
    #: Whether it treats each message by itself, with independent random numbers, never reads `env`, and drops no
    #: message because of its reward: then other wrappers' guarantees hold across it.  A user-defined class declares
    #: it; subclasses that override no hook inherit it.  Without a declaration, guarantees are invalid.
    preserves_guarantees: ClassVar[bool] = False
    #: Added fields that reveal nothing about rewards; any other field of a user-defined class invalidates guarantees.
    reward_free_fields: ClassVar[tuple[str, ...]] = ()
    #: Metrics that measure privacy cost.
    privacy_cost_metrics: ClassVar[tuple[str, ...]] = ("epsilon", "epsilon_delta")
    #: The rate of a wrapper that only drops messages; compiled episodes use it.
    drop_prob: float | None = None
    #: Whether `alter_own_reward` also takes many rounds, ``(n, R, M)``, and nothing else happens without messages.
    per_pull: ClassVar[bool] = False
    #: Scalar metrics of `metrics` worth a curve.
    logged_metrics: ClassVar[tuple[str, ...]] = ()
    #: Declarations of its `metrics`; a class adds to those of its bases.
    metrics_spec: ClassVar[Mapping[str, Metric]] = {}

    def __init__(self, *, name: str | None = None):
        if name is not None and not (isinstance(name, str) and name):
            raise ValueError(f"name={shown(name)} of a {type(self).__name__} must be a non-empty string")
        self.name = name or type(self).__name__

    def own_reward_field(self, fields: Fields, env: World) -> Fields:
        """Return the fields of the agents' own rewards after this wrapper, given the `fields` before it.

        ``reward`` has the range of `alter_own_reward`.  Without it, agents do not see their rewards but the other
        fields: `published` returns them, and agents find them in their inbox (``inbox.own``).
        """
        return fields

    def __call__(self, env: object) -> NoReturn:
        """Raise ``TypeError``, because a wrapper is applied by `wrap` or `wrappers=`, not by a call."""
        raise TypeError(f"{self.name} is not callable: use hb.wrap(env, {self.name}(…)) or wrappers=[{self.name}(…)]")

    def alter_own_reward(self, reward: Array, env: World) -> Array:
        """Return the agents' own rewards (R, A) after this wrapper, in the range that `own_reward_field` declares."""
        return reward

    def published(self, env: World) -> Mapping[str, Array]:
        """Return the values of the fields that `own_reward_field` adds, each ``(R, A, …)``, at the end of a round."""
        return {}

    def metrics(self, env: World) -> dict[str, Array]:
        """Return the metrics of this wrapper, each ``(R, …)``; the env adds them to its own."""
        return {}

    def infinite_cost(self, env: World) -> bool:
        """Return whether the wrapper has no run-level guarantee with finite ε; then `privacy_cost_metrics` are ∞."""
        return not any(math.isfinite(g.epsilon) and not g.single_release for g in self.guarantees(env))

    @property
    def noise_range(self) -> float:
        """Return the largest absolute noise that the wrapper adds to a reward."""
        return 0.0

    @property
    def ours(self) -> bool:
        """Return whether guarantees of other wrappers stay valid with this wrapper in the env.

        They do if its hooks are built-in, or if it `declares` so.
        """
        if ships(type(self)) or self.declares:
            return True
        home = next(cls for cls in type(self).__mro__ if ships(cls))
        if home is SecureFunction:  # it says nothing of what is opened
            return False
        return not {*_PARTS} & {*overridden(self, home)} and all(map(self.ships, HOOKS))

    def keeps(self, home: type, *names: str) -> bool:
        """Return whether the hooks and the attributes `names` are those of the class `home`."""
        return all([getattr(type(self), name) is getattr(home, name) for name in (*HOOKS, *names)])

    @property
    def declares(self) -> bool:
        """Return whether a user-defined class sets `preserves_guarantees`, and no subclass of it overrides a hook."""
        if ships(type(self)):
            return False
        home = next(cls for cls in type(self).__mro__ if "preserves_guarantees" in vars(cls))
        own = self.preserves_guarantees and not ships(home)
        return bool(own) and not {*_PARTS} & {*overridden(self, home)}

    @property
    def max_drop_fraction(self) -> float:
        """Return the largest share of a block's messages that the wrapper may drop.

        By default 0 or 1: any number where it declares a `drop_prob` above 0, or the operation ``drop``.
        """
        return float("drop" in self.operations if self.drop_prob is None else self.drop_prob > 0)

    @property
    def poster(self) -> Callable[..., None] | None:
        """Return the compiled rule that replaces `send` for standard reports, or ``None``.

        Compiled episodes call it with ``(state, r, m, arm, reward, u)`` for agent m of run r.
        """
        return None

    def posting(self, rounds: int) -> Any:
        """Return the data with which compiled rounds call `poster`: ``state``, ``uniforms``, ``published``.

        ``uniforms`` has the shape ``(rounds, R, M)``.
        """
        raise NotImplementedError(f"{type(self).__name__} defines poster, so it must also define posting(rounds)")

    # -- for subclasses -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        taken = inspect.signature(type(self).__init__).parameters
        pairs = [f"{k}={vars(self)[k]!r}" for k in taken if k in vars(self) and k != "name"]
        return f"{type(self).__name__}({', '.join(pairs)})"


class Privatizer(Wrapper):
    """Base class of wrappers with the local randomizer R and the analyzer A of a privacy protocol."""

    def sure(self, n: int) -> int:
        """Return the number of users that the noise calibration assumes for a block of `n` planned users."""
        return n


class SecureFunction(Wrapper):
    """Base class of wrappers with the secure function S of a protocol, which hides individual messages.

    A user-defined class that derives from this base must declare `preserves_guarantees`.
    """

    def fewest(self, n: int, env: World) -> int:
        """Return the smallest number of messages whose sum is released in a block of `n` users; 0 if unknown."""
        return 0

    def shares(self, n: int, modulus: int) -> int:
        """Return the number of messages that each of a block's `n` users sends."""
        return 1

    def needed(self, env: World) -> Callable[[int], int] | None:
        """Return a function that maps a block's size to the least number of users in a released sum.

        ``None``: no such number beyond `min_cohort`.
        """
        return None

    def tolerates(self, n: int, colluders: int) -> bool:
        """Return whether `colluders` of `n` users, together with the server, learn no more than the sum."""
        return True


def distinct(wrappers: object) -> Sequence[Wrapper]:
    """Return `wrappers`; raise ``ValueError`` unless all are wrappers with distinct names.

    Examples
    --------
    >>> distinct([Wrapper(), Wrapper()])
    Traceback (most recent call last):
        ...
    ValueError: two wrappers are named 'Wrapper'; give one of them another name=
    """
    if not isinstance(wrappers, (list, tuple)) or not all(map(isinstance, wrappers, repeat(Wrapper))):
        raise ValueError(f"wrappers={wrappers!r} must be a list of Wrapper instances, such as [Huber(0.05)]")
    names = [getattr(w, "name", None) for w in wrappers]
    if None in names:
        raise ValueError(f"{type(wrappers[names.index(None)]).__name__}.__init__ must call super().__init__(name=name)")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two wrappers are named {name!r}; give one of them another name=")
    return wrappers


# -- what wrappers declare -------------------------------------------------------------------------------------------


def outward(wrappers: Sequence[Wrapper], fields: Fields, payload: type[Payload], env: World) -> list[Fields]:
    """Return a list with the fields of a message before the first wrapper and after each wrapper.

    Raises
    ------
    ValueError
        A wrapper's class says of itself what cannot be, messages here cannot be what it needs, or a field is missing.
    """
    way, before = [fields], set[str]()
    for wrapper in wrappers:
        _check_class(wrapper)
        sent = dict(way[-1])
        for verb in wrapper.operations:
            if verb not in payload.operations:
                can = f"can be {OPERATIONS[verb]}"
                raise ValueError(f"{wrapper.name} needs messages that {can}, but messages here are {payload.noun}")
            require(wrapper.name, payload.operations[verb], sent)
            payload.follows(wrapper.name, verb, sent, before)
        before |= {*wrapper.operations}
        way.append(declared_fields(wrapper, "message_fields", wrapper.message_fields(sent, env)))
    return way


def folded(hook: str, wrappers: Iterable[Wrapper], fields: Fields, env: World) -> list[Fields]:
    """Return a list with `fields`, followed by the fields after each wrapper as its `hook` declares them."""
    way = [fields]
    for wrapper in wrappers:
        way.append(declared_fields(wrapper, hook, getattr(wrapper, hook)(dict(way[-1]), env)))
    return way


def require(what: str, needed: Iterable[str], fields: Collection[str]) -> None:
    """Raise ``ValueError`` unless every name in `needed` is among `fields`.

    Examples
    --------
    >>> require("Huber", ["reward"], ["vote"])
    Traceback (most recent call last):
        ...
    ValueError: Huber needs the field 'reward', but the fields here are: vote
    """
    for field in needed:
        if field not in fields:
            raise ValueError(f"{what} needs the field {field!r}, but the fields here are: {', '.join(fields)}")


def declared_fields(wrapper: Wrapper, hook: str, found: Fields) -> dict[str, Field]:
    """Return the fields `found` that a wrapper's hook declares, or raise ``TypeError`` if `found` is no dict of fields.

    Examples
    --------
    >>> declared_fields(Wrapper(), "message_fields", ["reward"])
    Traceback (most recent call last):
        ...
    TypeError: Wrapper.message_fields must return a dict of Field by name, not ['reward']
    """
    if not names_all(found, Field):
        raise TypeError(f"{wrapper.name}.{hook} must return a dict of Field by name, not {shown(found)}")
    return dict(found)


def _check_class(wrapper: Wrapper) -> None:
    """Raise ``ValueError`` if a class attribute of a wrapper has a wrong type or value."""
    checked_names(wrapper.name, wrapper, "operations", "logged_metrics", "privacy_cost_metrics", "reward_free_fields")
    for verb in wrapper.operations:
        if verb not in OPERATIONS:
            raise ValueError(f"{wrapper.name}.operations: there is no operation {verb!r}{nearest(verb, OPERATIONS)}")
    flag(f"{wrapper.name}.preserves_guarantees", wrapper.preserves_guarantees)
    if wrapper.drop_prob is not None:
        probability(f"{wrapper.name}.drop_prob", wrapper.drop_prob)


def added(hook: str, steps: Iterable[tuple[Wrapper, Fields, Fields]]) -> list[tuple[str, list[str]]]:
    """Return pairs of a wrapper's name and the fields that its user-defined `hook` adds beyond `reward_free_fields`.

    `steps` are the wrappers, each with the fields before it and behind it.
    """
    found = []
    for wrapper, before, after in steps:
        if (new := after.keys() - before.keys()) and not wrapper.ships(hook) and (new := new - declared(wrapper)):
            found.append((wrapper.name, [name for name in after if name in new]))
    return found


def gathered(*parts: object) -> dict[str, Metric]:
    """Merge the `metrics_spec` of `parts` and of their base classes; later declarations override earlier declarations.

    A subclass adds to what its bases declare, and may redeclare.

    Raises
    ------
    ValueError
        A declaration that is no `Metric`, or has a name that is no text.
    """
    found: dict[str, Metric] = {}
    for part in parts:
        cls = part if isinstance(part, type) else type(part)
        for owner in (*reversed(cls.__mro__), part):
            measures = vars(owner).get("metrics_spec", {})
            if measures != {} and not names_all(measures, Metric):
                whose = f"{cls.__name__}.metrics_spec={shown(measures)}"
                raise ValueError(f"{whose} must map names of metrics to Metric(label, nature)")
            found |= measures
    return found
