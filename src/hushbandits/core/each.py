"""`Each` makes a team of a plain class of one agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from hushbandits.core.env_view import World, view_of
from hushbandits.core.messages import Field, Fields, Inbox, Obs
from hushbandits.core.random.streams import Streams
from hushbandits.core.team import Team
from hushbandits.core.utils import Action, Array, nearest, shown, words
from hushbandits.core.validation import checked


class Unlearning(ValueError):
    """Neither rewards nor messages reach an agent, and it does not say that it is blind."""


class Each(Team):
    """One object per seat and run, exactly as if each agent ran on its own machine.

    Where an object returns what its hook may not return, a ``ValueError`` names it.

    Parameters
    ----------
    factory : callable
        ``factory(m, rng)`` builds agent m; `rng` is its own seeded ``numpy.random.Generator``.  If it has
        a parameter ``n_arms``, it is told K by that name.  The object has

        * ``act(t)`` → its action in round t = 1, 2, …: a value of the env's one action field (network: an arm;
          exploration: K bools), or a tuple of several (feedback: ``(arm, n)``),
        * ``speak(reward)`` → a dict of its message's fields, or ``None`` for the standard report; where a message has
          one field, its bare value will do (exploration: K bools of votes),
        * ``hear(messages)`` ← a list of dicts, one per message that arrived.

        `speak` brings it its own rewards, and `hear` what others say: where both are missing it can learn nothing, and
        is refused unless it says so, ``blind = True``.
    setting : str, optional
        ``"network"`` etc.; default: any.
    fields : Fields, optional
        Fields of its messages, where it does not send the standard report.
    name : str
        Names its random tapes.

    Raises
    ------
    ValueError
        What is given is a `Team`, an agent that is built already, or cannot be built from ``(m, rng)``; or its agents
        can learn nothing.

    Examples
    --------
    >>> import hushbandits as hb
    >>> class Stubborn:
    ...     blind = True
    ...     def __init__(self, m, rng):
    ...         self.arm = m % 2
    ...     def act(self, t):
    ...         return self.arm
    >>> env = hb.make_core("CoopNetwork-v0", n_agents=4, horizon=3)
    >>> hb.play(env, hb.Each(Stubborn))["regret"].shape
    (1,)
    """

    name = ""  # the factory's, unless one was given

    def __init__(
        self,
        factory: Callable[..., Any],
        *,
        setting: str = "",
        fields: Fields | None = None,
        name: str | None = None,
    ):
        self.factory = _buildable(factory)
        if isinstance(factory, type):
            _learning(factory)
        self.name = name or str(getattr(factory, "__name__", "Each"))
        self.setting = setting
        self.fields = fields
        # Where its agents do not speak, the standard report is all that they send.
        self.improvises = not isinstance(factory, type) or hasattr(factory, "speak")

    def reset(self, env: World, rng: Streams) -> None:
        """Build the M agents of every run."""
        self._face = view_of(env)
        told = {"n_arms": env.n_arms} if "n_arms" in inspect.signature(self.factory).parameters else {}
        self._seats = [
            [self.factory(m, rng.generator(r, m), **told) for m in range(env.n_agents)] for r in range(len(rng))
        ]
        if not isinstance(self.factory, type):
            _learning(self._seats[0][0])

    def _acting(self) -> list[tuple[int, int, Any]]:
        live = self._face.live
        return [(r, a, self._seats[r][m]) for r, row in enumerate(self._who) for a, m in enumerate(row) if live[r]]

    def _name_of(self, r: int, a: int) -> str:
        return f"agent {self._who[r, a]} of {self.name} in round {int(self._t[r]) + 1} of run {r}"

    def act(self, obs: Obs) -> Action:
        """Ask every acting agent for its action."""
        self._who, self._t = obs.who.copy(), obs.t.copy()
        action = self._face.no_action()
        parts: tuple[Array, ...] = action if isinstance(action, tuple) else (action,)
        for r, a, agent in self._acting():
            took = self._took(self._asked(r, a, agent.act, int(obs.t[r]) + 1), r, a)
            for part, value in zip(parts, took, strict=True):
                part[r, a] = value
        return action

    def _asked(self, r: int, a: int, hook: Callable[..., Any], told: object, hint: str = "") -> Any:
        """What an agent answers; where its code raises, ``RuntimeError`` says whose and when."""
        try:
            return hook(told)
        except Exception as error:
            name = getattr(hook, "__name__", "it")
            raise RuntimeError(f"{self._name_of(r, a)}: {name} raised {words(error)}{hint}") from error

    def _took(self, value: object, r: int, a: int) -> list[Array]:
        fields = self._face.actions
        values = [value] if len(fields) == 1 else list(value) if isinstance(value, (tuple, list, np.ndarray)) else []
        if len(values) == len(fields):
            try:
                return [checked(name, x, field, ()) for x, (name, field) in zip(values, fields.items(), strict=True)]
            except ValueError:
                pass
        says = " and ".join(f"{_an(field)} as {name}" for name, field in fields.items())
        raise ValueError(f"{self._name_of(r, a)}: act must return {says}, not {shown(value)}")

    def speak(self, reward: Array) -> dict[str, Array] | None:
        """Collect the agents' messages."""
        speaking = [(r, a, agent) for r, a, agent in self._acting() if hasattr(agent, "speak")]
        said = {(r, a): self._asked(r, a, agent.speak, reward[r, a].copy()) for r, a, agent in speaking}
        said = {seat: own for seat, own in said.items() if own is not None}
        if self.fields is None and not said:
            return None
        # Whoever says nothing of its own sends the standard report, if that is what the team sends at all.
        message = {k: np.zeros((*self._who.shape, *f.shape), f.dtype) for k, f in self._face.fields.items()}
        message["sent"] = np.full(self._who.shape, self.fields is None)
        standard = {} if self.fields is not None else self._face.standard_report()
        message.update(standard)
        unsaid = [k for k in self._face.fields if k not in standard]
        for r, a, _ in self._acting():
            own = said.get((r, a))
            if own is None and self.fields is not None:
                continue
            spoken = {} if own is None else self._spoken(own, r, a)
            if lacking := [k for k in unsaid if k not in spoken]:
                raise ValueError(f"{self._name_of(r, a)}: speak must say {lacking[0]!r}, for nobody says it instead")
            message["sent"][r, a] = True
            for k, value in spoken.items():
                message[k][r, a] = value
        return message

    def _spoken(self, said: object, r: int, a: int) -> dict[str, Array]:
        """What an agent said, field by field, checked."""
        fields = self._face.fields
        if not self._face.agents_speak:
            raise ValueError(f"{self._name_of(r, a)}: speak must return None, for here users speak, not servers")
        if not isinstance(said, dict):
            if len(fields) > 1:
                known = ", ".join(fields)
                raise ValueError(
                    f"{self._name_of(r, a)}: speak must return None or a dict of {known}, not {shown(said)}"
                )
            said = dict.fromkeys(fields, said)  # the only one needs no name
        for name in said:
            if name not in fields:
                raise ValueError(f"{self._name_of(r, a)}: speak returns a field {name!r}{nearest(str(name), fields)}")
        what = f"what {self._name_of(r, a)} says in field"
        return {name: checked(f"{what} {name!r}", value, fields[name], ()) for name, value in said.items()}

    def hear(self, inbox: Inbox) -> None:
        """Hand every agent its own messages."""
        listening = [(r, a, agent) for r, a, agent in self._acting() if hasattr(agent, "hear")]
        if not listening:
            return
        arrived = inbox.arrived
        gathered = {field: inbox[field] for field in inbox.fields}
        wide = [k for k, v in gathered.items() if v.ndim > 3]
        for r, a, agent in listening:
            heard = [{k: v[r, a, s] for k, v in gathered.items()} for s in np.flatnonzero(arrived[r, a])]
            for message in heard if wide else ():
                message.update((k, message[k].copy()) for k in wide)  # an array would lead to everybody's
            self._asked(r, a, agent.hear, heard, f"; a message here has: {', '.join(gathered)}")


