"""One self-contained HTML page per run folder: no external resource, readable on a phone and in the dark."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from hushbandits.bench.declare.canonical import plain
from hushbandits.bench.declare.catalog import bounds
from hushbandits.bench.declare.claim import ORIGINS
from hushbandits.bench.declare.looks import words
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.intervals import RAREST
from hushbandits.bench.judge.line import Line
from hushbandits.bench.judge.line import lines as read
from hushbandits.bench.judge.pairs import comparisons
from hushbandits.bench.judge.stages import Stages, together
from hushbandits.bench.judge.tally import tally, told
from hushbandits.bench.judge.verdicts import ALPHA, judge
from hushbandits.bench.play.natures import never
from hushbandits.bench.play.store import Store
from hushbandits.bench.show import compared
from hushbandits.bench.show.guarantees import guarantees
from hushbandits.bench.show.html import Block, Table, render
from hushbandits.bench.show.ink import CSS, SHAPES
from hushbandits.bench.show.plots import inline
from hushbandits.bench.show.series import drawable, figures
from hushbandits.bench.show.tables import Value, columns, summaries
from hushbandits.core.ground.files import replacing
from hushbandits.protection import HEADS

__all__ = ["write"]

_MOST = 400  # cells per table


def write(store: Store, path: Path, trusted: Collection[str] | None = None) -> Path:
    """Write the page of a store to `path`, whole or not at all.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.
    """
    trusted = bounds() if trusted is None else trusted
    done, total = _progress(store)
    sessions = store.sessions()
    last = sessions[-1][1] if sessions else {}
    page = render(
        names=", ".join(e.name for e in store.experiments),
        colours=CSS,
        shapes=SHAPES,
        title=_title(store),
        progress=f"{done:,} of {total:,} runs · seed {store.seed} · hushbandits {last.get('hushbandits', '')}",
        command=str(last.get("command", "")),
        missing=done < total,
        failures=_failures(store),
        sections=[_section(store, e, trusted) for e in store.experiments],
        sessions=[
            (started, [(k, str(v)) for k, v in about.items() if k not in ("privacy", "skipped")])
            for started, about in sessions
        ],
        mixed=len({about.get("sources") for _, about in sessions}) > 1,
    )
    with replacing(path) as out:
        out.write(page)
    return path


def _title(store: Store) -> str:
    if len(store.experiments) == 1:
        return store.experiments[0].title
    return store.path.parent.absolute().name


def _progress(store: Store) -> tuple[int, int]:
    done, asked = store.done(), Stages()(store)
    wanted: dict[str, int] = {}
    gone = never(store)
    for experiment in store.experiments:
        for cell in (c for c in experiment.cells() if c.key not in gone):
            wanted[cell.key] = max(wanted.get(cell.key, 0), asked[experiment.name])
    return sum(min(len(done[k]), n) for k, n in wanted.items()), sum(wanted.values())


def _section(store: Store, experiment: Experiment, trusted: Collection[str]) -> dict[str, object]:
    lines = read(store, experiment)
    shown = figures(lines, experiment)
    blocks = {name: block for name, make in _BLOCKS.items() if (block := make(lines, experiment)) is not None}
    strange = {path for f in experiment.figures for path in f.bounds.values()} - set(trusted)
    promised = guarantees(store, experiment, [f.x for f in shown] or list(experiment.sweep)[:1])
    rows = [(_several(names), *row[1:6]) for names, promises in promised for row in promises]
    return {
        "name": experiment.name,
        "anchor": quote(experiment.name),
        "title": experiment.title,
        "source": " · ".join(filter(None, (experiment.name, experiment.source))),
        "asked": _asked(experiment),
        "verdicts": _verdicts(blocks.get("claims")),
        "drawn": inline(store, experiment, trusted),
        "readings": list(dict.fromkeys(f.reading for f in shown if f.reading)),
        "notes": list(_notes(store, experiment, lines, strange)),
        "blocks": list(blocks.values()),
        "protection": Table(("line", *HEADS[1:6]), rows, range(6)),
        "guarantees": [
            (_several(names), [[pair for pair in zip(HEADS, row, strict=True) if pair[1]] for row in promises])
            for names, promises in promised
        ],
        "parameters": _parameters(experiment),
        "data": json.dumps(experiment.to_dict(), indent=1, ensure_ascii=False),
    }


def _notes(store: Store, experiment: Experiment, lines: Sequence[Line], strange: Collection[str]) -> Iterator[str]:
    gone = never(store)
    if left := [cell for cell in experiment.cells() if cell.key in gone]:
        whys = "; ".join(dict.fromkeys(gone[cell.key] for cell in left))
        yield f"Never played, for env, wrappers and agent cannot meet: {_several([c.label for c in left])}. {whys}"
    if strange:
        paths = ", ".join(sorted(strange))
        yield f"Not drawn: {paths}. A page calls no code that a store names; a run of your own does."
    if along := list(dict.fromkeys(f.x for f in experiment.figures if not drawable(experiment, f, lines))):
        yield f"No figure along {', '.join(along)} is drawn: that is neither swept nor measured."


def _several(names: Sequence[str]) -> str:
    return "; ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _asked(experiment: Experiment) -> str:
    """What was played, in a line."""
    parts = [_words(experiment.env)]
    parts += [f"{symbol(k)}: {', '.join(map(str, v[:12]))}{' …' * (len(v) > 12)}" for k, v in experiment.sweep.items()]
    n = len(experiment.lines())
    return " · ".join([*parts, f"{n} line{'s' * (n != 1)}", f"{words(experiment.looks, experiment.runs)} each"])


def _verdicts(claims: Block | None) -> str:
    """The claims counted by origin, from the table's first and third columns."""
    if claims is None or claims.table is None:
        return ""
    origins = {words: origin for origin, words in ORIGINS.items()}
    by = tally((origins[str(row[2])], str(row[0])) for row in claims.table.rows)
    return f"Claims: {told(by)}."


