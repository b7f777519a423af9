"""``hushbandits new-agent NAME``: one agent's code in twenty lines, and a test that passes."""

from __future__ import annotations

import importlib.machinery
import keyword
import re
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.declare.shapes import plain_name
from hushbandits.cli.console import bad_input_is_a_sentence
from hushbandits.core.ground.validate import shown

__all__ = ["new_agent"]

_AGENT = '''"""{name}: the code of one agent. It joins any network experiment:

hushbandits run quickstart-network --agents {module}:{name} --out runs/{module}
"""

import numpy as np


class {name}:
    """ε-greedy on its own pulls and on every report that reaches it."""

    def __init__(self, m, rng, n_arms):  # my number, my own seeded generator, and K
        self.rng, self.n_arms = rng, n_arms
        self.pulls, self.sums = np.ones(n_arms), np.ones(n_arms)

    def act(self, t):  # t = 1, 2, …: choose an arm
        explore = self.rng.random() < self.n_arms / t
        self.arm = self.rng.integers(self.n_arms) if explore else (self.sums / self.pulls).argmax()
        return self.arm

    def speak(self, reward):  # returns None: send the standard report, my arm and reward
        self.learn(self.arm, reward)

    def hear(self, messages):  # the reports that arrived this round, as late as the graph makes them
        for message in messages:
            self.learn(message["arm"], message["reward"])

    def learn(self, arm, reward):
        self.pulls[arm] += 1
        self.sums[arm] += reward
'''

_TEST = '''"""{name} plays, repeats itself, and is no worse than chance."""

import hushbandits as hb

ENV = {{"n_agents": 3, "horizon": 150, "means": (0.9, 0.5, 0.1)}}


def regret(agent):
    return hb.evaluate("CoopNetwork-v0", agent, runs=4, seed=0, env=ENV).final("regret")


def test_it_learns():
    assert regret("{module}:{name}").mean() < 0.5 * regret("Random").mean()


def test_the_same_seed_gives_the_same_run():
    assert (regret("{module}:{name}") == regret("{module}:{name}")).all()
'''


def new_agent(name: Annotated[Positional[str], arg(metavar="NAME")], folder: Path = Path()) -> int:
    """Write a template of an agent, and a test of it that passes.

    Parameters
    ----------
    name
        The agent's class, such as Bold.
    folder
        Where to write; default: here.
    """
    with bad_input_is_a_sentence():
        module, test = _written(name, folder)
    print(f"{module}\n{test}\ntry it: python -m pytest {test}")
    return 0


def _written(name: str, folder: Path) -> tuple[Path, Path]:
    """The module and its test, new in an existing folder, for a name in any of the usual ways."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    title, module = "".join(w[0].upper() + w[1:] for w in words), "_".join(w.lower() for w in words)
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
    files = folder / f"{module}.py", folder / f"test_{module}.py"
    for path in files:
        if path.exists():
            raise ValueError(f"{path} exists already; choose another name")
    try:
        for path, text in zip(files, (_AGENT, _TEST), strict=True):
            with path.open("x", encoding="utf-8") as out:
                out.write(text.format(name=title, module=module))
    except OSError as error:
        raise ValueError(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None
    return files


def _installed(module: str, folder: Path) -> bool:
    """Whether there is a module of that name elsewhere than in `folder`."""
    found = importlib.machinery.PathFinder.find_spec(module)
    return found is not None and found.origin is not None and Path(found.origin).parent != folder.resolve()
