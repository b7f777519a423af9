"""What wrappers, teams and promises may count on in the env that they meet: an env, or the face of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hushbandits.core.ground.types import Action, Array, Message, Seeds
from hushbandits.core.luck.rewards import Law
from hushbandits.core.measure import Measure
from hushbandits.core.messages import Fields
from hushbandits.core.obs import Obs

__all__ = ["World"]


class World:
    """Base of `Env` and `Face`: sizes, time, and what messages hold.  It declares, and defines nothing.

    What is `Any` here has a class that is built upon this one.
    """

    if TYPE_CHECKING:
        setting: ClassVar[str]
        clock: ClassVar[str]
        n_agents: int  # M
        n_arms: int  # K
        runs: int  # R
        horizon: Any  # an int; None: exploration, until it is decided
        law: Law  # family of the reward laws
        fields: Fields  # what a team sends
        sent_fields: Fields  # what reaches the transport
        inbox_fields: Fields  # what a team may read
        told: Fields  # what agents are told of their own rewards
        payload: ClassVar[Any]  # the class of its messages, a `Payload`
        learner: ClassVar[Any]  # the class of a learner's task, a `Task`, if it has one

        @property
        def wrappers(self) -> tuple[Any, ...]: ...
        @property
        def t(self) -> Array: ...
        @property
        def live(self) -> Array: ...
        @property
        def actions(self) -> Fields: ...
        @property
        def report(self) -> Fields: ...
        @property
        def reductions(self) -> tuple[str, ...]: ...
        @property
        def agents_speak(self) -> bool: ...
        def no_action(self) -> Action: ...
        def random_action(self, rngs: Sequence[np.random.Generator], block: int = 32) -> Action: ...
        def random_message(
            self, rngs: Sequence[np.random.Generator], rate: float = 0.01
        ) -> dict[str, Array] | None: ...
        def standard_report(self) -> dict[str, Array]: ...

        # What an env has besides and no face shows: for wrappers, and for tasks where they pay.
        seeds: Seeds
        arms: Any
        measures: Mapping[str, Measure]
        added: Sequence[tuple[str, list[str]]]
        configured: tuple[Any, ...]
        public: ClassVar[tuple[str, ...]]
        truth: ClassVar[tuple[str, ...]]

        @property
        def who(self) -> Array: ...
        @property
        def means(self) -> Array: ...
        @property
        def gaps(self) -> Array: ...
        def reset(self, seeds: int | Seeds = 0, rows: Sequence[int] | Array | None = None) -> Obs: ...
        def pull(self, action: object) -> Obs: ...
        def talk(self, message: Message | None = None) -> Obs: ...
        def metrics(self) -> dict[str, Array]: ...
        def vain(self, wrapper: Any) -> bool: ...

        # Of rounds.
        agent_regret: Array

        # Of a network.
        adjacency: Array
        distance: Array
        root: Array
        routing: str
        slots: Any

        @property
        def most_arrivals(self) -> int: ...
        def crossings(self, run: int = 0) -> Array: ...

        # Of exploration.
        weights: Array
        single: bool
        judge: str
        idle: str
        stop: str
        costs: tuple[int, int]
        resets: bool
        votes_needed: int
        votes: Array
        pool: Array
        book: Any

        @property
        def upcoming(self) -> Array: ...
        @property
        def deserted(self) -> Array: ...
        @property
        def correct(self) -> Array: ...
        @property
        def right(self) -> Array: ...
        def vote_loss(self) -> Any: ...
        def outcomes(self, r: int, size: int) -> Any: ...
        def played(self) -> AbstractContextManager[None]: ...

        # Of feedback.
        served: Array

        @property
        def mechanism(self) -> Any: ...
