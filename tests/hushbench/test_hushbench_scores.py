"""HushBench's scores: means, intervals, profiles, and the ε beside them."""

import numpy as np
import pytest

import hushbandits as hb
from hushbench.submission import read
from hushbench.tasks import aggregate


def test_the_interquartile_mean_of_a_worked_example():
    """Of 0…7 the middle half is 2, 3, 4, 5; runs of two tasks are pooled."""
    assert aggregate([np.arange(4.0), np.arange(4.0, 8.0)])[0] == 3.5
    scipy = pytest.importorskip("scipy.stats")
    x = np.random.default_rng(0).standard_cauchy(144)
    assert aggregate([x[:72], x[72:]])[0] == pytest.approx(scipy.trim_mean(x, 0.25))


def test_the_interval_resamples_each_task_by_itself():
    """Constant tasks that lie far apart give an interval of no width; pooled resampling would not."""
    low, high = aggregate([np.full(24, 0.0), np.full(24, 0.5), np.full(24, 1.0)])[1]
    assert low == high == 0.5


def test_a_profile_weighs_tasks_alike(submitted):
    standing = read(submitted("Commit-Blocks")).standings["feedback"]
    at = np.array([-1e9, 0.9, 1e9])
    naive = [np.mean([(x >= t).mean() for x in standing.scores.values()]) for t in at]
    assert standing.profile(at).tolist() == pytest.approx(naive)
    assert standing.profile(at)[[0, 2]].tolist() == [1.0, 0.0]
    assert 0 < naive[1] < 1


def test_what_cannot_be_played_counts_nought(submitted):
    submission = read(submitted("Decentralized-SER3"))
    refused = {name for name, row in submission.data["tasks"].items() if "refused" in row}
    assert refused == {"vote-small", "vote-close"}
    scores = submission.standings["exploration"].scores
    assert all((scores[name] == 0).all() for name in refused)
    middle = float(hb.stats.iqm(np.concatenate([*scores.values()])))
    assert submission.standings["exploration"].iqm == pytest.approx(middle)
