"""Submissions: an agent's metrics as data, read and checked without running code that the submission names.

A submission is verified by playing a part of its runs again.
"""

import hashlib
import json
import math
import platform
import re
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import hushbandits as hb
from hushbench.play import Failed, admit, fresh, plain, play
from hushbench.tasks import NAME, Array, Row, Standing, Task, Values, chosen, entry, of, source, standing, tasks

#: Fields of the header, whose digest enters the seeds.
HEADER = ("benchmark", "agent", "source", "command", "versions")


def header(agent: hb.Component, settings: Sequence[str]) -> dict[str, object]:
    """Return the header of an agent's submission to `settings`; raise ``ValueError`` if the agent cannot submit."""
    check_agent(agent, digest := source(agent))
    versions = {"python": platform.python_version(), "numpy": np.__version__, "hushbandits": hb.__version__}
    return dict(zip(HEADER, (NAME, agent.to_dict(), digest, command(agent, settings), versions), strict=True))


def command(agent: hb.Component, settings: Sequence[str]) -> str:
    """Return the command that plays an agent, in a normal form.

    Examples
    --------
    >>> command(entry("DP-MASE", {"epsilon": 0.5}), ["exploration"])
    'hushbandits bench --agents DP-MASE --tasks exploration --set agent.epsilon=0.5'
    """
    words = ["hushbandits bench --agents", f"{agent.name}@{agent.on}" if agent.on else agent.name, "--tasks", *settings]
    return " ".join([*words, *(f"--set agent.{k}={json.dumps(v)}" for k, v in agent.params.items())])


def digest(header: Mapping[str, object]) -> str:
    """Return the digest of a header, 64 hex digits."""
    return hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=32).hexdigest()


def hidden_seed(header: Mapping[str, object], beacon: Mapping[str, str]) -> int:
    """Return the master seed, derived from a header and the value of a beacon.

    Raises
    ------
    ValueError
        The value has not 64 hex digits, or the beacon's source is not named.
    """
    if not re.fullmatch("[0-9a-f]{64}", beacon["value"]):
        raise ValueError(f"beacon={beacon['value']!r} must have 64 hex digits in lower case")
    if not beacon["source"].strip() or not beacon["source"].isprintable():
        raise ValueError(f"beacon source={beacon['source']!r} must name the publisher of the public value")
    both = bytes.fromhex(digest(header) + beacon["value"])
    return int.from_bytes(hashlib.blake2b(both, digest_size=16).digest(), "big")


