"""``hushbandits reproduce``: does each of the papers' claims hold?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.play.errors import StoreError
from hushbandits.cli.console import Backend, Looks, bad_input_is_a_sentence, escape, make_console

__all__ = ["reproduce"]


def reproduce(
    papers: Annotated[Positional[tuple[str, ...]], arg(metavar="[PAPER ...]")] = (),
    quick: bool = False,
    looks: Looks = None,
    seed: int = 0,
    jobs: int = -1,
    out: Path = Path("runs"),
    page: Path = Path("docs/reproduction.md"),
    backend: Backend = None,
    address: str | None = None,
    patience: float | None = None,
) -> int:
    """Run what the papers' claims need, say of each whether it holds, and write the verdicts to a page.

    Parameters
    ----------
    papers
        Such as rio2023; default: all.
    quick
        Small versions: most claims stay undecided, and full verdicts on the page are kept.
    looks
        Numbers of runs at which claims are judged as well, before those that are declared, such as 100,200: what is
        decided by then is played no further. The price is a wider interval at each.
    seed
        Master seed.
    jobs
        Processes; -1: one per core.
    out
        Where run folders are; those that exist already are used.
    page
        The page.
    backend, address, patience
        As in hushbandits run.
    """
    from hushbandits.bench.declare.claim import ORIGINS
    from hushbandits.bench.declare.looks import parsed
    from hushbandits.bench.play.players import Players
    from hushbandits.bench.reproduce import in_words, planned, said, write
    from hushbandits.bench.reproduce import papers as known
    from hushbandits.bench.reproduce import reproduce as judged

    console = make_console(stderr=True)
    with bad_input_is_a_sentence():
        names = known(papers)
        players = Players(jobs, backend, address, patience=patience)
        at = () if looks is None else parsed(looks)
        planned(names, quick, at)
    found = []
    try:
        for part in judged(names, out, seed=seed, players=players, quick=quick, looks=at):
            found.append(part)
            print(f"{part.experiment.name} ({part.experiment.source or part.paper})")
            for verdict in part.verdicts:
                whose = "" if verdict.claim.origin == "paper" else f" ({ORIGINS[verdict.claim.origin]})"
                print(f"  {verdict.verdict:<14} {verdict.claim.sentence}{whose}\n{'':17}{in_words(verdict)}")
            for failure in part.failures:
                console.print(f"[red]failed:[/] {escape(str(failure))}", soft_wrap=True)
    except KeyboardInterrupt:
        console.print(f"stopped; what is done is in {escape(str(out))}, and the same command goes on from there")
        return 130
    flags = f" --seed {seed}" + (" --quick" if quick else "") + (f" --looks {','.join(map(str, at))}" if at else "")
    try:
        kept = write(page, found, {name: f"hushbandits reproduce {name}{flags}" for name in names}, quick)
    except OSError as error:
        raise StoreError(f"cannot write {page}: {(error.strerror or str(error)).lower()}") from None
    for name in kept:
        console.print(f"{escape(str(page))} keeps its full-scale verdicts of {name}")
    print(*said(found), sep="\n")
    print(page)
    return 1 if any(part.failures for part in found) else 0
