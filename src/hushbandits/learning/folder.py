"""The folder of a training: what it was asked for, how far it is, and what it needs to go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import IO, Any

import numpy as np

from hushbandits.baselines.learned import CARD, WEIGHTS, read
from hushbandits.bench.runner.errors import StoreError
from hushbandits.core import Array, shown
from hushbandits.core.utils.files import PART, replacing

#: What ``card.json`` says: how a policy is played (`hushbandits.baselines.learned.learned`), and its ``training``.
Card = dict[str, Any]


def versions(algo: str) -> dict[str, str]:
    """Return the versions of what trains by `algo`, as far as they are installed."""
    theirs = ("cma",) if algo == "es" else ("stable-baselines3", "torch", "sb3-contrib")
    return {name: it.version for name in ("hushbandits", "numpy", *theirs) for it in [*distributions(name=name)][:1]}


def save(
    out: Path, card: Card, weights: Mapping[str, Array], name: str, checkpoint: Callable[[IO[bytes]], None]
) -> None:
    """Write a policy, and a checkpoint of that name; one whose training is complete needs none, and it goes."""
    try:
        _write(out / WEIGHTS, lambda file: np.savez(file, **weights))  # type: ignore[arg-type]
        if not card["training"]["complete"]:
            _write(out / name, checkpoint)
        _write(out / CARD, lambda file: file.write((json.dumps(card, allow_nan=False) + "\n").encode()))
        if card["training"]["complete"]:
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write to {out}: {(error.strerror or str(error)).lower()}") from None


def _write(path: Path, content: Callable[[IO[bytes]], object]) -> None:
    with replacing(path, binary=True) as file:
        content(file)


def begun(out: Path, asked: Mapping[str, object], resume: bool) -> Card | None:
    """Return the card of a training that goes on; ``None``: the folder is free for a new one.

    Raises
    ------
    StoreError
        The folder holds something else, or another training.
    """
    if not (out / CARD).exists():
        if resume:
            raise StoreError(f"{out} holds no training to go on with; leave out --resume to begin one")
        if out.exists() and not out.is_dir():
            raise StoreError(f"--out {out} is no folder")
        # What a training that was stopped as it began has left is none of others.
        names = (path.name for path in out.glob("*"))
        if others := sorted(name for name in names if name != "tensorboard" and not PART.fullmatch(name)):
            raise StoreError(f"--out {out} holds {shown(others[0])} and no training; choose another --out")
        return None
    if not resume:
        raise StoreError(f"{out} holds a training already; --resume goes on with it, or choose another --out")
    try:
        card = dict(read(out).card)
        before = card["training"]["asked"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{out} holds no training to go on with: {error}; choose another --out") from None
    for name in {**before, **asked}:
        if before.get(name) != asked.get(name):
            raise StoreError(
                f"{out} holds another training: {name}={shown(before.get(name))} there, {shown(asked.get(name))} here; "
                f"choose another --out"
            )
    return card
