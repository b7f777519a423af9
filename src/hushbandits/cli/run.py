"""``hushbandits run`` and ``hushbandits report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.declare.shapes import plain_name
from hushbandits.bench.runner.plan import parse_shard
from hushbandits.bench.runner.store import Store
from hushbandits.cli.console import Played, Several, Workers, asked, bad_input_is_a_sentence, into, publish, show

__all__ = ["report", "run"]


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
    with bad_input_is_a_sentence():
        experiments = asked(name, runs, quick, set, agents)
        if shard is not None:
            parse_shard(shard)
        folder = out or Path("runs") / (plain_name("name", Path(name).stem) + ("-quick" if quick else ""))
        options = workers.options(mix, skip_invalid)
    return into(folder, experiments, seed, options, shard)


def report(folder: Annotated[Positional[Path], arg(metavar="FOLDER")]) -> int:
    """Show the table of a results folder, and write its pictures and page anew.

    Parameters
    ----------
    folder
        Such as runs/quickstart.
    """
    with bad_input_is_a_sentence():
        store = Store(folder)
        show(store)
        publish(store)
    return 0
