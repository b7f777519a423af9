"""What `benchmarks/outside.py` records is what our audit decides on."""

import numpy as np
import pytest

from benchmarks.outside import KINDS, played
from hushbandits.audits.cases import Budget
from hushbandits.privacy.audit import epsilon_lower_bound, one_run_bound


@pytest.mark.parametrize("name", ["LocalDiscreteLaplace"])
def test_the_scores_give_our_bounds_again(name):
    budget = Budget(samples=400, largest=12, runs=4, grid=(1.0,))
    label, honest, found = played(name, 3.0, budget, KINDS)
    assert (label, honest) == (f"{name}, f = 3", False)
    assert {record["check"] for record, *_ in found} == set(KINDS)
    assert {record["kind"] for record, *_ in found} == {"two inputs", "one run"}
    for record, scores, inside in found:
        level, delta, threshold = record["level"], record["delta"], record["threshold"]
        if record["kind"] == "one run":
            sure = np.abs(scores) >= threshold
            right = int(((scores > 0) == inside)[sure].sum())
            bound = one_run_bound(right, int(sure.sum()), delta, level, len(scores))
        else:
            hits, others = (int((scores[side] >= threshold).sum()) for side in (inside, ~inside))
            bound = epsilon_lower_bound(hits, others, int(inside.sum()), delta, level, int((~inside).sum()))
        assert bound == pytest.approx(record["ours"])
