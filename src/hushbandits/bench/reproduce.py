"""Run what a paper's claims need, judge them, and write the verdicts down."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hushbandits.bench.declare.catalog import modules, reasons
from hushbandits.bench.declare.claim import ORIGINS, Origin
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge.tally import VERDICTS, counted, tally, told
from hushbandits.bench.judge.verdicts import Verdict, judge, together
from hushbandits.bench.report.ours import PAGE, check_ours
from hushbandits.bench.report.tables import interval, number
from hushbandits.bench.run import run
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.run import Failure
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.validate import nearest

__all__ = ["Reproduction", "in_words", "papers", "planned", "reproduce", "said", "write"]

_PREFACE = """# Reproduction

Do the papers' claims hold? Every claim is a sentence that a run can contradict. Written by `hushbandits reproduce`; do
not edit.

"""
_GUIDE = """
A claim *holds* if the effect's interval lies inside the claimed region at each of its points, *does not hold* if it
lies outside at one of them, and is *undecided* otherwise. The claims of a paper are judged together. Tables show the
effect where it is nearest to failing. What does not hold comes first. `docs/statistics.md` says which interval a claim
gets and what a verdict promises.

Claims are of three kinds. *The paper's*: the paper says it. *Our reading*: a choice of ours decides what its sentence
means, such as a size or a setting that it does not state. *Own addition*: the paper does not say it.
"""
_HEAD = "| verdict | claim | effect | interval | runs | whose | source |\n|---|---|---|---|---|---|---|"
_ORIGINS: Mapping[str, Origin] = {words: origin for origin, words in ORIGINS.items()}


@dataclass(frozen=True)
class Reproduction:
    """Verdicts of one experiment, and what failed on the way."""

    paper: str
    experiment: Experiment
    verdicts: list[Verdict]
    failures: list[Failure]


def papers(names: Sequence[str] = ()) -> list[str]:
    """Return the modules of experiments that make claims; those of `names` if given.

    Raises
    ------
    ValueError
        A name is no such module.
    """
    known = [name for name, (_, experiments) in modules().items() if any(e.claims for e in experiments)]
    for name in names:
        if name not in known:
            raise ValueError(f"no claims are declared under {name!r}{nearest(name, known)}")
    return list(dict.fromkeys(names)) or known


def planned(names: Sequence[str], quick: bool = False) -> list[tuple[str, Experiment]]:
    """Return what `reproduce` plays, with the paper's name."""
    return [
        (paper, experiment.quickly() if quick else experiment)
        for paper in names
        for experiment in modules()[paper][1]
        if experiment.claims
    ]


def reproduce(
    names: Sequence[str], out: Path, *, seed: int = 0, quick: bool = False, options: RunOptions | None = None
) -> Iterator[Reproduction]:
    """Run and judge, one experiment after the other; each in the folder where ``hushbandits run`` puts it."""
    from hushbandits.bench.report.page import write  # which loads Matplotlib

    for paper, experiment in planned(names, quick):
        folder = out / (experiment.name + ("-quick" if quick else ""))
        check_ours(folder)
        outcome = run(experiment, folder, seed=seed, options=options)
        verdicts = judge(configurations(outcome.store, experiment), experiment, together(experiment))
        if outcome.changed or not (folder / PAGE).exists():
            write(outcome.store, folder / PAGE)
        yield Reproduction(paper, experiment, verdicts, outcome.failures)


def in_words(verdict: Verdict) -> str:
    """Say the effect, where it is nearest to failing, with its interval and the claimed region.

    As in ``ratio of medians 1.96 [1.94, 1.98], claimed > 1.5, at agents = 256 (worst of 3 points)``.
    """
    worst = verdict.worst
    if worst is None or not worst.runs:
        return "no runs at its points"
    name, time = verdict.effect, verdict.claim.effect.time
    if time is not None:
        name += f" at time {number(time)}"
    points = len(verdict.findings)
    where = f", at {worst.where}" if worst.where else ""
    where += f" (worst of {points} points)" if points > 1 else ""
    return f"{name} {number(worst.effect)} {interval(worst.interval)}, claimed {verdict.region}{where}"


def said(found: Sequence[Reproduction]) -> list[str]:
    """Return a line per paper, and one of all: verdicts of its claims, of our readings and of own additions."""
    by = {r.paper: tally(_pairs(found, r.paper)) for r in found}
    lines = [f"{paper}: {told(counts)}" for paper, counts in by.items()]
    papers = sum((counts["paper"] for counts in by.values()), Counter())
    return [*lines, f"of {papers.total()} claims of the papers: {counted(papers)}"]


