"""Comparisons: pairs of runs with shared seeds, tests that keep their level, and one table in all places."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from bench_helpers import small

import hushbandits as hb
from hushbandits.bench.report.tables import heads, notes, rows
from hushbandits.bench.run import run
from hushbandits.bench.runner.configuration import Configuration
from hushbandits.bench.runner.rows import Runs
from hushbandits.bench.runner.store import Measures
from hushbandits.bench.stats import holm, share_interval
from hushbandits.bench.stats.pairs import against, comparisons, swapped, wins
from hushbandits.cli.main import main

ENV = {"n_agents": 3, "horizon": 60}
CELL = small().cells()[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare")
    run(small(runs=12, metrics=("regret", "messages")), path)
    return path


@pytest.fixture(scope="module")
def results():
    agents = ("Multi-UCB", "UCB1", "UCB1")
    return [hb.evaluate("CoopNetwork-v0", a, runs=12, env=ENV, seed=s) for a, s in zip(agents, (0, 0, 1), strict=True)]


def line(label, values, world=1, runs=None):
    values = np.asarray(values, float)
    numbers = np.arange(len(values)) if runs is None else np.asarray(runs)
    order = np.argsort(numbers)
    finals = dict.fromkeys(("regret", "correct", "x"), values[order])
    return Configuration(CELL, label, Runs(numbers[order], finals), Measures(), seed_source=(world, ""))


def test_runs_of_one_seed_are_paired_and_others_are_not(results):
    together, alone, elsewhere = results
    one, two, three = hb.compare(*results, names=["a", "b", "c"]).pairs
    assert (one.a, one.b, one.paired, one.runs) == ("a", "b", True, (12, 12))
    assert not any(pair.paired for pair in (two, three))
    difference = together.final("regret") - alone.final("regret")
    assert one.difference == pytest.approx(difference.mean())
    assert one.interval[0] <= one.difference <= one.interval[1]
    assert one.improvement == wins(together.final("regret"), alone.final("regret")).mean()
    assert three.difference == pytest.approx(alone.final("regret").mean() - elsewhere.final("regret").mean())
    text = repr(hb.compare(together, alone, elsewhere))
    for said in ("12 pairs", "12 + 12", "UCB1 (1)", "UCB1 (2)"):
        assert said in text


def test_common_random_numbers_is_taken_out_of_the_difference():
    rng = np.random.default_rng(0)
    seed_source = rng.normal(size=30)
    x, y = seed_source + 0.1 + 0.05 * rng.normal(size=30), seed_source + 0.05 * rng.normal(size=30)
    (same,) = against([line("a", x), line("b", y)], "regret").pairs
    (other,) = against([line("a", x), line("b", y, world=2)], "regret").pairs
    assert same.p < 0.001 < 0.5 < other.p
    assert same.interval[0] > 0 > other.interval[0]
    assert same.improvement == other.improvement


def test_pairs_are_matched_by_the_number_of_their_run():
    (pair,) = against(
        [line("a", [1, 2, 3, np.nan], runs=[5, 4, 3, 0]), line("b", [30, 20, 0, 9], runs=[3, 4, 0, 8])], "x"
    ).pairs
    assert (pair.paired, pair.runs, pair.left_out) == (True, (2, 2), 4)
    assert pair.difference == (2 + 3) / 2 - (20 + 30) / 2
    (apart,) = against([line("a", [1, 2], runs=[0, 1]), line("b", [1, 2], runs=[2, 3])], "x").pairs
    assert not apart.paired


def test_p_values_are_adjusted_over_all_pairs():
    rng = np.random.default_rng(1)
    lines = [line(str(i), rng.normal(size=15) + i / 3) for i in range(4)]
    pairs = against(lines, "regret").pairs
    assert len(pairs) == 6
    assert [p.p_holm for p in pairs] == holm([p.p for p in pairs]).tolist()
    assert any(p.p_holm > p.p for p in pairs)


@pytest.mark.parametrize(("law", "given"), [("normal", {}), ("lognormal", {}), ("integers", {"low": 0, "high": 3})])
def test_the_exchange_within_pairs_keeps_its_level(law, given):
    """All sign patterns of six pairs, enumerated, give the sampled p-values."""
    draw = getattr(np.random.default_rng(3), law)
    x, y = (np.asarray(draw(size=6, **given), float) for _ in range(2))
    turns = [np.array(t, bool) for t in itertools.product([0, 1], repeat=6)]
    spread = np.array([abs(np.where(t, y, x).mean() - np.where(t, x, y).mean()) for t in turns])
    assert swapped(x, y) == pytest.approx(np.mean(spread >= abs(x.mean() - y.mean()) - 1e-12), abs=0.02)


def test_no_difference_is_no_evidence():
    for world in (1, 2):
        (pair,) = against([line("a", np.ones(9)), line("b", np.ones(9), world)], "regret").pairs
        assert (pair.p, pair.improvement, pair.difference) == (1, 0.5, 0)
    (none,) = against([line("a", [np.nan]), line("b", [1.0])], "regret").pairs
    assert np.isnan([none.p, none.p_holm, none.difference]).all()
    assert "–" in rows(against([line("a", [np.nan]), line("b", [1.0])], "regret"))[0]


def test_what_all_runs_agree_on_is_not_certain():
    (pair,) = against([line("a", np.ones(20)), line("b", np.zeros(20))], "correct").pairs
    low = share_interval(20, 20, 0.975)[0]
    assert pair.interval == (low - share_interval(0, 20, 0.975)[1], 1.0)
    assert pair.improvement_interval == share_interval(20, 20)
    (few,) = against([line("a", [1.0, 2.0]), line("b", [1.0, 3.0])], "regret").pairs
    assert np.isinf(few.interval).all()


def test_the_improvements_interval_is_the_plain_bootstraps():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 9, 20) * 1.0, rng.integers(2, 11, 25) * 1.0
    (pair,) = against([line("a", x), line("b", y, world=2)], "regret").pairs
    naive = [wins(rng.choice(x, 20), rng.choice(y, 25)).mean() for _ in range(3000)]
    assert pair.improvement_interval == pytest.approx(np.quantile(naive, [0.02, 0.98]), abs=0.03)


def test_a_rare_win_leaves_no_less_doubt_than_none():
    x = np.arange(24.0)
    spans = []
    for won in (0, 1):
        y = x + 30.0
        y[:won] = 22.5  # a single run of A exceeds it
        (pair,) = against([line("a", x), line("b", y)], "regret").pairs
        spans.append(pair.improvement_interval)
        assert pair.improvement == won / 24**2
    assert spans[1][0] == 0.0
    assert spans[1][1] >= spans[0][1] > 0.1


def test_the_metric_is_the_settings_where_none_is_named(results):
    assert hb.compare(*results).metric == "regret"
    env = {"n_agents": 8, "n_arms": 3, "threshold": 1, "horizon": 50}
    voted = [hb.evaluate("DPMASE-v0", agent, runs=2, env=env) for agent in ("DP-MASE", "Random")]
    assert hb.compare(*voted).metric == "rounds"


def test_a_folder_is_compared_point_by_point_and_as_a_whole(folder, results):
    part = hb.load_results(folder).parts[0]
    found = comparisons(part.configurations, "regret")
    capped = comparisons(part.configurations, "regret", most=4)
    assert [(one.where, one.metric, len(one.pairs)) for one in found] == [
        ("agents = 3", "regret", 3), ("agents = 4", "regret", 3),
    ]  # fmt: skip
    assert all(pair.paired for one in found for pair in one.pairs)
    assert [(len(one.pairs), one.left) for one in capped] == [(3, 0), (1, 2)]
    assert any("2 more pairs" in note for note in notes(capped))
    part = hb.load_results(folder).select(at={"env.n_agents": 3})
    assert [p.difference for p in hb.compare(part).pairs] == [p.difference for p in found[0].pairs]
    whole = hb.compare(hb.load_results(folder))
    assert len(whole.pairs) == 15
    assert "UCB1, agents = 4" in repr(whole)
    mixed = hb.compare(part.select("UCB1"), results[1])
    assert mixed.pairs[0].b == "UCB1 (2)"
    frame = whole.to_frame()
    assert len(frame) == 15
    assert {"a", "b", "paired", "runs_a", "interval_low", "p_holm"} <= set(frame.columns)
    assert whole._repr_html_().count("<tr>") == 15
    assert len(heads()) == len(rows(whole)[0])


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ({}, {"horizon": 90}, "horizon"),
        ({}, {"n_agents": 4}, "n_agents"),
        ({}, {"means": (0.9, 0.1)}, "means"),
        ({"n_arms": 3}, {"n_arms": 4, "horizon": 61}, "n_arms"),
        ({"means": [0.9, 0.1]}, {"means": (0.9, 0.1)}, ""),
    ],
    ids=["horizon", "agents", "means", "two", "same"],
)
def test_lines_of_different_envs_are_compared_with_a_word(one, other, shown):
    lines = [hb.evaluate("CoopNetwork-v0", "UCB1", runs=6, env={**ENV, **given}) for given in (one, other)]
    for known in (lines, [pickle.loads(pickle.dumps(line)) for line in lines]):
        table = hb.compare(*known)
        assert ("The lines have different envs" in repr(table)) == bool(shown)
        assert shown in repr(table)
        assert ("different envs" in table._repr_html_()) == bool(shown)


def test_points_of_a_sweep_against_each_other_are_different_envs(folder):
    part = hb.load_results(folder)
    assert "n_agents (3; " in repr(hb.compare(part))
    assert "different envs" not in repr(hb.compare(part.select(at={"env.n_agents": 3})))
    on = hb.evaluate("CoopNetwork-v0", "UCB1", runs=4, env={"n_agents": 3, "horizon": 60})
    mixed = repr(hb.compare(part.select("UCB1", at={"env.n_agents": 3}), on))
    assert "means " in mixed
    assert "env CoopNetwork-v0" not in mixed


def test_the_command_prints_a_table_for_each_point(folder, capsys):
    assert main(["compare", str(folder)]) == 0
    text = capsys.readouterr().out
    assert text.count("12 pairs") == 6
    assert "small, agents = 4: regret" in text
    args = ["--metric", "messages", "--lines", "UCB1", "Multi-UCB", "--at", "env.n_agents=3", "--statistic", "median"]
    assert main(["compare", str(folder), *args]) == 0
    text = capsys.readouterr().out
    assert text.count("12 pairs") == 1
    assert "the median of A minus that of B, of messages" in text
    assert main(["compare", str(folder), "--lines", "UCB1"]) == 2
    assert "two configurations have runs" in capsys.readouterr().err
