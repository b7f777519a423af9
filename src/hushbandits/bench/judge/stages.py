"""How far experiments with looks are played: from look to look, until their claims are decided."""

from __future__ import annotations

from collections.abc import Container, Mapping

from hushbandits.bench.declare.catalog import family
from hushbandits.bench.declare.looks import words
from hushbandits.bench.declare.points import points
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge.line import lines
from hushbandits.bench.judge.procedures import contrast, procedure
from hushbandits.bench.judge.tally import tally, told
from hushbandits.bench.judge.verdicts import ALPHA, Verdict, judge, judge_one
from hushbandits.bench.play.meetings import Meetings
from hushbandits.bench.play.natures import Measures, declared
from hushbandits.bench.play.store import Store
from hushbandits.core.ground.validate import shown

__all__ = ["Stages", "check_looks", "said", "together"]


def together(experiment: Experiment) -> int:
    """Return m, how many claims are judged together with those of an experiment: all of its paper."""
    return max(family(experiment.name) or 0, len(experiment.claims))


def check_looks(experiment: Experiment, meetings: Meetings | None = None, but: Container[str] = ()) -> None:
    """Raise ``ValueError`` if one of the claims could not be decided at the first look, whatever its runs were.

    `meetings`: where those of its cells are kept; `but`: keys of cells that cannot meet.
    """
    if not experiment.looks:
        return
    first, looks, m = experiment.looks[0], len(experiment.looks), together(experiment)
    level = 1 - ALPHA / m / looks
    kinds = Measures(declared(experiment, meetings or Meetings([experiment]), but))
    for claim in experiment.claims:
        how = procedure(claim.effect, kinds[claim.effect.metric])
        needs = max((how.fewest(level, len(cells)) for _, cells in points(experiment, claim)), default=1)
        if first < needs:
            raise ValueError(
                f"{experiment.name}: looks={shown(experiment.looks)} begin too early: with {looks} looks and {m} "
                f"claim{'s' * (m != 1)} judged together, {claim.sentence!r} needs {needs} runs ({how.name})"
            )


def said(store: Store, experiment: Experiment) -> str:
    """Say at which looks how many claims were decided; empty where there are no looks."""
    if not experiment.looks:
        return ""
    verdicts = judge(lines(store, experiment), experiment, together(experiment))
    found = [v.look for v in verdicts if v.decided]
    at = ", ".join(f"{found.count(look)} at {look:,}" for look in experiment.looks if look in found)
    looks, whose = words(experiment.looks, experiment.runs), told(tally((v.claim.origin, v.verdict) for v in verdicts))
    return (
        f"judged at {looks}: {len(found)} of {len(experiment.claims)} claims decided{f' ({at})' if at else ''}; {whose}"
    )


class Stages:
    """How many runs of each experiment a store should hold by now: those of the first look that leaves nothing open.

    Nothing else counts than what is declared and what the first runs of each look say: neither how many lie there, nor
    in which order they came.  A look that some run is missing from is played before any later one.  What one call has
    found decided, the next does not read again.
    """

    def __init__(self) -> None:
        self._decided: dict[tuple[str, int], Verdict] = {}

    def __call__(self, store: Store) -> dict[str, int]:
        """Return that number, by experiment."""
        done: Mapping[str, set[int]] = store.done()
        return {e.name: self._asked(store, e, done) if e.looks else e.runs for e in store.experiments}

    def _asked(self, store: Store, experiment: Experiment, done: Mapping[str, set[int]]) -> int:
        there = [done[cell.key] for cell in experiment.cells() if cell.key not in store.skipped]
        whole = [look for look in experiment.looks if all(runs.issuperset(range(look)) for runs in there)]
        if whole:
            end = self._end(store, experiment)
            if end is not None and end in whole:
                return end
        return next((look for look in experiment.looks if look not in whole), experiment.runs)

    def _end(self, store: Store, experiment: Experiment) -> int | None:
        """The look by which all claims are decided; ``None``: it is not known yet, or there will be none."""
        played, m = lines(store, experiment), together(experiment)
        looks = []
        for i, claim in enumerate(experiment.claims):
            places = points(experiment, claim)
            if not places or any(contrast(claim.effect, cells) is None for _, cells in places):
                continue  # a variation took its points away: no run decides it
            known = experiment.name, i
            verdict = self._decided.get(known)
            if verdict is None:
                verdict = judge_one(played, experiment, claim, m)
                if not verdict.decided:
                    return None
                self._decided[known] = verdict
            looks.append(verdict.look)
        return max(looks, default=None)
