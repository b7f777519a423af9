"""`Rounds`, the part of an env that plays the two phases of each round, checks its input and calls wrappers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from hushbandits.core.messages import Fields, Inbox, Observation
from hushbandits.core.payload import Payload
from hushbandits.core.utils import Action, Array, Message, shown
from hushbandits.core.validation import checked, checked_message, handed
from hushbandits.core.world import World

#: Why a phase cannot be played, by the state of the env.
_REFUSED = {
    "new": "before the start: call reset(seeds) first",
    "over": "after the end: every run has finished; call reset(seeds)",
    "broken": "after a phase that raised an error: call reset(seeds)",
}


class Rounds(World, ABC):
    """Base of `Env` that plays rounds: agents pull arms in phase 1, and send and receive messages in phase 2."""

    #: Class of its messages.
    message_class: ClassVar[type[Payload]] = Payload
    #: ``"new"``, the next phase (``"pull"``, ``"communicate"``), ``"over"``, or ``"broken"``: inside a phase, and after
    #: a phase that failed, because its random numbers cannot be drawn again.
    _phase: str
    #: ``(R, A, …)`` own rewards as returned to the agents in this round; the standard report contains them.
    own_reward: Array
    #: For subclasses: called with each message, as it is sent and after every wrapper.
    _passing: Callable[[Message], None] | None = None
    #: For subclasses: makes the payload of a checked message, and adds what wrappers need and nobody sends.
    _payload: Callable[[Message], Payload] | None = None

    @property
    @abstractmethod
    def t(self) -> Array:
        """Number of rounds (in feedback envs, number of users) so far in each run, ``(R,)``."""

    @property
    @abstractmethod
    def running(self) -> Array:
        """Whether each run still goes on, ``(R,)`` bool."""

    @property
    @abstractmethod
    def active_agents(self) -> Array:
        """``(R, A)`` indices of the agents that act in this round."""

    @abstractmethod
    def _pull(self, action: Any) -> Array:
        """Play phase 1 with a valid `action`, and return the rewards of the acting agents."""

    @abstractmethod
    def _report(self) -> Message:
        """Return the standard report of this round, ``(R, A, …)`` per field."""

    @abstractmethod
    def _transport(self, message: Payload) -> Inbox:
        """Carry the messages to their receivers, finish the round, and return the inbox."""

    def _seen(self, reward: Array | None = None, inbox: Inbox | None = None) -> Observation:
        """Return an observation: read-only copies of `t`, `running`, `active_agents` and `reward`, and the `inbox`."""
        t, running, who = self.t.copy(), self.running.copy(), self.active_agents.copy()
        own = None if reward is None else reward.copy()
        for value in (t, running, who) if own is None else (t, running, who, own):  # in every phase: no `handed`
            value.setflags(False)  # type: ignore[call-arg]  # takes half as long as `write=False`
        return Observation(t, running, who, own, inbox)

    def _refuse(self, phase: str) -> NoReturn:
        """Raise ``RuntimeError`` with the reason why the call or attribute named by `phase` is not available now."""
        why = _REFUSED.get(self._phase, f"out of turn: this round's next phase is {self._phase}")
        raise RuntimeError(f"{phase} {why}")

    def _begun(self, what: str) -> None:
        if vars(self).get("_phase") == "new":
            self._refuse(what)

    if not TYPE_CHECKING:  # where types are checked, an env has what it declares and nothing else

        def __getattr__(self, name):
            if hasattr(type(self), name):  # a property, of what only a reset puts there, or one that fails
                self._begun(name)
                return object.__getattribute__(self, name)  # it says why
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def pull(self, action: object) -> Observation:
        """Play phase 1: pull the arms of `action`, ``(R, A, …)``; return an observation with the visible rewards."""
        if self._phase != "pull":
            self._refuse("pull")
        action = self._check_action(action)
        self._phase = "broken"  # what was drawn cannot be drawn again
        self.own_reward = self._pull(action)
        for wrapper in self.wrappers:
            self.own_reward = wrapper.alter_own_reward(self.own_reward, self)
        self._phase = "communicate"
        return self._seen(reward=self.own_reward if "reward" in self.own_reward_fields else None)

    def communicate(self, message: Message | None = None) -> Observation:
        """Play phase 2: send `message`, by default the standard report, and return an observation with the inbox."""
        if self._phase != "communicate":
            self._refuse("communicate")
        said = None if message is None else self._said(message)
        message = (self._payload or self.message_class)(self._standard() if said is None else said)
        self._phase = "broken"  # what counted and drew cannot do so again
        if said is not None:
            self._spoken(said)
        if self._passing is not None:
            self._passing(message)
        for wrapper in self.wrappers:
            before, message = message, wrapper.send(message, self)
            if type(message) is not self.message_class or wrapper.name in self._declared:
                message = self._returned(wrapper.name, before, message)
            if self._passing is not None:
                self._passing(message)
        inbox = self._transport(message)
        for wrapper in reversed(self.wrappers):
            inbox = wrapper.deliver(inbox, self)
        if self._published:
            inbox.own = {name: handed(x) for wrapper in self.wrappers for name, x in wrapper.published(self).items()}
        obs = self._seen(inbox=inbox)
        self._phase = "pull" if np.count_nonzero(obs.running) else "over"
        return obs

    def _returned(self, wrapper: str, before: Message, message: object) -> Payload:
        """Return `message`, which a wrapper's `send` made of the message `before`, as a payload.

        ``TypeError``: it is no message.  ``ValueError``: a user-defined wrapper added a field that it does not declare.
        """
        if not isinstance(message, Mapping):
            raise TypeError(f"{wrapper}.send must return a message, such as its argument, not {shown(message)}")
        payload = message if type(message) is self.message_class else (self._payload or self.message_class)(message)
        for name in payload.keys() - before.keys() - self._declared.get(wrapper, payload).keys():
            raise ValueError(f"{wrapper}.send added a field {name!r}, which its message_fields must declare")
        return payload

    def _check_action(self, action: object) -> Action:
        """Return a copy of `action` as arrays; raise ``ValueError`` if `action` does not fit the fields `actions`."""
        fields, shape = self._action_fields, self.active_agents.shape
        if len(fields) == 1:
            return checked("action", action, fields[0][1], shape)
        if not isinstance(action, tuple) or len(action) != len(fields):
            names = ", ".join(name for name, _ in fields)
            raise ValueError(f"action must be a tuple ({names}), not {type(action).__name__}")
        return tuple([checked(name, x, f, shape, "action") for x, (name, f) in zip(action, fields, strict=True)])

    def _standard(self) -> Message:
        report = self._report()
        message = report if "sent" in report else {**report, "sent": ~np.zeros(self.active_agents.shape, bool)}
        if self._whole:
            return message
        if missing := [name for name in self.fields if name not in message]:
            raise ValueError(f"the standard report has no field {missing[0]!r}, so the team must send this field")
        return {name: value for name, value in message.items() if name in (*self.fields, "sent")}

    def _said(self, message: Message) -> Message:
        """Return the checked `message`, with the field ``reward`` added if agents cannot see reported rewards."""
        if self._withheld and isinstance(message, Mapping):
            if "reward" in message:
                raise ValueError(
                    "message has a field 'reward', which agents of this env do not see; leave the field out"
                )
            message = {**message, "reward": self._report()["reward"]}
        return self._checked("message", message, self.fields)

    def _checked(self, what: str, message: Message, fields: Fields) -> Message:
        """Return a copy of `message` as arrays, or raise ``ValueError`` if it does not match the declared `fields`."""
        return checked_message(what, message, fields, self.active_agents.shape)

    def _spoken(self, message: Message) -> None:
        """Process the team's checked message before it passes through the wrappers."""

    def standard_report(self) -> dict[str, Array]:
        """Return the default message by field, without ``reward`` if the agents cannot see their rewards."""
        self._begun("standard_report")
        hidden = ("reward",) if self._withheld else ()
        return {name: np.array(value) for name, value in self._report().items() if name not in hidden}
