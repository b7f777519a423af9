"""What wrappers declare, folded in three directions: outward to the transport, back to the inbox, to the agents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from hushbandits.core.env_view import World
from hushbandits.core.messages import Field, Fields, require
from hushbandits.core.payload import VERBS, Payload
from hushbandits.core.undeclared import check_reward_free
from hushbandits.core.utils import flag, nearest, probability, shown
from hushbandits.core.utils.validate import names_all
from hushbandits.core.wrapper import Wrapper


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


def toward_agents(wrappers: Sequence[Wrapper], env: World) -> list[Fields]:
    """Return the fields that agents are told of their own rewards, as the env has them and behind each wrapper."""
    way: list[Fields] = [{"reward": Field(low=0.0, high=1.0) if env.law.unit_interval else Field()}]
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


def check_unit_rewards(who: str, env: World, heard: bool = False) -> None:
    """Refuse an env that hands its agents rewards beyond [0, 1], for a rule that is defined on [0, 1] alone.

    Parameters
    ----------
    who : str
        Whose rule it is.
    env : World
        The env, or its view.
    heard : bool
        Whether the rule learns from reports of other agents, too.  A report that an adversary replaced is no reason.

    Raises
    ------
    ValueError
        Names the law, where it is shown, or the wrapper that takes rewards beyond.
    """
    reward = env.told.get("reward")
    if reward is not None and (reward.range[0] < 0.0 or reward.range[1] > 1.0):
        tellers = [wrapper.name for wrapper in env.wrappers if type(wrapper).tell is not Wrapper.tell]
        law = getattr(env, "law", None)  # one of one's own is not shown
        paid = f"those of {tellers[0]}" if tellers else "those of this env" if law is None else repr(law)
        raise ValueError(f"{who} needs rewards in [0, 1], not {paid}")
    noisy = [wrapper.name for wrapper in env.wrappers if "add" in wrapper.verbs]
    if heard and noisy:
        raise ValueError(f"{who} needs reports of rewards in [0, 1], not those of {noisy[0]}")
