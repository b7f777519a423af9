"""The report page of a results folder: self-contained HTML, without external resources."""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from hushbandits.bench.report import tables
from hushbandits.bench.report.figures import inline
from hushbandits.bench.report.series import figures
from hushbandits.bench.runner.configuration import Configuration, configurations, noted
from hushbandits.bench.runner.files import replacing
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.catalog import bounds
from hushbandits.bench.spec.claim import ORIGINS
from hushbandits.bench.spec.experiment import Experiment
from hushbandits.bench.spec.vocabulary import place, symbol
from hushbandits.bench.stats.intervals import RAREST
from hushbandits.bench.stats.pairs import comparisons
from hushbandits.bench.stats.verdicts import ALPHA, judge, sentence, tally, together
from hushbandits.core.random.seed_text import plain
from hushbandits.guarantee_table import HEADS

_MOST = 400  # cells per table
#: Guarantees of a line for which the folder has none.
UNTOLD = (("not noted when these runs were played", *[""] * (len(HEADS) - 1)),)


class Table(NamedTuple):
    """A sortable table of a page, with a heading and notes; the columns in `left` contain texts."""

    heading: str
    heads: Sequence[str]
    rows: Sequence[Sequence[tables.Value]]
    left: Collection[int]
    notes: Sequence[str] = ()


def write(store: Store, path: Path, trusted: Collection[str] | None = None) -> Path:
    """Write the page of a store to `path`, atomically; all texts are escaped.

    `trusted`: theory functions that may be called; default: those of the built-in experiments.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("hushbandits.bench.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    env.filters |= {"written": tables.written, "key": _key, "several": _several}
    trusted = bounds() if trusted is None else trusted
    sessions = store.sessions()
    gone = {key: why for session in sessions for key, why in session.get("skipped", {}).items()} | store.skipped
    sections = [_section(store, e, gone, trusted) for e in store.experiments]
    wanted = {cell.key: (cell, e.runs) for e in sorted(store.experiments, key=lambda e: e.runs) for cell in e.cells()}
    asked = [(cell, runs) for key, (cell, runs) in wanted.items() if key not in gone]
    done = sum(len(store.rows.numbers(cell.key, runs)) for cell, runs in asked)
    total = sum(runs for _, runs in asked)
    mixed = len({about.get("sources") for about in sessions}) > 1
    page = env.get_template("page.html").render(
        store=store, done=done, total=total, sections=sections, sessions=sessions, mixed=mixed
    )
    with replacing(path) as out:
        out.write(page)
    return path


def _section(store: Store, experiment: Experiment, gone: dict[str, str], trusted: Collection[str]) -> dict[str, object]:
    lines = configurations(store, experiment)
    shown = figures(lines, experiment)
    promised = guarantees(store, experiment, [f.x for f in shown] or list(experiment.sweep)[:1])
    return {
        "experiment": experiment,
        "anchor": quote(experiment.name),
        "swept": [(symbol(k), v) for k, v in experiment.sweep.items()],
        "env": ", ".join(f"{k} = {json.dumps(plain(v), ensure_ascii=False)}" for k, v in experiment.env.params.items()),
        "drawn": inline(lines, experiment, trusted),
        "readings": list(dict.fromkeys(f.reading for f in shown if f.reading)),
        "notes": list(_notes(experiment, gone, trusted)),
        "tables": [
            *_claims(lines, experiment),
            _results(lines, experiment),
            *_comparison(lines, experiment),
            Table("Privacy", ("line", *HEADS), promised, range(10)),
        ],
        "data": json.dumps(experiment.to_dict(), indent=1, ensure_ascii=False),
    }


def guarantees(store: Store, experiment: Experiment, along: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Return the rows of the table of guarantees, without duplicates: a configuration's label, and a text per column.

    Lines have the names of a figure `along` these parameters.
    """
    sentence, found = noted(store), dict[tuple[str, ...], None]()
    for cell in experiment.cells():
        name = place({key: value for key, value in cell.point.items() if key not in along})
        for promise in sentence.get(cell.key, UNTOLD):
            found[", ".join(filter(None, (cell.line, name))), *promise] = None
    return list(found)


def _notes(experiment: Experiment, gone: dict[str, str], trusted: Collection[str]) -> Iterator[str]:
    if left := {cell.label: gone[cell.key] for cell in experiment.cells() if cell.key in gone}:
        whys = _several(list(dict.fromkeys(left.values())))
        yield f"Not run, because env, wrappers and agent are incompatible: {_several(list(left))}. {whys}"
    if strange := {path for f in experiment.figures for path in f.bounds.values()} - set(trusted):
        yield f"Not drawn: {_several(sorted(strange))}. A page calls no code that a folder names; your own run does."


def _several(names: Sequence[object]) -> str:
    return "; ".join(map(str, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _claims(lines: Sequence[Configuration], experiment: Experiment) -> Iterator[Table]:
    if not experiment.claims:
        return
    m = together(experiment)
    verdicts = judge(lines, experiment, m)
    rows: list[list[tables.Value]] = []
    for verdict in verdicts:
        worst, several = verdict.worst, len(verdict.findings)
        where = f"{worst.where} (worst of {several})" if worst and several > 1 else ""
        found: list[tables.Value] = [worst.effect, worst.interval if worst.runs else "(no run)"] if worst else ["", ""]
        about = [verdict.claim.sentence, ORIGINS[verdict.claim.origin], verdict.effect]
        rows.append([verdict.verdict, *about, *found, verdict.region, where])
    level = f"level 1 − {ALPHA:g}/{m}"
    note = (
        f"Judged together: {m} (Bonferroni, {level}). For means that level is simulated, for runs with no mode "
        f"rarer than one in {RAREST}; for other statistics exact."
    )
    counts = sentence(tally((verdict.claim.origin, verdict.verdict) for verdict in verdicts))
    heads = ["verdict", "claim", "whose", "effect", "is", f"interval, {level}", "claimed", "at"]
    yield Table("Claims", heads, rows, (0, 1, 2, 3, 7), [f"{counts[:1].upper()}{counts[1:]}.", note])


def _results(lines: Sequence[Configuration], experiment: Experiment) -> Table:
    swept = list(experiment.sweep)
    rows: list[list[tables.Value]] = [
        [row.cell.line, *(_cell(row.cell.point[p]) for p in swept), row.label, row.runs, *row.numbers]
        for row in tables.summaries(lines[:_MOST], experiment.metrics)
    ]
    notes = [f"{len(lines) - _MOST:,} more cells: hushbandits.load_results(folder).table()."] * (len(lines) > _MOST)
    notes.append(
        "Means: Student’s interval; medians: order statistics; rates: Clopper–Pearson. "
        "Agents of one experiment face the same arms, graphs and rewards."
    )
    return Table("Results", tables.columns(swept), rows, (0, len(swept) + 1), notes if rows else ["No runs yet."])


def _comparison(lines: Sequence[Configuration], experiment: Experiment) -> Iterator[Table]:
    found = comparisons(lines, next(iter(experiment.metrics), ""))
    several = len(found) > 1
    if body := [[*[one.where] * several, *row] for one in found for row in tables.rows(one)]:
        heads = [*["at"] * several, *tables.heads(found[0].level)]
        yield Table("Lines against each other", heads, body, range(2 + several), tables.notes(found))


def _cell(value: object) -> tables.Value:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _key(value: tables.Value) -> float | None:
    """Return the sort key of a cell: its number, −1e308 if it has no finite number, ``None`` for a text."""
    if isinstance(value, str):
        return None
    first = value[0] if isinstance(value, tuple) else value
    return float(first) if first is not None and math.isfinite(first) else -1e308
