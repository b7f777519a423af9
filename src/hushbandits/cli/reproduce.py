"""``hushbandits reproduce``: does each of the papers' claims hold?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.runner.errors import StoreError
from hushbandits.cli.console import Played, Workers, bad_input_is_a_sentence, escape, make_console

__all__ = ["reproduce"]


def reproduce(
    papers: Annotated[Positional[tuple[str, ...]], arg(metavar="[PAPER ...]")] = (),
    quick: bool = False,
    seed: int = 0,
    out: Path = Path("runs"),
    page: Path = Path("docs/reproduction.md"),
    workers: Played = Workers(),  # noqa: B008 - frozen
) -> int:
    """Run what the papers' claims need, say of each whether it holds, and write the verdicts to a page.

    Parameters
    ----------
    papers
        Such as rio2023; default: all.
    quick
        Small versions: most claims stay undecided, and full verdicts on the page are kept.
    seed
        Master seed.
    out
        Where run folders are; those that exist already are used.
    page
        The page.
    """
    from hushbandits.bench.declare.claim import ORIGINS
    from hushbandits.bench.reproduce import in_words, said, write
    from hushbandits.bench.reproduce import papers as known
    from hushbandits.bench.reproduce import reproduce as judged

    console = make_console(stderr=True)
    with bad_input_is_a_sentence():
        names = known(papers)
        options = workers.options()
    found = []
    try:
        for part in judged(names, out, seed=seed, quick=quick, options=options):
            found.append(part)
            print(f"{part.experiment.name} ({part.experiment.source or part.paper})")
            for verdict in part.verdicts:
                whose = "" if verdict.claim.origin == "paper" else f" ({ORIGINS[verdict.claim.origin]})"
                print(f"  {verdict.verdict:<14} {verdict.claim.sentence}{whose}\n{'':17}{in_words(verdict)}")
            for failure in part.failures:
                console.print(f"[red]failed:[/] {escape(str(failure))}", soft_wrap=True)
    except KeyboardInterrupt:
        console.print(f"stopped; finished batches are in {escape(str(out))}; run the same command again to go on")
        return 130
    flags = f" --seed {seed}" + (" --quick" if quick else "")
    try:
        kept = write(page, found, {name: f"hushbandits reproduce {name}{flags}" for name in names}, quick)
    except OSError as error:
        raise StoreError(f"cannot write {page}: {(error.strerror or str(error)).lower()}") from None
    for name in kept:
        console.print(f"{escape(str(page))} keeps its full-scale verdicts of {name}")
    print(*said(found), sep="\n")
    print(page)
    return 1 if any(part.failures for part in found) else 0
