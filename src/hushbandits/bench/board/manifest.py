"""A manifest: what an agent reached, as data that anybody can check; nothing that it names is imported or run."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import hushbandits
from hushbandits.bench.board.play import Met
from hushbandits.bench.board.scores import Standing, standing
from hushbandits.bench.board.tasks import BOARD, SEED, Task, entry, tasks
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.shapes import mapping, sequence, table, text
from hushbandits.bench.play.own import own_sources
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.limits import LARGEST_NUMBER
from hushbandits.core.ground.strangers import opened, parsed
from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import shown

__all__ = ["LARGEST", "SLACK", "Manifest", "Refuted", "made", "read", "source", "write"]

#: Bytes of a manifest, at most; a real one has a few thousand.
LARGEST = 1 << 20
#: Numbers that differ by less than this share are equal: machines add in other orders.
SLACK = 1e-9
_LONGEST = 400  # letters of a text
_FIELDS = ("benchmark", "agent", "source", "command", "versions", "seed", "tasks", "scores")
_PLAYED = ("values", "cost", "epsilon", "run_epsilon")
_METRICS = ("rounds", "correct", "regret", "epsilon")


class Refuted(ValueError):
    """A number of a manifest is not what the rows, or the runs, give."""


@dataclass(frozen=True)
class Manifest:
    """A manifest that was read, or is to be written.

    Parameters
    ----------
    agent : Use
        Who played, with its parameters.
    source : str
        A digest of the agent's code of its own; empty: it ships.
    command : str
        What was asked for.
    versions : dict of str
        What played.
    values : dict of dict of (runs,) array
        By task that was played, by metric: the rows.
    promised : dict of str to (float, float) or None
        By task that was played: ε of one reward, and of a participant's whole run; see `Met`.
    refused : dict of str
        By task that the agent cannot play: why.
    standings : dict of Standing
        By setting.
    """

    agent: Use
    source: str
    command: str
    versions: Mapping[str, str]
    values: Mapping[str, Mapping[str, Array]]
    promised: Mapping[str, tuple[float, float] | None]
    refused: Mapping[str, str]
    standings: Mapping[str, Standing] = field(default_factory=dict)

    @property
    def tasks(self) -> list[Task]:
        """Its tasks, in the order of the benchmark: all of the settings that it has one of."""
        return [task for name, task in tasks().items() if name in self.values or name in self.refused]

    def epsilon(self, task: str) -> tuple[float, float] | None:
        """ε of one reward and of a whole run: as the runs measured it where they do, else as promised."""
        told, spent = self.promised[task], self.values[task].get("epsilon")
        if spent is None or told is None:
            return told
        return float(np.max(spent)), max(float(np.max(spent)), told[1])

    def costs(self) -> dict[str, Array]:
        """What each run of each task cost."""
        return {name: tasks()[name].costs(values) for name, values in self.values.items()}

    def to_dict(self) -> dict[str, Any]:
        """As in the file."""
        costs = self.costs()
        played: dict[str, dict[str, Any]] = {}
        for task in self.tasks:
            if task.name in self.refused:
                played[task.name] = {"refused": self.refused[task.name]}
                continue
            one, run = self.epsilon(task.name) or (None, None)
            played[task.name] = {
                "values": {metric: [_plain(x) for x in x] for metric, x in self.values[task.name].items()},
                "cost": float(costs[task.name].mean()), "epsilon": _plain(one), "run_epsilon": _plain(run),
            }  # fmt: skip
        return {
            "benchmark": BOARD, "agent": self.agent.to_dict(), "source": self.source, "command": self.command,
            "versions": dict(self.versions), "seed": SEED, "tasks": played,
            "scores": {s: {"iqm": one.iqm, "interval": list(one.interval)} for s, one in self.standings.items()},
        }  # fmt: skip


def made(agent: Use, met: Met, values: Mapping[str, Mapping[str, Array]], command: str) -> Manifest:
    """Return the manifest of what was played, with its scores.

    Raises
    ------
    ValueError
        Runs are missing.
    """
    found = Manifest(
        agent, source(agent), command,
        {"python": platform.python_version(), "numpy": np.__version__, "hushbandits": hushbandits.__version__},
        values, met.promised, met.refused,
    )  # fmt: skip
    for task in found.tasks:
        n = len(values[task.name][task.metric]) if task.name in values else task.runs
        if n < task.runs:
            raise ValueError(f"{task.name}: {n} of {task.runs} runs were played; a manifest needs all")
    return _standing(found)


def _standing(manifest: Manifest) -> Manifest:
    by: dict[str, list[Task]] = {}
    for task in manifest.tasks:
        by.setdefault(task.setting, []).append(task)
    for setting, own in by.items():
        if missing := [t.name for t in tasks().values() if t.setting == setting and t not in own]:
            raise ValueError(f"{setting}: {', '.join(missing)} was not played; a manifest needs all tasks of a setting")
    costs = manifest.costs()
    found = {setting: standing(own, costs) for setting, own in by.items()}
    return Manifest(**{**vars(manifest), "standings": found})


def source(agent: Use) -> str:
    """Return a digest of the files that an agent of one's own is made of; empty: it ships."""
    return own_sources([next(iter(tasks().values())).experiment(Use(agent.name, **agent.params))]).get(agent.name, "")


def write(manifest: Manifest, path: Path) -> None:
    """Write it, whole or not at all, a line for each task; of the same runs always the same rows."""
    said = manifest.to_dict()
    with replacing(path) as out:
        out.write(_table({key: _table(x) if key == "tasks" else _line(x) for key, x in said.items()}, raw=True) + "\n")


def _line(x: object) -> str:
    return json.dumps(x, ensure_ascii=False, allow_nan=False)


