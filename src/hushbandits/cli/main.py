"""The command line: ``hushbandits run quickstart``."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import partial, wraps
from inspect import signature

try:
    import tyro
except ModuleNotFoundError:
    sys.exit('hushbandits: the command line is not installed: pip install "hushbandits[bench]"')

from hushbandits import __version__
from hushbandits.bench.runner.errors import RunError, StoreError
from hushbandits.cli.console import note
from hushbandits.core.utils import Registry, Spec, nearest, words

__all__ = ["COMMANDS", "main"]

_HELP = """\
hushbandits: multi-agent bandits that must keep quiet

{commands}

Begin with three small experiments, one per setting (about half a minute), into runs/quickstart:

  hushbandits run quickstart

Then a paper's figure, first small, then with an agent of your own:

  hushbandits run rio2023-fig1 --quick
  hushbandits run dubey2020-fig1a --quick --agents my_module:MyAgent --out runs/mine

hushbandits COMMAND --help explains a command's options; --version says which hushbandits this is."""

#: The commands: functions whose signatures and docstrings are their options and help, imported when they are named.
#: Packages add some by entry points of the group ``hushbandits.commands``.
COMMANDS = Registry("command", "a function", lambda cls: False, {
    "run": Spec("hushbandits.cli.run:run"),
    "list": Spec("hushbandits.cli.listing:list_"),
    "report": Spec("hushbandits.cli.run:report"),
    "evaluate": Spec("hushbandits.cli.evaluate:evaluate"),
    "compare": Spec("hushbandits.cli.compare:compare"),
    "check": Spec("hushbandits.cli.check:check"),
    "reproduce": Spec("hushbandits.cli.reproduce:reproduce"),
    "new": Spec("hushbandits.cli.template:new"),
    "audit": Spec("hushbandits.cli.audit:audit"),
    "watch": Spec("hushbandits.cli.watch:watch"),
    "train": Spec("hushbandits.cli.train:train"),
}, "commands")  # fmt: skip

#: What a stopped command has kept.
_KEPT = {
    **dict.fromkeys(("run", "reproduce", "bench"), "; finished batches are kept, and the same command goes on"),
    "train": "; the last checkpoint is kept, and --resume goes on from there",
}


def main(args: Sequence[str] | None = None) -> int:
    """Entry point.

    Returns
    -------
    int
        0: done; 1: some cells failed; 2: bad input, a folder that cannot be used, or a defect; 130: stopped by ctrl-C.
    """
    name, *rest = (sys.argv[1:] if args is None else args) or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # letters that its encoding lacks
    try:
        with _warnings_are_notes():
            code = _obey(name, rest)
        sys.stdout.flush()
    except KeyboardInterrupt:
        note(f"stopped{_KEPT.get(name, '')}")
        return 130
    except BrokenPipeError:
        _let_go()  # the reader of the pipe has gone
        return 0
    except Exception as error:
        _let_go()
        return _told(error)
    return code


def _obey(name: str, args: Sequence[str]) -> int:
    if name in ("-h", "--help", "help"):
        about = [(command, spec.about() or f"added by {spec.source}") for command, spec in COMMANDS.items()]
        print(_HELP.replace("{commands}", "\n".join(f"  {command:<11}{line}" for command, line in about)))
        return 0
    if name in ("-v", "--version"):
        print(f"hushbandits {__version__}")
        return 0
    function = COMMANDS.find(name).load()

    @wraps(function)
    def later(*args: object, **options: object) -> Callable[[], int]:
        return partial(function, *args, **options)

    call, unknown = tyro.cli(
        later, prog=f"hushbandits {name}", args=args, return_unknown_args=True,
        config=(tyro.conf.FlagCreatePairsOff,),
    )  # fmt: skip
    if unknown:
        option, _, value = unknown[0].partition("=")
        value = value or next(iter(args[args.index(unknown[0]) + 1 :]), "…")
        raise StoreError(f"{name} takes no {option}{_meant(function, option, value)}")
    return int(call())


def _meant(function: Callable[..., int], option: str, value: str) -> str:
    """What stands in an unknown option's place, to end a sentence."""
    from hushbandits.registry import owners

    if not option.startswith("--"):
        return ""
    own = signature(function).parameters.values()
    known = [name for p in own for name in (vars(p.default) if is_dataclass(p.default) else [p.name])]
    owner, _, parameter = option.removeprefix("--").rpartition(".")
    owner = owner or next((kind for kind in ("env", "agent") if kind in owners(parameter)), "")
    if owner and "set" in known:
        return f"; a parameter is given as --set {owner}.{parameter}={value}"
    return nearest(parameter, [name.replace("_", "-") for name in known])


@contextmanager
def _warnings_are_notes() -> Iterator[None]:
    """What is warned of becomes a line on stderr, said once."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if (text := str(message)) not in said:
            said.add(text)
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def _let_go() -> None:
    """Flush standard output; if nobody takes it any more, keep the interpreter from trying again as it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit code; bad input has a sentence of its own."""
    if os.environ.get("HUSHBANDITS_TRACEBACK"):
        traceback.print_exception(error)
    foreseen = isinstance(error, (StoreError, RunError, ValueError, TypeError, ImportError))
    note(" ".join(str(error).split()) if foreseen else f"{words(error)} (HUSHBANDITS_TRACEBACK=1 shows where)")
    return 1 if isinstance(error, RunError) else 2
