"""Wrappers act on messages on their way, and declare what fields these have then.

What they declare is folded in three directions: outward to the transport, back to the inbox, to the agents.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, ClassVar, NoReturn

from hushbandits.core.env_view import World
from hushbandits.core.guarantee import GuaranteeSource, check_reward_free, declared, overridden
from hushbandits.core.messages import Field, Fields, Inbox, require
from hushbandits.core.metric import Metric
from hushbandits.core.payload import VERBS, Payload
from hushbandits.core.random.streams import Streams
from hushbandits.core.utils import Array, flag, nearest, probability, ships, shown
from hushbandits.core.utils.validate import names_all

#: What it does to a run.
_HOOKS = ("reset", "tell", "told", "send", "deliver")
#: What else of a wrapper of this package decides what becomes of messages.
_PARTS = (*_HOOKS, "poster", "posting", "relay", "channel", "add_up", "order", "drop_prob", "max_drop_fraction")

#: Rewards in [0, 1], as agents are told them.
_UNIT = Field(low=0.0, high=1.0)


class Wrapper(GuaranteeSource):
    """Base of all wrappers; this one changes nothing.

    A wrapper is configured by its constructor and holds a run's state only after `reset`; an env works on
    its own copy, so one instance may be handed to several envs.  ``send`` meets messages as they leave their
    senders, in the order in which the wrappers were given; ``deliver`` meets inboxes, in reverse order; ``tell`` meets
    what agents are told of their own rewards.  What it does to fields it declares: `sends` outward, `hears` inward,
    `tells` towards the agents themselves.

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
    ...         return message.but(sent=message["sent"] & False)
    >>> Mute().name
    'Mute'
    """

    #: Verbs of a payload that it uses (`hushbandits.core.payload.VERBS`).
    verbs: tuple[str, ...] = ()
    #: Whether it goes by what passes alone, each message by itself and by luck of its own, never by `env`, and drops
    #: nothing for its reward: then others' guarantees hold across it.  A user-defined class declares it, and those
    #: below it that replace no hook inherit it; what nobody declares is unknown, and voids guarantees.
    preserves_guarantees: ClassVar[bool] = False
    #: Of the fields that a user-defined class adds, those that say nothing of rewards; any other voids promises.
    reward_free_fields: ClassVar[tuple[str, ...]] = ()
    #: Of its metrics, those that say how much ε its promise cost.
    spends: ClassVar[tuple[str, ...]] = ("epsilon", "epsilon_delta")
    #: The rate, where all that it does is to drop messages: then compiled episodes know it.
    drop_prob: float | None = None
    #: Scalar metrics of `metrics` worth a curve.
    curve_metrics: ClassVar[tuple[str, ...]] = ()
    #: What its `metrics` are; a class adds to what its bases declare.
    measures: ClassVar[Mapping[str, Metric]] = {}

    def __init__(self, *, name: str | None = None):
        if name is not None and not (isinstance(name, str) and name):
            raise ValueError(f"name={shown(name)} of a {type(self).__name__} must be a text")
        self.name = name or type(self).__name__

    def sends(self, fields: Fields, env: World) -> Fields:
        """Fields of a message behind this wrapper, given those before it; ``ValueError`` where one is missing."""
        return fields

    def hears(self, fields: Fields, env: World) -> Fields:
        """Fields of an inbox behind this wrapper, given those before it."""
        return fields

    def tells(self, fields: Fields, env: World) -> Fields:
        """Fields of what agents are told of their own rewards, given those told before it.

        ``reward``, with the range that `tell` keeps to; without it agents are not shown their rewards, and learn of
        them what else is here: `told` gives it, and they find it in their inbox (``inbox.own``).
        """
        return fields

    def __call__(self, env: object) -> NoReturn:
        """A wrapper is no function of an env."""
        raise TypeError(
            f"{self.name} is no function: hb.wrap(env, {self.name}(…)), or wrappers=[{self.name}(…)] of make"
        )

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        """Start R new runs, or the runs `rows` while the others go on (`hushbandits.core.rows.set_rows`)."""

    def tell(self, reward: Array, env: World) -> Array:
        """Return what the agents are told of their own rewards (R, A), within the range that `tells` declares."""
        return reward

    def send(self, message: Payload, env: World) -> Payload:
        """Return the message that leaves the senders' side."""
        return message

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Return the inbox that the receivers see."""
        return inbox

    def told(self, env: World) -> Mapping[str, Array]:
        """Return the fields that `tells` adds to ``reward``, ``(R, A, …)``, at the end of a round."""
        return {}

    def metrics(self, env: World) -> dict[str, Array]:
        """What this wrapper measures, each ``(R, …)``; it joins the env's own metrics."""
        return {}

    def vain(self, env: World) -> bool:
        """Whether no promise about a run stands in `env`: what it measures as spent (`spends`) is ∞ there."""
        return not any(math.isfinite(promise.epsilon) and not promise.alone for promise in self.guarantees(env))

    @property
    def reach(self) -> float:
        """How far its noise may take a reward from where it was."""
        return 0.0

    @property
    def ours(self) -> bool:
        """Whether all that it does to messages is code of this package, or declared by `preserves_guarantees`."""
        if ships(type(self)) or self.declares:
            return True
        home = next(cls for cls in type(self).__mro__ if ships(cls))
        if home is SecureFunction:  # it says nothing of what is opened
            return False
        return not {*_PARTS} & {*overridden(self, home)} and all(map(self.ships, _HOOKS))

    @property
    def declares(self) -> bool:
        """Whether a user-defined class declares `preserves_guarantees`, and none below it replaces what it declares."""
        if ships(type(self)):
            return False
        home = next(cls for cls in type(self).__mro__ if "preserves_guarantees" in vars(cls))
        own = self.preserves_guarantees and not ships(home)
        return bool(own) and not {*_PARTS} & {*overridden(self, home)}

    @property
    def max_drop_fraction(self) -> float:
        """Largest share of a block's messages that may get lost here, and with them the noise that they carry.

        By default 0 or 1: any number where it declares a `drop_prob` above 0, or the verb ``drop``.
        """
        return float("drop" in self.verbs if self.drop_prob is None else self.drop_prob > 0)

    @property
    def poster(self) -> Callable[..., None] | None:
        """Where all that `send` does is to make states of standard reports: the compiled rule that does so.

        ``(state, r, m, arm, reward, u)``, for agent m of run r; then compiled episodes know it.
        """
        return None

    def posting(self, rounds: int) -> Any:
        """What `poster` goes by in the next `rounds` rounds: ``state``, ``luck`` (rounds, R, M) and ``told``."""
        raise NotImplementedError(f"{type(self).__name__} has a poster and must define posting(rounds)")

    # -- for subclasses -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        taken = inspect.signature(type(self).__init__).parameters
        state = vars(self)
        pairs = [f"{k}={state[k]!r}" for k in taken if k in state and k != "name"]
        return f"{type(self).__name__}({', '.join(pairs)})"


