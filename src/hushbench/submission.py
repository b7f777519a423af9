"""Submissions: an agent's results as data, verified without running code that the submission names."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import hushbandits as hb
from hushbench.play import plain
from hushbench.scores import Standing, standing
from hushbench.tasks import NAME, SEED, Array, Row, Task, chosen, entry, tasks

#: Relative difference up to which numbers are equal: machines add in different orders.
SLACK = 1e-9


class Refuted(ValueError):
    """Error raised if a value in a submission differs from what its rows or replayed runs give."""


@dataclass(frozen=True)
class Submission:
    """Results of an agent, with their provenance, as written to a file.

    Parameters
    ----------
    data : mapping of str
        Content of the file: ``benchmark`` and ``seed``; ``agent``, with its parameters; ``source``, a digest of its
        user-defined code (empty for a built-in agent); ``command`` and ``versions``; ``tasks``; and ``scores`` by
        setting. Each task has its rows as ``values``, its mean ``cost``, its ``epsilon`` of one reward and
        ``run_epsilon`` of a whole run, or the reason why it is ``refused``.
    """

    data: Mapping[str, Any]

    @cached_property
    def agent(self) -> hb.Component:
        """Return the agent as a component."""
        return hb.Component.from_dict(self.data["agent"])

    @cached_property
    def values(self) -> dict[str, dict[str, Array]]:
        """Return the rows by played task and metric, each ``(runs,)``."""
        played = {name: row["values"] for name, row in self.data["tasks"].items() if "refused" not in row}
        return {name: {m: np.array(x, float) for m, x in values.items()} for name, values in played.items()}

    @property
    def tasks(self) -> list[Task]:
        """Return the tasks of the submission, in the order of the benchmark."""
        return [task for name, task in tasks().items() if name in self.data["tasks"]]

    def epsilon(self, task: str) -> tuple[float, float] | None:
        """Return ε of one reward, as measured or else as guaranteed, and of a whole run; ``None`` if there is none."""
        row, spent = self.data["tasks"][task], self.values[task].get("epsilon")
        if row["epsilon"] is None:
            return None
        most = float(row["epsilon"] if spent is None else spent.max())
        return most, max(most, float(row["run_epsilon"]))

    def costs(self) -> dict[str, Array]:
        """Return the cost of each run of each task."""
        return {name: tasks()[name].costs(values) for name, values in self.values.items()}

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Return the scores by setting.

        Raises
        ------
        ValueError
            A run, or a task of a setting, is missing.
        """
        for name, cost in (costs := self.costs()).items():
            if len(cost) != (runs := tasks()[name].runs):
                raise ValueError(f"{name}: only {len(cost)} of {runs} runs are played; a submission needs all")
        found = {}
        for setting in dict.fromkeys(task.setting for task in self.tasks):
            if missing := [task.name for task in chosen([setting]) if task not in self.tasks]:
                raise ValueError(f"{setting}: a submission needs all tasks of a setting; it lacks {', '.join(missing)}")
            found[setting] = standing(chosen([setting]), costs)
        return found

    def recomputed(self) -> Submission:
        """Return the submission with everything recomputed from its rows: costs, measured ε, and scores."""
        rows, costs = dict(self.data["tasks"]), self.costs()
        for name, values in self.values.items():
            one, run = self.epsilon(name) or (None, None)
            stated = {metric: [plain(x) for x in row] for metric, row in values.items()}
            sums = {"cost": float(costs[name].mean()), "epsilon": plain(one), "run_epsilon": plain(run)}
            rows[name] = {"values": stated, **sums}
        scores = {s: {"iqm": one.iqm, "interval": list(one.interval)} for s, one in self.standings.items()}
        return Submission({**self.data, "tasks": rows, "scores": scores})


def make(
    agent: hb.Component, rows: Mapping[str, Row], values: Mapping[str, Mapping[str, Array]], command: str
) -> Submission:
    """Return the submission of `agent` with these rows and values; raise ``ValueError`` if runs are missing."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "hushbandits": hb.__version__}
    header = {"benchmark": NAME, "agent": agent.to_dict(), "source": source(agent), "command": command}
    played = {name: row if "refused" in row else {**row, "values": values[name]} for name, row in rows.items()}
    return Submission({**header, "versions": versions, "seed": SEED, "tasks": played}).recomputed()


def source(agent: hb.Component) -> str:
    """Return a digest of the source files of a user-defined agent; ``""`` for a built-in one."""
    task = next(iter(tasks().values()))
    return hb.source_digests([task.experiment(hb.Component(agent.name, **agent.params))]).get(agent.name, "")


def write(submission: Submission, path: Path) -> None:
    """Write the submission, one line per field and per task; equal runs give equal rows."""
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    rows = {name: encode(row) for name, row in submission.data["tasks"].items()}
    fields = {key: _lines(rows) if key == "tasks" else encode(value) for key, value in submission.data.items()}
    path.write_text(_lines(fields) + "\n", encoding="utf8")


def _lines(encoded: Mapping[str, str]) -> str:
    return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in encoded.items()) + "\n}"


def read(path: Path) -> Submission:
    """Return the submission in a file; raise `Refuted` if an aggregate differs from what its rows give.

    Raises
    ------
    Refuted
        A cost, an ε or a score differs from the value of the rows; the message names it.
    ValueError
        The file is not a submission to this benchmark.
    """
    try:
        found = Submission(json.loads(path.read_text(encoding="utf8")))
        _check(found)
        again = found.recomputed()
    except (OSError, LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is not a submission to {NAME}: {type(error).__name__}: {error}") from None
    compare(found.data, again.data, f"{path}:", "its rows give")
    return found


def _check(submission: Submission) -> None:
    """Raise ``ValueError`` if benchmark, seed or agent parameters are invalid, or if the label is not the agent's."""
    data, agent = submission.data, submission.agent
    if data["benchmark"] != NAME or data["seed"] != SEED:
        raise ValueError(f"benchmark={data['benchmark']!r}, seed={data['seed']!r} must be {NAME!r} and {SEED}")
    for name, value in agent.params.items():
        if not isinstance(value, (bool, int, float)):  # a text could name code
            raise ValueError(f"agent: {name}={value!r} must be a number, true or false")
    if agent.label != (own := entry(f"{agent.name}@{agent.on}" if agent.on else agent.name, agent.params).label):
        raise ValueError(f"agent: label={agent.label!r} must be {own!r}, the name of this agent")


def compare(said: object, again: object, where: str, word: str) -> None:
    """Raise `Refuted` for the first value of `said` that differs from `again`; `word` names `again` in the message."""
    if isinstance(said, dict) and isinstance(again, dict):
        if odd := said.keys() ^ again.keys():
            raise Refuted(f"{where} the fields {sorted(odd)!r} are missing or unexpected")
        for key in again:
            compare(said[key], again[key], f"{where} {key}", word)
    elif isinstance(said, list) and isinstance(again, list) and len(said) == len(again):
        for i, pair in enumerate(zip(said, again, strict=True)):
            compare(*pair, f"{where} {i}", word)
    elif said != again and not _close(said, again):
        raise Refuted(f"{where} is {said!r}, but {word} {again!r}")


def _close(one: object, two: object) -> bool:
    if not isinstance(one, int | float) or not isinstance(two, int | float):
        return False
    return math.isclose(one, two, rel_tol=SLACK, abs_tol=SLACK)