def _table(table: Mapping[str, Any], raw: bool = False) -> str:
    return "{\n" + ",\n".join(f"{_line(key)}: {x if raw else _line(x)}" for key, x in table.items()) + "\n}"


def read(path: Path) -> Manifest:
    """Read a manifest of anybody's, and hold each sum in it against its rows.

    Raises
    ------
    Refuted
        A cost, an ε or a score is not what the rows give; the sentence names it.
    ValueError
        It is no manifest of this benchmark.
    """
    try:
        with opened(path) as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    if len(data) > LARGEST:
        raise ValueError(f"{path} has more than {LARGEST:,} bytes: no manifest has")
    try:
        said = parsed(data)
        return _held(_checked(said), said)
    except Refuted as error:
        raise Refuted(f"{path}: {error}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{path} is no manifest of {BOARD}: {error}") from None


def _checked(said: object) -> Manifest:
    """A manifest out of somebody's data: every shape is looked at, and nothing is built but arrays."""
    top = table("manifest", said, _FIELDS, _FIELDS)
    if top["benchmark"] != BOARD or top["seed"] != SEED:
        raise ValueError(f"benchmark={shown(top['benchmark'])}, seed={shown(top['seed'])}: not {BOARD!r}, {SEED}")
    for name in ("source", "command"):
        _text(name, top[name])
    agent = Use.from_dict(top["agent"])
    for name, value in {"use": agent.name, "label": agent.called, "on": agent.on or ""}.items():
        _text(f"agent: {name}", value)
    for name, value in agent.params.items():
        _text("agent: a parameter", name)
        if not isinstance(value, (bool, int, float)):  # a text could name code
            raise ValueError(f"agent: {name}={shown(value)} must be a number, true or false")
    if agent.label != (own := entry(f"{agent.name}@{agent.on}" if agent.on else agent.name, agent.params).label):
        raise ValueError(f"agent: label={shown(agent.label)} must be {own!r}, so that nobody has another's name")
    versions = top["versions"]
    if not mapping(versions) or len(versions) > 9:
        raise ValueError(f"versions={shown(versions)} must be a table of texts")
    for name, value in versions.items():
        _text(f"versions: {name}", value)
    values: dict[str, dict[str, Array]] = {}
    promised: dict[str, tuple[float, float] | None] = {}
    refused: dict[str, str] = {}
    for name, row in table("tasks", top["tasks"], tasks(), ()).items():
        if isinstance(row, dict) and "refused" in row:
            refused[name] = _text(f"{name}: refused", table(name, row, ("refused",), ())["refused"])
            continue
        row = table(name, row, _PLAYED, _PLAYED)
        values[name] = _values(tasks()[name], row["values"])
        ends = [_number(f"{name}: {key}", row[key]) for key in ("epsilon", "run_epsilon") if row[key] is not None]
        promised[name] = (ends[0], ends[1]) if len(ends) == 2 else None
    if not values:
        raise ValueError("tasks: none was played")
    return Manifest(agent, top["source"], top["command"], versions, values, promised, refused)


def _values(task: Task, said: object) -> dict[str, Array]:
    rows = table(f"{task.name}: values", said, _METRICS, task.metrics)
    found = {}
    for metric, listed in rows.items():
        if not sequence(listed) or len(listed) != task.runs:
            raise ValueError(f"{task.name}: {metric} must list {task.runs} numbers")
        found[metric] = np.array([_number(f"{task.name}: {metric} of run {i}", x) for i, x in enumerate(listed)])
    return found


def _held(manifest: Manifest, said: Mapping[str, Any]) -> Manifest:
    """Return it with its scores, if these and all other sums are what its rows give."""
    whole = _standing(manifest)
    again = whole.to_dict()
    for name, row in again["tasks"].items():
        for key in ("cost", "epsilon"):
            if key in row and not same(row[key], said["tasks"][name][key]):
                raise Refuted(f"{key} of {name} says {shown(said['tasks'][name][key])}, its rows give {row[key]!r}")
    told = table("scores", said["scores"], again["scores"], again["scores"])
    for setting, row in again["scores"].items():
        its = table(f"scores: {setting}", told[setting], row, row)
        if not same(its["iqm"], row["iqm"]):
            raise Refuted(f"the score in {setting} says {shown(its['iqm'])}, its rows give {row['iqm']!r}")
        ends = its["interval"]
        if not sequence(ends) or len(ends) != 2 or not all(map(same, ends, row["interval"])):
            raise Refuted(f"the interval in {setting} says {shown(ends)}, its rows give {row['interval']!r}")
    return whole


def same(one: object, other: object) -> bool:
    """Whether two numbers are equal up to `SLACK`; ∞ and what is not there are equal to themselves alone.

    Examples
    --------
    >>> same(1.0, 1.0 + 1e-12), same(1.0, 1.001), same("inf", "inf"), same(None, 1.0)
    (True, False, True, False)
    """
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=SLACK, abs_tol=SLACK)
    return type(one) is type(other) and one == other


def _plain(x: Any) -> Any:
    return x if x is None else "inf" if math.isinf(x) else float(x)


def _number(what: str, x: object) -> float:
    if x == "inf":
        return math.inf
    if isinstance(x, bool) or not isinstance(x, (int, float)) or not abs(x) <= LARGEST_NUMBER:
        raise ValueError(f"{what}={shown(x)} must be a number up to {LARGEST_NUMBER:g}, or 'inf'")
    return float(x)


def _text(what: str, x: object) -> str:
    if not text(x) or len(x) > _LONGEST:
        raise ValueError(f"{what}={shown(x)} must be a text of at most {_LONGEST} letters")
    return x
