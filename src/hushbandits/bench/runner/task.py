"""The unit of work: one batch of runs of one agent in one env, and what becomes of it."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

from cloudpickle import dumps

from hushbandits.bench.declare import world
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.spec import Cell
from hushbandits.bench.runner.batch import Played, play_batch
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
        seeds = world.seeds(self.seed, self.world, self.runs[0], len(self.runs))
        return play_batch(self.env, self.agent, seeds, self.env_params, self.params, wrappers, self.checkpoints)


@dataclass(frozen=True)
class Failed:
    """A task raised: the traceback, and the exception itself, pickled, where that can travel."""

    error: str
    raised: bytes = b""
    #: The exception itself, where it was raised in this process.
    origin: Exception | None = field(default=None, compare=False, repr=False)

    @classmethod
    def by(cls, error: BaseException) -> Failed:
        """Return what is to be told of an exception."""
        text = "".join(traceback.format_exception(error))
        with contextlib.suppress(Exception):
            raised = dumps(error)
            if type(pickle.loads(raised)) is type(error):
                return cls(text, raised)
        return cls(text)

    def again(self) -> Exception:
        """Return the exception, its first traceback in its notes; a ``RuntimeError`` where it could not travel."""
        if self.origin is not None:
            return self.origin
        with contextlib.suppress(Exception):
            error = pickle.loads(self.raised)
            if isinstance(error, Exception):
                error.add_note(f"in a worker:\n{self.error}")
                return error
        return RuntimeError(f"a worker failed:\n{self.error}")


Reply = Played | Failed


def attempted(task: Task, *, here: bool = False) -> Reply:
    """Play a task; an error is an answer, so that the rest go on.  Ctrl-C is no answer, where it is played `here`."""
    try:
        return task.play()
    except Exception as error:
        return Failed("".join(traceback.format_exception(error)), origin=error) if here else Failed.by(error)
    except BaseException as error:
        if here:
            raise
        return Failed.by(error)
