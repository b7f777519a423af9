"""Submissions: an agent's rows as data, read and checked without running code that the submission names."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import hushbandits as hb
from hushbench.play import plain
from hushbench.scores import Standing, standing
from hushbench.tasks import NAME, SEED, Array, Row, Task, chosen, entry, source, tasks


@dataclass(frozen=True)
class Submission:
    """Rows of an agent, with their provenance, as written to a file; costs and scores are computed from them.

    Parameters
    ----------
    data : mapping of str
        Content of the file: ``benchmark`` and ``seed``; ``agent``, with its parameters; ``source``, a digest of its
        user-defined code (empty for a built-in agent); ``command`` and ``versions``; and ``tasks``. Each task has its
        rows as ``values``, and the guaranteed ``epsilon`` of one reward and ``run_epsilon`` of a whole run, or the
        reason why it is ``refused``.
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

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Return the scores by setting."""
        costs = {name: tasks()[name].costs(values) for name, values in self.values.items()}
        return {s: standing(chosen([s]), costs) for s in dict.fromkeys(task.setting for task in self.tasks)}

    def check(self) -> None:
        """Raise ``ValueError`` unless header and agent are valid, and tasks, metrics, runs and ranges are complete."""
        if (self.data["benchmark"], self.data["seed"]) != (NAME, SEED):
            raise ValueError(f"benchmark={self.data['benchmark']!r} must be {NAME!r}, and seed must be {SEED}")
        check_agent(self.agent, self.data["source"])
        if unknown := self.data["tasks"].keys() - tasks().keys():
            raise ValueError(f"tasks={sorted(unknown)} must be tasks of {NAME}")
        for setting in dict.fromkeys(task.setting for task in self.tasks):
            if missing := [task.name for task in chosen([setting]) if task not in self.tasks]:
                raise ValueError(f"{setting}: a submission needs all tasks of a setting; it lacks {', '.join(missing)}")
        for name, values in self.values.items():
            tasks()[name].check(values)
            self.epsilon(name)
        if not self.standings:
            raise ValueError("tasks={} must have all tasks of a setting")


def check_agent(agent: hb.Component, digest: str) -> None:
    """Raise ``ValueError`` unless parameters are numbers and the label is the agent's own, in ASCII.

    The label of a user-defined agent must not read like the name of a built-in one.

    Parameters
    ----------
    agent : Component
    digest : str
        Digest of its source; empty for a built-in agent.
    """
    for name, value in agent.params.items():
        if not isinstance(value, (bool, int, float)):  # a text could name code
            raise ValueError(f"agent: {name}={value!r} must be a number, true or false")
    own = entry(f"{agent.name}@{agent.on}" if agent.on else agent.name, agent.params).label or ""
    if agent.label != own or not own.isascii() or not own.isprintable():
        raise ValueError(f"agent: label={agent.label!r} must be {own!a}, the agent's name in printable ASCII")
    builtin = [name for name in hb.list_agents() if not source(hb.Component(name))]
    if not re.fullmatch("" if agent.name in builtin else "[0-9a-f]{16}", digest):
        raise ValueError(f"source={digest!r} must be a digest of the agent's code, or '' for a built-in agent")
    short = re.split("[@ ]", own)[0]
    if agent.name not in builtin and _letters(short) in map(_letters, builtin):
        raise ValueError(f"agent: label={own!r} reads like a built-in agent; rename the class {short}")


def _letters(name: str) -> str:
    """Return what is read of a name: without case and signs, and with 0, 1 and i as the letters that they look like."""
    return re.sub("[^a-z0-9]", "", name.casefold()).translate(str.maketrans("01i", "oll"))


def make(
    agent: hb.Component, rows: Mapping[str, Row], values: Mapping[str, Mapping[str, Array]], command: str
) -> Submission:
    """Return the submission of `agent` with these rows and values; raise ``ValueError`` if it is not valid."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "hushbandits": hb.__version__}
    header = {"benchmark": NAME, "agent": agent.to_dict(), "source": source(agent), "command": command}
    stated = {name: {m: [plain(x) for x in row] for m, row in found.items()} for name, found in values.items()}
    played = {name: {**row, "values": stated[name]} if name in stated else row for name, row in rows.items()}
    found = Submission({**header, "versions": versions, "seed": SEED, "tasks": played})
    found.check()
    return found


def write(submission: Submission, path: Path) -> None:
    """Write the submission; equal runs give equal bytes."""
    path.write_text(json.dumps(submission.data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf8")


def read(path: Path) -> Submission:
    """Return the submission in a file; raise ``ValueError`` if it is not a valid submission to this benchmark."""
    try:
        found = Submission(json.loads(path.read_text(encoding="utf8")))
        found.check()
    except (OSError, LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path} is not a submission to {NAME}: {type(error).__name__}: {error}") from None
    return found
