"""Entry point of the command line, such as ``hushbandits run quickstart``."""

import atexit
import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import cache, partial, wraps
from inspect import signature

try:
    import tyro
except ModuleNotFoundError:
    sys.exit('hushbandits: the command line is not installed: pip install "hushbandits[bench]"')

from hushbandits import __version__
from hushbandits.bench.runner.errors import RunError, StoreError
from hushbandits.cli.console import note
from hushbandits.core.utils import Registry, Spec, nearest, words

_HELP = """\
hushbandits: multi-agent bandits with privacy and limited communication

{commands}

Begin with three small experiments, one per setting; they take about half a minute:

  hushbandits run quickstart

Then run small versions of papers' figures, the second with a user-defined agent:

  hushbandits run rio2023-fig1 --quick
  hushbandits run dubey2020-fig1a --quick --agents my_module:MyAgent --out runs/mine

hushbandits COMMAND --help explains the options of a command; --version prints the version."""

#: The commands: functions whose signatures and docstrings give their options and help, imported on use.
#: Packages add commands by entry points of the group ``hushbandits.commands``.
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

#: What is saved when a command is interrupted.
_KEPT = {
    **dict.fromkeys(("run", "reproduce", "bench"), "; finished batches are saved, run the same command to continue"),
    "train": "; the last checkpoint is saved, continue with --resume",
}


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line with `args`, by default those of the process, and return the exit code.

    Returns
    -------
    int
        0: success; 1: some cells failed; 2: invalid input, an unusable folder, or a defect; 130: interrupted by ctrl-C.
    """
    atexit.register(gc.freeze)  # without it, Python looks for garbage among all objects before it ends
    name, *rest = (sys.argv[1:] if args is None else args) or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # escape letters that the encoding lacks
    once = cache(note)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: once(str(message))
            code = _obey(name, rest)
        sys.stdout.flush()
    except KeyboardInterrupt:
        note(f"stopped{_KEPT.get(name, '')}")
        exec("")  # after a Ctrl-C inside an exec, such as a dataclass's, ``python -m`` would end with -2, not with 130
        return 130
    except Exception as error:
        try:
            sys.stdout.flush()
        except (OSError, ValueError):  # its pipe is closed: avoid a second error at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if isinstance(error, BrokenPipeError) else _reported(error)  # a reader may close the pipe
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
        later, prog=f"hushbandits {name}", args=args, return_unknown_args=True, config=(tyro.conf.FlagCreatePairsOff,)
    )
    if unknown:
        option, _, value = unknown[0].partition("=")
        value = value or next(iter(args[args.index(unknown[0]) + 1 :]), "…")
        raise StoreError(f"{name} takes no {option}{_meant(function, option, value)}")
    return int(call())


def _meant(function: Callable[..., int], option: str, value: str) -> str:
    """Return the end of an error text that suggests an option in place of `option`; ``""`` without a suggestion."""
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


def _reported(error: Exception) -> int:
    """Print an error in one line, and return the exit code of the command."""
    if os.environ.get("HUSHBANDITS_TRACEBACK"):
        traceback.print_exception(error)
    foreseen = isinstance(error, (StoreError, RunError, ValueError, TypeError, ImportError))
    note(" ".join(str(error).split()) if foreseen else f"{words(error)} (HUSHBANDITS_TRACEBACK=1 shows where)")
    return 1 if isinstance(error, RunError) else 2
