"""How runs start, all of them or some while the others go on, and what may be asked of an env when."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

from hushbandits.core.env_view import World
from hushbandits.core.ground.strangers import begins
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.luck.seeding import Seeded
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.rows import put_attributes
from hushbandits.core.validation import checked_rows, checked_seeds
from hushbandits.core.wrapper import Wrapper

__all__ = ["Startable"]

#: Why a beat cannot be played, by where the env stands.
_REFUSED = {
    "new": "before the start: call reset(seeds) first",
    "over": "after the end: every run has finished; call reset(seeds)",
    "broken": "after a beat that failed on its way: call reset(seeds)",
}


class Startable(World, ABC):
    """Base of `Env`: what starts its runs, and minds whose turn it is.

    It is ``"new"``, at its next beat (``"pull"``, ``"talk"``), ``"over"``, or ``"broken"``: inside a beat and after one
    that failed, for what was drawn cannot be drawn again.
    """

    #: What it is built with and a run writes to (besides its wrappers).
    stateful: ClassVar[tuple[str, ...]] = ("arms",)
    #: What no run owns (`hushbandits.core.rows`).
    not_rows: ClassVar[tuple[str, ...]] = ("_built", "_phase", "configured", "spec", "_runs", "_vain")

    wrappers: tuple[Wrapper, ...]
    #: The wrappers as they were built: what a team may read, without any run's state.
    configured: tuple[Wrapper, ...]
    seeds: Seeded = Seeded(())
    _phase: str
    #: Names of what it was built with, before any run.
    _built: frozenset[str] = frozenset()

    @abstractmethod
    def _reset(self, seeds: Seeds) -> None: ...

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
            Another number of seeds than of runs that start; rows that are no runs.
        RuntimeError
            `rows` are given before the first start, or in the middle of a round.
        """
        if rows is not None:
            return self._restart(seeds, rows)
        seeds = checked_seeds(seeds, self.runs, run_seeds)
        if not self._built:
            self._built = frozenset(vars(self)) | {"_built"}
        self._phase = "new"  # until all of it is there
        self.seeds = Seeded(seeds)
        self.runs = len(self.seeds)
        self._reset(self.seeds)
        for wrapper in self.wrappers:
            wrapper.reset(self, tuple(self.seeds))
        self._phase = "pull"
        return self._seen()

    def _restart(self, seeds: int | Seeds, rows: Sequence[int] | Array) -> Obs:
        if self._phase == "new":
            raise RuntimeError("reset(rows=…) before the start: start all runs first, with reset(seeds)")
        if self._phase == "talk":
            raise RuntimeError("reset(rows=…) out of turn: this round still waits for its talk")
        if self._phase == "broken":
            self._refuse("reset(rows=…)")
        index = checked_rows(rows, self.runs)
        if len(index) == self.runs:
            return self.reset(seeds)
        if self._in_place:
            seeds = checked_seeds(seeds, len(index), run_seeds)
            if len(seeds) != len(index):
                raise ValueError(f"seeds must be one for each of {len(index)} runs that start, not {len(seeds)}")
            self._phase = "broken"  # until all of it is there
            self._begin(seeds, index)
            for wrapper in self.wrappers:
                wrapper._begin(self, seeds, index)
            self.seeds.put_rows(seeds, index)
        else:
            fresh = self._sibling(len(index))
            fresh.reset(seeds)
            self._phase = "broken"  # until all of it is there
            put_attributes(self, fresh, index)
        self._restarted(index)
        self._phase = "pull"
        return self._seen()

    @property
    def _in_place(self) -> bool:
        """Whether every part of it says how single runs start among the others."""
        parts = (vars(self)[name] for name in self.stateful if name in vars(self))
        return begins(self, "_reset") and all(map(begins, parts)) and all(w._in_place for w in self.wrappers)

    def _begin(self, seeds: Seeds, rows: Array) -> None:
        """Do for the runs `rows` what `_reset` does for all; defined beside it, where that is to be fast."""
        raise NotImplementedError

    def _sibling(self, runs: int) -> Self:
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

    def _seen(self, reward: Array | None = None, inbox: Inbox | None = None) -> Obs:
        """What the agents are shown now, of memory of its own."""
        t, live, who = self.t.copy(), self.live.copy(), self.who.copy()
        for value in (t, live, who):  # made in every beat, so not by three calls of `handed`
            value.setflags(write=False)
        return Obs(t, live, who, reward, inbox)

    def _refuse(self, beat: str) -> NoReturn:
        """Say why `beat` is not the one to play."""
        why = _REFUSED.get(self._phase, f"out of turn: this round's next beat is {self._phase}")
        raise RuntimeError(f"{beat} {why}")

    def _begun(self, what: str) -> None:
        if vars(self).get("_phase") == "new":
            self._refuse(what)

    if not TYPE_CHECKING:  # where types are checked, an env has what it declares and nothing else

        def __getattr__(self, name):
            if hasattr(type(self), name):  # a property, of what only a reset puts there, or one that fails
                self._begun(name)
                return object.__getattribute__(self, name)  # it says why
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
