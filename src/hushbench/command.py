"""``hushbandits bench``: play HushBench-v2, write or verify a submission, build the leaderboard."""

import sys
import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from tyro.conf import UseAppendAction, arg

import hushbandits as hb
from hushbench import leaderboard, submission
from hushbench.play import Failed, admit, folder, play
from hushbench.tasks import NAME, PRACTICE, chosen, entry


def bench(
    agents: Annotated[tuple[str, ...], arg(metavar="NAME|MODULE:CLASS ...")] = (),
    tasks: Annotated[tuple[str, ...], arg(metavar="TASK|SETTING ...")] = (),
    set: Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="agent.KEY=VALUE")] = (),
    submit: Annotated[Path | None, arg(metavar="FILE")] = None,
    beacon: Annotated[str | None, arg(metavar="HEX64")] = None,
    beacon_source: Annotated[str, arg(metavar="TEXT")] = "",
    verify: Annotated[Path | None, arg(metavar="SUBMISSION")] = None,
    board: Annotated[tuple[Path, ...], arg(metavar="FOLDER|SUBMISSION ...")] = (),
    out: Path | None = None,
    jobs: int = -1,
    backend: Annotated[str | None, arg(metavar="serial|loky|dask")] = None,
    address: str | None = None,
    shard: Annotated[str | None, arg(metavar="I/N")] = None,
    dry_run: bool = False,
) -> int:
    """Play the tasks of HushBench-v2 with built-in or user-defined agents, and print their scores.

    Without arguments, the command lists the tasks. A score is 0 at the cost of Random, and 1 at the cost of the best
    built-in agent. The score of a setting is the interquartile mean of all runs of the setting's tasks; a task that
    an agent cannot play counts as 0. The same command continues an interrupted run. Examples:

      hushbandits bench
      hushbandits bench --agents Multi-UCB QuACK-UCB --tasks net-small
      hushbandits bench --agents my_module:MyAgent --tasks network
      hushbandits bench --agents my_module:MyAgent --tasks network --submit mine.json --beacon 9f86… --beacon-source …
      hushbandits bench --agents Private-UCB --set agent.epsilon=0.5 --tasks network
      hushbandits bench --verify mine.json --agents my_module:MyAgent
      hushbandits bench --board mine.json theirs.json --out board.html

    An agent without a setting plays in every setting that accepts the agent; choose one setting with --tasks. For a
    feedback agent that needs another mechanism, append an env with the mechanism: my_module:MyAgent@LocalDP-v0.

    Parameters
    ----------
    agents
        Registered agents, user-defined agents, trained policies (sb3:FOLDER), or agents of plug-ins.
    tasks
        Only these tasks, or all tasks of a setting (exploration, network, feedback, linear).
    set
        A parameter of every agent, such as agent.epsilon=0.5.
    submit
        Write a submission of one agent with all tasks of a setting: rows, ε, versions, a digest of the agent's
        code. Without --beacon, print the digest of the submission's header, which must be published first.
    beacon
        Value of 64 hex digits that became public after the header's digest; digest and value determine the seeds.
        Without --beacon, the seeds are public, for practice.
    beacon_source
        Publisher of the value, and date of publication.
    verify
        Play a part of a submission's runs again, and a part of the same size on fresh seeds. The exit code is 1 if a
        number differs, or if the mean score is too high. Code that the submission names is not run; an agent
        that is not registered needs --agents.
    board
        Build the leaderboard from these submissions, or from all submissions in a folder.
    out
        Folder of the rows, with a subfolder for each agent and choice of tasks; default: runs/hushbench-v2. With
        --board, the page; default: board.html.
    jobs
        Number of processes; -1: one per core.
    backend
        As in hushbandits run.
    address
        As in hushbandits run.
    shard
        Play only the I-th of N parts; copy the folders of all parts into one folder afterwards. With --verify, the part
        to play again; default: a random part of 8, or of fewer if there are fewer tasks.
    dry_run
        Print runs, memory and CPU minutes of the tasks that agents have not played, from short probes, and write
        nothing. Not with --submit, --verify and --board.
    """
    if dry_run and (submit or verify or board):
        raise ValueError("--dry-run plays no task, so it excludes --submit, --verify and --board")
    expected = None if verify else partial(_expected, table=dry_run)
    options = hb.RunOptions(jobs, backend, address, notify=_say, estimate=expected, dry_run=dry_run)
    if len([x for x in (submit, verify, board or None) if x]) > 1:
        raise ValueError("--submit, --verify and --board exclude each other: give only one")
    if (verify or submit) and (len(agents) > 1 or (submit and shard)):
        raise ValueError("--submit and --verify take one agent; --submit takes no --shard: a submission has all runs")
    try:
        if verify is not None:
            print(submission.verify(verify, agents[0] if agents else None, options, shard))
        elif board:
            files = [file for path in board for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
            leaderboard.write([submission.read(file) for file in files], page := out or Path("board.html"))
            print(page)
        elif not agents:
            heads = ["task", "setting", "level", "runs", "why"]
            _print(NAME, heads, [[t.name, t.setting, t.level, str(t.runs), t.why] for t in chosen(tasks)])
        else:
            uses = [entry(name, _params(set)) for name in agents]
            hidden = {"value": beacon, "source": beacon_source} if beacon is not None else None
            _play(uses, tasks, out or Path("runs") / NAME, options, shard, submit, hidden)
    except Failed as error:
        _say(str(error))
        return 1
    return 0


def _say(text: str) -> None:
    print(f"hushbandits: {text}", file=sys.stderr)


def _expected(found: hb.Estimate, table: bool) -> None:
    if table:
        heads = ["task", "runs", "batches", "MiB a batch", "CPU minutes"]
        numbers = ((c, f"{c.bytes / 2**20:.1f}", f"{c.seconds / 60:.2g}") for c in found.costs)
        _print("expected cost", heads, [[c.experiment, str(c.runs), str(c.batches), *texts] for c, *texts in numbers])
    if known := [c for c in found.costs if c.seconds == c.seconds]:  # where no probe failed
        minutes, runs = sum(c.seconds for c in known) / 60, sum(c.runs for c in known)
        _say(f"expected: about {minutes:.2g} CPU minutes for {runs:,} runs")


def _print(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    print(title)
    for row in (heads, *rows):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _params(texts: Sequence[str]) -> dict[str, object]:
    try:
        found = tomllib.loads("\n".join(texts))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"--set {' '.join(texts)!r} must read agent.KEY=VALUE, as in TOML: {error}") from None
    if found.keys() - {"agent"}:
        raise ValueError(f"--set {' '.join(texts)}: the tasks are frozen; only agent.… may be set")
    return dict(found.get("agent", {}))


def _play(
    agents: Sequence[hb.Component], names: Sequence[str], out: Path, options: hb.RunOptions, shard: str | None,
    submit: Path | None, beacon: dict[str, str] | None,
) -> None:  # fmt: skip
    asked = chosen(names)
    for agent, rows in zip(agents, [admit(agent, asked) for agent in agents], strict=True):
        seed, header, words = PRACTICE, {}, list(names)
        if submit or beacon:
            settings = list(dict.fromkeys(task.setting for task in asked if task.name in rows))
            header = submission.header(agent, settings)
            if missing := [task.name for task in chosen(settings) if task not in asked]:
                whole = f"--tasks {' '.join(names)} lacks {', '.join(missing)}"
                raise ValueError(f"{whole}: a submission has all tasks of its settings, such as --tasks {settings[0]}")
        if beacon:
            seed = submission.hidden_seed(header, beacon)
            words.append(f"{seed:032x}"[:8])
        elif submit:
            first = f"first publish the digest, {submission.digest(header)}"
            raise ValueError(f"--submit needs --beacon, a value that becomes public after the header's digest: {first}")
        playable = [task for task in asked if "epsilon" in rows.get(task.name, ())]
        played = play(agent, playable, folder(out, agent, words), options, seed, shard)
        if options.dry_run:
            continue
        values = {name: row for name, (_, row) in played.items()}
        _print(agent.called, leaderboard.SUMMARY, list(leaderboard.summary(asked, rows, values)))
        if submit and beacon:
            submission.write(submission.make(header, beacon, rows, values), submit)
            print(submit)
