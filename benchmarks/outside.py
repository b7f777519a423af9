"""Lower bounds on ε by other packages, on the scores of our audit: the tables of docs/privacy/outside.md.

Run: ``python -m benchmarks outside FOLDER [--jax PYTHON] [--opake PYTHON]`` (some ten CPU minutes); the last line of
``--help`` says how to make the two environments.

It plays the mechanisms of ``benchmarks/vetting.py``, honest and with false claims, and the broken mechanisms of
``tests/oracles``.  It records the scores on which a check tests, and lets the packages bound ε from them.
"""

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed

from benchmarks.vetting import MECHANISMS, fault
from hushbandits.audits import draws, events
from hushbandits.audits.cases import Budget
from hushbandits.audits.suite import checks

KINDS = ("black box", "one run", "drawn law")
ORACLES = Path(__file__).parents[1] / "tests" / "oracles"
MODULES = (
    "mutants", "named_mutants", "fresh_mutants", "canary_mutants", "graph_mutants", "hiding_mutants",
)  # fmt: skip
#: Columns: heading, file, and the bound in it.
COLUMNS = {
    "jax-privacy, our threshold": ("jax", "same"),
    "jax-privacy, its own": ("jax", "own"),
    "opake, our threshold": ("opake", "same"),
    "opake, its own": ("opake", "own"),
}
_MAKE = "python -m venv jax && jax/bin/pip install jax-privacy==2.0.0; the same with opake and opake-auditing==0.16.1"


def _recorded(own, recording):
    """Return a function that calls `own`, and hands its value and arguments to `recording`."""

    def stand_in(*given, **named):
        found = own(*given, **named)
        recording(found, *given)
        return found

    return stand_in


class Recorder:
    """Stand-in for the functions that decide a check: it calls them, and records their scores and bounds.

    Scores are replaced by their ranks, since the packages compare them with thresholds alone.
    """

    def __init__(self):
        self.records, self._sides, self._learned, self._cuts = [], [], None, []

    @contextmanager
    def listening(self):
        """Take the place of the functions in `hushbandits.audits`."""
        with ExitStack() as stack:
            for module, name, recording in (
                (events, "_hits", self._hits),
                (events, "ratios", self._ratios),
                (events, "_cut", self._cut),
                (events, "epsilon_lower_bound", self._two_inputs),
                (events, "one_run_bound", self._one_run),
                (draws, "one_run_bound", self._guesses),
            ):
                stack.enter_context(patch.object(module, name, _recorded(getattr(module, name), recording)))
            yield self

    def taken(self):
        """Return the records since the last call."""
        found, self.records, self._cuts = self.records, [], []
        return found

    def _hits(self, found, x, kind, at):
        self._sides = [*self._sides[-1:], (x, kind, at)]

    def _ratios(self, found, values, bits, learn, use, bins=8):
        self._learned = found, bits[use]

    def _cut(self, found, *given):
        self._cuts.append(found)

    def _two_inputs(self, bound, hits, others, samples, delta, level, other_samples=None):
        (one, kind, at), (other, *_) = self._sides
        x, value = np.concatenate([one, other]), at[0]
        x, value = {"≤": (-x, -value), "≥": (x, value), "=": ((x == value) * 1.0, 1.0)}[kind]
        known, scores = np.unique(x, return_inverse=True)
        self._record("two inputs", bound, scores, np.arange(len(x)) < len(one), known.searchsorted(value), level, delta)

    def _one_run(self, bound, correct, guesses, delta, level, canaries):
        if not guesses:
            return
        (_, least), best = max((cut, i) for i, cut in enumerate(self._cuts))
        found, bits = self._learned[0][best], self._learned[1]
        known, size = np.unique(np.append(0.0, np.abs(found)), return_inverse=True)  # a score of 0 has rank 0
        scores, threshold = np.sign(found) * size[1:], known.searchsorted(least)
        sure = np.abs(scores) >= threshold
        assert (sure.sum(), ((scores > 0) == bits)[sure].sum()) == (guesses, correct)
        self._record("one run", bound, scores, bits, threshold, level, delta)

    def _guesses(self, bound, correct, guesses, delta, level, canaries):
        if guesses:
            scores, inside = np.zeros(canaries), np.arange(canaries) % 2 == 0
            scores[:guesses], inside[:guesses] = 1, np.arange(guesses) < correct
            self._record("one run", bound, scores, inside, 1, level, delta)

    def _record(self, kind, bound, scores, inside, threshold, level, delta):
        given = {"kind": kind, "ours": bound, "threshold": int(threshold), "level": level, "delta": delta}
        self.records.append((given | {"size": len(scores)}, scores.astype(np.int32), inside))


def mutants():
    """Yield ``module:Class`` of each broken mechanism of the tests."""
    sys.path[:0] = [path for path in (str(ORACLES),) if path not in sys.path]
    for module in MODULES:
        import_module(module)
    yield from dict.fromkeys(f"{it.__module__}:{it.__name__}" for it, *_ in import_module("refuted").REFUTED)


def played(name, f, budget, kinds):
    """Play one mechanism by all checks; return its records, with the claim, subject and kind of check of each.

    `f`: the factor of the false claim; ``None``: the name is that of a class.
    """
    found = []
    if f is None:
        list(mutants())
    path = name if f is None else fault(name, "black box", f)
    label = name if f is None or f == 1 else f"{name}, f = {f:g}"
    with Recorder().listening() as recorder:
        for check in checks([path], budget):
            for verdict in check.run() if check.what in kinds else ():
                taken = recorder.taken()
                same = [it for it in taken if it[0]["ours"] == verdict.measured] or taken[-1:]
                if same and verdict.unit == "ε":
                    more = {"subject": label, "honest": f == 1, "claimed": verdict.claimed, "check": check.what}
                    found.append((same[0][0] | more, *same[0][1:]))
    return label, f == 1, found


