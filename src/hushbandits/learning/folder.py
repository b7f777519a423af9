"""The folder of a training: whole at any moment, whenever it is killed."""

from __future__ import annotations

import io
import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NotRequired, TypedDict, cast

import numpy as np

from hushbandits.baselines.sb3_file import FILE, read
from hushbandits.baselines.sb3_model import Whole
from hushbandits.bench.runner.errors import StoreError
from hushbandits.core.ground.files import parts, replacing
from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import shown
from hushbandits.learning.score import Score

__all__ = ["Asked", "Point", "Told", "Training", "begun", "same", "save", "versions"]


class Asked(TypedDict):
    """What a training was asked for, as JSON has it."""

    id: str
    algo: str
    steps: int
    seed: int
    runs: int
    env: dict[str, object]
    wrappers: list[dict[str, object]]
    task: dict[str, object]
    hyper: dict[str, object]
    evaluations: int
    held_out: int


class Point(Score):
    """What an evaluation found, and after how many steps."""

    steps: int


class Training(TypedDict):
    """What ``policy.json`` says of its training; ``random`` is what uniform play earns."""

    command: str
    asked: Asked
    versions: dict[str, str]
    machine: str
    steps: int
    legs: int
    complete: bool
    checkpoint: str | None
    curve: list[Point]
    random: NotRequired[Score]


class Told(TypedDict):
    """What ``policy.json`` says: how it is played (`understood`), which file has its weights, how it was trained."""

    format: int
    algorithm: str
    setting: str
    env: dict[str, object]
    wrappers: list[dict[str, object]]
    options: dict[str, object]
    observation: list[list[object]]
    action: dict[str, object]
    network: Whole
    deterministic: bool
    masked: bool
    beats: int
    weights: NotRequired[str]
    training: Training


def versions(algo: str) -> dict[str, str]:
    """Return what the numbers of a training by `algo` depend on."""
    theirs = ("cma",) if algo == "es" else ("stable-baselines3", "torch", "sb3-contrib")
    names = ("hushbandits", "numpy", *theirs)
    return {name: version(name) for name in names if name != "sb3-contrib" or _installed(name)}


def _installed(name: str) -> bool:
    try:
        version(name)
    except ImportError:
        return False
    return True


def save(out: Path, told: Told, weights: dict[str, Array], checkpoint: bytes | None) -> None:
    """Write a policy, and what its training needs to go on.

    Files that carry the step in their names come first, then ``policy.json`` takes the old one's place in one go: it
    names them, so that a policy and its weights always belong together.  What older ones named goes, and nothing else.
    """
    steps = told["training"]["steps"]
    told["weights"] = f"weights-{steps}.npz"
    told["training"]["checkpoint"] = f"checkpoint-{steps}.pt" if checkpoint is not None else None
    ends = [point["steps"] for point in told["training"]["curve"]]
    written = {name for end in ends for name in (f"weights-{end}.npz", f"checkpoint-{end}.pt")}
    content = io.BytesIO()
    np.savez(content, **weights)  # type: ignore[arg-type]
    try:
        _write(out / told["weights"], content.getvalue())
        if checkpoint is not None:
            _write(out / f"checkpoint-{steps}.pt", checkpoint)
        _write(out / FILE, (json.dumps(told, allow_nan=False) + "\n").encode())
        for name in written - {told["weights"], told["training"]["checkpoint"]}:
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write to {out}: {(error.strerror or str(error)).lower()}") from None


def _write(path: Path, content: bytes) -> None:
    with replacing(path, binary=True) as file:
        file.write(content)


def begun(out: Path) -> Told | None:
    """Return what ``policy.json`` of a training says; ``None`` where the folder is free for one.

    ``StoreError``: the folder holds something else.
    """
    if not out.exists():
        return None
    if not out.is_dir():
        raise StoreError(f"--out {out} is no folder")
    if (out / FILE).exists():
        try:
            return cast(Told, dict(read(out).told))
        except ValueError as error:
            raise StoreError(f"{error}; choose another --out") from None
    left = {"tensorboard", *(part.name for part in parts(out))}  # by a training that was stopped as it began
    if others := sorted(path.name for path in out.iterdir() if path.name not in left):
        raise StoreError(f"--out {out} holds {shown(others[0])} and no training; choose another --out")
    return None


def same(out: Path, told: Mapping[str, object], asked: Mapping[str, object]) -> None:
    """Raise `StoreError` unless a folder's training is the one that is asked for, and can go on here to the bit."""
    training = told.get("training")
    if not isinstance(training, dict) or not isinstance(training.get("asked"), dict):
        raise StoreError(f"{out} holds a policy, but not how it was trained; choose another --out")
    before = training["asked"]
    for name in {**before, **asked}:
        if before.get(name) != asked.get(name):
            raise StoreError(
                f"{out} holds another training: {name}={shown(before.get(name))} there, {shown(asked.get(name))} here; "
                f"choose another --out"
            )
    if training.get("complete"):
        return
    if not training.get("checkpoint"):
        raise StoreError(f"{out} holds no checkpoint to go on from; choose another --out")
    now = {**versions(str(asked["algo"])), "machine": platform.machine()}
    for name, there in {**training.get("versions", {}), "machine": training.get("machine")}.items():
        if now.get(name) != there:
            raise StoreError(
                f"the training in {out} cannot go on to the bit: {name} was {there} and is {now.get(name)}; "
                f"choose another --out"
            )
