"""``hushbandits new KIND NAME``: write a template of user-defined code, with a passing test."""

import importlib.util
import keyword
import re
import string
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from hushbandits.bench.spec.parts import plain_name
from hushbandits.core import shown

Kind = Literal["env", "agent", "policy", "wrapper", "mechanism", "experiment"]


def new(
    kind: Annotated[Positional[Kind], arg(metavar="KIND")],
    name: Annotated[Positional[str], arg(metavar="NAME")],
    folder: Path = Path(),
) -> int:
    """Write a template of user-defined code, with a passing test.

    The command also prints how to test the new code. Examples:

      hushbandits new agent Bold
      hushbandits new env Tides --folder my_package

    Parameters
    ----------
    kind
        What to write: env, agent, policy, wrapper, mechanism or experiment.
    name
        Class name, such as Bold; for an experiment, its title.
    folder
        Folder of the files; default: the current folder.
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    title, module = "".join(part[0].upper() + part[1:] for part in parts), "_".join(parts).lower()
    file, test = folder / f"{module}.{'toml' if kind == 'experiment' else 'py'}", folder / f"test_{module}.py"
    if not re.fullmatch(r"[A-Za-z][\w -]*", name) or not title.isidentifier():
        raise ValueError(f"name={shown(name)} must be a valid class name, such as Bold")
    if word := next(filter(keyword.iskeyword, (module, title)), ""):
        raise ValueError(f"name={name!r} gives {word!r}, a keyword of Python: choose another name")
    plain_name("name", module)
    if there := next(filter(Path.exists, (file, test)), None):
        raise ValueError(f"{there} exists already; choose another name")
    if module in sys.stdlib_module_names or importlib.util.find_spec(module):
        raise ValueError(f"name={name!r} gives {module}.py, which hides an installed module: choose another name")
    for path, template in ((file, f"{kind}.txt"), (test, f"test_{kind}.txt")):
        text = string.Template((files("hushbandits") / "data" / "templates" / template).read_text(encoding="utf-8"))
        path.write_text(text.substitute(name=title, module=module), encoding="utf-8")
    print(f"{file}\n{test}\ntry it: python -m pytest {test}")
    if kind != "experiment":
        suite = "python -m pytest -p hushbandits.testing.plugin --pyargs hushbandits.testing"
        print(f"and the whole contract: {suite} --of {module}:{title}")
    return 0
