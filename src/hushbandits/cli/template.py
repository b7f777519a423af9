"""``hushbandits new KIND NAME``: a part of one's own in a page of code, and a test of it that passes."""

from __future__ import annotations

import importlib.machinery
import keyword
import re
import string
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from hushbandits.bench.declare.shapes import plain_name
from hushbandits.cli.console import bad_input_is_a_sentence
from hushbandits.core.ground.validate import shown

__all__ = ["new"]

_TEMPLATES = files("hushbandits") / "data" / "templates"
Kind = Literal["env", "agent", "policy", "wrapper", "mechanism", "experiment"]


def new(
    kind: Annotated[Positional[Kind], arg(metavar="KIND")],
    name: Annotated[Positional[str], arg(metavar="NAME")],
    folder: Path = Path(),
) -> int:
    """Write a template of a part of your own, and a test of it that passes.

    Parameters
    ----------
    kind
        What to write: env, agent, policy, wrapper, mechanism or experiment.
    name
        The name of its class, such as Bold; an experiment's title.
    folder
        Where to write; default: here.
    """
    with bad_input_is_a_sentence():
        file, test = _written(kind, name, folder)
    print(f"{file}\n{test}\ntry it: python -m pytest {test}")
    if kind != "experiment":
        suite = "python -m pytest -p hushbandits.contract.plugin --pyargs hushbandits.contract"
        print(f"and all that it owes: {suite} --of {file.stem}:{_title(name)}")
    return 0


def _title(name: str) -> str:
    return "".join(w[0].upper() + w[1:] for w in _words(name))


def _words(name: str) -> list[str]:
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)


def _written(kind: Kind, name: str, folder: Path) -> tuple[Path, Path]:
    """What was asked for and its test, new in an existing folder, for a name in any of the usual ways."""
    title, module = _title(name), "_".join(w.lower() for w in _words(name))
    if not re.fullmatch(r"[A-Za-z][\w -]*", name) or not title.isidentifier():
        raise ValueError(f"name={shown(name)} must be a name for a class, such as Bold")
    for word, place in ((module, f"{module}.py"), (title, f"a class {title}")):
        if keyword.iskeyword(word):
            raise ValueError(
                f"name={name!r} must be a name for a class: it would be written as {place}, and {word!r} is a word of "
                f"Python's own that cannot be imported; choose another name, such as {title}Agent"
            )
    plain_name("name", module)
    if module in sys.stdlib_module_names or _installed(module, folder):
        raise ValueError(f"name={name!r} would be written to {module}.py, which hides the module of that name")
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder")
    written = folder / f"{module}.{'toml' if kind == 'experiment' else 'py'}", folder / f"test_{module}.py"
    for path in written:
        if path.exists():
            raise ValueError(f"{path} exists already; choose another name")
    try:
        for path, template in zip(written, (f"{kind}.txt", f"test_{kind}.txt"), strict=True):
            text = string.Template((_TEMPLATES / template).read_text(encoding="utf-8"))
            with path.open("x", encoding="utf-8") as out:
                out.write(text.substitute(name=title, module=module))
    except OSError as error:
        raise ValueError(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None
    return written


def _installed(module: str, folder: Path) -> bool:
    """Whether there is a module of that name elsewhere than in `folder`."""
    found = importlib.machinery.PathFinder.find_spec(module)
    return found is not None and found.origin is not None and Path(found.origin).parent != folder.resolve()