def _buildable(factory: object) -> Callable[..., Any]:
    """Return what builds an agent, or say what to hand over instead."""
    if isinstance(factory, Team) or (isinstance(factory, type) and issubclass(factory, Team)):
        name = factory.__name__ if isinstance(factory, type) else factory.name
        raise ValueError(f"Each({name}): a Team plays all seats already; hand over {name} itself, without Each")
    if not callable(factory):
        name = type(factory).__name__
        hint = f"; give its class, Each({name}), of which every seat gets its own" * hasattr(factory, "act")
        raise ValueError(f"factory={shown(factory)} must be a class, or a function of (m, rng){hint}")
    if isinstance(factory, type) and not callable(getattr(factory, "act", None)):
        raise ValueError(f"Each({factory.__name__}): the class must define act(t), which returns its action")
    return factory


def _learning(agent: object) -> None:
    """Raise `Unlearning` unless an agent, or its class, is told of rewards or messages, or says that it is blind."""
    if not (hasattr(agent, "speak") or hasattr(agent, "hear") or getattr(agent, "blind", False) is True):
        cls = agent if isinstance(agent, type) else type(agent)
        raise Unlearning(
            f"Each({cls.__name__}): without speak(reward), which brings an agent its own rewards, and hear(messages), "
            f"which brings what others say, it never learns; where that is meant, let it say blind = True"
        )


def _an(field: Field) -> str:
    """One value of an action's field, in words."""
    low, high = field.range
    if field.kind == "b":
        return f"{field.shape[0]} bools" if field.shape else "a bool"
    span = f"in {low}..{high}" if field.high is not None else f"≥ {low}"
    return f"an integer {span}" if field.kind in "iu" else f"a number {span}"
