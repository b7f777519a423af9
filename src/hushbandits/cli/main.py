"""The command line: ``hushbandits run quickstart``."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional, UseAppendAction, arg

from hushbandits.bench.declare.shapes import plain_name
from hushbandits.bench.play.errors import RunError, StoreError
from hushbandits.bench.play.plan import parse_shard
from hushbandits.bench.play.store import FILE, Store
from hushbandits.cli.audit import audit
from hushbandits.cli.compare import compare
from hushbandits.cli.console import Backend, Looks, asked, bad_input_is_a_sentence, into, publish, show
from hushbandits.cli.export import export
from hushbandits.cli.reproduce import reproduce
from hushbandits.cli.terminal import let_go, spell_out
from hushbandits.cli.train import train
from hushbandits.cli.watch import watch
from hushbandits.core.ground.names import words
from hushbandits.core.ground.strangers import printable
from hushbandits.core.ground.table import Table
from hushbandits.interrupt import asleep, awake

__all__ = ["main"]

_HELP = """\
hushbandits: multi-agent bandits that must keep quiet

  hushbandits run NAME|FILE.toml    run an experiment: table, pictures, one page; the same command resumes
  hushbandits list                  envs, agents, policies, wrappers, experiments by name
  hushbandits report FOLDER         the table, pictures and page of a run folder, anew
  hushbandits compare FOLDER        its lines against each other: differences, intervals, p-values
  hushbandits export FOLDER         its rows as csv, json or parquet
  hushbandits check FOLDER          what is there, and is it whole?
  hushbandits merge FOLDER ... --out FOLDER   one folder out of those of several machines
  hushbandits new-agent NAME        a template of an agent of your own, and a test that passes
  hushbandits watch ENV --agent NAME  an agent at play, as a GIF or in a window
  hushbandits reproduce [PAPER ...] the papers' claims: does each hold? (--quick: a first look)
  hushbandits train ID --out FOLDER a policy that learns; sb3:FOLDER plays it wherever an agent does
  hushbandits audit [NAME ...]      the privacy mechanisms: does each keep its word?

Begin with (about half a minute):

  hushbandits run quickstart        three small experiments, one per setting, into runs/quickstart

Then a paper's figure, first small, then with an agent of your own:

  hushbandits run rio2023-fig1 --quick
  hushbandits run dubey2020-fig1a --quick --agents my_module:MyAgent --out runs/mine

hushbandits COMMAND --help explains a command's options."""

Several = UseAppendAction[tuple[str, ...]]


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
    from hushbandits.bench.play.players import Players

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


def list_(what: Annotated[Positional[str], arg(metavar="envs|agents|policies|wrappers|experiments")] = "all") -> int:
    """List envs, agents, policies, wrappers and experiments, with a line about each.

    Parameters
    ----------
    what
        One of the five; default: all.
    """
    from hushbandits.bench.declare.catalog import modules
    from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
    from hushbandits.core.ground.validate import choice
    from hushbandits.policies.shelf import POLICIES

    def about(table: Table) -> dict[str, str]:
        brought = {name: f" ({', '.join(spec.wrappers)})" if spec.wrappers else "" for name, spec in table.items()}
        return {name: table[name].about() + brought[name] for name in sorted(table)}

    kinds = {
        "envs": lambda: about(ENVS),
        "agents": lambda: about(AGENTS),
        "policies": lambda: about(POLICIES),
        "wrappers": lambda: about(WRAPPERS),
        "experiments": lambda: {
            name: text
            for module, (line, declared) in modules().items()
            for name, text in [(module, line), *((f"  {e.name}", e.title) for e in declared)]
        },
    }
    with bad_input_is_a_sentence():
        choice("what", what, ["all", *kinds])
    for kind in kinds if what == "all" else [what]:
        rows = kinds[kind]()
        width = max(map(len, rows)) + 2
        print(kind)
        for name, line in rows.items():
            print(f"  {name:<{width}}{line}")
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


def check(folder: Annotated[Positional[Path], arg(metavar="FOLDER")]) -> int:
    """Say what a run folder holds, and compare every row with its checksum.

    Nothing is run, imported or written: a folder from somebody else can be looked at. Ends with 0 if the results are
    whole (runs may be missing: the command that began them goes on), and with 1 if a disk or a copy has changed them:
    restore a copy, or run again into another folder. Examples:

      hushbandits check runs/quickstart
      for folder in runs/*; do hushbandits check $folder || echo $folder; done

    Parameters
    ----------
    folder
        Such as runs/quickstart.
    """
    from hushbandits.cli.checkup import checkup

    return checkup(folder)


def new_agent(name: Annotated[Positional[str], arg(metavar="NAME")], folder: Path = Path()) -> int:
    """Write a template of an agent, and a test of it that passes.

    Parameters
    ----------
    name
        The agent's class, such as Bold.
    folder
        Where to write; default: here.
    """
    from hushbandits.cli.template import new_agent as write

    with bad_input_is_a_sentence():
        module, test = write(name, folder)
    print(f"{module}\n{test}\ntry it: python -m pytest {test}")
    return 0


def main(args: Sequence[str] | None = None) -> int:
    """Entry point.

    Returns
    -------
    int
        0: done; 1: some cells failed; 2: bad input, a folder that cannot be used, or a defect; 130: stopped by ctrl-C.
    """
    args = sys.argv[1:] if args is None else args
    spell_out()
    if not args or args[0] in ("-h", "--help", "help"):
        print(_HELP)
        return 0
    commands: dict[str, Callable[..., int]] = {
        "run": run,
        "list": list_,
        "report": report,
        "compare": compare,
        "export": export,
        "check": check,
        "merge": merge,
        "reproduce": reproduce,
        "new-agent": new_agent,
        "audit": audit,
        "watch": watch,
        "train": train,
    }
    try:
        awake()
        code: int = tyro.extras.subcommand_cli_from_dict(
            commands,
            prog="hushbandits",
            args=args,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("hushbandits: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        let_go()  # the reader of the pipe has gone
        return 0
    except Exception as error:
        let_go()
        return _told(error)
    finally:
        asleep()  # nothing is left to be saved
    return code


def _told(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit code."""
    if os.environ.get("HUSHBANDITS_TRACEBACK"):
        traceback.print_exception(error)
    known = isinstance(error, (StoreError, RunError))
    text = " ".join(str(error).split()) if known else f"{words(error)} (HUSHBANDITS_TRACEBACK=1 shows where)"
    print(f"hushbandits: {printable(text)}", file=sys.stderr)
    return 1 if isinstance(error, RunError) else 2
