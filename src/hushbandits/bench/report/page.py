"""One self-contained HTML page per results folder: no external resource, readable on a phone and in the dark."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from hushbandits.bench.declare.canonical import plain
from hushbandits.bench.declare.catalog import bounds
from hushbandits.bench.declare.claim import ORIGINS
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.intervals import RAREST
from hushbandits.bench.judge.pairs import comparisons
from hushbandits.bench.judge.verdicts import ALPHA, judge, tally, together, told
from hushbandits.bench.report import compared
from hushbandits.bench.report.figures import inline
from hushbandits.bench.report.privacy import guarantees
from hushbandits.bench.report.series import drawable, figures
from hushbandits.bench.report.tables import Value, columns, summaries, written
from hushbandits.bench.report.theme import CSS
from hushbandits.bench.runner.configuration import Configuration, configurations
from hushbandits.bench.runner.store import Store
from hushbandits.core.ground.files import replacing
from hushbandits.protection import HEADS

__all__ = ["write"]

_MOST = 400  # cells per table
_KINDS = {"holds": "holds", "does not hold": "not", "undecided": "muted"}


@dataclass(frozen=True)
class Table:
    """A table that can be sorted; columns `left` hold texts."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Value]]
    left: Collection[int]


@dataclass(frozen=True)
class Block:
    """A part of an experiment's section: its heading, a table, and what there is to say below."""

    heading: str
    table: Table | None
    notes: Sequence[str] = ()


