"""A checker for wrappers: what they send, hear, tell and measure is what they declare."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hushbandits.core import Array, Params, Seeds
from hushbandits.core.env import Env
from hushbandits.core.env_view import World
from hushbandits.core.fields import toward_agents
from hushbandits.core.messages import Field, Fields, Inbox
from hushbandits.core.payload import Payload
from hushbandits.core.team import Team
from hushbandits.core.validation import checked
from hushbandits.core.wrapper import Wrapper
from hushbandits.registry import AnyEnv, AnyWrapper, known_wrappers, make_team, make_wrapper
from hushbandits.testing import games
from hushbandits.testing.compare import difference, required

_HOOKS = ("reset", "send", "deliver", "tell", "told", "sends", "hears", "tells", "metrics", "claimed_guarantees")


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
    * `drop_prob`, `max_drop_fraction` and `reach` are numbers; nothing is sent that was not said where `drop_prob` is a
      rate, and at rate 0 nothing gets lost;
    * the seed decides everything, whatever the global random generators hold, and leaves these alone;
    * a run alone goes as its row of a batch;
    * an instance that was used elsewhere works as a new one, and no data of the class changes;
    * metrics are finite numbers, a row per run (what is spent, `spends`, may be ∞);
    * what has an ``epsilon``, or adds noise, makes its promise (``claimed_guarantees``, which returns ``()`` for none).

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
    given = make_wrapper(wrapper, **kwargs) if kwargs and not isinstance(wrapper, Wrapper) else wrapper
    (made,) = known_wrappers([given])
    cls = type(made)
    games.check_hooks(cls, Wrapper, _HOOKS)
    _check_numbers(made)
    noises = "adds noise" if "add" in made.verbs else "has an epsilon" * games.has_epsilon(cls, made)

    def own(core: Env) -> Wrapper:  # the env's copy
        return next(w for w in core.wrappers if w.name == made.name)

    def play(core: Env, team: Team, seeds: Seeds) -> games.Trace:
        mine = own(core)
        hooks = _watched(core, mine)
        vars(mine).update(hooks)
        try:
            return games.trace(core, team, seeds)
        finally:
            for hook in hooks:
                delattr(mine, hook)

    builds = games.grounds(lambda: make_team("Random"), env_id, env, [*before, made], each=True)
    games.check_games(cls, builds, seed, lambda core, _: games.check_promises(own(core), core, noises), play)


def _check_numbers(wrapper: Wrapper) -> None:
    for what, high in (("drop_prob", 1.0), ("max_drop_fraction", 1.0), ("reach", math.inf)):
        value = getattr(wrapper, what)
        required(
            (value is None and what == "drop_prob")
            or (isinstance(value, (int, float, np.number)) and bool(0.0 <= value <= high)),
            f"{type(wrapper).__name__}.{what} must be a number in [0, {high:g}], not {value!r}",
        )


def _watched(core: Env, wrapper: Wrapper) -> dict[str, Callable[..., object]]:
    """Return the hooks of a wrapper in an env, each of which holds what it returns against what is declared."""
    name, at = type(wrapper).__name__, core.wrappers.index(wrapper)

    def declared(hook: str, wrappers: Sequence[Wrapper], fields: Fields) -> Fields:
        for w in wrappers:
            fields = getattr(w, hook)(dict(fields), core)
        return fields

    sends = declared("sends", core.wrappers[: at + 1], core.fields)
    hears = declared("hears", core.wrappers[at:][::-1], core._offers(core.sent_fields))
    before, tells = toward_agents(core.wrappers, core)[at : at + 2]

    def send(message: Payload, out: object) -> None:
        if not isinstance(out, Payload):
            raise AssertionError(f"{name}.send must return a message, not {type(out).__name__}")
        core._checked("message", out, {**sends, "sent": Field(dtype="?")})
        if "sent" not in message:
            return
        lost = bool((message["sent"] & ~out["sent"]).any())
        required(
            not (lost and wrapper.declares) or wrapper.max_drop_fraction > 0,
            f"{name}.send loses messages, and neither drop_prob nor the verb 'drop' says so",
        )
        if wrapper.drop_prob is None:
            return
        told = f"and drop_prob={wrapper.drop_prob}"
        required(not (out["sent"] & ~message["sent"]).any(), f"{name}.send sends what nobody said, {told}")
        required(wrapper.drop_prob > 0 or not lost, f"{name}.send loses messages, {told} says that none gets lost")

    def deliver(inbox: Inbox, out: object) -> None:
        if not isinstance(out, Inbox):
            raise AssertionError(f"{name}.deliver must return an Inbox, not {type(out).__name__}")
        games.check_inbox(f"{name}.deliver", out, hears, core.n_arms)

    def tell(reward: Array, out: object) -> None:
        field = replace(tells.get("reward", Field()), shape=reward.shape[2:])
        seen = ~np.isnan(reward)
        array = np.asarray(out)
        if array.shape == reward.shape:  # where nothing was seen, nothing is told
            array = np.where(seen, array, max(0.0, field.range[0]))
        checked("reward", array, field, reward.shape[:2])

    def told(_: World, out: Mapping[str, Array]) -> None:
        new = {*tells} - {*before} - {"reward"}
        required(new <= {*out} <= {*tells}, f"{name}.told gives {[*out]}, and its tells declares {sorted(new)}")
        for field, value in out.items():
            checked(field, value, tells[field], core.who.shape)

    def metrics(_: World, out: object) -> None:
        taken = () if wrapper.ships("metrics") else core._metrics()  # mechanisms that ship share names
        games.check_metrics(type(wrapper), out, core.runs, wrapper.spends, taken)
        for curve in wrapper.curve_metrics:
            value: Any = out.get(curve) if isinstance(out, dict) else None
            required(np.ndim(value) == 1, f"{name}.metrics must measure {curve!r}, one number per run, for its curve")

    def reset(_: World, out: object) -> None:
        required(out is None, f"{name}.reset must return nothing, not {out!r}")

    checks: dict[str, Callable[..., None]] = {
        "send": send, "deliver": deliver, "tell": tell, "told": told, "metrics": metrics, "reset": reset,
    }  # fmt: skip
    return {hook: _held(wrapper, hook, check) for hook, check in checks.items()}


def _held(wrapper: Wrapper, hook: str, check: Callable[..., None]) -> Callable[..., object]:
    """A hook that is named where it raises, changes what it was given, or returns what fails a check."""
    function, cls = getattr(wrapper, hook), type(wrapper)

    def call(given: object, *rest: object) -> object:
        message = given if isinstance(given, Payload) else {"reward": given} if hook == "tell" else {}
        was = {field: value.copy() for field, value in message.items() if isinstance(value, np.ndarray)}
        with games.calling(cls, hook):
            out = function(given, *rest)
            for field, value in was.items():
                required(
                    field in message and difference(value, message[field]) is None,
                    f"{cls.__name__}.{hook} writes to {field!r} of what it was given; return a new one",
                )
            check(given, out)
        return out

    return call
