"""Run the experiments behind a paper's claims, judge the claims, and write the verdicts to the reproduction page."""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hushbandits.bench.report.ours import PAGE, check_ours
from hushbandits.bench.report.tables import interval, number
from hushbandits.bench.runner.archive import read_archive
from hushbandits.bench.runner.batch import missing
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.runner.cost import estimate
from hushbandits.bench.runner.files import replacing
from hushbandits.bench.runner.options import Estimate, RunOptions, chosen_of
from hushbandits.bench.runner.run import Failure, Played, play
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.catalog import modules, reasons
from hushbandits.bench.spec.claim import ORIGINS, Origin
from hushbandits.bench.spec.experiment import Experiment
from hushbandits.bench.stats.verdicts import VERDICTS, Verdict, counted, judge, sentence, tally, together
from hushbandits.core.utils import nearest

#: A paper's section of the page, and a row of its tables.
_MARK = re.compile(r"<!-- (\w+) (full|quick) -->\n(.*?)\n<!-- end -->", re.S)
_ROW = re.compile(rf"^\| (?:\**({'|'.join(VERDICTS)})\** \| )?(?!verdict \||claim \|)(.*) \|$", re.M)


class Reproduction(NamedTuple):
    """Verdicts on the claims of one experiment, and its failed batches."""

    paper: str
    experiment: Experiment
    verdicts: list[Verdict]
    failures: list[Failure]


def papers(names: Sequence[str] = ()) -> list[str]:
    """Return `names` without duplicates; by default the names of all experiment modules that declare claims.

    Raises
    ------
    ValueError
        A name that is no such module.
    """
    known = [name for name, (_, experiments) in modules().items() if any(e.claims for e in experiments)]
    if strange := [name for name in names if name not in known]:
        raise ValueError(f"no experiments with claims are named {strange[0]!r}{nearest(strange[0], known)}")
    return list(dict.fromkeys(names)) or known


def claiming(paper: str, out: Path, quick: bool) -> list[tuple[Experiment, Path]]:
    """Return a paper's experiments with claims, each with its results folder in `out`."""
    declared = [e.quickly() if quick else e for e in modules()[paper][1] if e.claims]
    return [(e, out / (e.name + ("-quick" if quick else ""))) for e in declared]


def reproduce(
    names: Sequence[str], out: Path, *, seed: int = 0, quick: bool = False, options: RunOptions | None = None,
    archive: Path | None = None,
) -> Iterator[Reproduction]:  # fmt: skip
    """Run the experiments of the modules `names` one by one, judge their claims, and yield a `Reproduction` of each.

    While an experiment is played, the one before is judged.  Runs that a paper's experiments share are played once.
    With `archive`, a file or folder of ``python -m benchmarks archive``, nothing is run: its rows are judged.
    """
    chosen = chosen_of(options)
    with ThreadPoolExecutor(1) as judging:
        found = deque[Future[Reproduction]]()
        for paper in names:
            mine, stores = claiming(paper, out, quick), list[Store]()
            kept = archive and read_archive(archive, paper, [e for e, _ in mine], seed, quick)
            for experiment, folder in mine:
                if not kept:
                    check_ours(folder)
                outcome = Played(kept, 0, [], False) if kept else play([experiment], folder, seed, None, chosen, stores)
                stores.append(outcome.store)
                found.append(judging.submit(_judged, paper, experiment, outcome, None if kept else folder / PAGE))
                if len(found) > 1:
                    yield found.popleft().result()
        yield from (last.result() for last in found)


def expected(names: Sequence[str], out: Path, seed: int, quick: bool, options: RunOptions) -> Estimate:
    """Return the expected cost of what `reproduce` would play."""
    tasks, planned = [], dict[str, int]()  # how many runs of a cell are counted
    for experiment, folder in (found for paper in names for found in claiming(paper, out, quick)):
        for batch in missing(Store(folder, [experiment], seed)):
            if runs := tuple(run for run in batch.runs if run >= planned.get(batch.key, 0)):
                tasks.append((experiment.name, replace(batch, runs=runs)))
                planned[batch.key] = runs[-1] + 1
    return estimate(tasks, options)


def _judged(paper: str, experiment: Experiment, outcome: Played, page: Path | None) -> Reproduction:
    """Return the verdicts on an experiment that was played; write the `page` of its folder if rows changed."""
    if page is not None and (outcome.changed or not page.exists()):
        from hushbandits.bench.report.page import write  # this import loads Matplotlib

        write(outcome.store, page)
    verdicts = judge(configurations(outcome.store, experiment), experiment, together(experiment))
    return Reproduction(paper, experiment, verdicts, outcome.failures)


def in_words(verdict: Verdict) -> str:
    """Return as text the finding nearest to failing: the effect, its interval and the claimed region.

    Example: ``ratio of medians 1.96 [1.94, 1.98], at agents = 256 (worst of 3), claimed > 1.5``.
    """
    return f"{_measured(verdict)}, claimed {verdict.region}"