def row(label, records, answers):
    """Return a row: the bounds that are largest beside their claims, and by which columns the claim is refuted."""
    cells, refuted = [], []
    for head, bounds in answers.items():
        known = [(b / r["claimed"], b, r["claimed"]) for b, r in zip(bounds, records, strict=True) if b is not None]
        ratio, bound, claimed = max(known, default=(0.0, 0.0, 1.0))
        cells.append(("–" if not known else f"{bound:.2f}") + ("" if f"{claimed:.4g}" == "1" else f" of {claimed:.4g}"))
        if ratio > 1 + 1e-9:
            refuted.append(head)
    return f"| {label} | {' | '.join(cells)} | {'; '.join(refuted) or '–'} |", refuted


def table(subjects, records, answers):
    """Yield a row for each subject, then the numbers of refuted mutants and of refuted honest mechanisms."""
    yield f"| mechanism | {' | '.join(answers)} | refuted by |\n|{'---|' * (len(answers) + 2)}"
    counts = {honest: dict.fromkeys(answers, 0) for honest in (True, False)}
    tested, silent = {True: 0, False: 0}, []
    for label, honest in subjects:
        at = [i for i, record in enumerate(records) if record["subject"] == label]
        if not at:
            silent.append(label)
            continue
        line, refuted = row(label, [records[i] for i in at], {k: [v[i] for i in at] for k, v in answers.items()})
        tested[honest] += 1
        for head in refuted:
            counts[honest][head] += 1
        yield line
    for honest, what in ((False, "mutants"), (True, "honest mechanisms")):
        yield f"{tested[honest]} {what}; refuted: " + ", ".join(f"{k}: {n}" for k, n in counts[honest].items())
    yield f"without scores: {', '.join(silent) or 'none'}"


def differences(records, answers):
    """Yield, for each kind of test and column, the largest distance of its bounds from ours."""
    for kind in ("two inputs", "one run"):
        for head, bounds in list(answers.items())[1:]:
            apart = [
                abs(bound - record["ours"])
                for bound, record in zip(bounds, records, strict=True)
                if record["kind"] == kind and bound is not None
            ]
            if apart:
                yield f"{kind}, {head}: {len(apart):,} bounds, at most {max(apart):.2g} from ours"


def asked(words):
    """Return the parsed arguments."""
    made = argparse.ArgumentParser("python -m benchmarks outside", description=__doc__.splitlines()[0], epilog=_MAKE)
    made.add_argument("folder", type=Path, help="for scores and bounds; without a package, they are written alone")
    made.add_argument("--jax", metavar="PYTHON", help="of an environment with jax-privacy")
    made.add_argument("--opake", metavar="PYTHON", help="of an environment with opake-auditing")
    made.add_argument("--samples", type=int, default=2000, help="runs per input (2,000: a third of the audit's)")
    made.add_argument("--factors", type=float, nargs="*", default=[2.0], help="of the false claims (2)")
    made.add_argument("--of", choices=("mechanisms", "mutants"), help="by default both")
    made.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS, help="of checks (all three)")
    made.add_argument("--jobs", type=int, default=2, help="processes (2)")
    made.add_argument("--again", action="store_true", help="read the scores of the folder instead of playing")
    return made.parse_args(words)


def play(folder, samples, factors, of, kinds, jobs):
    """Play everything, or the half that `of` names, and write subjects, records and scores; Ctrl-C ends it early."""
    budget = Budget(samples=samples, largest=32, runs=4, grid=(1.0,))
    todo = [(name, f) for name in MECHANISMS for f in (1.0, *factors)] if of != "mutants" else []
    todo += [(name, None) for name in mutants()] if of != "mechanisms" else []
    games = Parallel(n_jobs=jobs, return_as="generator")(delayed(played)(*job, budget, kinds) for job in todo)
    subjects, found = [], []
    try:
        for label, honest, records in games:
            subjects.append((label, honest))
            found += records
            print(label, len(records), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"{len(subjects)} of {len(todo)} were played", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    records, scores, inside = zip(*found, strict=True)
    np.savez_compressed(folder / "scores.npz", scores=np.concatenate(scores), inside=np.concatenate(inside))
    for name, written in (("records", records), ("subjects", subjects)):
        (folder / f"{name}.json").write_text(json.dumps(written), encoding="utf8")


def main(*words):
    """Play, let the packages answer, and print the table."""
    given = asked(words)
    if not given.again:
        play(given.folder, given.samples, given.factors, given.of, given.kinds, given.jobs)
    subjects, records = (
        json.loads((given.folder / f"{name}.json").read_text(encoding="utf8")) for name in ("subjects", "records")
    )
    answers = {"ours": [record["ours"] for record in records]}
    for name, python in (("jax", given.jax), ("opake", given.opake)):
        if not python:
            continue
        subprocess.run([python, str(Path(__file__).with_name("outsiders.py")), str(given.folder), name], check=True)
        found = json.loads((given.folder / f"{name}.json").read_text(encoding="utf8"))
        for head, (package, which) in COLUMNS.items():
            if package == name:
                answers[head] = [bounds[which] for bounds in found["bounds"]]
                print(f"{head}: refutes a true ε = 0 in {found['alarms'][which]:.1%} of trials at level 5 %")
    for text in (*table(subjects, records, answers), *differences(records, answers)):
        print(text)
