"""The round: two beats, pull and talk, on arrays of R runs."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from hushbandits.core.edge import checked, checked_message, checked_rows, checked_seeds, handed, spoken_fields
from hushbandits.core.ground.types import Action, Array, Message, Params, Seeds
from hushbandits.core.ground.validate import count, shown
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.hooks import arrived, check_declared, declared_fields, measurements
from hushbandits.core.luck.rewards import Law
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.measure import Measure, gathered
from hushbandits.core.messages import Field, Fields, Inbox, require
from hushbandits.core.obs import Obs
from hushbandits.core.payload import VERBS, Payload
from hushbandits.core.rows import put_attributes
from hushbandits.core.task import Task
from hushbandits.core.team import Team
from hushbandits.core.told import Told
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper, distinct

__all__ = ["Env"]


class Env(World, ABC):
    """Base of all envs: checks, the order of the beats, and the wrappers' pipeline.

    A setting fills in `report`, `_reset`, `_pull`, `_report`, `_transport` and `_metrics`, and says how its messages
    answer to wrappers (`payload`) and how a learner meets it (`learner`).

    Parameters
    ----------
    n_agents, n_arms : int
        M agents (servers, in feedback) and K arms.
    wrappers : sequence of Wrapper
        On messages' way, outermost first: each wrapper's `send` in this order, each `deliver` in reverse.
    speech : Fields, optional
        Fields that the team sends beside the standard report.
    fields : Fields, optional
        Fields that the team sends instead of it.
    runs : int
        R, the number of runs played at once.

    Raises
    ------
    ValueError
        A size below its least; fields where users speak; a wrapper that its messages cannot answer.
    """

    setting: ClassVar[str]
    #: The metric that times an episode: the x-axis of its curves.
    clock: ClassVar[str] = "rounds"
    #: Whether every metric is linear in the clock inside a step (then a curve interpolates).
    linear: ClassVar[bool] = False
    #: What a team may know of this env besides what `Face` shows of every one.
    public: ClassVar[tuple[str, ...]] = ()
    #: Of its parameters, those that a team's `protocol` may go by besides what `Face` shows.
    settings: ClassVar[tuple[str, ...]] = ()
    #: What a team's `metrics` may ask for besides, when all is over.
    truth: ClassVar[tuple[str, ...]] = ("means", "gaps", "locations")
    #: What its messages answer to.
    payload: ClassVar[type[Payload]] = Payload
    #: How a learner meets it.
    learner: ClassVar[type[Task] | None] = None
    #: What it is built with and a run writes to (besides its wrappers).
    stateful: ClassVar[tuple[str, ...]] = ("arms",)
    #: Whether messages may get lost in the env itself, and with them the noise that they carry.
    loses: ClassVar[bool] = False
    #: What no run owns (`hushbandits.core.rows`).
    not_rows: ClassVar[tuple[str, ...]] = ("_built", "_phase", "configured", "spec", "_runs", "_vain", "_telling")
    #: Scalar metrics worth a curve.
    curve_metrics: tuple[str, ...] = ()
    #: What its metrics are, and of an env what its wrappers' are too; a class adds to what its bases declare.
    measures: Mapping[str, Measure] = {}
    #: Whether an episode lasts exactly `horizon` ticks of the clock.
    fixed_length: bool = True
    horizon: Any
    #: Family of its reward laws.
    law: Law
    #: Id (or class), parameters and wrappers that it was made from, where a registry made it.
    spec: tuple[str | type[Env], Params, tuple[Wrapper, ...]] | None = None

    def __init__(
        self,
        *,
        n_agents: int,
        n_arms: int,
        wrappers: Sequence[Wrapper] = (),
        speech: Fields | None = None,
        fields: Fields | None = None,
        runs: int = 1,
    ):
        self.n_agents = count("n_agents", n_agents, 1)
        self.n_arms = count("n_arms", n_arms, 2)
        self.runs = count("runs", runs, 1)
        self.wrappers = tuple(copy.deepcopy(w) for w in distinct(wrappers))
        if (speech is not None or fields is not None) and not self.payload.named:
            raise ValueError(
                f"speech= and fields= have no meaning in the {self.setting} setting: users speak, not servers"
            )
        spoken = spoken_fields(self.report, speech, fields, self.n_arms)
        self.fields: Fields = {k: f.sized(self.n_arms) for k, f in spoken.items()}
        self._whole = speech is None and fields is None
        self._known_law = _ours(self.law)
        self._strangers = [w for w in self.wrappers if not _ours(w)]
        self._phase = "new"
        self._vain: dict[str, bool] = {}
        self.seeds: Seeds = ()
        self._built: frozenset[str] = frozenset()  # names of what it was built with, before any run
        self._declare()
        self.configured = copy.deepcopy(self.wrappers)  # what a team may read, without any run's state
        self.curve_metrics = (*self.curve_metrics, *(name for w in self.wrappers for name in w.curve_metrics))
        self.measures = gathered(self, *self.wrappers)

    def _declare(self) -> None:
        """Fold the wrappers' declarations outward, and back."""
        sent, before = dict(self.fields), set[str]()
        self._stages: list[Fields] = []  # what a message must hold behind each wrapper
        for wrapper in self.wrappers:
            check_declared(wrapper)
            for verb in wrapper.verbs:
                if verb not in self.payload.verbs:
                    noun = self.payload.noun
                    raise ValueError(
                        f"{wrapper.name} needs messages that can be {VERBS.get(verb, verb)}: {noun} cannot"
                    )
                require(wrapper.name, self.payload.verbs[verb], sent)
                self.payload.follows(wrapper.name, verb, sent, before)
            before |= {*wrapper.verbs}
            sent = declared_fields(wrapper, "sends", wrapper.sends(dict(sent), self))
            self._stages.append(_carried(sent))
        #: Fields that reach the transport, behind all wrappers.
        self.sent_fields: Fields = sent
        self._leaving = _carried(sent)
        self._telling = Told(self.wrappers, self.fields, self)
        #: What agents are told of their own rewards.
        self.told: Fields = self._telling.fields
        heard = dict(self._offers(sent))
        self._heard: list[frozenset[str]] = []  # what an inbox must offer behind each wrapper, innermost first
        for wrapper in reversed(self.wrappers):
            heard = declared_fields(wrapper, "hears", wrapper.hears(dict(heard), self))
            self._heard.append(frozenset(heard))
        #: Fields that an inbox offers.
        self.inbox_fields: Fields = heard

    # -- what a setting is ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def report(self) -> Fields:
        """Fields of the standard report."""

    @property
    def actions(self) -> Fields:
        """Fields of an agent's action: of one field its array, of several a tuple of them."""
        return {"arm": Field(dtype="i8", low=0, high=self.n_arms - 1)}

    def _offers(self, fields: Fields) -> Fields:
        """Fields of an inbox, given those that reach the transport, before any wrapper meets it."""
        return fields

    @property
    def reductions(self) -> tuple[str, ...]:
        """What an inbox adds up besides its fields (a tally per arm)."""
        return ()

    @abstractmethod
    def _reset(self, seeds: Seeds) -> None: ...

    @abstractmethod
    def _pull(self, action: Any) -> Array:
        """Play checked actions; return rewards."""

    @abstractmethod
    def _report(self) -> Message:
        """Return the standard report of this round."""

    @abstractmethod
    def _transport(self, message: Payload) -> Inbox:
        """Carry the messages; finish the round."""

    @abstractmethod
    def _metrics(self) -> dict[str, Array]:
        """Return its own metrics so far, each ``(R, …)``."""

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

    def _check_action(self, action: object) -> Action:
        """Return the action as arrays, or raise ``ValueError``."""
        fields, shape = self.actions, self.who.shape
        if len(fields) == 1:
            return checked("action", action, next(iter(fields.values())), shape)
        if not isinstance(action, tuple) or len(action) != len(fields):
            raise ValueError(f"action must be a tuple ({', '.join(fields)}), not {type(action).__name__}")
        return tuple(
            checked(name, x, field, shape, "action") for x, (name, field) in zip(action, fields.items(), strict=True)
        )

    def no_action(self) -> Action:
        """Return an action that does least: arm 0, no arm of a set, a block of one user."""
        shape = self.who.shape
        least = [np.full((*shape, *f.shape), max(0, f.range[0]), f.dtype) for f in self.actions.values()]
        return least[0] if len(least) == 1 else tuple(least)

    def random_action(self, rngs: Sequence[np.random.Generator], block: int = 32) -> Action:
        """Return a uniform arm for everyone, from one generator per run (`rngs`); `block`: users of a block, if any."""
        arms = np.stack([rng.integers(self.n_arms, size=self.who.shape[1]) for rng in rngs])
        rest = [np.full_like(arms, block) for name in self.actions if name != "arm"]
        return (arms, *rest) if rest else arms

    def random_message(self, rngs: Sequence[np.random.Generator], rate: float = 0.01) -> dict[str, Array] | None:
        """Return what `rngs`, one per run, say at random; ``None``: the standard report.  `rate`: of votes."""
        return None

    def standard_report(self) -> dict[str, Array]:
        """Return what is sent where a team says nothing of its own, without what its agents are not told."""
        self._begun("standard_report")
        return {name: np.array(value) for name, value in self._report().items() if name not in self._telling.withheld}

    # -- the round --------------------------------------------------------------------------------------------

    def reset(self, seeds: int | Seeds = 0, rows: Sequence[int] | Array | None = None) -> Obs:
        """Start R new runs, or some of them while the others go on.

        Parameters
        ----------
        seeds : int or sequence of SeedSequences
            One per run that starts; an int s stands for ``run_seeds(s, n)``, n of them.
        rows : (n,) ints or (R,) bools, optional
            The runs that start afresh, between two rounds: from there on each is what it would be alone.

        Returns
        -------
        Obs

        Raises
        ------
        ValueError
            There are more or fewer seeds than runs that start; a row is no run's number.
        TypeError
            A wrapper whose `reset` returns something.
        RuntimeError
            `rows` are given before the first start, or in the middle of a round.
        """
        if rows is not None:
            return self._restart(seeds, rows)
        seeds = checked_seeds(seeds, self.runs, run_seeds)
        if not self._built:
            self._built = frozenset(vars(self)) | {"_built"}
        self._phase = "new"  # until all of it is there
        self.seeds = seeds
        self.runs = len(self.seeds)
        self._reset(self.seeds)
        for wrapper in self.wrappers:
            told: object = wrapper.reset(self, tuple(self.seeds))  # type: ignore[func-returns-value]
            if told is not None:
                raise TypeError(f"{wrapper.name}.reset must return nothing, not {shown(told)}")
        self._phase = "pull"
        return self._seen()

    def _restart(self, seeds: int | Seeds, rows: Sequence[int] | Array) -> Obs:
        if self._phase == "new":
            raise RuntimeError("reset(rows=…) before the start: start all runs first, with reset(seeds)")
        if self._phase == "talk":
            raise RuntimeError("reset(rows=…) out of turn: this round still waits for its talk")
        if self._phase == "broken":
            self._expect("reset(rows=…)")
        index = checked_rows(rows, self.runs)
        if len(index) == self.runs:
            return self.reset(seeds)
        fresh = self._sibling(len(index))
        fresh.reset(seeds)
        self._phase = "broken"  # until all of it is there
        put_attributes(self, fresh, index)
        self._restarted(index)
        self._phase = "pull"
        return self._seen()

    def _sibling(self, runs: int) -> Env:
        """Return an env as this one was built, for other runs."""
        fresh = copy.copy(self)
        for name in set(vars(self)) - self._built:
            delattr(fresh, name)
        fresh.__dict__.update(copy.deepcopy({name: vars(self)[name] for name in self.stateful if name in vars(self)}))
        fresh.wrappers = copy.deepcopy(self.configured)
        fresh.runs, fresh._phase = runs, "new"
        return fresh

    def _restarted(self, rows: Array) -> None:
        """Mend what rows that start afresh leave behind in what all runs share."""

    def pull(self, action: object) -> Obs:
        """Beat 1: arms in (`action`: its fields as in `actions`, each ``(R, A, …)``), own rewards out."""
        self._expect("pull")
        action = self._check_action(action)
        self._phase = "broken"  # what was drawn cannot be drawn again
        reward = self._pull(action)
        self._told = reward = self._telling.reward(reward, self.wrappers, self._strangers, self)
        self._phase = "talk"
        return self._seen(reward=handed(reward) if "reward" in self.told else None)

    def talk(self, message: Message | None = None) -> Obs:
        """Beat 2: messages in (`message`: `fields`, each ``(R, A, …)``; ``None``: the standard report), inboxes out."""
        self._expect("talk")
        said = None if message is None else self._said(message)
        message = self.payload(self._standard() if said is None else said)
        self._phase = "broken"  # what counted and drew cannot do so again
        self._spoken(said)
        self._passing(message)
        for wrapper, fields in zip(self.wrappers, self._stages, strict=True):
            message = wrapper.send(message, self)
            # A stranger's wrapper may say anything; what one of ours says is checked before the transport.
            if wrapper in self._strangers:
                message = self.payload(self._checked(f"message behind {wrapper.name}", message, fields))
            elif type(message) is not self.payload:
                message = self.payload(message)
            self._passing(message)
        # Shipped laws keep their rewards in range.
        if self.wrappers or (said is None and not self._known_law):
            message = self.payload(self._checked("message that leaves", message, self._leaving))
        inbox = self._transport(message)
        for wrapper, heard in zip(reversed(self.wrappers), self._heard, strict=True):
            inbox = arrived(wrapper, wrapper.deliver(inbox, self), heard)
        if self._telling.beside:
            inbox.own = self._telling.published(self.wrappers, self.who.shape, self)
        self._phase = "pull" if self.live.any() else "over"
        return self._seen(inbox=inbox)

    def _standard(self) -> Message:
        message = {"sent": np.ones(self.who.shape, bool), **self._report()}
        if self._strangers:  # what the env goes by is not theirs to change
            message = {k: handed(v) if isinstance(v, np.ndarray) else v for k, v in message.items()}
        if self._whole:
            return message
        if missing := [name for name in self.fields if name not in message]:
            raise ValueError(f"the standard report has no field {missing[0]!r}: the team must say it")
        known = {name: value for name, value in message.items() if name in (*self.fields, "sent")}
        return checked_message("standard report", known, self.fields, self.who.shape)

    def _seen(self, reward: Array | None = None, inbox: Inbox | None = None) -> Obs:
        return Obs(handed(self.t), handed(self.live), handed(self.who), reward, inbox)

    def _said(self, message: Message) -> Message:
        """Return what the team says, checked, with what is said of its agents without their being told."""
        told = self._telling.filled(message, self._report()) if self._telling.withheld else message
        return checked_message("message", told, self.fields, self.who.shape)

    def _checked(self, what: str, message: Message, fields: Fields) -> Message:
        """Return what a wrapper sends, checked."""
        return checked_message(what, message, fields, self.who.shape)

    def _spoken(self, message: Message | None) -> None:
        """Take note of what the team says, before any wrapper meets it; ``None``: the standard report."""

    def _passing(self, message: Message) -> None:
        """Take note of a message on its way: as it is sent, and behind every wrapper."""

    def admit(self, team: Team) -> None:
        """Raise ``ValueError`` where `team` fits, but a run could not be decided or would never end."""

    def metrics(self) -> dict[str, Array]:
        """Return metrics so far, each ``(R, …)``: the env's own, and what its wrappers measure."""
        self._begun("metrics")
        found = self._metrics()
        for wrapper in self.wrappers:
            found = {**found, **self._measured(wrapper, found)}
        return found

    def _measured(self, wrapper: Wrapper, taken: Collection[str]) -> dict[str, Array]:
        """What a wrapper measures; what it spent of a promise that does not hold here is ∞."""
        found = wrapper.metrics(self)
        if wrapper in self._strangers:
            theirs = () if wrapper.ships("metrics") else taken  # mechanisms that ship share names
            found = measurements(wrapper.name, found, self.runs, theirs, wrapper.curve_metrics)
        spent = [name for name in wrapper.spends if name in found]
        if not spent or not self.vain(wrapper):
            return found
        return {**found, **{name: np.full(np.shape(found[name]), np.inf) for name in spent}}

    def vain(self, wrapper: Wrapper) -> bool:
        """As `Wrapper.vain` of `wrapper`, worked out once: it depends on what the env was built with alone."""
        if wrapper.name not in self._vain:
            self._vain[wrapper.name] = wrapper.vain(self)
        return self._vain[wrapper.name]

    def privacy(self) -> tuple[Guarantee, ...]:
        """Every wrapper's promises, outermost first."""
        return tuple(g for w in self.wrappers for g in w.privacy(self))

    def task(self, **options: Any) -> Task:
        """How a learner meets it; `options` are those of its `learner`."""
        learner = self.learner
        if learner is None:
            raise NotImplementedError(f"{type(self).__name__} has no task for learners: it declares no `learner`")
        return learner.asked(self, options)

    def _begun(self, what: str) -> None:
        if vars(self).get("_phase") == "new":
            raise RuntimeError(f"{what} before the start: call reset(seeds) first")

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):  # a property: it needs a reset first, or it fails
            self._begun(name)
            return object.__getattribute__(self, name)  # it says why
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _expect(self, phase: str) -> None:
        if self._phase == phase:
            return
        if self._phase == "over":
            raise RuntimeError(f"{phase} after the end: every run has finished; call reset(seeds)")
        if self._phase == "broken":
            raise RuntimeError(f"{phase} after a beat that failed on its way: call reset(seeds)")
        self._begun(phase)
        raise RuntimeError(f"{phase} out of turn: this round's next beat is {self._phase}")


def _ours(part: Wrapper | Law) -> bool:
    return type(part).__module__.partition(".")[0] == __name__.partition(".")[0]


def _carried(fields: Fields) -> Fields:
    return {**fields, "sent": Field(dtype="?")}
