"""Steps that the commands have in common: what is asked for, one run folder, its table and pages."""

from __future__ import annotations

import ast
import os
import sys
import tomllib
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import OmitArgPrefixes, UseAppendAction, arg

from hushbandits.bench.report.terminal import escape
from hushbandits.bench.runner.errors import StoreError, unwritable
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.store import Store
from hushbandits.core.ground.strangers import printable
from hushbandits.core.ground.types import Params
from hushbandits.core.ground.validate import shown

if TYPE_CHECKING:
    from rich.console import Console

    from hushbandits.bench.declare.spec import Experiment

#: An option that may be given several times.
Several = UseAppendAction[tuple[str, ...]]


@dataclass(frozen=True)
class Workers:
    """Options of every command that plays much.

    Parameters
    ----------
    jobs
        Processes; -1: one per core.
    backend
        serial (this process), loky (processes of this machine) or dask; default: loky, serial for one job.
    address
        Of Dask's scheduler; default: a cluster of this machine.
    """

    jobs: int = -1
    backend: Annotated[str | None, arg(metavar="serial|loky|dask")] = None
    address: str | None = None

    def options(self, mix: bool = False, skip_invalid: bool = False) -> RunOptions:
        """Return what a run is told."""
        console = make_console(stderr=True)
        return RunOptions(
            self.jobs, self.backend, self.address, mix=mix, skip_invalid=skip_invalid,
            notify=lambda text: console.print(escape(text), soft_wrap=True),
        )  # fmt: skip


#: The options of `Workers`, without a prefix.
Played = OmitArgPrefixes[Workers]

__all__ = [
    "Played", "Several", "Workers", "asked", "assignments", "bad_input_is_a_sentence", "into", "make_console", "noted",
    "of_env_and_agent", "publish", "show",
]  # fmt: skip


def asked(
    name: str, runs: int | None, quick: bool, set: Sequence[str], agents: Sequence[str]
) -> tuple[Experiment, ...]:
    """Return the experiments that the arguments describe.

    Raises
    ------
    ValueError
        Among others, where claims would be judged in more runs than they are declared for, and nobody says so.
    """
    from hushbandits.bench.declare.catalog import find
    from hushbandits.bench.declare.spec import Use

    changes = assignments("--set", set) | ({} if runs is None else {"runs": runs})
    whole = experiments = find(name)
    if quick:
        experiments = tuple(e.quickly() for e in experiments)
    # Who joins in is one of all agents: agent.… is for them too.
    joined = tuple(e.joined_by(map(Use, agents)) for e in experiments)
    experiments = tuple(_unjudged(e, e.overriding(changes), changes) for e in joined)
    for known, e in zip(whole, experiments, strict=True):
        if e.claims and e.runs > known.runs:
            raise ValueError(
                f"runs={e.runs}: the claims of {e.name} are judged once, at {known.runs} runs; more runs need a "
                f"declaration of their own (a TOML file)"
            )
    return experiments


def _unjudged(declared: Experiment, altered: Experiment, changes: Params) -> Experiment:
    """Return what `changes` made of an experiment, without its claims where other cells are played than these judge."""
    if not declared.claims or {c.key for c in declared.cells()} == {c.key for c in altered.cells()}:
        return altered
    keys = ", ".join(key for key in changes if key != "runs")
    why = f"{keys} set otherwise than declared, so that no claim is judged"
    print(f"hushbandits: {printable(f'{declared.name}: {why}')}", file=sys.stderr)
    return replace(altered, claims=(), source="; ".join(filter(None, (declared.source, why))), varied=True)


#: Words as Python and JSON write them; TOML's own are among them.
_WORDS = {"none": None, "null": None, "true": True, "false": False}


