"""Play a part of a manifest's rows again."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hushbandits.bench.board.manifest import Manifest, Refuted, read, same, source
from hushbandits.bench.board.play import Met, known, meet, play
from hushbandits.bench.board.tasks import entry
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.play.plan import Shard
from hushbandits.bench.play.players import Players
from hushbandits.core.entries import AGENTS

__all__ = ["PARTS", "Verified", "verify"]

#: In so many parts the runs are cut; one of them is played again.
PARTS = 8


@dataclass(frozen=True)
class Verified:
    """What was compared: a manifest whose numbers stood, the part that was played, and how many numbers that were."""

    manifest: Manifest
    part: Shard
    numbers: int


def verify(path: Path, named: str | None, players: Players, part: Shard | None = None) -> Verified:
    """Hold a manifest against itself, then play a part of its runs again and compare each number.

    Nothing of the manifest is imported or run: who plays ships, or is named by the caller.

    Parameters
    ----------
    path : Path
        The manifest.
    named : str, optional
        The agent, where it does not ship: ``"module:Name"``, ``"sb3:FOLDER"``, or what a plug-in brings.
    players : Players
        Who plays.
    part : (int, int), optional
        Which of how many parts of the runs; default: one of `PARTS`, drawn anew at each call, so that who writes a
        manifest cannot know it.

    Raises
    ------
    Refuted
        A number is not what was played; the sentence names it.
    ValueError
        It is no manifest, or its agent is not named, or another one.
    """
    manifest = read(path)
    agent = _trusted(path, manifest, named)
    part = part or (1 + secrets.randbelow(PARTS), PARTS)
    met = meet(agent, manifest.tasks)
    _compare_promises(path, manifest, met)
    with (
        tempfile.TemporaryDirectory() as folder,
        play(agent, manifest.tasks, met, Path(folder), players, shard=part) as store,
    ):
        played = known(store, manifest.tasks)
    numbers = 0
    for task, (runs, values) in played.items():
        for metric, again in values.items():
            told = manifest.values[task].get(metric)
            for run, x in zip(runs, again, strict=True):
                was = None if told is None else float(told[run])
                if not same(was, float(x)):
                    raise Refuted(f"{path}: {metric} of run {run} of {task} says {was}, played again it is {float(x)}")
                numbers += 1
    return Verified(manifest, part, numbers)


def _trusted(path: Path, manifest: Manifest, named: str | None) -> Use:
    """Who plays: what ships, or what the caller names, if it is of the source that the manifest is of."""
    said = manifest.agent
    if named is None and said.name not in AGENTS.shipped:
        raise ValueError(
            f"{path} names {said.name!r}, which does not ship: name it yourself (--agents {said.name}) if you trust it"
        )
    name = said.name if named is None else entry(named, {}).name
    if name != said.name and (name in AGENTS.shipped or not manifest.source):
        raise ValueError(f"{path} is of {said.name!r}, not of {name!r}")
    agent = Use(name, label=said.label, on=said.on, **said.params)
    if (here := source(agent)) != manifest.source:
        raise Refuted(f"{path}: source={manifest.source!r} is not that of {name} here, {here!r}: other code, or edited")
    return agent


def _compare_promises(path: Path, manifest: Manifest, met: Met) -> None:
    if odd := {*met.promised} ^ {*manifest.promised}:
        name = min(odd)
        words = ("refused", "played") if name in met.promised else ("played", "refused")
        raise Refuted(f"{path}: {name} is said to be {words[0]}, and here it is {words[1]}")
    again = replace(manifest, promised=met.promised)
    for task, told in manifest.promised.items():
        here = again.epsilon(task)
        if (told is None) != (here is None) or not all(map(same, told or (), here or ())):
            raise Refuted(f"{path}: ε of {task} says {told} (one reward, a whole run), and here it is {here}")