def _pairs(found: Sequence[Reproduction], paper: str) -> list[tuple[Origin, str]]:
    return [(v.claim.origin, v.verdict) for r in found if r.paper == paper for v in r.verdicts]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _row(found: Reproduction, verdict: Verdict) -> str:
    cells = (
        _bold(verdict.verdict),
        verdict.claim.sentence,
        in_words(verdict),
        verdict.procedure,
        str(min((f.runs for f in verdict.findings), default=0)),
        ORIGINS[verdict.claim.origin],
        verdict.claim.source or found.experiment.source,
    )
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _bold(verdict: str) -> str:
    return f"**{verdict}**" if verdict != "undecided" else verdict


def _rows(section: str) -> dict[str, list[str]]:
    """The lines of a section's tables, by verdict."""
    lines = section.splitlines()
    return {verdict: [line for line in lines if line.startswith(f"| {_bold(verdict)} |")] for verdict in VERDICTS}


def _tally(section: str) -> dict[Origin, Counter[str]]:
    """The verdicts of a section's tables, by origin; those of a page from before there were any are not counted."""
    pairs = [(line.split(" | ")[-2], verdict) for verdict, lines in _rows(section).items() for line in lines]
    return tally((_ORIGINS[words], verdict) for words, verdict in pairs if words in _ORIGINS)


def _whys(rows: Sequence[str], why: Mapping[str, str]) -> list[str]:
    """A line for each reason that fits one of these rows' claims."""
    told = {next((part for part in why if part in row.split(" | ")[1]), None) for row in rows}
    return [f"- *{part}*: {reason}" for part, reason in why.items() if part in told]


def _section(title: str, command: str, scale: str, rows: Sequence[str], why: Mapping[str, str]) -> str:
    """A paper's verdicts: what does not hold, why, and what is open, then the rest, folded."""
    by = _rows("\n".join(rows))
    whose = told(_tally("\n".join(rows)))
    claims = f"{len(rows)} claim{'s' * (len(rows) != 1)}"
    lines = [
        f"## {title}",
        "",
        f"`{command}` · {scale} scale · {claims} judged together. {whose[0].upper()}{whose[1:]}.",
    ]
    if first := by["does not hold"] + by["undecided"]:
        lines += ["", _HEAD, *first]
    if whys := _whys(by["does not hold"], why):
        lines += ["", "Why these do not hold, as far as we know:", "", *whys]
    if kept := by["holds"]:
        summary = f"<details><summary>{len(kept)} claim{'s hold' if len(kept) != 1 else ' holds'}</summary>"
        lines += ["", summary, "", _HEAD, *kept, "", "</details>"]
    return "\n".join(lines)


def _overview(sections: dict[str, tuple[str, str]]) -> str:
    """How many of the papers' claims hold, and a line per paper: its claims, our readings and additions."""
    by = {text.splitlines()[0].removeprefix("## "): (scale, _tally(text)) for scale, text in sections.values()}
    papers = sum((counts["paper"] for _, counts in by.values()), Counter())
    lines = [
        f"**Of {papers.total()} claims of the papers: {counted(papers)}.**",
        "",
        "| paper | scale | the paper's claims | our readings | own additions |",
        "|---|---|---|---|---|",
        *(
            f"| {title} | {scale} | {' | '.join(map(counted, counts.values()))} |"
            for title, (scale, counts) in by.items()
        ),
    ]
    return "\n".join(lines) + "\n"


_MARK = re.compile(r"<!-- (\w+) (full|quick) -->\n(.*?)\n<!-- end -->", re.S)


def write(path: Path, found: Sequence[Reproduction], commands: dict[str, str], quick: bool) -> list[str]:
    """Put the papers' sections into the page, each in place of its older one.

    A quick run never replaces what a full one found.

    Returns
    -------
    list of str
        Papers whose full section was kept.
    """
    scale = "quick" if quick else "full"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = {name: (size, text) for name, size, text in _MARK.findall(old)}
    kept = []
    for paper in dict.fromkeys(r.paper for r in found):
        if quick and sections.get(paper, ("",))[0] == "full":
            kept.append(paper)
            continue
        rows = [_row(r, verdict) for r in found if r.paper == paper for verdict in r.verdicts]
        sections[paper] = scale, _section(modules()[paper][0], commands[paper], scale, rows, reasons(paper))
    sections = dict(sorted(sections.items()))
    marked = (f"<!-- {name} {size} -->\n{text}\n<!-- end -->\n" for name, (size, text) in sections.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as out:
        out.write("\n".join([_PREFACE + _overview(sections) + _GUIDE, *marked]))
    return kept