def assignment(text: str, option: str = "--set") -> tuple[str, object]:
    """Split ``key=value``; the value is a literal of TOML or Python, ``none``, ``True`` or ``False``, else a string."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"{option} {shown(text)} must read KEY=VALUE, such as env.n_agents=128")
    key, value = key.strip(), value.strip()
    if value.lower() in _WORDS:
        return key, _WORDS[value.lower()]
    try:
        table = tomllib.loads(f"x = {value}")
    except tomllib.TOMLDecodeError:
        return key, _python(f"{option} {shown(text)}", value)
    except (ValueError, RecursionError):
        why = "is too long a number, or has too many brackets in each other"
        raise ValueError(f"{option} {shown(text)} {why}") from None
    return key, table["x"] if len(table) == 1 else value


def _python(what: str, value: str) -> object:
    """What is no TOML: a number or a list as Python writes it (``.5``, ``(1, 2)``), or else a word."""
    try:
        found = ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = value
    if isinstance(found, (int, float, list, tuple, dict)):
        return found
    if value[:1] in ("[", "{", "("):
        raise ValueError(f"{what} is no list and no table: write lists as [0.5, 0.4], tables as {{a = 1}}")
    return value


def assignments(option: str, texts: Sequence[str]) -> dict[str, object]:
    """Read several ``key=value`` of an option, each key once.

    Examples
    --------
    >>> assignments("--at", ["env.n_agents=4", "env.life=[1, 2]"])
    {'env.n_agents': 4, 'env.life': [1, 2]}
    >>> assignments("--at", ["env.n_agents=4", "env.n_agents=5"])
    Traceback (most recent call last):
        ...
    ValueError: --at env.n_agents is given twice, as 4 and 5; give it once (a list stands for several values)
    """
    found: dict[str, object] = {}
    for key, value in (assignment(text, option) for text in texts):
        if key in found:
            raise ValueError(
                f"{option} {key} is given twice, as {shown(found[key])} and {shown(value)}; give it once (a list "
                f"stands for several values)"
            )
        found[key] = value
    return found


def of_env_and_agent(texts: Sequence[str]) -> tuple[Params, Params]:
    """Read the ``--set`` of one game: the parameters of its env, and those of who plays.

    Examples
    --------
    >>> of_env_and_agent(["env.n_agents=4", "agent.epsilon=0.5"])
    ({'n_agents': 4}, {'epsilon': 0.5})
    """
    given: dict[str, dict[str, object]] = {"env": {}, "agent": {}}
    for key, value in assignments("--set", texts).items():
        part, _, name = key.partition(".")
        if part not in given or not name:
            raise ValueError(f"--set {shown(f'{key}={value}')} must begin with env. or agent., such as env.n_agents=8")
        given[part][name] = value
    return given["env"], given["agent"]


@contextmanager
def noted() -> Iterator[None]:
    """What is warned of becomes a line on stderr, said once."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(note.message) for note in found):
        print(f"hushbandits: {printable(text)}", file=sys.stderr)


def into(
    folder: Path, experiments: Sequence[Experiment], seed: int, options: RunOptions, shard: str | None = None
) -> int:
    """Run into a folder, show and publish what is there; return the exit code."""
    from hushbandits.bench.declare.catalog import bounds
    from hushbandits.bench.report.ours import PAGE, check_ours
    from hushbandits.bench.run import run

    console = make_console(stderr=True)
    names = [e.name for e in experiments]
    check_ours(folder, names)
    try:
        with bad_input_is_a_sentence():
            outcome = run(experiments, folder, seed=seed, shard=shard, options=options)
    except KeyboardInterrupt:
        console.print(f"stopped; finished batches are in {escape(str(folder))}; run the same command again to go on")
        return 130
    show(outcome.store)
    pages = [folder / PAGE, *(folder / f"{name}.png" for name in names)]
    if outcome.changed or outcome.failures or not all(page.exists() for page in pages):
        publish(outcome.store, bounds(experiments))  # what was asked for is the user's own
    for failure in outcome.failures:
        console.print(f"[red]failed:[/] {escape(str(failure))}", soft_wrap=True)
    if outcome.failures:
        page = escape(str(folder / PAGE))
        console.print(f"{len(outcome.failures)} batches failed (tracebacks: {page}); the rest is done")
    elif shard is not None:
        console.print(f"shard {shard} is done; copy the folders of all shards into one, and run it without --shard")
    return 1 if outcome.failures else 0


def show(store: Store) -> None:
    """Print the tables."""
    from hushbandits.bench.report.tables import print_tables

    print_tables(store, make_console())


def publish(store: Store, trusted: Collection[str] | None = None) -> None:
    """Write pictures and page, and say where; `trusted`: bounds that may be called, default: the shipped ones."""
    from hushbandits.bench.report.figures import pictures
    from hushbandits.bench.report.ours import PAGE, check_ours
    from hushbandits.bench.report.page import write
    from hushbandits.bench.runner.configuration import configurations

    folder = store.path
    check_ours(folder, [e.name for e in store.experiments])
    try:
        drawn = [paths for e in store.experiments if (paths := pictures(configurations(store, e), e, folder, trusted))]
        page = write(store, folder / PAGE, trusted)
    except OSError as error:
        raise unwritable(folder, error) from None
    for first, *others in drawn:
        print(printable(f"{first} ({', '.join(path.suffix for path in others)})"))
    print(printable(page))


def make_console(stderr: bool = False) -> Console:
    """Return a rich console that does not cut tables when it is piped."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the program's own business, not rich's

    console = Plain(stderr=stderr)
    # Piped output has no width of its own unless somebody gives it one: leave the table whole.
    return (
        console if console.is_terminal or "COLUMNS" in os.environ else Plain(stderr=stderr, width=140, soft_wrap=True)
    )


@contextmanager
def bad_input_is_a_sentence() -> Iterator[None]:
    """Bad input ends the program with one sentence, not with a traceback."""
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        raise StoreError(str(error)) from error
