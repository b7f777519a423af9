"""Run what a paper's claims need, judge them, and write the verdicts down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge.intervals import RAREST
from hushbandits.bench.judge.stages import check_looks, together
from hushbandits.bench.judge.verdicts import ALPHA, Verdict, judge
from hushbandits.bench.play.players import Players
from hushbandits.bench.play.run import Failure
from hushbandits.bench.run import begin, go_on
from hushbandits.bench.show.report import PAGE
from hushbandits.bench.show.report import write as write_report
from hushbandits.bench.show.tables import interval, number
from hushbandits.core.ground.files import replacing
from hushbandits.core.ground.validate import nearest
from hushbandits.experiments import modules

__all__ = ["Reproduction", "in_words", "papers", "planned", "reproduce", "write"]

_PREFACE = f"""# Reproduction

What the papers say, as claims that a run can contradict. Every line is one claim: its effect where it is nearest to
failing, the interval, and the verdict. Written by `hushbandits reproduce`; do not edit.

A claim *holds* if the effect's interval lies inside the claimed region at each of its points, it *does not hold* if
the interval lies outside at one of them, and it is *undecided* at this scale otherwise. The m claims of a paper are
judged together: intervals have level 1 − {ALPHA:g}/m (Bonferroni); a claim of P points is rejected at one of them only
at level 1 − {ALPHA:g}/(mP). Where an experiment has looks, L numbers of runs declared beforehand, its claims are judged
at each of them in turn, with {ALPHA:g}/L for {ALPHA:g}; the first look that decides a claim is its verdict.

What that promises. Medians, interquartile means and rates, also their differences, ratios and slopes: a wrong verdict
among the m has a chance of at most {ALPHA:g}, whatever the law of the runs. Means (Student's t corrected for skewness;
for ratios after Fieller, for slopes on logarithms): no interval of a mean is valid for all laws. By simulation the
chance is at most {ALPHA:g} for runs that are normal, exponential, of two modes, or of a rare mode of probability
1/{RAREST} or more; a rarer mode, or a law much more skewed than the exponential, can make it larger. With fewer than
{RAREST} ln(m/{ALPHA:g}) runs a claim on means is undecided. Who gets which interval, and the simulated numbers:
`docs/harness.md`, Claims.
"""


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


def planned(names: Sequence[str], quick: bool = False, looks: Sequence[int] = ()) -> list[tuple[str, Experiment]]:
    """Return what `reproduce` plays, with the paper's name.

    Raises
    ------
    ValueError
        The first look is too early for a claim.
    """
    found = []
    for paper in names:
        for experiment in modules()[paper][1]:
            if experiment.claims:
                scaled = experiment.quickly() if quick else experiment
                found.append((paper, scaled.staged(looks) if looks else scaled))
    for _, experiment in found:
        check_looks(experiment)
    return found


def reproduce(
    names: Sequence[str], out: Path, *, seed: int = 0, players: Players, quick: bool = False,
    progress: bool = True, looks: Sequence[int] = (),
) -> Iterator[Reproduction]:  # fmt: skip
    """Run and judge, one experiment after the other; each in the folder where ``hushbandits run`` puts it.

    `looks`: numbers of runs at which claims are judged as well, instead of those that are declared.
    """
    for paper, experiment in planned(names, quick, looks):
        folder = out / (experiment.name + ("-quick" if quick else ""))
        opened = begin([experiment], folder, seed)
        outcome = go_on(opened, players, progress=progress)
        with outcome.store as store:
            verdicts = judge(store, experiment, together(experiment))
            if outcome.played or store.restyled or not (folder / PAGE).exists():
                write_report(store, folder / PAGE)
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
    stage = f"; {verdict.stage}" if verdict.stage else ""
    return f"{name} {number(worst.effect)} {interval(worst.interval)}, claimed {verdict.region}{where}{stage}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _section(paper: str, found: Sequence[Reproduction], command: str, scale: str) -> str:
    claims = sum(len(r.verdicts) for r in found)
    verdicts = [v.verdict for r in found for v in r.verdicts]
    words = {"holds": "hold", "does not hold": "do not hold", "undecided": "undecided"}
    tally = ", ".join(f"{verdicts.count(v)} {word}" for v, word in words.items() if v in verdicts)
    lines = [
        f"## {modules()[paper][0]}",
        "",
        f"`{command}` · {scale} scale · {claims} claims judged together: {tally}.",
        "",
        "| verdict | claim | effect | interval | runs | source |",
        "|---|---|---|---|---|---|",
    ]
    for r in found:
        for v in r.verdicts:
            runs = min((f.runs for f in v.findings), default=0)
            cells = (
                f"**{v.verdict}**" if v.verdict != "undecided" else v.verdict,
                v.claim.sentence,
                in_words(v),
                v.procedure,
                str(runs),
                v.claim.source or r.experiment.source,
            )
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join(lines)


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
        mine = [r for r in found if r.paper == paper]
        sections[paper] = scale, _section(paper, mine, commands[paper], scale)
    marked = (f"<!-- {name} {size} -->\n{text}\n<!-- end -->\n" for name, (size, text) in sorted(sections.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as out:
        out.write("\n".join([_PREFACE, *marked]))
    return kept
