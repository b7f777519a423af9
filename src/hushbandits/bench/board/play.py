"""Play the tasks: who can play which, one run folder for each agent, and its rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hushbandits.bench.board.tasks import SEED, Task
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.judge.line import lines
from hushbandits.bench.play.batch import prepare
from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.own import named, renew
from hushbandits.bench.play.plan import Shard
from hushbandits.bench.play.players import Players
from hushbandits.bench.play.store import Store
from hushbandits.bench.run import begin, go_on
from hushbandits.core.ground.types import Array
from hushbandits.protection import Line, protection
from hushbandits.registry import make_wrapper

__all__ = ["Met", "folder", "known", "meet", "play"]

Values = dict[str, Array]


@dataclass(frozen=True)
class Met:
    """How an agent met the tasks.

    Parameters
    ----------
    promised : dict of str to (float, float) or None
        By task that it can play: the ε that holds for one reward, and for a participant's whole run (`inf`: no
        bound); ``None``: nothing is promised.
    refused : dict of str
        By task that it cannot play: the sentence that says why.
    """

    promised: Mapping[str, tuple[float, float] | None]
    refused: Mapping[str, str]


def meet(agent: Use, tasks: Sequence[Task]) -> Met:
    """Let an agent meet the env of each task once; nothing is played.

    Raises
    ------
    ValueError
        It can play none of them.
    """
    renew(named(*(task.experiment(agent) for task in tasks)))
    promised: dict[str, tuple[float, float] | None] = {}
    refused: dict[str, str] = {}
    for task in tasks:
        (cell,) = task.experiment(agent).cells()
        try:
            wrappers = [make_wrapper(w.name, **w.params) for w in cell.wrappers]
            env, team = prepare(cell.env.name, cell.agent.name, 1, cell.env.params, cell.agent.params, wrappers)
        except (ValueError, TypeError) as error:
            refused[task.name] = str(error)
            continue
        promised[task.name] = strongest(protection(env, team).lines)
    if not promised:
        told = list(dict.fromkeys(refused.values()))[:3]
        raise ValueError(f"{agent.called} can play none of the tasks: {'; '.join(told)}")
    of = {task.setting for task in tasks if task.name in promised}
    return Met(promised, {t.name: refused[t.name] for t in tasks if t.setting in of and t.name in refused})


def strongest(told: Iterable[Line]) -> tuple[float, float] | None:
    """Return the ε of one reward and of a whole run that a table of `hushbandits.privacy` says in all.

    Of several bounds by one mechanism the smallest holds; of several mechanisms each tells of a reward, and the largest
    is what is listed.  A promise about one message by itself bounds neither.  ``None``: nobody promises an ε.
    """
    by: dict[str, tuple[float, float]] = {}
    claimed = False
    for line in told:
        if line.counts.startswith(("yes: nothing holds", "yes, of all that is seen")):
            return math.inf, math.inf
        if not math.isfinite(line.epsilon):
            continue
        claimed = True
        alone = line.counts.startswith("only of one message")
        run = line.run_pure if math.isfinite(line.run_pure) else line.run_epsilon
        here = (math.inf, math.inf) if alone else (line.epsilon, run)
        by[line.by] = min(by.get(line.by, here), here)
    if not claimed:
        return None
    return max(one for one, _ in by.values()), max(run for _, run in by.values())


def folder(out: Path, agent: Use, names: Sequence[str] = ()) -> Path:
    """Return where an agent's rows lie: a folder for each choice of tasks, so that who is added plays alone.

    Examples
    --------
    >>> folder(Path("runs"), Use("own:Server", label="Server looks=3"), ["feedback"]).name
    'Server_looks_3-feedback'
    """
    return out / (re.sub(r"[^\w.@-]+", "_", "-".join([agent.called, *names])).strip("._") or "agent")


def play(
    agent: Use, tasks: Sequence[Task], met: Met, out: Path, players: Players, *,
    shard: Shard = (1, 1), progress: bool = True, notify: Callable[[str], None] | None = None,
) -> Store:  # fmt: skip
    """Play what is missing of the tasks that the agent can play, into a run folder; return its store, open.

    Raises
    ------
    RunError
        The agent fails in some of its runs; all others are kept.
    StoreError, ValueError
        As `hushbandits.run`.
    """
    experiments = [task.experiment(agent) for task in tasks if task.name in met.promised]
    outcome = go_on(begin(experiments, out, SEED), players, shard=shard, progress=progress, notify=notify)
    if outcome.failures:
        outcome.store.close()
        first = str(outcome.failures[0]).partition("\n")[0]
        raise RunError(f"{first}; all other runs are kept, and --tasks leaves out what {agent.called} is not for")
    return outcome.store


def known(store: Store, tasks: Sequence[Task]) -> dict[str, tuple[Array, Values]]:
    """Return by task the numbers of the runs that a store holds, ``(n,)``, and what was measured in them.

    That is what the task asks for, and the ε that was spent, where it is measured.
    """
    found = {}
    by = {task.experiment(Use("Random")).name: task for task in tasks}
    for experiment in store.experiments:
        task = by[experiment.name]
        (line,) = lines(store, experiment)
        there = line.metrics()
        values = {m: line.final(m) for m in (*task.metrics, "epsilon") if m in there}
        found[task.name] = line.runs(), values
    return found
