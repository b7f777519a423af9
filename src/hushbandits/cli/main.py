"""The command line: ``hushbandits run quickstart``."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import cast, get_type_hints

try:
    import tyro
except ModuleNotFoundError:
    sys.exit('hushbandits: the command line is not installed: pip install "hushbandits[bench]"')

from hushbandits import __version__
from hushbandits.bench.runner.errors import RunError, StoreError
from hushbandits.cli.terminal import let_go, spell_out
from hushbandits.core.ground.names import words
from hushbandits.core.ground.strangers import printable
from hushbandits.core.ground.validate import nearest
from hushbandits.interrupt import asleep, awake
from hushbandits.plugins import points

__all__ = ["COMMANDS", "added", "command", "main"]

_HELP = """\
hushbandits: multi-agent bandits that must keep quiet

  hushbandits run NAME|FILE.toml    run an experiment: table, pictures, one page; the same command resumes
  hushbandits list [NAME]           envs, agents, policies, wrappers, experiments by name; or one, with its parameters
  hushbandits report FOLDER         the table, pictures and page of a run folder, anew
  hushbandits evaluate ID AGENT ... agents in one env: what each reaches, and the differences
  hushbandits compare FOLDER        its configurations against each other: differences, intervals, p-values
  hushbandits check FOLDER          what is there, and is it whole?
  hushbandits new agent NAME        a template of an agent of your own (env, policy, wrapper, …), and a test that passes
  hushbandits watch ENV --agent NAME  an agent at play, as a GIF or in a window
  hushbandits reproduce [PAPER ...] the papers' claims: does each hold? (--quick: a first look)
  hushbandits train ID --out FOLDER a policy that learns; sb3:FOLDER plays it wherever an agent does
  hushbandits policy-card FOLDER    a README for the folder of a trained policy, to share it with
  hushbandits audit [NAME ...]      the privacy mechanisms: does each keep its word?
  hushbandits secagg-plan --users N neighbours, threshold and bytes of secure sums among N users
{added}
Begin with (about half a minute):

  hushbandits run quickstart        three small experiments, one per setting, into runs/quickstart

Then a paper's figure, first small, then with an agent of your own:

  hushbandits run rio2023-fig1 --quick
  hushbandits run dubey2020-fig1a --quick --agents my_module:MyAgent --out runs/mine

hushbandits COMMAND --help explains a command's options; --version says which hushbandits this is."""

#: Where each command is written, and its name there; a module is imported when its command is named.
COMMANDS = {
    "run": ("run", "run"),
    "list": ("listing", "list_"),
    "report": ("run", "report"),
    "evaluate": ("evaluate", "evaluate"),
    "compare": ("compare", "compare"),
    "check": ("check", "check"),
    "reproduce": ("reproduce", "reproduce"),
    "new": ("template", "new"),
    "audit": ("audit", "audit"),
    "watch": ("watch", "watch"),
    "train": ("train", "train"),
    "policy-card": ("train", "policy_card"),
    "secagg-plan": ("plan", "secagg_plan"),
}


def added() -> dict[str, tuple[EntryPoint, str]]:
    """Return the commands that packages add by entry points of the group ``hushbandits.commands``, and each's package.

    Nothing is imported.
    """
    return {point.name: (point, whence) for point, whence in points("commands", "module:function")}


def command(name: str) -> Callable[..., int]:
    """Return the function that is a command; its signature and docstring are the command's options and help."""
    if name not in COMMANDS:
        point, _ = added()[name]
        return cast(Callable[..., int], point.load())
    module, function = COMMANDS[name]
    return cast(Callable[..., int], getattr(import_module(f"hushbandits.cli.{module}"), function))


def _help() -> str:
    lines = [f"  {f'hushbandits {name}':<33} added by {whence}\n" for name, (_, whence) in added().items()]
    return _HELP.replace("{added}", "".join(lines))


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
        print(_help())
        return 0
    if args[0] in ("-v", "--version"):
        print(f"hushbandits {__version__}")
        return 0
    try:
        awake()
        commands = _meant_commands(args[0])
        if len(commands) == 1:
            _known_options(args[0], commands[args[0]], args[1:])
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
        return _told(error, args[0])
    finally:
        asleep()  # nothing is left to be saved
    return code


def _meant_commands(name: str) -> dict[str, Callable[..., int]]:
    """Return the command of this name; of no command's name all, so that a slip is compared with them."""
    if name in COMMANDS or name in (others := added()):
        return {name: command(name)}
    return {known: command(known) for known in COMMANDS} | dict.fromkeys(others, lambda: 0)


def _known_options(name: str, function: Callable[..., int], args: Sequence[str]) -> None:
    """Raise `StoreError` for an option that a command does not have, with the one that is meant."""
    known = ["help", *_options(function)]
    for i, text in enumerate(args):
        option, equals, value = text.removeprefix("--").partition("=")
        if text == "--":
            return
        if not text.startswith("--") or option.replace("_", "-") in known:
            continue
        value = value if equals else next(iter(args[i + 1 : i + 2]), "…")
        raise StoreError(f"{name} has no option --{option}{_meant(option, value, known)}")


def _options(function: Callable[..., int]) -> Iterator[str]:
    """Yield the options of a command; those of a dataclass stand among the others."""
    for parameter, hint in get_type_hints(function, include_extras=True).items():
        more = getattr(hint, "__metadata__", ())
        bare = getattr(hint, "__origin__", hint)
        if parameter == "return" or "Positional" in str(more):
            continue
        if is_dataclass(bare):
            yield from (field.name.replace("_", "-") for field in fields(bare))
            continue
        yield from (alias.removeprefix("--") for part in more for alias in getattr(part, "aliases", None) or ())
        yield from [own for part in more if (own := getattr(part, "name", None))] or [parameter.replace("_", "-")]


def _meant(option: str, value: str, known: Sequence[str]) -> str:
    """What stands in an unknown option's place, to end a sentence."""
    from hushbandits.core.whose import owners

    owner, _, parameter = option.rpartition(".")
    owner = owner or next((kind for kind in ("env", "agent") if kind in owners(parameter)), "")
    if owner and "set" in known:
        return f"; a parameter is given as --set {owner}.{parameter}={value}"
    return nearest(option, known)


def _told(error: Exception, name: str) -> int:
    """Say in one line what went wrong, and return the exit code.

    Bad input of an added command is a ``ValueError``, ``TypeError`` or ``ImportError``.
    """
    if os.environ.get("HUSHBANDITS_TRACEBACK"):
        traceback.print_exception(error)
    known = isinstance(error, (StoreError, RunError)) or (
        name not in COMMANDS and isinstance(error, (ValueError, TypeError, ImportError))
    )
    text = " ".join(str(error).split()) if known else f"{words(error)} (HUSHBANDITS_TRACEBACK=1 shows where)"
    print(f"hushbandits: {printable(text)}", file=sys.stderr)
    return 1 if isinstance(error, RunError) else 2
