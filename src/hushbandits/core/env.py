"""The round: two beats, pull and talk, on arrays of R runs."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hushbandits.core.edge import checked_message, checked_seeds, checked_speech, count, locked
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Field, Fields, Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.rewards import Law
from hushbandits.core.tapes import run_seeds
from hushbandits.core.task import Task
from hushbandits.core.types import Array, Seeds
from hushbandits.core.wrapper import Wrapper

__all__ = ["Env"]


class Env(ABC):
    """Base of the three settings: checks, the order of the beats, and the wrappers' pipeline.

    A setting fills in `_reset`, `_pull`, `_report`, `_transport` and `metrics`.

    Parameters
    ----------
    n_agents, n_arms : int
        M agents (servers, in feedback) and K arms.
    wrappers : sequence of Wrapper
        On messages' way, outermost first: each wrapper's `send` in this order, each `deliver` in reverse.
    speech : Fields, optional
        Fields that the team sends instead of the standard report.
    runs : int
        R, the number of runs played at once.
    """

    setting: ClassVar[str]
    #: The metric that times an episode: the x-axis of its curves.
    clock: ClassVar[str]
    #: Scalar metrics worth a curve.
    curve_metrics: ClassVar[tuple[str, ...]] = ()
    #: Whether an episode lasts exactly `horizon` ticks of the clock.
    fixed_length: ClassVar[bool] = True
    horizon: Any
    #: Family of its reward laws.
    law: Law
    #: Id, parameters and wrappers that it was made from, where a registry made it.
    spec: tuple[str, dict[str, Any], tuple[Wrapper, ...]] | None = None
    #: Whether every metric is linear in the clock inside a step (then a curve interpolates).
    linear: ClassVar[bool] = False
    #: What a team may know of this setting besides what `Face` shows of every env.
    public: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        *,
        n_agents: int,
        n_arms: int,
        wrappers: Sequence[Wrapper] = (),
        speech: Fields | None = None,
        runs: int = 1,
    ):
        self.n_agents = count("n_agents", n_agents, 1)
        self.n_arms = count("n_arms", n_arms, 2)
        self.runs = count("runs", runs, 1)
        if not isinstance(wrappers, (list, tuple)) or not all(isinstance(w, Wrapper) for w in wrappers):
            raise ValueError(f"wrappers={wrappers!r} must be Wrapper instances, such as [Huber(0.05)]")
        names = [w.name for w in wrappers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two wrappers are named {name!r}; give one of them another name=")
        self.wrappers = tuple(copy.deepcopy(w) for w in wrappers)
        self.fields: Fields = self.report if speech is None else checked_speech(speech, self.report)
        fields = {**self.fields, **self.envelope}
        self._stages: list[Fields] = []  # what each wrapper's message must hold
        for wrapper in self.wrappers:
            if wrapper.settings and self.setting not in wrapper.settings:
                allowed = " and ".join(sorted(wrapper.settings))
                raise ValueError(f"{wrapper.name} works in {allowed}, not in the {self.setting} setting")
            fields = dict(wrapper.accept(fields, self))
            self._stages.append(self._carried(fields))
        self._speech = speech is not None
        #: Fields that reach the transport, behind all wrappers.
        self.sent_fields: Fields = fields
        self._leaving = self._carried(fields)
        self._known_law = _ours(self.law)
        #: Fields that an inbox offers.
        self.inbox_fields: Fields = self._offers(fields)
        #: The wrappers as configured: what a team may read, without any run's state.
        self.configured = copy.deepcopy(self.wrappers)
        self._phase = "new"
        self.seeds: Seeds = ()

    # -- what a setting is ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def report(self) -> Fields:
        """Fields of the standard report."""

    @property
    def envelope(self) -> Fields:
        """Fields that the transport adds (the sender's name)."""
        return {}

    def _offers(self, fields: Fields) -> Fields:
        """Fields of an inbox, given those that reach the transport."""
        return fields

    @abstractmethod
    def _reset(self, seeds: Seeds) -> None: ...

    @abstractmethod
    def _pull(self, action: Any) -> Array:
        """Play checked actions; return rewards."""

    @abstractmethod
    def _check_action(self, action: Any) -> Any:
        """Return the action as arrays, or raise ``ValueError``."""

    @abstractmethod
    def _report(self) -> dict[str, Any]:
        """Return the standard report of this round."""

    @abstractmethod
    def _transport(self, message: dict[str, Any]) -> Inbox:
        """Carry the messages; finish the round."""

    @abstractmethod
    def metrics(self) -> dict[str, Array]:
        """Return metrics so far, each ``(R, …)``."""

    @property
    @abstractmethod
    def t(self) -> Array:
        """``(R,)`` rounds (users) so far."""

    @property
    @abstractmethod
    def live(self) -> Array:
        """``(R,)`` bool."""

    @property
    @abstractmethod
    def who(self) -> Array:
        """``(R, A)`` acting agents."""

    # -- the round --------------------------------------------------------------------------------------------

    def reset(self, seeds: int | Seeds = 0) -> Obs:
        """Start R new runs.

        Parameters
        ----------
        seeds : int or sequence of R SeedSequences
            An int s stands for ``run_seeds(s, runs)``.

        Returns
        -------
        Obs
        """
        seeds = checked_seeds(seeds, self.runs, run_seeds)
        self._phase = "new"  # until all of it is there
        self.seeds = seeds
        self.runs = len(self.seeds)
        self._reset(self.seeds)
        for wrapper in self.wrappers:
            wrapper.reset(self, self.seeds)
        self._phase = "pull"
        return self._seen()

    def pull(self, action: Any) -> Obs:
        """Beat 1: arms in, own rewards out."""
        self._expect("pull")
        reward = self._pull(self._check_action(action))
        for wrapper in self.wrappers:
            reward = wrapper.tell(reward, self)
        self._told = reward
        self._phase = "talk"
        return self._seen(reward=locked(reward))

    def talk(self, message: dict[str, Any] | None = None) -> Obs:
        """Beat 2: messages in (``None``: the standard report), inboxes out."""
        self._expect("talk")
        said = None if message is None else self._said(message)
        message = self._standard() if said is None else said
        self._spoken(said)
        self._passing(message)
        for wrapper, fields in zip(self.wrappers, self._stages, strict=True):
            message = wrapper.send(message, self)
            # A stranger's wrapper may say anything; what one of ours says is checked before the transport.
            if not _ours(wrapper):
                message = self._checked(f"message behind {wrapper.name}", message, fields)
            self._passing(message)
        # Shipped laws keep their rewards in range.
        if self.wrappers or (said is None and not self._known_law):
            message = self._checked("message that leaves", message, self._leaving)
        inbox = self._transport(message)
        for wrapper in reversed(self.wrappers):
            inbox = wrapper.deliver(inbox, self)
        self._phase = "pull" if self.live.any() else "over"
        return self._seen(inbox=inbox)

    def _standard(self) -> dict[str, Any]:
        message = {"sent": np.ones(self.who.shape, bool), **self._report()}
        if not self._speech:
            return message
        known = {name: value for name, value in message.items() if name in (*self.fields, "sent")}
        return checked_message("standard report", known, self.fields, self.who.shape)

    def _seen(self, reward: Array | None = None, inbox: Inbox | None = None) -> Obs:
        return Obs(locked(self.t), locked(self.live), locked(self.who), reward, inbox)

    def _carried(self, fields: Fields) -> Fields:
        return {**{k: f for k, f in fields.items() if k not in self.envelope}, "sent": Field(dtype="?")}

    def _said(self, message: Any) -> dict[str, Any]:
        """Return what the team says, checked."""
        return checked_message("message", message, self.fields, self.who.shape)

    def _checked(self, what: str, message: Any, fields: Fields) -> dict[str, Any]:
        """Return what a wrapper sends, checked."""
        return checked_message(what, message, fields, self.who.shape)

    def _spoken(self, message: dict[str, Any] | None) -> None:  # noqa: B027
        """Take note of what the team says, before any wrapper meets it; ``None``: the standard report."""

    def _passing(self, message: dict[str, Any]) -> None:  # noqa: B027
        """Take note of a message on its way: as it is sent, and behind every wrapper."""

    def privacy(self) -> tuple[Guarantee, ...]:
        """Every wrapper's promises, outermost first."""
        return tuple(g for w in self.wrappers for g in w.privacy(self))

    def task(self, **options: Any) -> Task:
        """How a learner meets it; `options` are the setting's own."""
        raise NotImplementedError(f"{type(self).__name__} has no task for learners")

    def _asked(self, task: type[Task], options: dict[str, Any]) -> dict[str, Any]:
        """Options of a task, checked."""
        known = [name for name in inspect.signature(task).parameters if name != "core"]
        for name, value in options.items():
            if name not in known:
                has = f"has {', '.join(known)}" if known else "has none"
                raise ValueError(
                    f"{name}={value!r:.60}: a learner of the {self.setting} setting {has} (rewards= is the law)"
                )
        return options

    def _expect(self, phase: str) -> None:
        if self._phase == phase:
            return
        if self._phase == "over":
            raise RuntimeError(f"{phase} after the end: every run has finished; call reset(seeds)")
        if self._phase == "new":
            raise RuntimeError(f"{phase} before the start: call reset(seeds) first")
        raise RuntimeError(f"{phase} out of turn: this round's next beat is {self._phase}")


def _ours(part: Wrapper | Law) -> bool:
    return type(part).__module__.partition(".")[0] == __name__.partition(".")[0]
