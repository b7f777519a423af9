"""The unit of work: one batch of runs of one agent in one env, and what becomes of it."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import cloudpickle

from hushbandits.bench.declare.canonical import seeds
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.runner.batch import Played, play_batch
from hushbandits.bench.runner.errors import RunError
from hushbandits.core.entries import AnyAgent, AnyEnv, AnyWrapper
from hushbandits.core.ground.types import Params
from hushbandits.core.team import Team
from hushbandits.registry import make_wrapper

__all__ = ["Failed", "Reply", "Task", "attempted"]


@dataclass(frozen=True)
class Task:
    """One batch of runs; whoever plays it, wherever, gets the same numbers.

    Parameters
    ----------
    key, label : str
        Of its cell: what is played, and what to call that.
    env, agent, wrappers, env_params, params, checkpoints
        As in `play_batch`; a wrapper may be a `Use` as well.
    world : str
        What run seeds come from, besides `seed` and the run's number.
    seed : int
        Master seed.
    runs : tuple of int
        Consecutive numbers of runs.
    """

    key: str
    label: str
    env: AnyEnv
    agent: AnyAgent | Team
    wrappers: Sequence[AnyWrapper | Use]
    env_params: Params
    params: Params
    checkpoints: int | Sequence[int] | None
    world: str
    seed: int
    runs: tuple[int, ...]

    @classmethod
    def of(cls, cell: Cell, seed: int, runs: Sequence[int]) -> Task:
        """Return the task of some runs of a cell."""
        return cls(
            cell.key, cell.label, cell.env.name, cell.agent.name, cell.wrappers, cell.env.params, cell.agent.params,
            cell.checkpoints, cell.world, seed, tuple(runs),
        )  # fmt: skip

    def play(self) -> Played:
        """Play it, here and now."""
        wrappers = [make_wrapper(w.name, **w.params) if isinstance(w, Use) else w for w in self.wrappers]
        drawn = seeds(self.seed, self.world, self.runs[0], len(self.runs))
        return play_batch(self.env, self.agent, drawn, self.env_params, self.params, wrappers, self.checkpoints)


@dataclass(frozen=True)
class Failed:
    """A task raised: the traceback, and the exception itself where that is known in this process."""

    error: str
    raised: BaseException | None = field(default=None, compare=False, repr=False)

    def again(self) -> BaseException:
        """Return the exception; a ``RuntimeError`` where it could not travel."""
        return self.raised or RuntimeError(f"a worker failed:\n{self.error}")

    def sent(self) -> Failed:
        """Return what can be sent to another process: the exception with its traceback as a note, if it can travel."""
        with contextlib.suppress(Exception):
            if isinstance(self.raised, Exception):
                self.raised.add_note(f"in a worker:\n{self.error}")
                pickle.loads(cloudpickle.dumps(self))
                return self
        return Failed(self.error)


Reply = Played | Failed


def attempted(play: Callable[[], Played]) -> Reply:
    """Play; an error is an answer, so that the rest go on."""
    try:
        return play()
    except RunError:
        raise
    except (Exception, SystemExit) as error:
        return Failed("".join(traceback.format_exception(error)), error)
