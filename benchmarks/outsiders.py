"""Bounds on ε by jax-privacy or opake-auditing, from the scores that ``python -m benchmarks outside`` wrote.

Run with the Python of an environment that has the package: ``PYTHON benchmarks/outsiders.py FOLDER jax|opake``.  It
reads ``FOLDER/records.json`` and ``FOLDER/scores.npz``, and writes ``FOLDER/jax.json`` or ``FOLDER/opake.json``.
"""

import json
import sys
from pathlib import Path

import numpy as np

#: δ for δ = 0, which jax-privacy's one-run bound refuses.
NO_DELTA = 1e-15
#: Trials, canaries, level and δ of the rate of false alarms.
TRIALS, CANARIES, LEVEL, DELTA = 3000, 1000, 0.05, 1e-6


class Jax:
    """jax-privacy's `CanaryScoreAuditor`, at our threshold and at its own (default: Bonferroni over thresholds)."""

    def __init__(self):
        from jax_privacy import auditing

        self.auditing = auditing

    def _bound(self, kind, inside, outside, level, delta, **threshold):
        if not len(inside) or not len(outside):
            return None
        auditor = self.auditing.CanaryScoreAuditor(inside, outside)
        if kind == "one run":
            return auditor.epsilon_one_run(level, delta or NO_DELTA, **threshold)
        return auditor.epsilon_clopper_pearson(level, delta, **threshold)

    def same(self, kind, scores, inside, threshold, level, delta):
        """Return the bound at our threshold; a right guess counts as "in", and a wrong one as "out"."""
        if kind == "one run":
            scores, inside = np.abs(scores), (scores > 0) == inside
            if inside.all() or not inside.any():  # it needs both: add one that is not guessed
                scores, inside = np.append(scores, -1.0), np.append(inside, not inside[0])
        explicit = {"threshold_strategy": self.auditing.Explicit(threshold)}
        return self._bound(kind, scores[inside], scores[~inside], level, delta, **explicit)

    def own(self, kind, scores, inside, level, delta):
        """Return the bound at the package's own threshold."""
        return self._bound(kind, scores[inside], scores[~inside], level, delta)


class Opake:
    """opake-auditing's `one_run` for (ε, δ): it guesses every canary that it gets."""

    def _bound(self, scores, inside, level, delta, **threshold):
        from opake import auditing
        from opake.auditing.types import CoinFlip

        at = np.arange(len(scores))
        flips = CoinFlip(len(scores), at, inside, at[inside], at[~inside])
        if inside.all() or not inside.any():
            return None
        found = auditing.one_run(auditing.canary_scores(scores, canary_indices=at), coin_flip=flips)
        return found.eps_delta().epsilon_at(delta=delta, significance=level, **threshold)

    def same(self, kind, scores, inside, threshold, level, delta):
        """Return the bound at our threshold; of one run it gets the canaries that we guess, and no others."""
        if kind == "one run":
            sure = np.abs(scores) >= threshold
            scores, inside, threshold = scores[sure], inside[sure], 0.5
        return self._bound(scores, inside, level, delta, threshold=threshold)

    def own(self, kind, scores, inside, level, delta):
        """Return the bound at the package's default threshold, which it chooses on the scores that it tests."""
        return self._bound(scores, inside, level, delta)


PACKAGES = {"jax": Jax, "opake": Opake}


def alarms(package):
    """Return the share of trials in which scores that are independent of the canaries' bits refute ε = 0."""
    rng, found = np.random.default_rng(0), {"same": 0, "own": 0}
    for _ in range(TRIALS):
        scores, inside = rng.normal(size=CANARIES), rng.random(CANARIES) < 0.5
        found["same"] += package.same("one run", scores, inside, 0.0, LEVEL, DELTA) > 0
        found["own"] += package.own("one run", scores, inside, LEVEL, DELTA) > 0
    return {name: count / TRIALS for name, count in found.items()}


def main(folder, name):
    """Write the package's bounds and its rate of false alarms."""
    package, folder = PACKAGES[name](), Path(folder)
    records = json.loads((folder / "records.json").read_text(encoding="utf8"))
    stored, bounds, start = np.load(folder / "scores.npz"), [], 0
    everything, sides = stored["scores"], stored["inside"]
    for record in records:
        scores, inside = everything[start : start + record["size"]], sides[start : start + record["size"]]
        start += record["size"]
        kind, level, delta = record["kind"], record["level"], record["delta"]
        same = package.same(kind, scores.astype(float), inside, record["threshold"], level, delta)
        own = package.own(kind, scores.astype(float), inside, level, delta)
        bounds.append({"same": None if same is None else float(same), "own": None if own is None else float(own)})
    written = {"bounds": bounds, "alarms": alarms(package)}
    (folder / f"{name}.json").write_text(json.dumps(written), encoding="utf8")


if __name__ == "__main__":
    main(*sys.argv[1:])