def _claims(lines: Sequence[Line], experiment: Experiment) -> Block | None:
    if not experiment.claims:
        return None
    m, looks = together(experiment), len(experiment.looks)
    share = f"{ALPHA:g}/({m} · {looks})" if looks else f"{ALPHA:g}/{m}"
    rows: list[list[Value]] = []
    for verdict in judge(lines, experiment, m):
        worst, several = verdict.worst, len(verdict.findings)
        where = f"{worst.where} (worst of {several})" if worst and several > 1 else ""
        found: list[Value] = [worst.effect, worst.interval if worst.runs else "(no run)"] if worst else ["", ""]
        said = [verdict.region, where, *([verdict.stage] if looks else [])]
        about = [verdict.claim.sentence, ORIGINS[verdict.claim.origin], verdict.effect]
        rows.append([verdict.verdict, *about, *found, *said])
    heads = ["verdict", "claim", "whose", "effect", "is", f"interval, level 1 − {share}", "claimed", "at"]
    note = (
        f"{m} claim{'s are' if m != 1 else ' is'} judged together (Bonferroni, level 1 − {share}). For means that "
        f"level is simulated, for runs with no mode rarer than one in {RAREST}; for other statistics exact."
    )
    if not looks:
        return Block("Claims", Table(heads, rows, (0, 1, 2, 3, 7)), [note])
    stages = (
        f"They are judged at {words(experiment.looks, experiment.runs)}, each time on the first of them and at that "
        f"level; the first look that decides a claim is its verdict. No more is played once all are decided."
    )
    return Block("Claims", Table([*heads, "look"], rows, (0, 1, 2, 3, 7, 8)), [note, stages])


def _results(lines: Sequence[Line], experiment: Experiment) -> Block:
    swept = list(experiment.sweep)
    rows: list[list[Value]] = [
        [row.cell.line, *(_cell(row.cell.point[p]) for p in swept), row.label, row.runs, *row.numbers]
        for row in summaries(lines[:_MOST], experiment.metrics)
    ]
    if not rows:
        return Block("Results", None, ["No runs yet."])
    left = len(lines) - _MOST
    more = [f"{left:,} more cells: hushbandits export."] if left > 0 else []
    note = (
        "Means: Student’s interval; medians: order statistics; rates: Clopper–Pearson. "
        "Agents of one experiment face the same arms, graphs and rewards."
    )
    return Block("Results", Table(columns(swept), rows, (0, len(swept) + 1)), [*more, note])


def _comparison(lines: Sequence[Line], experiment: Experiment) -> Block | None:
    found = comparisons(lines, next(iter(experiment.metrics), ""))
    pairs = [(one.where, row) for one in found for row in compared.rows(one)]
    if not pairs:
        return None
    several = len(found) > 1
    heads = [*(["at"] if several else []), *compared.heads(found[0].level)]
    body = [[where, *row] if several else list(row) for where, row in pairs]
    return Block("Lines against each other", Table(heads, body, range(2 + several)), compared.notes(found))


#: Parts of an experiment's section below its picture, in their order; one that has nothing to say is left out.
_BLOCKS: dict[str, Callable[[Sequence[Line], Experiment], Block | None]] = {
    "claims": _claims,
    "results": _results,
    "comparison": _comparison,
}


def _cell(value: object) -> Value:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _words(use: Use) -> str:
    pairs = ", ".join(f"{k} = {_value(v)}" for k, v in use.params.items())
    on = f" on {use.on}" if use.on else ""
    return f"{use.name}{on} ({pairs})" if pairs else f"{use.name}{on}"


def _value(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _parameters(experiment: Experiment) -> list[tuple[str, str]]:
    items = [("env", _words(experiment.env))]
    items += [(symbol(k), ", ".join(map(str, v))) for k, v in experiment.sweep.items()]
    for label, uses in experiment._choices().items():
        if uses:
            items.append((f"wrappers {label}".strip(), ", ".join(map(_words, uses))))
    items += [("agent", _words(a)) for a in experiment.agents]
    return [*items, ("runs per cell", words(experiment.looks, experiment.runs).rpartition(" ")[0])]


def _failures(store: Store) -> list[tuple[str, str]]:
    cells = {cell.key: cell for e in store.experiments for cell in e.cells()}
    return [
        (f"{cells[key].label}: runs {first}–{first + runs - 1} failed (seed {store.seed})", error)
        for key, first, runs, error in store.failures()
    ]
