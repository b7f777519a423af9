"""A checker for wrappers: what they send, hear, tell and measure is what they declare."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from hushbandits.core.entries import AnyEnv, AnyWrapper
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array, Message, Params, Seeds
from hushbandits.core.hooks import measurements
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.payload import Payload
from hushbandits.core.team import Team
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.registry import known_wrappers, make_team, make_wrapper
from hushbandits.testing.agent import played
from hushbandits.testing.parts import calling, check_games, check_hooks, check_metrics, grounds, says_epsilon
from hushbandits.testing.seen import difference, required

__all__ = ["check_wrapper"]

_Out = TypeVar("_Out")
_HOOKS = ("reset", "send", "deliver", "tell", "told", "sends", "hears", "tells", "metrics", "promises")


def check_wrapper(
    wrapper: AnyWrapper,
    env_id: AnyEnv | None = None,
    *,
    seed: int = 0,
    env: Params | None = None,
    before: Sequence[AnyWrapper] = (),
    **kwargs: object,
) -> None:
    """Raise ``AssertionError``, in a sentence with class and hook, unless a wrapper keeps what every wrapper promises.

    Short games are played by the agent ``Random``, in one env of every setting that takes the wrapper.  Checked are:

    * names: no method is called almost as a hook (``sent``, ``delivers``);
    * what leaves it, what is heard behind it and what agents are told are what `sends`, `hears` and `tells` declare:
      fields, shapes, dtypes and ranges; `send` changes no message in place, but returns a new one;
    * `drops`, `most_lost` and `reach` are numbers; where `drops` is a rate, nothing is sent that was not said, and at
      rate 0 nothing gets lost;
    * the seed decides everything, whatever the global random generators hold, and leaves these alone;
    * a run alone goes as its row of a batch;
    * an instance that was used elsewhere works as a new one, and no data of the class changes;
    * metrics are finite numbers, a row per run (what is spent, `spends`, may be ∞);
    * what has an ``epsilon``, or adds noise, makes its promise (``promises``, which returns ``()`` for none).

    Parameters
    ----------
    wrapper : Wrapper, its name or class
    env_id : str or class, optional
        Where it works; default: one env of every setting that takes it.
    seed : int
        Seeds the runs.
    env : dict, optional
        Parameters of the env; by default it is small and short.
    before : sequence of Wrapper, of their names or classes
        In front of it, where it cannot stand alone.
    **kwargs
        The wrapper's parameters, where it is not built yet.

    Raises
    ------
    ValueError, TypeError
        Unknown names, bad parameters, or no env takes it.

    Examples
    --------
    >>> check_wrapper("Loss", rate=0.5)
    >>> class Lost(Wrapper):
    ...     def sned(self, message, env): ...
    >>> check_wrapper(Lost)
    Traceback (most recent call last):
        ...
    AssertionError: Lost.sned is called by nobody; the hook is send
    """
    made = (
        make_wrapper(wrapper, **kwargs) if kwargs and not isinstance(wrapper, Wrapper) else known_wrappers([wrapper])[0]
    )
    cls = type(made)
    check_hooks(cls, Wrapper, _HOOKS)
    _check_numbers(made)
    noises = "adds noise" if "add" in made.verbs else "has an epsilon" * says_epsilon(made, cls)
    builds = grounds(lambda: make_team("Random"), env_id, env or {}, [*before, made], each=True)
    check_games(cls, builds, lambda core, _: (_of(core, made), noises), partial(_passed, made=made), seed)


def _of(core: Env, wrapper: Wrapper) -> Wrapper:
    """The env's own copy of a wrapper."""
    return next(w for w in core.wrappers if w.name == wrapper.name)


