"""``hushbandits run`` and ``hushbandits report``."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.declare.catalog import bounds, find
from hushbandits.bench.declare.parts import plain_name
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.report.ours import PAGE, check_ours
from hushbandits.bench.report.tables import print_tables
from hushbandits.bench.report.terminal import printable
from hushbandits.bench.run import run as played
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.runner.errors import unwritable
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.store import Store
from hushbandits.cli.console import Played, Several, Workers, assignments, make_console, note

__all__ = ["asked", "report", "run"]


def run(
    name: Annotated[Positional[str], arg(metavar="NAME|FILE.toml")],
    runs: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    quick: bool = False,
    set: Annotated[Several, arg(metavar="KEY=VALUE")] = (),
    agents: Annotated[Several, arg(metavar="NAME|MODULE:CLASS")] = (),
    workers: Played = Workers(),  # noqa: B008 - frozen
    mix: bool = False,
    skip_invalid: bool = False,
    shard: Annotated[str | None, arg(metavar="I/N")] = None,
) -> int:
    """Run an experiment, or continue one; show a table, draw pictures, write a page.

    Results go to the folder of --out, one Parquet file per finished batch. A stopped run continues with the same
    command, and an experiment without claims gets more runs with a larger --runs; no option of the workers, no shard
    and no interruption changes a number. Examples:

      hushbandits run quickstart
      hushbandits run rio2023-fig1 --quick
      hushbandits run dubey2020-fig1a --quick --set env.n_agents=30 --out runs/small
      hushbandits run quickstart-network --agents my_module:MyAgent --out runs/mine

    On more than one machine: let a Dask cluster play, or let each machine play a part, in one shared folder or in
    folders that are then copied into one:

      hushbandits run rio2023 --backend dask --address tcp://scheduler:8786
      hushbandits run rio2023 --shard 1/2 --out runs/rio2023       (on one machine)
      hushbandits run rio2023 --shard 2/2 --out runs/rio2023       (on another)

    Parameters
    ----------
    name
        An experiment, or all of a paper's; see hushbandits list.
    runs
        Runs per cell; by default as declared.
    seed
        Master seed.
    out
        Folder of the results; default: runs/NAME (with --quick: runs/NAME-quick).
    quick
        A small version, for a first look.
    set
        A parameter, such as env.n_agents=128, agent.epsilon=0.5, checkpoints=20 (repeatable; a list replaces a sweep).
    agents
        One more agent that joins in: a registered one, or your own (repeatable).
    mix
        Go on in a folder although own code or a data file was edited since: old and new rows mix.
    skip_invalid
        Leave out cells whose env, wrappers and agent cannot be combined, with a line about each.
    shard
        Play every N-th batch only, from the I-th on.
    """
    experiments = asked(name, runs, quick, set, agents)
    names = [e.name for e in experiments]
    folder = out or Path("runs") / (plain_name("name", Path(name).stem) + ("-quick" if quick else ""))
    options = RunOptions(**vars(workers), mix=mix, skip_invalid=skip_invalid)
    check_ours(folder, names)
    outcome = played(experiments, folder, seed=seed, shard=shard, options=options)
    print_tables(outcome.store, make_console())
    pages = [folder / PAGE, *(folder / f"{name}.png" for name in names)]
    if outcome.changed or outcome.failures or not all(page.exists() for page in pages):
        _publish(outcome.store, bounds(experiments))  # what was asked for is the user's own
    for failure in outcome.failures:
        note(f"failed: {failure}")
    if outcome.failures:
        note(f"{len(outcome.failures)} batches failed (tracebacks: {folder / PAGE}); the rest is done")
    elif shard is not None:
        note(f"shard {shard} is done; copy the folders of all shards into one, and run it without --shard")
    return 1 if outcome.failures else 0


def report(folder: Annotated[Positional[Path], arg(metavar="FOLDER")]) -> int:
    """Show the table of a results folder, and write its pictures and page anew.

    Parameters
    ----------
    folder
        Such as runs/quickstart.
    """
    store = Store(folder)
    print_tables(store, make_console())
    _publish(store)
    return 0


def asked(
    name: str, runs: int | None, quick: bool, set: Sequence[str], agents: Sequence[str]
) -> tuple[Experiment, ...]:
    """Return the experiments that the arguments describe; one whose cells are not those of its claims judges none.

    Raises
    ------
    ValueError
        Among others, where claims would be judged in more runs than they are declared for, and nobody says so.
    """
    changes = assignments("--set", set) | ({} if runs is None else {"runs": runs})
    found = []
    for known in find(name):
        # Who joins in is one of all agents: agent.… is for them too.
        declared = (known.quickly() if quick else known).joined_by(map(Use, agents))
        e = declared.overriding(changes)
        if e.claims and {cell.key for cell in e.cells()} != {cell.key for cell in declared.cells()}:
            keys = ", ".join(key for key in changes if key != "runs")
            why = f"{keys} set otherwise than declared, so that no claim is judged"
            warnings.warn(f"{e.name}: {why}", stacklevel=2)
            e = replace(e, claims=(), source="; ".join(filter(None, (e.source, why))), varied=True)
        if e.claims and e.runs > known.runs:
            raise ValueError(
                f"runs={e.runs}: the claims of {e.name} are judged once, at {known.runs} runs; more runs need a "
                f"declaration of their own (a TOML file)"
            )
        found.append(e)
    return tuple(found)


def _publish(store: Store, trusted: Collection[str] | None = None) -> None:
    """Write pictures and page, and say where; `trusted`: bounds that may be called, default: the shipped ones."""
    from hushbandits.bench.report.figures import pictures
    from hushbandits.bench.report.page import write

    folder = store.path
    check_ours(folder, [e.name for e in store.experiments])
    try:
        drawn = [pictures(configurations(store, e), e, folder, trusted) for e in store.experiments]
        page = write(store, folder / PAGE, trusted)
    except OSError as error:
        raise unwritable(folder, error) from None
    for paths in filter(None, drawn):
        print(printable(f"{paths[0]} ({', '.join(path.suffix for path in paths[1:])})"))
    print(printable(page))
