"""HushBench's scores: means, intervals, profiles, and the ε beside them."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import board as reference
from hushbandits.bench.board.manifest import read
from hushbandits.bench.board.play import strongest
from hushbandits.bench.board.scores import aggregate
from hushbandits.bench.judge.stats import iqm
from hushbandits.protection import privacy


def shipped(name):
    """The manifest of one that ships."""
    return reference.FOLDER / f"{name}.json"


def test_the_interquartile_mean_of_a_worked_example():
    """Of 0…7 the middle half is 2, 3, 4, 5; two tasks are one pile of runs."""
    assert aggregate([np.arange(4.0), np.arange(4.0, 8.0)])[0] == 3.5
    scipy = pytest.importorskip("scipy.stats")
    x = np.random.default_rng(0).standard_cauchy(144)
    assert aggregate([x[:72], x[72:]])[0] == pytest.approx(scipy.trim_mean(x, 0.25))


def test_the_interval_resamples_each_task_by_itself():
    """Tasks that lie far apart and do not vary leave an interval of no width; one pile of them would not."""
    low, high = aggregate([np.full(24, 0.0), np.full(24, 0.5), np.full(24, 1.0)])[1]
    assert low == high == 0.5


def test_the_interval_covers():
    """Of 150 draws of three tasks: below 124 with a probability of 3·10⁻⁷ at 94 %; half the width covers 100 or so."""
    rng, truth, covered = np.random.default_rng(1), 0.5, 0
    for _ in range(150):
        strata = [rng.normal(mean, 0.2, 24) for mean in (0.3, 0.5, 0.7)]
        low, high = aggregate(strata, resamples=400)[1]
        covered += low <= truth <= high
    assert covered >= 130


def test_a_profile_weighs_tasks_alike():
    manifest = read(shipped("Random"))
    standing = manifest.standings["network"]
    at = np.array([-1e9, 0.0, 1e9])
    naive = [np.mean([(x >= t).mean() for x in standing.scores.values()]) for t in at]
    assert standing.profile(at).tolist() == pytest.approx(naive)
    assert standing.profile(at)[[0, 2]].tolist() == [1.0, 0.0]


def test_what_cannot_be_played_counts_nought():
    manifest = read(shipped("MaskablePPO-DPMASE"))
    assert set(manifest.refused) == {"vote-plain", "vote-uneven", "vote-lost", "vote-close"}
    scores = manifest.standings["exploration"].scores
    assert all((scores[name] == 0).all() for name in manifest.refused)
    assert manifest.standings["exploration"].iqm == pytest.approx(float(iqm(np.concatenate([*scores.values()]))))


# -- privacy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "agent", "told"),
    [
        ("DistDP-v0", "Dist-DP-SE", (1.0, 1.0)),
        ("DPMASE-v0", "DP-MASE", (0.5, np.inf)),
        ("CoopNetwork-v0", "Multi-UCB", None),
    ],
)
def test_what_is_promised_is_what_privacy_says(env, agent, told):
    given = {"epsilon": 1.0} if env == "DistDP-v0" else {}
    mine = {"epsilon": 0.5} if agent == "DP-MASE" else {}
    assert strongest(privacy(env, agent, agent_kwargs=mine, **given).lines) == told


def test_of_several_promises_the_one_that_counts():
    """One mechanism: its smallest bound.  Several: the largest of these.  One message by itself bounds nothing."""
    table = privacy("CoopNetwork-v0", "Multi-UCB", wrappers=["LocalLaplace"], horizon=100)
    (line,) = table.lines
    assert strongest([line]) == (1.0, 100.0)  # a reward a round
    dearer, other = replace(line, epsilon=3.0, run_epsilon=9.0), replace(line, by="another", epsilon=0.5)
    assert strongest([dearer, line]) == (1.0, 100.0)
    assert strongest([dearer, other]) == (3.0, 100.0)
    assert strongest([line, replace(other, epsilon=np.inf, run_epsilon=np.inf)]) == (1.0, 100.0)
    alone = replace(line, counts="only of one message by itself: nothing is promised about a run")
    assert strongest([alone]) == (np.inf, np.inf)
    assert strongest([line, replace(other, counts="yes: nothing holds here", epsilon=np.inf)]) == (np.inf, np.inf)
    assert strongest([]) is None
