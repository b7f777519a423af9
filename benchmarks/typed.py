"""Signatures of the makers as type checkers see them: ``python -m benchmarks typed`` (seconds).

It writes ``src/hushbandits/adapters/typed.pyi``: for each setting the parameters of its envs and their protocols, and
for each maker an overload per setting.
"""

import inspect
import subprocess
from pathlib import Path

from hushbandits.adapters import make
from hushbandits.adapters.learners import _TASKS
from hushbandits.cli.listing import settings
from hushbandits.registry import ENVS

FILE = Path(make.__file__).with_name("typed.pyi")
MAKERS = ("make", "make_aec", "make_vec", "make_sb3", "make_torchrl")
HEAD = '''\
# Made by `python -m benchmarks typed`: a keyword that no built-in env of the setting has is an error where it is typed.
# mypy: disable-error-code="overload-overlap"
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import torch
from gymnasium.vector import AutoresetMode
from pettingzoo import AECEnv

from hushbandits.adapters.make import wrap as wrap
from hushbandits.adapters.parallel import ParallelView
from hushbandits.adapters.sb3 import RowsVecEnv
from hushbandits.adapters.torchrl import TorchRows
from hushbandits.adapters.vector import VectorView
from hushbandits.core import Field
from hushbandits.registry import AnyEnv, AnyWrapper

class UnknownKeyword:
    """What a maker returns, for type checkers, if a keyword is none of the setting's."""

'''


def by_setting():
    """Return setting → its built-in ids, and the keywords that their envs and protocols take."""
    found = {}
    for id, spec in ENVS.items():
        ids, names = found.setdefault(spec.load().setting, ([], set()))
        ids.append(id)
        names.update(settings(spec, spec.wrappers))
    return {setting: (ids, sorted(names)) for setting, (ids, names) in sorted(found.items())}


def maker(name, settings_of):
    """Return the overloads of one maker: one per setting, one that catches unknown keywords, one for any other id."""
    own = inspect.signature(getattr(make, name))
    seen = inspect.signature(make.make) if name == "make_aec" else own
    explicit = [p for p in seen.parameters.values() if p.name not in ("id", "kwargs", *_TASKS)]
    shown = [f"{p.name}: {p.annotation} = ..." for p in explicit]
    shown.insert(sum(p.kind is not p.KEYWORD_ONLY for p in explicit), "*")
    lines = [("id: AnyEnv", *shown, "**kwargs: Any", own.return_annotation)]
    every = " | ".join(f"{setting.title()}Id" for setting in settings_of)
    lines.insert(0, (f"id: {every}", "*args: Any", "**kwargs: Any", "UnknownKeyword"))
    for setting in map(str.title, reversed(settings_of)):
        lines.insert(0, (f"id: {setting}Id", *shown, f"**kwargs: Unpack[{setting}]", own.return_annotation))
    return "".join(f"@overload\ndef {name}({', '.join(taken)}) -> {made}: ...\n" for *taken, made in lines)


def text():
    """Return the stub."""
    settings_of, explicit = by_setting(), inspect.signature(make.make).parameters
    made = HEAD + "class Task(TypedDict, total=False):\n"
    made += "".join(f"    {name}: {explicit[name].annotation}\n" for name in _TASKS)
    for setting, (ids, names) in settings_of.items():
        own = sorted({*names} - {"runs", "wrappers", "extra_fields", *_TASKS})
        made += f"\n{setting.title()}Id = Literal[{', '.join(map(repr, ids))}]\n"
        made += f"\nclass {setting.title()}(Task, total=False):\n" + "".join(f"    {name}: Any\n" for name in own)
    made += "\n" + "\n".join(maker(name, settings_of) for name in MAKERS)
    return made


def main(*_):
    """Write the stub, formatted."""
    FILE.write_text(text(), encoding="utf8")
    subprocess.run(["ruff", "format", FILE], check=True)
