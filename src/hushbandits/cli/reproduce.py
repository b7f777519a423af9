"""``hushbandits reproduce``: check whether the papers' claims hold."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.reproduce import expected, in_words, said, write
from hushbandits.bench.reproduce import papers as known
from hushbandits.bench.reproduce import reproduce as judged
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.pool import kept
from hushbandits.bench.spec.claim import ORIGINS
from hushbandits.cli.console import Played, Workers, note, say_cost


def reproduce(
    papers: Annotated[Positional[tuple[str, ...]], arg(metavar="[PAPER ...]")] = (),
    quick: bool = False,
    seed: int = 0,
    out: Path = Path("runs"),
    page: Path = Path("docs/reproduction.md"),
    archive: Annotated[Path | None, arg(name="from", metavar="FOLDER|FILE")] = None,
    dry_run: bool = False,
    workers: Played = Workers(),  # noqa: B008 - frozen
) -> int:
    """Run the experiments behind the papers' claims, and judge each claim.

    The verdicts are written to a page, where they replace older verdicts of the same paper. Examples:

      hushbandits reproduce feraud2019 --quick
      hushbandits reproduce
      hushbandits reproduce feraud2019 --from archive

    Parameters
    ----------
    papers
        Papers, such as rio2023; default: all papers.
    quick
        Run small versions, which leave most claims undecided; verdicts of full runs stay on the page.
    seed
        Master seed.
    out
        Folder of all results folders; existing results folders are continued.
    page
        Page to write.
    archive
        Archive with the rows to judge; nothing is played.
    dry_run
        Print cells, runs, memory and CPU minutes of what is missing, from short probes, and write nothing.
    """
    names, found = known(papers), []
    options = RunOptions(**vars(workers), dry_run=dry_run)
    with kept():
        if archive is None:
            say_cost(expected(names, out, seed, quick, options), table=dry_run, by_experiment=True)
        if dry_run:
            return 0
        for part in judged(names, out, seed=seed, quick=quick, options=options, archive=archive):
            found.append(part)
            print(f"{part.experiment.name} ({part.experiment.source or part.paper})")
            for verdict in part.verdicts:
                whose = "" if verdict.claim.origin == "paper" else f" ({ORIGINS[verdict.claim.origin]})"
                print(f"  {verdict.verdict:<14} {verdict.claim.sentence}{whose}\n{'':17}{in_words(verdict)}")
            for failure in part.failures:
                note(f"failed: {failure}")
    flags = f" --seed {seed}" + (" --quick" if quick else "")
    for name in write(page, found, {name: f"hushbandits reproduce {name}{flags}" for name in names}, quick):
        note(f"{page} keeps its full-scale verdicts of {name}")
    print(*said(found), page, sep="\n")
    return 1 if any(part.failures for part in found) else 0
