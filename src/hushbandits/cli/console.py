"""Shared parts of the commands: options, values of ``--set``, and output on a terminal."""

import ast
import gc
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from tyro.conf import OmitArgPrefixes, UseAppendAction, arg

from hushbandits.bench.report.terminal import escape, print_table, printable
from hushbandits.core import Params, Wrapper, shown
from hushbandits.registry import make_wrapper

if TYPE_CHECKING:
    from rich.console import Console

    from hushbandits.bench.runner.options import Estimate
    from hushbandits.bench.stats.pairs import Compared

#: An option that may be repeated.
Several = Annotated[tuple[str, ...], UseAppendAction]


@dataclass(frozen=True)
class Workers:
    """Options of every command that plays many runs.

    Parameters
    ----------
    jobs
        Number of processes; -1: one per core.
    backend
        serial (this process), loky (processes of this machine) or dask; default: loky, or serial if --jobs is 1.
    address
        Address of Dask's scheduler; default: a cluster on this machine.
    """

    jobs: int = -1
    backend: Annotated[str | None, arg(metavar="serial|loky|dask")] = None
    address: str | None = None


@dataclass(frozen=True)
class Game:
    """Options of every command that plays in one env.

    Parameters
    ----------
    seed
        Seed of the runs.
    set
        A parameter of the env, of every agent, or of one agent or wrapper by its name: env.n_agents=8,
        agent.epsilon=0.5, UCB.sigma=0.5, Huber.rate=0.1.
    wrappers
        A wrapper; messages pass several wrappers in the given order.
    """

    seed: int = 0
    set: Annotated[Several, arg(metavar="KEY=VALUE")] = ()
    wrappers: Annotated[Several, arg(metavar="NAME|MODULE:CLASS")] = ()


#: The options of `Workers` and of `Game` as flags without a prefix.
Played = Annotated[Workers, OmitArgPrefixes]
Players = Annotated[Game, OmitArgPrefixes]

#: Words as Python and JSON write them, with those of TOML.
_WORDS = {"none": None, "null": None, "true": True, "false": False}


def assignment(text: str, option: str = "--set") -> tuple[str, object]:
    """Return key and value of ``key=value``; the value is a TOML or Python literal, ``none``, or else a string."""
    key, equals, value = map(str.strip, text.partition("="))
    if not equals or not key:
        raise ValueError(f"{option} {shown(text)} must read KEY=VALUE, such as env.n_agents=128")
    if value.lower() in _WORDS:
        return key, _WORDS[value.lower()]
    try:
        return key, tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        pass  # perhaps Python's notation: .5 or (1, 2)
    except (ValueError, RecursionError):
        raise ValueError(f"{option} {shown(text)} has too long a number, or too deeply nested brackets") from None
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):  # a plain word
        return key, ast.literal_eval(value)
    if value[:1] in ("[", "{", "("):
        raise ValueError(f"{option} {shown(text)} is not a list or a table: write lists as [1, 2], tables as {{a = 1}}")
    return key, value


def assignments(option: str, texts: Sequence[str]) -> dict[str, object]:
    """Return the keys and values of an option's texts ``key=value``; a repeated key raises ``ValueError``.

    Examples
    --------
    >>> assignments("--at", ["env.n_agents=4", "env.max_hops=[1, 2]"])
    {'env.n_agents': 4, 'env.max_hops': [1, 2]}
    >>> assignments("--at", ["env.n_agents=4", "env.n_agents=5"])
    Traceback (most recent call last):
        ...
    ValueError: --at env.n_agents is given twice: 4 and 5; give a list
    """
    found: dict[str, object] = {}
    for key, value in (assignment(text, option) for text in texts):
        if key in found:
            raise ValueError(f"{option} {key} is given twice: {shown(found[key])} and {shown(value)}; give a list")
        found[key] = value
    return found


def by_owner(texts: Sequence[str], owners: Iterable[str]) -> dict[str, dict[str, object]]:
    """Return the parameters of ``--set`` options by owner, such as ``env`` or ``agent``.

    Examples
    --------
    >>> by_owner(["env.n_agents=4", "agent.epsilon=0.5"], ["env", "agent"])
    {'env': {'n_agents': 4}, 'agent': {'epsilon': 0.5}}
    """
    found: dict[str, dict[str, object]] = {owner: {} for owner in owners}
    for key, value in assignments("--set", texts).items():
        owner, _, name = key.rpartition(".")
        if owner not in found:
            text, begin = shown(f"{key}={value}"), " or ".join(f"{owner}." for owner in found)
            if key.partition(".")[0] in found:
                raise ValueError(f"--set {text} has too many dots: write a table, as in task.a={{b = 1}}")
            raise ValueError(f"--set {text} must begin with {begin}, such as env.n_agents=8")
        found[owner][name] = value
    return found


def parameters(game: Game, agents: Sequence[str]) -> list[tuple[Params, Params, list[Wrapper]]]:
    """Return for each of the `agents` the parameters of the env and of the agent, and the wrappers."""
    given = by_owner(game.set, ("env", "agent", *agents, *game.wrappers))
    wrappers = [make_wrapper(name, **given[name]) for name in game.wrappers]
    return [(given["env"], {**given["agent"], **given[name]}, wrappers) for name in agents]


def note(text: object) -> None:
    """Write `text` as one line on stderr."""
    print(f"hushbandits: {printable(text)}", file=sys.stderr)


def say_cost(found: "Estimate", table: bool = False, by_experiment: bool = False) -> None:
    """Print the expected cost in one line on stderr; before it, if asked for, a table of cells or of experiments."""
    names = dict.fromkeys(cost.experiment for cost in found.costs)
    whole = found.summed("all")
    if table:
        shown = [*map(found.summed, names)] if by_experiment else found.costs
        heads = ("experiment", "cell", "runs", "batches", "MiB a batch", "CPU minutes")
        body = [[*c[:2], *map(str, c[2:4]), f"{c.bytes / 2**20:.1f}", f"{c.seconds / 60:.2g}"] for c in (*shown, whole)]
        print_table(make_console(), "expected cost", heads, body, named=1, left=(0, 1))
    minutes = (whole.seconds + found.spent + len(names)) / 60  # a second for a page with its figures
    note(f"expected: about {minutes:.2g} CPU minutes, for {whole.runs:,} runs of {whole.label}")


@contextmanager
def rare_gc() -> Iterator[None]:
    """Let Python look for garbage rarely inside the block: imports and figures make many objects and little garbage."""
    before = gc.get_threshold()
    gc.set_threshold(100_000)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def make_console(stderr: bool = False) -> "Console":
    """Return a rich console that does not truncate tables if the output is piped."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # handled by the program, not by rich

    # Piped output has no width, unless COLUMNS sets one: do not cut the table.
    piped = not (sys.stderr if stderr else sys.stdout).isatty() and "COLUMNS" not in os.environ
    return Plain(stderr=stderr, width=140 if piped else None, soft_wrap=piped)


def print_pairs(name: str, found: "Sequence[Compared]") -> None:
    """Print one table for each comparison in `found`, and then notes on the columns."""
    from hushbandits.bench.report.tables import heads, notes, rows

    console = make_console()
    for compared in found:
        title = ", ".join(filter(None, (name, compared.where)))
        print_table(console, f"{title}: {compared.metric}", heads(compared.level), rows(compared), named=2, left=(0, 1))
    for text in notes(found):
        console.print(escape(text))