def _measured(verdict: Verdict) -> str:
    worst = verdict.worst
    if worst is None or not worst.runs:
        return "no runs at its points"
    time = verdict.claim.effect.time
    name = verdict.effect + ("" if time is None else f" at time {number(time)}")
    points = len(verdict.findings)
    where = f", at {worst.where}" if worst.where else ""
    where += f" (worst of {points})" if points > 1 else ""
    return f"{name} {number(worst.effect)} {interval(worst.interval)}{where}"


def said(found: Sequence[Reproduction]) -> list[str]:
    """Return a line per paper that counts verdicts by the claims' origin, and a last line that counts paper claims.

    The papers' claims are those whose origin is a paper.
    """
    by = {
        paper: tally((v.claim.origin, v.verdict) for r in found if r.paper == paper for v in r.verdicts)
        for paper in dict.fromkeys(r.paper for r in found)
    }
    of_papers = sum((counts["paper"] for counts in by.values()), Counter[str]())
    lines = [f"{paper}: {sentence(counts)}" for paper, counts in by.items()]
    return [*lines, f"of {of_papers.total()} claims of the papers: {counted(of_papers)}"]


def _row(found: Reproduction, verdict: Verdict) -> str:
    lead = {"holds": (), "does not hold": ("**does not hold**",)}.get(verdict.verdict, (verdict.verdict,))
    claim, runs = verdict.claim, min((f.runs for f in verdict.findings), default=0)
    whose = "" if claim.origin == "paper" else claim.origin
    place = _place(claim.source or found.experiment.source, found.experiment.source)
    cells = (*lead, claim.sentence, _measured(verdict), verdict.region, str(runs), whose, place)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _place(source: str, experiment: str) -> str:
    """Return `source` without the name of the paper that `experiment` cites.

    Examples
    --------
    >>> _place("Else 1999, figure 2", "own addition to Else 1999, table 1"), _place("More 2000, page 1", "Else 1999, x")
    ('figure 2', 'More 2000, page 1')
    """
    cited = experiment.removeprefix("own addition to ").partition(", ")[0]
    return source.removeprefix("own addition to ").removeprefix(f"{cited}, ")


def rows(section: str) -> list[tuple[str, list[str]]]:
    """Return the verdict and the other cells of each row of claims in a section of the page."""
    return [(verdict or "holds", cells.split(" | ")) for verdict, cells in _ROW.findall(section)]


def _tally(section: str) -> dict[Origin, Counter[str]]:
    """Return the counts of verdicts in a section's tables, by origin of the claim."""
    return tally((o, verdict) for verdict, cells in rows(section) for o in ORIGINS if o == (cells[-2] or "paper"))


def write(path: Path, found: Sequence[Reproduction], commands: dict[str, str], quick: bool) -> list[str]:
    """Write the sections of the papers in `found` to the page; a new section replaces the paper's older section.

    A quick run never replaces the section of a full run.

    Returns
    -------
    list of str
        Papers whose full section was kept.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(loader=PackageLoader("hushbandits.bench.report"), undefined=StrictUndefined, trim_blocks=True)
    scale = "quick" if quick else "full"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = {name: (size, text) for name, size, text in _MARK.findall(old)}
    kept = []
    for paper in dict.fromkeys(r.paper for r in found):
        if quick and sections.get(paper, ("",))[0] == "full":
            kept.append(paper)
            continue
        table = [_row(r, verdict) for r in found if r.paper == paper for verdict in r.verdicts]
        by = {verdict: [row for row in table if rows(row)[0][0] == verdict] for verdict in VERDICTS}
        whose = sentence(_tally("\n".join(table)))
        why = [(p, r) for p, r in reasons(paper).items() if any(p in rows(x)[0][1][0] for x in by["does not hold"])]
        sections[paper] = scale, env.get_template("reproduced.md").render(
            title=modules()[paper][0], command=commands[paper], scale=scale, n=len(table),
            whose=whose[:1].upper() + whose[1:], open=by["does not hold"] + by["undecided"], why=why, kept=by["holds"],
        ).rstrip()  # fmt: skip
    tallies = {name: _tally(text) for name, (_, text) in sections.items()}
    of_papers = sum((by["paper"] for by in tallies.values()), Counter[str]())
    overview = [
        (text.splitlines()[0].removeprefix("## ").partition(":")[0], size, map(counted, tallies[name].values()))
        for name, (size, text) in sorted(sections.items())
    ]
    page = env.get_template("reproduction.md").render(
        total=of_papers.total(), verdicts=counted(of_papers), overview=overview, sections=sorted(sections.items())
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as out:
        out.write(page.rstrip() + "\n")
    return kept
