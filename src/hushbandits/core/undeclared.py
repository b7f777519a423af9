"""What code outside this package may tell of rewards past a mechanism: hooks that it replaces, fields that it adds."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from hushbandits.core.env_view import World
from hushbandits.core.messages import Fields
from hushbandits.core.utils import ships, shown

#: What a user-defined class may set without touching what its base promises.
_HARMLESS = frozenset({
    "curve_metrics", "measures", "meets", "metrics", "name", "preserves_guarantees", "protocol",
    "reward_free_fields", "runs_at_once", "setting",
})  # fmt: skip
#: Hooks of an env through which everything passes that it says of rewards.
_CARRIES = (
    "report", "_report", "standard_report", "_standard", "_said", "_spoken", "_checked", "_passing", "_counted",
    "_offers", "_transport", "payload", "pull", "talk", "_seen",
)  # fmt: skip
#: Fields that mechanisms know, whatever env reports them.
_KNOWN = frozenset({"arm", "reward", "sender"})


def overridden(part: object, base: type, free: Iterable[str] = ()) -> list[str]:
    """Return the names of what code outside this package replaces of `base`: in classes below it, or on the object.

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
    names: list[str] = []
    for cls in type(part).__mro__:
        if cls is base:
            break
        if not ships(cls):
            names += vars(cls)
    for name, value in vars(part).items():
        if callable(value) and not ships(value):
            names.append(name)
    if not names:
        return []
    left = dict.fromkeys(name for name in names if not name.startswith("__") and hasattr(base, name))
    return [name for name in left if name not in _HARMLESS and name not in free]


def check_reward_free(owner: str, names: object) -> None:
    """Raise ``ValueError`` unless `names`, the `reward_free_fields` of `owner`, is a tuple of texts."""
    if not isinstance(names, (tuple, list)) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"reward_free_fields={shown(names)} of {owner} must be a tuple of names of fields")


def _user_defined(part: object) -> tuple[type, ...]:
    """Classes of an object in front of the first one of this package."""
    return tuple(takewhile(lambda cls: not ships(cls), type(part).__mro__))


def declared(part: object) -> set[str]:
    """Return the names that user-defined classes of `part` declare free of rewards."""
    return {name for cls in _user_defined(part) for name in vars(cls).get("reward_free_fields", ())}


def added(hook: str, steps: Iterable[tuple[Any, Fields, Fields]]) -> list[tuple[str, list[str]]]:
    """Return the fields that user-defined wrappers add by a `hook` and do not declare free of rewards, with its name.

    `steps` are the wrappers, each with the fields before it and behind it.
    """
    found = []
    for wrapper, before, after in steps:
        if (new := after.keys() - before.keys()) and not wrapper.ships(hook) and (new := new - declared(wrapper)):
            found.append((wrapper.name, [name for name in after if name in new]))
    return found


def unaccounted(env: World, but: object = None) -> str:
    """Return why user-defined code around messages may tell of rewards what no mechanism covers; ``""``: it does not.

    Parameters
    ----------
    env : Env
    but : object, optional
        A wrapper whose own fields are not asked about: the one that promises.
    """
    name = type(env).__name__
    if hooks := _carrying(env):
        return f"{name} has a {hooks[0]} of its own, and nothing says what it tells of rewards (reward_free_fields)"
    others = [(wrapper, names) for wrapper, names in env.added if wrapper != getattr(but, "name", "")]
    for owner, beyond in [(name, _fields(env)), *others]:
        if beyond:
            listed = " and ".join(beyond)
            return f"{owner} adds {listed}, and nothing says that this is free of rewards (reward_free_fields)"
    return ""


def _carrying(env: World) -> list[str]:
    """What an env replaces of `_CARRIES` in a class that declares nothing, nor does a class below it."""
    found = [hook for hook in _CARRIES if hook in vars(env) and not ships(vars(env)[hook])]
    for cls in _user_defined(env):
        if "reward_free_fields" in vars(cls):
            break
        found += [hook for hook in _CARRIES if hook in vars(cls)]
    return found


def _fields(env: World) -> list[str]:
    """Fields that an env reports, offers in inboxes or shows in public, and neither its base does nor it declares."""
    if not (own := _user_defined(env)):
        return []
    home: Any = type(env).__mro__[len(own)]
    known = {*_KNOWN, *declared(env), *home.public, *env.sent_fields}
    report = getattr(home.report, "fget", None)
    told = {} if getattr(home.report, "__isabstractmethod__", False) else report(env) if report else home.report
    offered = {*env._offers(env.sent_fields)} - {*home._offers(env, env.sent_fields)}
    beyond = [name for name in env.report if name not in {*_KNOWN, *declared(env), *told}]
    return list(dict.fromkeys([*beyond, *(name for name in (*sorted(offered), *env.public) if name not in known)]))


def spoken_beside(env: World) -> str:
    """Return why a message by itself may tell more than its report: fields that agents fill who know their rewards."""
    said = [name for name in env.fields if name not in env.report]
    if not said:
        return ""
    return f"agents say {' and '.join(said)} themselves, and they know their exact rewards"


def declared_words(env: World, but: object = None) -> tuple[str, ...]:
    """Return what is believed of user-defined code, as assumptions: each names the class whose word it is."""
    words, name, own = [], type(env).__name__, _user_defined(env)
    if own and (names := declared(env)):
        words.append(f"as claimed by {name}: nothing of rewards is in {' and '.join(sorted(names))}")
    elif own and any("reward_free_fields" in vars(cls) for cls in own):
        words.append(f"as claimed by {name}: all that it says of rewards is its report's reward")
    for wrapper in env.wrappers:
        if wrapper is not but and wrapper.name != getattr(but, "name", "") and wrapper.declares:
            words.append(f"as claimed by {wrapper.name}: promises hold across it (preserves_guarantees)")
    return tuple(words)
