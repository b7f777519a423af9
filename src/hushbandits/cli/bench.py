"""``hushbandits bench``: play HushBench-v1, write a manifest, check one, make the board's page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from hushbandits.bench.play.errors import RunError
from hushbandits.bench.play.plan import Shard, parse_shard
from hushbandits.bench.play.players import Players
from hushbandits.cli.console import (
    Backend,
    Several,
    bad_input_is_a_sentence,
    escape,
    make_console,
    noted,
    of_env_and_agent,
)
from hushbandits.core.ground.strangers import printable

__all__ = ["bench"]


def bench(
    agents: Annotated[tuple[str, ...], arg(metavar="NAME|MODULE:CLASS ...")] = (),
    tasks: Annotated[tuple[str, ...], arg(metavar="TASK|SETTING ...")] = (),
    set: Annotated[Several, arg(metavar="agent.KEY=VALUE")] = (),
    submit: Annotated[Path | None, arg(metavar="FILE")] = None,
    verify: Annotated[Path | None, arg(metavar="MANIFEST")] = None,
    board: Annotated[tuple[Path, ...], arg(metavar="FOLDER|MANIFEST ...")] = (),
    out: Path | None = None,
    jobs: int = -1,
    backend: Backend = None,
    address: str | None = None,
    shard: Annotated[str | None, arg(metavar="I/N")] = None,
) -> int:
    """Play the tasks of HushBench-v1 with agents of your own or with those that ship; say where they stand.

    Without anything, it lists the tasks. A score is 0 for what Random reaches and 1 for the best agent that ships;
    a setting's score is the interquartile mean of all runs of its tasks. A task that an agent cannot play counts 0.
    The same command goes on where it was stopped. Examples:

      hushbandits bench
      hushbandits bench --agents Multi-UCB QuACK-UCB --tasks net-small
      hushbandits bench --agents my_module:MyAgent --tasks network
      hushbandits bench --agents my_module:MyAgent --tasks network --submit mine.json
      hushbandits bench --agents Private-UCB --set agent.epsilon=0.5 --tasks network
      hushbandits bench --verify mine.json --agents my_module:MyAgent
      hushbandits bench --board mine.json theirs.json --out board.html

    An agent that names no setting of its own plays wherever it is let in: name one with --tasks. A feedback agent for
    another mechanism is named with its env, my_module:MyAgent@LocalDP-v0.

    Parameters
    ----------
    agents
        Who plays: registered ones, your own, policies that were trained (sb3:FOLDER), what plug-ins bring.
    tasks
        Only these, or all of a setting: exploration, network, feedback.
    set
        A parameter of every agent, such as agent.epsilon=0.5 (repeatable).
    submit
        Write a manifest of what was reached: rows, scores, ε, versions, a digest of the agent's code; of one agent,
        and of all tasks of its setting.
    verify
        Play a part of a manifest's runs again, and refuse it if a number differs (exit code 1). Nothing that it names
        is run: an agent that does not ship must be named here, with --agents.
    board
        Make a page of these manifests, or of all in a folder.
    out
        Where rows lie, a folder for each agent and choice of tasks; default: runs/hushbench-v1. With --board, the
        page; default: board.html.
    jobs
        Processes; -1: one per core.
    backend, address
        As in hushbandits run.
    shard
        Play only the I-th of N parts; hushbandits merge puts folders together. With --verify, which part is played
        again; default: one of eight, drawn by lot.
    """
    with bad_input_is_a_sentence():
        part = parse_shard(shard) if shard is not None else None
        players = Players(jobs, backend, address)
        if len([x for x in (submit, verify, board or None) if x]) > 1:
            raise ValueError("--submit, --verify and --board: give one of them")
        if verify is not None:
            return _verify(verify, agents, players, part)
        if board:
            return _board(board, out or Path("board.html"))
        if not agents:
            return _list(tasks)
        return _play(agents, tasks, set, submit, out, players, part)


def _list(tasks: tuple[str, ...]) -> int:
    from hushbandits.bench.board.tasks import BOARD, chosen
    from hushbandits.bench.show.terminal import print_table

    rows = [[task.name, task.setting, task.level, str(task.runs), task.why] for task in chosen(tasks)]
    print_table(make_console(), BOARD, ["task", "setting", "level", "runs", "why"], rows, named=1, left=(0, 1, 2, 4))
    return 0


def _play(
    agents: tuple[str, ...], names: tuple[str, ...], set: Several, submit: Path | None, out: Path | None,
    players: Players, part: Shard | None,
) -> int:  # fmt: skip
    from hushbandits.bench.board.manifest import made, write
    from hushbandits.bench.board.page import told
    from hushbandits.bench.board.play import folder, known, meet, play
    from hushbandits.bench.board.tasks import BOARD, chosen, entry
    from hushbandits.bench.show.terminal import print_table

    asked = chosen(names)
    env, params = of_env_and_agent(set)
    if env:
        raise ValueError(f"--set env.{next(iter(env))}: the tasks are frozen; only agent.… may be set")
    if submit is not None and (len(agents) > 1 or part is not None):
        raise ValueError("--submit: a manifest is of one agent, and of all of its runs")
    console = make_console(stderr=True)

    def tell(text: str) -> None:
        console.print(escape(text), soft_wrap=True)

    uses = [entry(name, params) for name in agents]
    with noted():
        met = [meet(use, asked) for use in uses]
    code = 0
    for use, its in zip(uses, met, strict=True):
        where = folder(out or Path("runs") / BOARD, use, names)
        try:
            with play(use, asked, its, where, players, shard=part or (1, 1), notify=tell) as store:
                rows = known(store, asked)
        except KeyboardInterrupt:
            tell(f"stopped; what is done is in {where}, and the same command goes on from there")
            return 130
        except RunError as error:
            print(f"hushbandits: {printable(error)}", file=sys.stderr)
            code = 1
            continue
        values = {task: found for task, (_, found) in rows.items()}
        print_table(make_console(), use.called, *told(asked, its, values), named=1, left=(0, 4))
        if submit is not None:
            write(made(use, its, values, " ".join(["hushbandits", *sys.argv[1:]])), submit)
            print(printable(submit))
    return code


def _verify(path: Path, agents: tuple[str, ...], players: Players, part: Shard | None) -> int:
    from hushbandits.bench.board.manifest import Refuted
    from hushbandits.bench.board.verify import verify

    if len(agents) > 1:
        raise ValueError("--verify: a manifest is of one agent; name it alone")
    try:
        with noted():
            found = verify(path, agents[0] if agents else None, players, part)
    except Refuted as error:
        print(f"hushbandits: {printable(error)}", file=sys.stderr)
        return 1
    i, n = found.part
    print(
        f"{path}: its sums are those of its rows, and part {i}/{n} of its runs, played again, gave the same "
        f"{found.numbers} numbers"
    )
    return 0


def _board(paths: tuple[Path, ...], page: Path) -> int:
    from hushbandits.bench.board.manifest import read
    from hushbandits.bench.board.page import write

    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    write([read(file) for file in files], page)
    print(printable(page))
    return 0