def write(store: Store, path: Path, trusted: Collection[str] | None = None) -> Path:
    """Write the page of a store to `path`, whole or not at all; all texts are escaped.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("hushbandits.bench.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    env.filters |= {"written": written, "kinds": _kinds, "key": _key, "several": _several}
    trusted = bounds() if trusted is None else trusted
    gone, sessions = store.never(), store.sessions()
    sections = [_section(store, e, gone, trusted) for e in store.experiments]
    wanted = {cell.key: (cell, e.runs) for e in sorted(store.experiments, key=lambda e: e.runs) for cell in e.cells()}
    asked = [(cell, runs) for key, (cell, runs) in wanted.items() if key not in gone]
    page = env.get_template("page.html").render(
        store=store,
        colours=CSS,
        done=sum(len(store.numbers(cell, runs)) for cell, runs in asked),
        total=sum(runs for _, runs in asked),
        sections=sections,
        sessions=sessions,
        mixed=len({about.get("sources") for about in sessions}) > 1,
    )
    with replacing(path) as out:
        out.write(page)
    return path


def _section(store: Store, experiment: Experiment, gone: dict[str, str], trusted: Collection[str]) -> dict[str, object]:
    lines = configurations(store, experiment)
    shown = figures(lines, experiment)
    promised = guarantees(store, experiment, [f.x for f in shown] or list(experiment.sweep)[:1])
    rows = [(_several(names), *row[1:6]) for names, promises in promised for row in promises]
    return {
        "experiment": experiment,
        "anchor": quote(experiment.name),
        "swept": [(symbol(k), v) for k, v in experiment.sweep.items()],
        "env": ", ".join(f"{k} = {json.dumps(plain(v), ensure_ascii=False)}" for k, v in experiment.env.params.items()),
        "drawn": inline(lines, experiment, trusted),
        "readings": list(dict.fromkeys(f.reading for f in shown if f.reading)),
        "notes": list(_notes(experiment, lines, gone, trusted)),
        "blocks": [block for make in _BLOCKS if (block := make(lines, experiment)) is not None],
        "protection": Table(("line", *HEADS[1:6]), rows, range(6)),
        "guarantees": [
            (names, [[pair for pair in zip(HEADS, row, strict=True) if pair[1]] for row in promises])
            for names, promises in promised
        ],
        "data": json.dumps(experiment.to_dict(), indent=1, ensure_ascii=False),
    }


def _notes(
    experiment: Experiment, lines: Sequence[Configuration], gone: dict[str, str], trusted: Collection[str]
) -> Iterator[str]:
    if left := [cell for cell in experiment.cells() if cell.key in gone]:
        whys = "; ".join(dict.fromkeys(gone[cell.key] for cell in left))
        yield f"Never played, for env, wrappers and agent cannot meet: {_several([c.label for c in left])}. {whys}"
    if strange := {path for f in experiment.figures for path in f.bounds.values()} - set(trusted):
        paths = ", ".join(sorted(strange))
        yield f"Not drawn: {paths}. A page calls no code that a store names; a run of your own does."
    if along := list(dict.fromkeys(f.x for f in experiment.figures if not drawable(experiment, f, lines))):
        yield f"No figure along {', '.join(along)} is drawn: that is neither swept nor measured."


def _several(names: Sequence[object]) -> str:
    return "; ".join(map(str, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _claims(lines: Sequence[Configuration], experiment: Experiment) -> Block | None:
    if not experiment.claims:
        return None
    m = together(experiment)
    rows: list[list[Value]] = []
    verdicts = judge(lines, experiment, m)
    for verdict in verdicts:
        worst, several = verdict.worst, len(verdict.findings)
        where = f"{worst.where} (worst of {several})" if worst and several > 1 else ""
        found: list[Value] = [worst.effect, worst.interval if worst.runs else "(no run)"] if worst else ["", ""]
        about = [verdict.claim.sentence, ORIGINS[verdict.claim.origin], verdict.effect]
        rows.append([verdict.verdict, *about, *found, verdict.region, where])
    level = f"level 1 − {ALPHA:g}/{m}"
    heads = ["verdict", "claim", "whose", "effect", "is", f"interval, {level}", "claimed", "at"]
    note = (
        f"{m} claim{'s are' if m != 1 else ' is'} judged together (Bonferroni, {level}). For means that level is "
        f"simulated, for runs with no mode rarer than one in {RAREST}; for other statistics exact."
    )
    counts = told(tally((verdict.claim.origin, verdict.verdict) for verdict in verdicts))
    return Block("Claims", Table(heads, rows, (0, 1, 2, 3, 7)), [f"{counts[:1].upper()}{counts[1:]}.", note])


def _results(lines: Sequence[Configuration], experiment: Experiment) -> Block:
    swept = list(experiment.sweep)
    rows: list[list[Value]] = [
        [row.cell.line, *(_cell(row.cell.point[p]) for p in swept), row.label, row.runs, *row.numbers]
        for row in summaries(lines[:_MOST], experiment.metrics)
    ]
    if not rows:
        return Block("Results", None, ["No runs yet."])
    left = len(lines) - _MOST
    more = [f"{left:,} more cells: hushbandits.load_results(folder).table()."] if left > 0 else []
    note = (
        "Means: Student’s interval; medians: order statistics; rates: Clopper–Pearson. "
        "Agents of one experiment face the same arms, graphs and rewards."
    )
    return Block("Results", Table(columns(swept), rows, (0, len(swept) + 1)), [*more, note])


def _comparison(lines: Sequence[Configuration], experiment: Experiment) -> Block | None:
    found = comparisons(lines, next(iter(experiment.metrics), ""))
    pairs = [(one.where, row) for one in found for row in compared.rows(one)]
    if not pairs:
        return None
    several = len(found) > 1
    heads = [*(["at"] if several else []), *compared.heads(found[0].level)]
    body = [[where, *row] if several else list(row) for where, row in pairs]
    return Block("Lines against each other", Table(heads, body, range(2 + several)), compared.notes(found))


#: Parts of an experiment's section below its picture, in their order; one that has nothing to say is left out.
_BLOCKS: tuple[Callable[[Sequence[Configuration], Experiment], Block | None], ...] = (_claims, _results, _comparison)


def _cell(value: object) -> Value:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _kinds(value: Value, left: bool) -> str:
    """Classes of a cell."""
    letters = len(value) if isinstance(value, str) else 0
    kinds = ["t"] * left + ["wrap"] * (letters > 24) + ["wide"] * (letters > 60) + [_KINDS.get(value, "")]  # type: ignore[arg-type]
    return " ".join(filter(None, kinds))


def _key(value: Value) -> float | None:
    """What a number is sorted by; what has none sorts below everything, and texts by themselves."""
    if isinstance(value, str):
        return None
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if first is not None and math.isfinite(first) else -1e308
