"""What wrappers declare, folded: outward to the transport, and back to the inbox; `Told` folds the third direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hushbandits.core.ground.validate import flag, nearest, probability, shown
from hushbandits.core.messages import Field, Fields, require
from hushbandits.core.payload import VERBS, Payload
from hushbandits.core.undeclared import check_reward_free
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper

__all__ = ["declared_fields", "inward", "outward"]


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
                raise ValueError(
                    f"{wrapper.name} needs messages that can be {VERBS.get(verb, verb)}: {payload.noun} cannot"
                )
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


def declared_fields(wrapper: Wrapper, hook: str, found: object) -> dict[str, Field]:
    """Return the fields that a wrapper's `sends`, `hears` or `tells` declares, or raise ``TypeError``.

    Examples
    --------
    >>> declared_fields(Wrapper(), "sends", ["reward"])
    Traceback (most recent call last):
        ...
    TypeError: Wrapper.sends must return a dict of Field by name, not ['reward']
    """
    if not isinstance(found, Mapping) or not all(isinstance(k, str) and isinstance(f, Field) for k, f in found.items()):
        raise TypeError(f"{wrapper.name}.{hook} must return a dict of Field by name, not {shown(found)}")
    return dict(found)


def _check_class(wrapper: Wrapper) -> None:
    """Raise ``ValueError`` where what a wrapper's class says of it is not of the form that it must have."""
    for name in ("verbs", "curve_metrics", "spends"):
        words = getattr(wrapper, name)
        if not isinstance(words, (tuple, list)) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"{wrapper.name}.{name}={shown(words)} must be a tuple of names")
    for verb in wrapper.verbs:
        if verb not in VERBS:
            raise ValueError(f"{wrapper.name}.verbs: there is no verb {verb!r}{nearest(verb, VERBS)}")
    flag(f"{wrapper.name}.preserves_guarantees", wrapper.preserves_guarantees)
    check_reward_free(wrapper.name, wrapper.reward_free_fields)
    if wrapper.drop_prob is not None:
        probability(f"{wrapper.name}.drop_prob", wrapper.drop_prob)
