"""Looks, as they are declared: which are refused, and what they leave as it was."""

from __future__ import annotations

import json

import pytest
from bench_helpers import known
from refusals import rows

from hushbandits.bench.declare.catalog import find, modules
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Value
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge import stages
from hushbandits.bench.judge.intervals import fewest_runs
from hushbandits.bench.judge.stages import check_looks
from hushbandits.bench.judge.verdicts import ALPHA
from hushbandits.bench.run import run

LOOKS = 48, 100, 300
ABOVE = Claim("A has regret.", Value("regret", of="A"), above=0)


def looked(*claims, looks=LOOKS, **more):
    return known(*claims, **{"sweep": {"env.n_agents": (4,)}, "runs": looks[-1], "looks": looks, **more})


@rows(
    ("looks", "says"),
    [
        ((100, 48, 300), r"looks=\(100, 48, 300\)"),
        ((48, 48, 300), "must be increasing numbers of runs"),
        ((48, 100), r"looks=\(48, 100\)"),
        ((48, 400), "must end with runs=300"),
        ((0, 300), "looks=0"),
        ((48.5, 300), "looks=.*"),
        (("48", 300), "looks=.*"),
        ((True, 300), "looks=.*"),
        (300, "looks=300"),
    ],
)
def test_looks_of_another_shape_are_refused_in_a_sentence(looks, says):
    with pytest.raises(ValueError, match=says) as error:
        looked(ABOVE).overriding({"runs": 300, "looks": looks})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("m", [1, 7])
def test_a_first_look_too_small_for_a_mean_is_refused_with_the_number(tmp_path, monkeypatch, m):
    monkeypatch.setattr(stages, "family", lambda name: m)
    needs = fewest_runs(1 - ALPHA / m / 2)
    check_looks(looked(ABOVE, looks=(needs, 300)))
    early = looked(ABOVE, looks=(needs - 1, 300))
    with pytest.raises(ValueError, match=rf"looks=.*needs {needs} runs"):
        run(early, tmp_path / "none", progress=False)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("statistic", ["median", "iqm"])
def test_a_first_look_too_small_for_another_statistic_is_refused_as_well(tmp_path, statistic):
    one = Claim("A.", Value("regret", of="A", statistic=statistic), above=0)
    with pytest.raises(ValueError, match="begin too early"):
        check_looks(looked(one, looks=(5, 300)))
    check_looks(looked(one, looks=(60, 300)))


def test_the_shipped_looks_can_decide_in_their_paper():
    for _, declared in modules().values():
        for experiment in declared:
            check_looks(experiment)


def test_looks_are_no_part_of_a_cell_and_stand_in_the_declaration():
    once, staged = known(ABOVE, runs=300), known(ABOVE, runs=300, looks=LOOKS)
    assert [c.key for c in once.cells()] == [c.key for c in staged.cells()]
    assert "looks" not in once.to_dict()
    assert staged.to_dict()["looks"] == list(LOOKS)
    assert Experiment.from_dict(json.loads(json.dumps(staged.to_dict()))) == staged


def test_luck_of_its_own_is_another_world():
    once, fresh = known(ABOVE), known(ABOVE, luck="fresh")
    for one, other in zip(once.cells(), fresh.cells(), strict=True):
        assert one.key != other.key
        assert one.seeds(0, 0, 1)[0].entropy != other.seeds(0, 0, 1)[0].entropy
    assert len({c.world for c in fresh.cells()}) == 3  # agents still face the same runs
    assert Experiment.from_dict(fresh.to_dict()) == fresh


@pytest.mark.parametrize("name", ["chowdhury2023-scale-05", "chowdhury2023-scale-1", "feraud2019-shared"])
def test_what_was_given_more_runs_plays_runs_that_nobody_has_judged(name):
    (mine,) = find(name)
    assert len(mine.looks) > 1
    worlds = {c.world for _, declared in modules().values() for e in declared if not e.luck for c in e.cells()}
    assert not worlds & {c.world for c in mine.cells()}


@pytest.mark.parametrize(
    ("looks", "runs", "found"),
    [((48, 100), 300, (48, 100, 300)), ((48, 100, 300), 80, (48, 80)), ((100,), 80, (80,)), ((80,), 80, (80,))],
)
def test_any_experiment_can_be_played_with_looks(looks, runs, found):
    assert known(ABOVE, runs=runs).staged(looks).looks == found
    assert known(runs=runs).staged(looks).looks == ()  # nothing is claimed


def test_a_quick_version_is_judged_once_unless_it_says():
    assert looked(ABOVE).quickly().looks == ()
    quick = looked(ABOVE, quick={"runs": 60, "looks": [30, 60]}).quickly()
    assert (quick.runs, quick.looks) == (60, (30, 60))