class Privatizer(Wrapper):
    """It privatizes rewards and decodes their sum: the local randomizer R and the analyzer A of a protocol."""


class SecureFunction(Wrapper):
    """It adds messages up and hides the single ones: the secure function S of a protocol.

    A user-defined class that derives from this base must declare `preserves_guarantees`.
    """

    def fewest(self, n: int, env: World) -> int:
        """Fewest messages whose sum is opened, of a block of `n` users that may get lost here; 0: nobody knows."""
        return 0

    def needed(self, env: World) -> Callable[[int], int] | None:
        """Return without how many users of a block of n no sum is opened: to whom the mechanism's noise is calibrated.

        ``None``: nobody asks for some.
        """
        return None

    def tolerates(self, n: int, colluders: int) -> bool:
        """Whether it shows no more than the sum to so many colluding users of `n` and the server."""
        return True


def distinct(wrappers: object) -> Sequence[Wrapper]:
    """Return wrappers with distinct names, or raise ``ValueError``.

    Examples
    --------
    >>> distinct([Wrapper(), Wrapper()])
    Traceback (most recent call last):
        ...
    ValueError: two wrappers are named 'Wrapper'; give one of them another name=
    """
    if not isinstance(wrappers, (list, tuple)) or not all(map(isinstance, wrappers, repeat(Wrapper))):
        raise ValueError(f"wrappers={wrappers!r} must be Wrapper instances, such as [Huber(0.05)]")
    names = [w.name for w in wrappers]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two wrappers are named {name!r}; give one of them another name=")
    return wrappers