@dataclass(frozen=True)
class Submission:
    """An agent's metrics in its tasks, with their provenance, as written to a file; scores are computed from them.

    Parameters
    ----------
    data : mapping of str
        Content of the file: the header, which is ``benchmark``; ``agent``, with its parameters; ``source``, a digest of
        its user-defined code (empty for a built-in agent); ``command`` and ``versions``; then ``beacon``, a public
        value and its source, and ``tasks``. Each task has its rows as ``values``, and the guaranteed ``epsilon`` of one
        reward and ``run_epsilon`` of a whole run, or the reason why it is ``refused``.
    """

    data: Mapping[str, Any]

    @cached_property
    def agent(self) -> hb.Component:
        """Return the agent as a component."""
        return hb.Component.from_dict(self.data["agent"])

    @cached_property
    def values(self) -> dict[str, dict[str, Array]]:
        """Return the metrics of each played task, by task and name, each ``(runs,)``."""
        played = {name: row["values"] for name, row in self.data["tasks"].items() if "refused" not in row}
        return {name: {m: np.array(x, float) for m, x in values.items()} for name, values in played.items()}

    @property
    def tasks(self) -> list[Task]:
        """Return the tasks of the submission, in the order of the benchmark."""
        return [task for name, task in tasks().items() if name in self.data["tasks"]]

    def epsilon(self, task: str) -> tuple[float, float] | None:
        """Return ε of one reward (measured, else guaranteed) and ε of a whole run; ``None`` without a guarantee."""
        row, spent = self.data["tasks"][task], self.values[task].get("epsilon")
        if row["epsilon"] is None:
            return None
        most = float(row["epsilon"] if spent is None else spent.max())
        return most, max(most, float(row["run_epsilon"]))

    @property
    def settings(self) -> list[str]:
        """Return the settings of the submission's tasks."""
        return list(dict.fromkeys(task.setting for task in self.tasks))

    def seed(self) -> int:
        """Return the master seed, derived from header and beacon."""
        return hidden_seed({field: self.data[field] for field in HEADER}, self.data["beacon"])

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Return the scores by setting."""
        costs = {name: tasks()[name].costs(values) for name, values in self.values.items()}
        return {setting: standing(chosen([setting]), costs) for setting in self.settings}

    def check(self) -> None:
        """Raise ``ValueError`` unless header, agent and values are valid, and no task or run is missing."""
        check_agent(self.agent, self.data["source"])
        self.seed()
        if not 0 < len(names := self.data["tasks"].keys()) == len(self.tasks):
            raise ValueError(f"tasks={[*names]} must be tasks of {NAME}")
        for setting in self.settings:
            if missing := [task.name for task in chosen([setting]) if task not in self.tasks]:
                raise ValueError(f"{setting}: a submission needs all tasks, but {', '.join(missing)} are missing")
        expected = {"benchmark": NAME, "command": command(self.agent, self.settings)}
        for field in (field for field in expected if self.data[field] != expected[field]):
            raise ValueError(f"{field}={self.data[field]!r} must be {expected[field]!r}")
        for name, values in self.values.items():
            tasks()[name].check(values)
            self.epsilon(name)


def check_agent(agent: hb.Component, digest: str) -> None:
    """Raise ``ValueError`` for a parameter that is no number, a label other than name and parameters, or a bad digest.

    The label of a user-defined agent must not read like the name of a built-in one.

    Parameters
    ----------
    agent : Component
    digest : str
        Digest of its source; empty for a built-in agent.
    """
    if odd := [f"{k}={v!r}" for k, v in agent.params.items() if not isinstance(v, (bool, int, float))]:
        raise ValueError(f"agent: {odd[0]} must be a number, true or false")  # a text could name code
    own = entry(f"{agent.name}@{agent.on}" if agent.on else agent.name, agent.params).label or ""
    if agent.label != own or not own.isascii() or not own.isprintable():
        raise ValueError(f"agent: label={agent.label!r} must be {own!a}, the agent's name in printable ASCII")
    builtin = [name for name in hb.list_agents() if not source(hb.Component(name))]
    if not re.fullmatch("" if agent.name in builtin else "[0-9a-f]{16}", digest):
        raise ValueError(f"source={digest!r} must be a digest of the agent's code, or '' for a built-in agent")
    short = re.split("[@ ]", own)[0]
    if agent.name not in builtin and _letters(short) in map(_letters, builtin):
        raise ValueError(f"agent: label={own!r} resembles the name of a built-in agent; rename the class {short}")


def _letters(name: str) -> str:
    """Return a name as a reader may see it: without case and signs, and with 0, 1 and i as similar letters."""
    return re.sub("[^a-z0-9]", "", name.casefold()).translate(str.maketrans("01i", "oll"))


def make(header: Row, beacon: Mapping[str, str], rows: Mapping[str, Row], values: Values) -> Submission:
    """Return the submission with these rows and values; raise ``ValueError`` if it is not valid."""
    stated = {name: {m: [plain(x) for x in row] for m, row in found.items()} for name, found in values.items()}
    played = {name: {**row, "values": stated[name]} if name in stated else row for name, row in rows.items()}
    found = Submission({**header, "beacon": beacon, "tasks": played})
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


# -- verification ----------------------------------------------------------------------------------------------------

#: Maximum number of parts of the runs; one of them is played again.
PARTS = 8
#: Difference up to which numbers are equal, also relative: machines add in different orders.
SLACK = 1e-9
#: Probability of at least the difference between stated and fresh scores, below which a submission is refused.
CHANCE = 1e-3


def verify(path: Path, agent: str | None, options: hb.RunOptions, shard: str | None = None) -> str:
    """Check a submission: replay a part of its runs, compare each number, and test the scores by fresh runs.

    No code of the submission is imported or run: the agent is built-in, installed, or named by the caller.

    Parameters
    ----------
    path : Path
        The submission.
    agent : str, optional
        The agent, if its name is not registered: ``"module:Name"`` or ``"sb3:FOLDER"``.
    options : RunOptions
        Processes and the like.
    shard : str, optional
        Part and number of parts, such as ``"2/8"``; default: one of `PARTS`, or of as many as there are tasks, drawn at
        random at each call, so that the author of a submission cannot predict it.

    Returns
    -------
    str
        A sentence that says what was played.

    Raises
    ------
    Failed
        A number differs from the replayed one, or scores from those on fresh seeds; the message names it.
    ValueError
        The file is not a submission, its agent is not named or is another one, or the part has no run.
    """
    submission = read(path)
    use = _trusted(path, submission, agent)
    said, here = submission.data["tasks"], admit(use, submission.tasks)
    for name in said:  # the words of a refusal may differ
        _same(f"{path}: {name} refused", "refused" in said[name], "refused" in here.get(name, {}))
        for field in ("epsilon", "run_epsilon"):
            _same(f"{path}: {name} {field}", said[name].get(field), here.get(name, {}).get(field))
    playable = [task for task in submission.tasks if task.name in submission.values]
    parts = min(PARTS, len(playable))  # so that each part has a run
    shard = shard or f"{1 + secrets.randbelow(parts)}/{parts}"
    with tempfile.TemporaryDirectory() as folder:
        again = play(use, playable, Path(folder), options, submission.seed(), shard)
    numbers = sum(len(runs) for runs, _ in again.values())
    if not numbers:
        raise ValueError(f"shard={shard!r} selects no run: there are fewer than n batches; choose a smaller n in i/n")
    new = fresh(use, playable, math.ceil(playable[0].runs / int(shard.partition("/")[2])), options)
    for name, stated in submission.values.items():
        if odd := stated.keys() ^ new[name].keys():
            raise Failed(f"{path}: {name}: the metrics {sorted(odd)} are missing or unexpected")
        for metric, row in again[name][1].items():
            for run, value in zip(again[name][0], row, strict=True):
                _same(f"{path}: {name} {metric} {run}", stated[metric][run], value)
    _plausible(path, submission.values, new)
    return f"{path}: {numbers} runs, part {shard}, gave the same numbers again, and scores on fresh seeds agree"


def _plausible(path: Path, stated: Values, new: Values) -> None:
    """Raise `Failed` if the stated scores exceed those on fresh seeds by more than chance explains."""
    said, here = (
        np.concatenate([of(tasks()[name], {name: tasks()[name].costs(row)}) for name, row in values.items()])
        for values in (stated, new)
    )
    if said.mean() > here.mean() and hb.stats.permutation_test(said, here) < CHANCE:
        raise Failed(f"{path} has the mean score {said.mean():.4g}, but fresh seeds give {here.mean():.4g}")


def _same(where: str, said: object, here: object) -> None:
    """Raise `Failed` if two values differ; floats may differ by `SLACK`."""
    if isinstance(said, float) and isinstance(here, float) and math.isclose(said, here, rel_tol=SLACK, abs_tol=SLACK):
        return
    if said != here:
        raise Failed(f"{where} is {said}, but the verification gives {here}")


def _trusted(path: Path, submission: Submission, agent: str | None) -> hb.Component:
    """Return the agent, registered or named by the caller; raise `Failed` if the digest of its source differs."""
    said = submission.agent
    if agent is None and said.name not in hb.list_agents():
        raise ValueError(f"{path} names the agent {said.name!r}, which is not registered: add --agents if you trust it")
    use = hb.Component(entry(agent or said.name, {}).name, label=said.label, on=said.on, **said.params)
    if (here := source(use)) != (there := submission.data["source"]):
        raise Failed(f"{path}: source={there!r} must equal {here!r}: the code of {use.name} differs")
    return use
