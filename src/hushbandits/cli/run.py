"""``hushbandits run``, and what is made of its folders: ``merge`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.declare.shapes import plain_name
from hushbandits.bench.play.plan import parse_shard
from hushbandits.bench.play.players import Players
from hushbandits.bench.play.store import FILE, Store
from hushbandits.cli.console import Backend, Looks, Several, asked, bad_input_is_a_sentence, into, publish, show

__all__ = ["merge", "report", "run"]


def run(
    name: Annotated[Positional[str], arg(metavar="NAME|FILE.toml")],
    runs: int | None = None,
    seed: int = 0,
    jobs: int = -1,
    out: Path | None = None,
    quick: bool = False,
    set: Annotated[Several, arg(metavar="KEY=VALUE")] = (),
    agents: Annotated[Several, arg(metavar="NAME|MODULE:CLASS")] = (),
    looks: Looks = None,
    accept_edits: bool = False,
    skip_invalid: bool = False,
    backend: Backend = None,
    address: str | None = None,
    patience: float | None = None,
    shard: Annotated[str | None, arg(metavar="I/N")] = None,
) -> int:
    """Run an experiment, or go on with one; show a table, draw pictures, write a page.

    Results go to one SQLite file in the folder of --out. A stopped run goes on with the same command, and what makes
    no claims gets more runs with a larger --runs; neither --jobs, --backend, --shard nor an interruption changes a
    number. Examples:

      hushbandits run quickstart
      hushbandits run rio2023-fig1 --quick
      hushbandits run dubey2020-fig1a --quick --set env.n_agents=30 --out runs/small
      hushbandits run quickstart-network --agents my_module:MyAgent --out runs/mine

    On more than one machine: let a cluster play, or let each machine play a part and put the folders together:

      hushbandits run rio2023 --backend dask --address tcp://scheduler:8786
      hushbandits run rio2023 --backend slurm --jobs 64 --address slurm_partition=short,timeout_min=120
      hushbandits run rio2023 --shard 1/2 --out runs/first       (on one machine)
      hushbandits run rio2023 --shard 2/2 --out runs/second      (on another)
      hushbandits merge runs/first runs/second --out runs/rio2023

    Parameters
    ----------
    name
        An experiment, or all of a paper's; see hushbandits list.
    runs
        Runs per cell; by default as declared.
    seed
        Master seed.
    jobs
        Processes; -1: one per core.
    out
        Folder of the results; default: runs/NAME (with --quick: runs/NAME-quick).
    quick
        A small version, for a first look.
    set
        A parameter, such as env.n_agents=128, agent.epsilon=0.5, checkpoints=20 (repeatable; a list replaces a sweep).
    agents
        One more agent that joins in: a registered one, or your own (repeatable).
    looks
        Numbers of runs at which claims are judged as well, such as 48,100, in the place of those that are declared: it
        is played from one to the next, and no further once all claims are decided; --runs is the last one.
    accept_edits
        Go on in a folder although own code or a data file was edited since: old and new rows mix.
    skip_invalid
        Leave out cells whose env, wrappers and agent cannot meet, with a line about each.
    backend
        Who plays: serial (this process), processes (of this machine), dask or slurm (a cluster, or without --address,
        for slurm with --address local, one on this machine); default: processes, serial for one job.
    address
        Of the cluster: Dask's scheduler; for slurm options of submitit.
    patience
        Seconds without any answer after which workers are taken for hung: processes are ended and tried again, others
        are named.
    shard
        Play only the I-th of N parts, for machines that share nothing; default folder: runs/NAME-IofN.
    """
    with bad_input_is_a_sentence():
        experiments = asked(name, runs, quick, set, agents, looks)
        players = Players(jobs, backend, address, patience=patience)
        part = parse_shard(shard) if shard is not None else (1, 1)
        of = "" if part == (1, 1) else "-{}of{}".format(*part)
        folder = out or Path("runs") / (plain_name("name", Path(name).stem) + ("-quick" if quick else "") + of)
    return into(folder, experiments, seed, players, accept_edits, skip_invalid=skip_invalid, shard=part)


def merge(
    folders: Annotated[Positional[tuple[Path, ...]], arg(metavar="FOLDER ...")],
    out: Path,
    accept_edits: bool = False,
) -> int:
    """Put folders of one run together: of its shards, or of machines that played parts of it.

    The result is what one machine would have made, to the byte of its table; what is missing, the run's own command
    with --out plays there. Merging again changes nothing. Folders of another declaration or seed, damaged ones, and
    runs that two folders have with different values are refused, and nothing is written. Nothing is run or imported.

      hushbandits merge runs/first runs/second --out runs/rio2023

    Parameters
    ----------
    folders
        Such as runs/first runs/second; they stay as they are.
    out
        A new folder, or one of the same run.
    accept_edits
        Merge although own code or a data file differs between folders.
    """
    from hushbandits.bench.play.merge import merge as joined

    with bad_input_is_a_sentence(), joined(folders, out, accept_edits=accept_edits) as store:
        show(store)
        publish(store)
    return 0


def report(folder: Annotated[Positional[Path], arg(metavar="FOLDER")]) -> int:
    """Show the table of a run folder, and write its pictures and page anew.

    Parameters
    ----------
    folder
        Such as runs/quickstart.
    """
    with bad_input_is_a_sentence(), Store(folder / FILE, readonly=True) as store:
        show(store)
        publish(store)
    return 0