# -- what wrappers declare -------------------------------------------------------------------------------------------


def outward(wrappers: Sequence[Wrapper], fields: Fields, payload: type[Payload], env: World) -> list[Fields]:
    """Return the fields of a message as it is sent, and behind each wrapper; the last ones reach the transport.

    Raises
    ------
    ValueError
        A wrapper's class says of itself what cannot be, messages here cannot be what it needs, or a field is missing.
    """
    way, before = [fields], set[str]()
    for wrapper in wrappers:
        _check_class(wrapper)
        sent = dict(way[-1])
        for verb in wrapper.verbs:
            if verb not in payload.verbs:
                raise ValueError(f"{wrapper.name} needs messages that can be {VERBS[verb]}: {payload.noun} cannot")
            require(wrapper.name, payload.verbs[verb], sent)
            payload.follows(wrapper.name, verb, sent, before)
        before |= {*wrapper.verbs}
        way.append(declared_fields(wrapper, "sends", wrapper.sends(sent, env)))
    return way


def inward(wrappers: Sequence[Wrapper], offered: Fields, env: World) -> list[Fields]:
    """Return the fields of an inbox as the transport offers them, and behind each wrapper, innermost first."""
    way = [offered]
    for wrapper in reversed(wrappers):
        way.append(declared_fields(wrapper, "hears", wrapper.hears(dict(way[-1]), env)))
    return way


def toward_agents(wrappers: Sequence[Wrapper], env: World) -> list[Fields]:
    """Return the fields that agents are told of their own rewards, as the env has them and behind each wrapper."""
    way: list[Fields] = [{"reward": _UNIT if env.law.unit_interval else Field()}]
    for wrapper in wrappers:
        way.append(declared_fields(wrapper, "tells", wrapper.tells(dict(way[-1]), env)))
    return way


def declared_fields(wrapper: Wrapper, hook: str, found: Fields) -> dict[str, Field]:
    """Return the fields that a wrapper's `sends`, `hears` or `tells` declares, or raise ``TypeError``.

    Examples
    --------
    >>> declared_fields(Wrapper(), "sends", ["reward"])
    Traceback (most recent call last):
        ...
    TypeError: Wrapper.sends must return a dict of Field by name, not ['reward']
    """
    if not names_all(found, Field):
        raise TypeError(f"{wrapper.name}.{hook} must return a dict of Field by name, not {shown(found)}")
    return dict(found)


def _check_class(wrapper: Wrapper) -> None:
    """Raise ``ValueError`` where what a wrapper's class says of it is not of the form that it must have."""
    for name in ("verbs", "curve_metrics", "spends"):
        words = getattr(wrapper, name)
        if not isinstance(words, (tuple, list)) or not all(map(isinstance, words, repeat(str))):
            raise ValueError(f"{wrapper.name}.{name}={shown(words)} must be a tuple of names")
    for verb in wrapper.verbs:
        if verb not in VERBS:
            raise ValueError(f"{wrapper.name}.verbs: there is no verb {verb!r}{nearest(verb, VERBS)}")
    flag(f"{wrapper.name}.preserves_guarantees", wrapper.preserves_guarantees)
    check_reward_free(wrapper.name, wrapper.reward_free_fields)
    if wrapper.drop_prob is not None:
        probability(f"{wrapper.name}.drop_prob", wrapper.drop_prob)


def added(hook: str, steps: Iterable[tuple[Wrapper, Fields, Fields]]) -> list[tuple[str, list[str]]]:
    """Return the fields that user-defined wrappers add by a `hook` and do not declare free of rewards, with its name.

    `steps` are the wrappers, each with the fields before it and behind it.
    """
    found = []
    for wrapper, before, after in steps:
        if (new := after.keys() - before.keys()) and not wrapper.ships(hook) and (new := new - declared(wrapper)):
            found.append((wrapper.name, [name for name in after if name in new]))
    return found
