"""The one player: `run`, `evaluate` and `reproduce` all have their tasks played here."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence

from hushbandits.bench.play.crew import Crew
from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.plan import Queue
from hushbandits.bench.play.progress import Bar
from hushbandits.bench.play.task import Reply, Task, attempted
from hushbandits.bench.play.worker import LONGEST

__all__ = ["TRIES", "answers"]

#: How often a task may be lost with the worker that plays it.
TRIES = 3


def answers(
    tasks: Sequence[Task], by: Crew | None, bar: Bar, patience: float | None = None
) -> Iterator[tuple[Task, Reply]]:
    """Have tasks played, and yield each with what became of it, as answers come; `by` ``None``: here, in order.

    The caller counts on the bar, and leaves the crew's ``with`` block, which cancels what is pending.

    Raises
    ------
    RunError
        A task was lost `TRIES` times, since whoever played it died or hung; or there are no workers.
    """
    if by is None:
        for task in tasks:
            bar.at(task.label)
            yield task, attempted(task, here=True)
        return
    yield from _Round(tasks, by, bar, patience).answers()


class _Round:
    """Tasks on their way: waiting, pending, and lost ones that are tried again."""

    def __init__(self, tasks: Sequence[Task], by: Crew, bar: Bar, patience: float | None):
        self._queue, self._by, self._bar, self._patience = Queue(tasks, by.width, by.dear), by, bar, patience
        # A chunk that is well hands something back in time.
        self._longest = LONGEST if patience is None else min(LONGEST, patience / 2)
        self._again: deque[Task] = deque()
        self._losses: Counter[tuple[str, int]] = Counter()

    def answers(self) -> Iterator[tuple[Task, Reply]]:
        while self._queue or self._again or self._by.pending:
            self._feed()
            silent = True
            for tasks, answer in self._by.finished(self._patience):
                silent = False
                if answer is None:
                    self._lost(tasks, "died")
                    continue
                for task, (reply, _) in zip(tasks, answer, strict=False):
                    yield task, reply
                self._queue.back(tasks[len(answer) :])
                if answer:
                    self._queue.took(len(answer), sum(seconds for _, seconds in answer))
            if silent:
                self._hung()

    def _hung(self) -> None:
        playing = ", ".join(dict.fromkeys(tasks[0].label for tasks in self._by.pending))
        lost = self._by.hung()
        if lost is None:
            raise RunError(
                f"the workers of {self._by.name!r} gave no answer in {self._patience:g} s, and are not ours to end; "
                f"they play {playing}; what was done is kept: the same command goes on"
            )
        for tasks in lost:
            self._lost(tasks, f"gave no answer in {self._patience:g} s")

    def _feed(self) -> None:
        # Where a death takes all chunks along, those who may have caused it play one at a time, alone.
        while self._queue or self._again:
            pending, retried = self._by.pending, bool(self._again)
            alone = self._by.together and (retried or any(self._losses[_name(tasks[0])] for tasks in pending))
            if len(pending) >= (1 if alone else self._by.most):
                return
            tasks = [self._again.popleft()] if retried else self._queue.take()
            self._bar.at(tasks[0].label)
            try:
                self._by.submit(tasks, self._longest)
            except RunError as error:
                if not retried:
                    raise
                suspects = ", ".join(dict.fromkeys(task.label for task in (*tasks, *self._again)))
                raise RunError(
                    f"{error}; a worker had died while they played {suspects}; what was done is kept: the same "
                    f"command goes on, with a new executor"
                ) from error

    def _lost(self, tasks: Sequence[Task], how: str) -> None:
        for task in tasks:
            self._losses[_name(task)] += 1
            if self._losses[_name(task)] >= TRIES:
                why = "it hangs, or needs more patience"
                if how == "died":
                    why = "for want of memory, or killed; fewer --jobs need less memory"
                raise RunError(
                    f"a worker process {how} {TRIES} times while it played {task.label}, runs {task.runs[0]}–"
                    f"{task.runs[-1]}: {why}; what was done is kept: the same command goes on"
                )
        self._again.extend(tasks)
        time.sleep(0.1)  # a machine that is short of memory needs a moment


def _name(task: Task) -> tuple[str, int]:
    return task.key, task.runs[0]