def _check_numbers(wrapper: Wrapper) -> None:
    name, rate = type(wrapper).__name__, wrapper.drops
    required(
        rate is None or (isinstance(rate, (int, float)) and 0 <= rate <= 1),
        f"{name}.drops must be a rate in [0, 1] or None, not {rate!r}",
    )
    for what, low, high in (("most_lost", 0.0, 1.0), ("reach", 0.0, math.inf)):
        value = getattr(wrapper, what)
        required(
            isinstance(value, (int, float, np.number)) and bool(low <= value <= high),
            f"{name}.{what} must be a number in [{low:g}, {high:g}], not {value!r}",
        )


def _passed(core: Env, team: Team, seeds: Seeds, made: Wrapper) -> dict[str, object]:
    """Play a game with a wrapper watched; return what was seen of it, with metrics at the end."""
    own, name = _of(core, made), type(made).__name__
    send, metrics, talk = _named(own, "send", Payload, "a message"), own.metrics, core.talk

    def sent(message: Payload, env: World) -> Payload:
        before = {field: value.copy() for field, value in message.items() if isinstance(value, np.ndarray)}
        out = send(message, env)
        for field, was in before.items():
            required(
                field in message and difference(was, message[field]) is None,
                f"{name}.send writes to {field!r} of the message that it was given; return message.but(…)",
            )
        _check_drops(own, before, out)
        return out

    def counted(env: World) -> dict[str, Array]:
        with calling(type(made), "metrics"):
            found = measurements(own.name, metrics(env), len(seeds))
        check_metrics(type(made), found, own.spends)
        return found

    def heard(message: Message | None = None) -> Obs:
        with calling(type(made), "send"):
            obs = talk(message)
        _check_inbox(core, name, obs.inbox)
        return obs

    watched = {
        **{hook: _named(own, hook, object, "") for hook in ("reset", "tell", "told")},
        "deliver": _named(own, "deliver", Inbox, "an Inbox"),  # type: ignore[type-abstract]
        "send": sent,
        "metrics": counted,
    }
    vars(own).update(watched)
    core.talk = heard  # type: ignore[method-assign]
    try:
        return played(core, team, seeds, type(team))
    finally:
        del core.talk
        for hook in watched:
            delattr(own, hook)


def _named(own: Wrapper, hook: str, kind: type[_Out], noun: str) -> Callable[..., _Out]:
    """A hook that is named where it raises, or returns something else than `kind`."""
    function, cls = getattr(own, hook), type(own)

    def call(*args: object) -> _Out:
        with calling(cls, hook):
            out = function(*args)
        required(isinstance(out, kind), f"{cls.__name__}.{hook} must return {noun}, not {type(out).__name__}")
        return out

    return call


def _check_drops(wrapper: Wrapper, before: Mapping[str, Array], out: Payload) -> None:
    """Where a rate is declared, nobody speaks who did not, and at rate 0 nothing gets lost."""
    if wrapper.drops is None or "sent" not in before:
        return
    name, gone = type(wrapper).__name__, before["sent"] & ~out["sent"]
    required(
        not (out["sent"] & ~before["sent"]).any(), f"{name}.send sends what nobody said, and drops={wrapper.drops}"
    )
    required(
        wrapper.drops > 0 or not np.any(gone),
        f"{name}.send loses messages, and drops={wrapper.drops} says that none gets lost",
    )


def _check_inbox(core: Env, name: str, inbox: Inbox | None) -> None:
    """An inbox must give what is declared of it."""
    assert inbox is not None
    arrived = inbox.arrived
    required(arrived.dtype == bool and arrived.ndim == 3, f"{name}.deliver: arrived must be bools (R, A, S)")
    for field, form in core.inbox_fields.items():
        with calling(type(core), f"inbox[{field!r}] behind {name}.deliver"):
            value = np.asarray(inbox[field])
        required(
            value.shape == (*arrived.shape, *form.sized(core.n_arms).shape),
            f"{name}.deliver: {field!r} of the inbox has shape {value.shape}, declared is "
            f"{(*arrived.shape, *form.shape)}",
        )
        required(bool(np.isfinite(value).all()), f"{name}.deliver: {field!r} of the inbox is not finite")
