"""``hushbandits run`` and ``hushbandits report``: run experiments, and rebuild the report of a results folder."""

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.report.ours import PAGE, check_ours
from hushbandits.bench.report.tables import print_tables
from hushbandits.bench.report.terminal import printable
from hushbandits.bench.run import run as played
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.runner.errors import unwritable
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.catalog import bounds, find
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.bench.spec.parts import plain_name
from hushbandits.cli.console import Played, Several, Workers, assignments, make_console, note, rare_gc, say_cost


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
    dry_run: bool = False,
) -> int:
    """Run or continue an experiment; print a table, draw figures, write a page.

    Results go to the folder of --out, one Parquet file per finished batch. The same command continues an interrupted
    run, and a larger --runs adds runs to an experiment without claims. Worker options, shards and interruptions
    change no number. Without --backend, one process plays what costs less than the start of others. Examples:

      hushbandits run quickstart
      hushbandits run rio2023-fig1 --quick
      hushbandits run dubey2020-fig1a --quick --set env.n_agents=30 --out runs/small
      hushbandits run quickstart-network --agents my_module:MyAgent --out runs/mine

    On several machines, use a Dask cluster, or run one shard per machine in a shared folder. Without a shared folder,
    copy the folders of all shards into one folder afterwards.

      hushbandits run rio2023 --backend dask --address tcp://scheduler:8786
      hushbandits run rio2023 --shard 1/2 --out runs/rio2023       (on one machine)
      hushbandits run rio2023 --shard 2/2 --out runs/rio2023       (on another)

    Parameters
    ----------
    name
        An experiment, a TOML file, or a paper for all its experiments; see hushbandits list.
    runs
        Runs per combination of env, wrappers and agent; default: as declared.
    seed
        Master seed.
    out
        Results folder; default: runs/NAME (with --quick: runs/NAME-quick).
    quick
        Run a small version, for a first look.
    set
        A parameter, such as env.n_agents=128, agent.epsilon=0.5 or checkpoints=20; a list replaces a sweep's values.
    agents
        Add a registered or user-defined agent.
    mix
        Continue although user code or a data file has changed; the folder then mixes old and new rows.
    skip_invalid
        Skip incompatible combinations of env, wrappers and agent; print a line about each combination.
    shard
        Play only every N-th batch, beginning with the I-th batch.
    dry_run
        Print cells, runs, memory and CPU minutes of what is missing, from short probes, and write nothing.
    """
    experiments = list(asked(name, runs, quick, set, agents))
    names = [e.name for e in experiments]
    folder = out or Path("runs") / (plain_name("name", Path(name).stem) + ("-quick" if quick else ""))
    expected = partial(say_cost, table=dry_run)
    options = RunOptions(**vars(workers), mix=mix, skip_invalid=skip_invalid, estimate=expected, dry_run=dry_run)
    check_ours(folder, names)
    outcome = played(experiments, folder, seed=seed, shard=shard, options=options)
    if dry_run:
        return 0
    print_tables(outcome.store, make_console())
    pages = [folder / PAGE, *(folder / f"{name}.png" for name in names)]
    if outcome.changed or outcome.failures or not all(page.exists() for page in pages):
        _publish(outcome.store, bounds(experiments))  # theory functions of the user's experiments may be called
    for failure in outcome.failures:
        note(f"failed: {failure}")
    if outcome.failures:
        note(f"{len(outcome.failures)} batches failed (tracebacks: {folder / PAGE}); all others are saved")
    elif shard is not None:
        note(f"shard {shard} is done; copy the folders of all shards into one, and run it without --shard")
    return 1 if outcome.failures else 0


def report(folder: Annotated[Positional[Path], arg(metavar="FOLDER")]) -> int:
    """Print the table of a results folder, and rebuild its figures and page.

    Parameters
    ----------
    folder
        A results folder, such as runs/quickstart.
    """
    store = Store(folder)
    print_tables(store, make_console())
    _publish(store)
    return 0


def asked(name: str, runs: int | None, quick: bool, set: Sequence[str], agents: Sequence[str]) -> Iterator[Experiment]:
    """Yield the experiments that the arguments describe; an experiment loses its claims if `set` changes its cells.

    Raises
    ------
    ValueError
        Among others, if more runs are requested than the claims are declared for.
    """
    changes = assignments("--set", set) | ({} if runs is None else {"runs": runs})
    for known in find(name):
        # An added agent is one of all agents: agent.… applies to it too.
        declared = (known.quickly() if quick else known).joined_by(map(Component, agents))
        e = declared.overriding(changes)
        if e.claims and {cell.key for cell in e.cells()} != {cell.key for cell in declared.cells()}:
            keys = ", ".join(key for key in changes if key != "runs")
            why = f"the values of {keys} differ from the declared values, so no claim is judged"
            warnings.warn(f"{e.name}: {why}", stacklevel=2)
            e = replace(e, claims=(), source="; ".join(filter(None, (e.source, why))), varied=True)
        if e.claims and e.runs > known.runs:
            most = f"the {known.runs} runs at which the claims of {e.name} are judged"
            raise ValueError(f"runs={e.runs} must be at most {most}; declare more runs in a TOML file of your own")
        yield e


@rare_gc()
def _publish(store: Store, trusted: Collection[str] | None = None) -> None:
    """Write figures and page of `store`, and print their paths; `trusted` lists theory functions that may be called."""
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
