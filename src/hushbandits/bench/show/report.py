"""One self-contained HTML page per run folder: no external resource, readable on a phone and in the dark."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from hushbandits.bench.declare.canonical import plain
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.judge.intervals import RAREST
from hushbandits.bench.judge.verdicts import ALPHA, judge
from hushbandits.bench.play.promised import groups
from hushbandits.bench.play.store import Store
from hushbandits.bench.show.files import replacing
from hushbandits.bench.show.plots import CSS, svg
from hushbandits.bench.show.tables import Line, interval, lines, number
from hushbandits.experiments import bounds, family
from hushbandits.protection import HEADS

__all__ = ["PAGE", "write"]

PAGE = "report.html"
#: What stands in a table: a text, or a text and what it is sorted by.
_Value = str | tuple[str, float | None]
_MOST = 400  # cells per table
_KINDS = {"holds": ["holds"], "does not hold": ["not"], "undecided": ["muted"]}

_STYLE = """
:root { color-scheme: light dark; LIGHT }
@media (prefers-color-scheme: dark) { :root { DARK } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(.9rem, 4vw, 2.5rem) 4rem; max-width: 68rem; color: var(--ink);
  background: var(--paper); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 3rem 0 .2rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
h1, h2, p, li { overflow-wrap: anywhere; } p { margin: .3rem 0; } .muted, small, caption { color: var(--muted); }
nav a { margin-right: 1rem; } a { color: var(--line0); }
.scroll { overflow: auto; max-height: 34rem; }
thead th { position: sticky; top: 0; background: var(--paper); }
figure { margin: 1rem 0; display: grid; gap: 1rem 1.5rem; }
figure.n1 { max-width: 46rem; } figure.n2 { grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
figure svg { display: block; width: 100%; height: auto; }
figure svg text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif !important; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .875rem; }
th, td { padding: .3rem .55rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th { color: var(--muted); font-weight: 600; border-bottom: 2px solid var(--grid); }
td.t, th.t { text-align: left; } td.wrap { white-space: normal; min-width: min(22rem, 60vw); }
th button { all: unset; cursor: pointer; } th button:focus-visible { outline: 2px solid var(--line0); }
th[aria-sort="ascending"] button::after { content: " ▲"; } th[aria-sort="descending"] button::after { content: " ▼"; }
tbody tr:hover { background: color-mix(in srgb, var(--grid) 45%, transparent); }
details { margin: .6rem 0; border: 1px solid var(--grid); border-radius: .5rem; padding: .4rem .8rem; }
summary { cursor: pointer; color: var(--muted); } pre { overflow-x: auto; font-size: .8rem; line-height: 1.45; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; font-size: .9rem; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
.holds, .not { font-weight: 600; } .holds { color: var(--line2); } .not { color: var(--line1); }
.warn { border-left: 4px solid var(--line1); padding: .2rem .8rem; margin: 1rem 0; }
"""

_SCRIPT = """
document.querySelectorAll("th button").forEach(function (button) {
  button.addEventListener("click", function () {
    var th = button.closest("th"), row = th.parentNode, body = th.closest("table").tBodies[0];
    var column = Array.prototype.indexOf.call(row.cells, th), up = th.getAttribute("aria-sort") !== "ascending";
    Array.prototype.forEach.call(row.cells, function (cell) { cell.removeAttribute("aria-sort"); });
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    var value = function (tr) {
      var td = tr.cells[column];
      return td.dataset.v === undefined ? td.textContent : +td.dataset.v;
    };
    Array.from(body.rows).sort(function (a, b) {
      var x = value(a), y = value(b);
      var order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    }).forEach(function (tr) { body.appendChild(tr); });
  });
});
"""


def write(store: Store, path: Path, trusted: Collection[str] | None = None) -> Path:
    """Write the page of a store to `path`, whole or not at all.

    `trusted`: bounds that may be called; default: those of the experiments that hushbandits ships.
    """
    trusted = bounds() if trusted is None else trusted
    names = ", ".join(e.name for e in store.experiments)
    done, total = _progress(store)
    style = _STYLE.replace("LIGHT", CSS["light"]).replace("DARK", CSS["dark"])
    head = f"<title>{escape(names)} · hushbandits</title><style>{style}</style>"
    sessions = store.sessions()
    intro = [
        f"<h1>{escape(_title(store))}</h1>",
        f'<p class="muted">{done:,} of {total:,} runs · seed {escape(str(store.seed))} · hushbandits '
        f"{escape(str(sessions[-1][1].get('hushbandits', '')) if sessions else '')}</p>",
    ]
    if len(store.experiments) > 1:
        links = (f'<a href="#{quote(e.name)}">{escape(e.name)}</a>' for e in store.experiments)
        intro.append(f"<nav>{' '.join(links)}</nav>")
    if done < total:
        intro.append('<p class="warn">Some runs are missing; the same command goes on where it stopped.</p>')
    body = "".join(
        [*intro, *_failures(store), *(_section(store, e, trusted) for e in store.experiments), _provenance(store)]
    )
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"{head}</head><body>{body}<script>{_SCRIPT}</script></body></html>\n"
    )
    with replacing(path) as out:
        out.write(page)
    return path


def _title(store: Store) -> str:
    if len(store.experiments) == 1:
        return store.experiments[0].title
    return store.path.parent.absolute().name


def _progress(store: Store) -> tuple[int, int]:
    done = store.done()
    wanted: dict[str, int] = {}
    for experiment in store.experiments:
        for cell in experiment.cells():
            wanted[cell.key] = max(wanted.get(cell.key, 0), experiment.runs)
    return sum(min(len(done[k]), n) for k, n in wanted.items()), sum(wanted.values())


def _section(store: Store, experiment: Experiment, trusted: Collection[str]) -> str:
    parts = [f'<section id="{escape(experiment.name)}">']
    if len(store.experiments) > 1:
        parts.append(f"<h2>{escape(experiment.title)}</h2>")
    source = f" · {escape(experiment.source)}" if experiment.source else ""
    parts.append(f'<p class="muted">{escape(experiment.name)}{source}</p>')
    pictures = svg(store, experiment, trusted)
    if pictures:
        parts.append(f'<figure class="n{min(2, len(pictures))}">{"".join(pictures)}</figure>')
    strange = {path for f in experiment.figures for path in f.bounds.values()} - set(trusted)
    if strange:
        left = (
            f"Not drawn: {', '.join(sorted(strange))}. A page calls no code that a store names; a run of your own does."
        )
        parts.append(f'<p class="muted">{escape(left)}</p>')
    parts += [_claims(store, experiment), _results(store, experiment), _privacy(store, experiment)]
    parts += [_parameters(experiment), "</section>"]
    return "".join(parts)


def _results(store: Store, experiment: Experiment) -> str:
    swept = list(experiment.sweep)
    heads = ["agent", *map(symbol, swept), "metric", "runs", "mean", "95 % of the mean", "median", "95 % of the median"]
    texts = {0, len(swept) + 1}
    rows = [_row(line, swept) for line in lines(store, experiment, _MOST)]
    if not rows:
        return '<p class="muted">No runs yet.</p>'
    left = len(experiment.cells()) - _MOST
    more = f'<p class="muted">{left:,} more cells: hushbandits export.</p>' if left > 0 else ""
    note = (
        "Means: Student’s interval; medians: order statistics; rates: Clopper–Pearson. "
        "Agents of one experiment face the same arms, graphs and rewards."
    )
    return f"<h3>Results</h3>{table(heads, rows, texts)}{more}<p><small>{note}</small></p>"


def _privacy(store: Store, experiment: Experiment) -> str:
    parts = []
    for labels, rows in groups(store, experiment):
        several = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        name = escape("; ".join(labels[:3]) + several)
        parts.append(f"<details><summary>{name}</summary>{table(HEADS, rows, range(len(HEADS)))}</details>")
    return f"<h3>Privacy</h3>{''.join(parts)}" if parts else ""


def _claims(store: Store, experiment: Experiment) -> str:
    if not experiment.claims:
        return ""
    m = family(experiment.name) or len(experiment.claims)
    rows: list[list[_Value]] = []
    for verdict in judge(store, experiment, m):
        worst, claim = verdict.worst, verdict.claim
        where = f"{worst.where} (worst of {len(verdict.findings)})" if worst and len(verdict.findings) > 1 else ""
        span = worst.interval if worst else None
        rows.append(
            [
                verdict.verdict,
                claim.sentence,
                verdict.effect,
                (number(worst.effect), worst.effect) if worst else "",
                (interval(span), span[0]) if span else "",
                verdict.region,
                where,
            ]
        )
    heads = ("verdict", "claim", "effect", "is", f"interval, level 1 − {ALPHA:g}/{m}", "claimed", "at")
    return (
        f"<h3>Claims</h3>{table(heads, rows, (0, 1, 2, 6))}"
        f"<p><small>{m} claims are judged together (Bonferroni, level 1 − {ALPHA:g}/{m}). For means that "
        f"level is simulated, for runs with no mode rarer than one in {RAREST}; for other statistics exact.</small></p>"
    )


def _row(line: Line, swept: Sequence[str]) -> list[_Value]:
    return [
        line.cell.line,
        *(_cell(line.cell.point[p]) for p in swept),
        line.label,
        (number(line.runs), line.runs),
        (number(line.mean), line.mean),
        (interval(line.mean_interval), line.mean_interval[0]),
        (number(line.median), line.median),
        (interval(line.median_interval), line.median_interval[0] if line.median_interval else None),
    ]


def _cell(value: object) -> _Value:
    return (number(value), value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def table(heads: Sequence[str], rows: Iterable[Sequence[_Value]], texts: Iterable[int] = ()) -> str:
    """Return a sortable table; a value is a text, or a pair (text, number to sort by); columns `texts` stand left."""
    left = set(texts)

    def mark(i: int) -> str:
        return ' class="t"' if i in left else ""

    def data(i: int, value: _Value) -> str:
        if not isinstance(value, tuple):
            text = str(value)
            kinds = ["t"] * (i in left) + ["wrap"] * (len(text) > 40) + _KINDS.get(text, [])
            shown = f' class="{" ".join(kinds)}"' if kinds else ""
            return f"<td{shown}>{escape(text)}</td>"
        text, key = value
        # What has no number sorts below everything.
        key = -1e308 if key is None or key != key or key in (float("inf"), float("-inf")) else float(key)
        return f'<td{mark(i)} data-v="{key!r}">{escape(text)}</td>'

    top = "".join(f"<th{mark(i)} scope=col><button>{escape(h)}</button></th>" for i, h in enumerate(heads))
    body = "".join("<tr>" + "".join(data(i, v) for i, v in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _words(use: Use) -> str:
    pairs = ", ".join(f"{k} = {_value(v)}" for k, v in use.params.items())
    on = f" on {use.on}" if use.on else ""
    return f"{use.name}{on} ({pairs})" if pairs else f"{use.name}{on}"


def _value(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _parameters(experiment: Experiment) -> str:
    items = [("env", _words(experiment.env))]
    items += [(symbol(k), ", ".join(map(str, v))) for k, v in experiment.sweep.items()]
    for label, uses in experiment._choices().items():
        if uses:
            items.append((f"wrappers {label}".strip(), ", ".join(map(_words, uses))))
    items += [("agent", _words(a)) for a in experiment.agents]
    items.append(("runs per cell", str(experiment.runs)))
    spec = json.dumps(experiment.to_dict(), indent=1, ensure_ascii=False)
    return (
        f"<details><summary>Parameters</summary>{_list(items)}"
        f"<details><summary>As data</summary><pre>{escape(spec)}</pre></details></details>"
    )


def _list(items: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in items) + "</dl>"


def _failures(store: Store) -> list[str]:
    cells = {cell.key: cell for e in store.experiments for cell in e.cells()}
    parts = []
    for key, first, runs, error in store.failures():
        what = f"{cells[key].label}: runs {first}–{first + runs - 1} failed (seed {store.seed})"
        parts.append(f'<div class="warn"><p>{escape(what)}</p><pre>{escape(error)}</pre></div>')
    return parts


def _provenance(store: Store) -> str:
    sessions = store.sessions()
    if not sessions:
        return ""
    parts = ["<h2>Provenance</h2>"]
    if len({about.get("sources") for _, about in sessions}) > 1:
        parts.append('<p class="warn">These rows were made by more than one version of the source code.</p>')
    for started, about in sessions:
        items = [(k, str(v)) for k, v in about.items() if k != "privacy"]
        parts.append(f"<details><summary>Session of {escape(started)}</summary>{_list(items)}</details>")
    return "".join(parts)
