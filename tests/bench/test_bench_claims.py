"""Claims: verdicts on rows with known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench_helpers import RUNS, experiment, lines

from hushbandits.bench import reproduce as reproducing
from hushbandits.bench.spec.claim import Claim
from hushbandits.bench.spec.experiment import Component
from hushbandits.bench.stats import median_interval
from hushbandits.bench.stats.intervals import Stratum, skewed_t
from hushbandits.bench.stats.verdicts import judge


def claim(**fields):
    return Claim.from_dict({"sentence": "It is so.", "metric": "regret", "of": "A", **fields})


def judged(one, values, metric="regret", m=1, **changes):
    """Return the verdict on `one` for rows ``values(line, N, rng)``."""
    whole = experiment(one, **changes)
    rngs = {cell.key: np.random.default_rng(i) for i, cell in enumerate(whole.cells())}
    found = lines(
        whole,
        lambda cell: values(cell.line, cell.point.get("env.n_agents"), rngs[cell.key]),
        curves=lambda x: (np.array([10.0, 100.0]), np.stack([x / 2, x], 1)),
        metric=metric,
    )
    return judge(found, whole, m)[0]


def grows(line, n, rng):
    return (2.0 if line == "A" else 3.0) * n + rng.normal(0, 0.5, RUNS)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"effect": "slope", "along": "env.n_agents", "above": 0}, "holds"),
        ({"effect": "slope", "along": "env.n_agents", "above": 0.9, "below": 1.1}, "holds"),
        ({"effect": "slope", "along": "env.n_agents", "above": 1.2}, "does not hold"),
        ({"effect": "slope", "along": "env.n_agents", "above": 1.0}, "undecided"),
        ({"effect": "slope", "over": "B", "along": "env.n_agents", "above": -0.1, "below": 0.1}, "holds"),
        ({"effect": "slope", "over": "B", "along": "env.n_agents", "above": 0.1}, "does not hold"),
        ({"effect": "slope", "over": "B", "along": "env.n_agents", "above": 0}, "undecided"),
        ({"effect": "ratio", "over": "B", "below": 1}, "holds"),
        ({"effect": "ratio", "over": "B", "above": 0.6, "below": 0.75, "statistic": "median"}, "holds"),
        ({"effect": "ratio", "over": "B", "above": 1}, "does not hold"),
        ({"effect": "difference", "over": "B", "below": 0}, "holds"),
        ({"effect": "difference", "over": "B", "below": -10, "at": {"env.n_agents": [16]}}, "holds"),
        ({"effect": "difference", "over": "B", "below": -6}, "does not hold"),
        ({"above": 7}, "holds"),
        ({"below": 33, "statistic": "median"}, "holds"),
        ({"below": 20, "statistic": "iqm"}, "does not hold"),
        ({"below": 20, "at": {"env.n_agents": 8}}, "holds"),
        ({"above": 3, "time": 10}, "holds"),
        ({"below": 0.5, "time": 10, "per_time": True, "at": {"env.n_agents": 4}}, "holds"),
        ({"above": 5.4, "below": 6.6, "time": 55, "at": {"env.n_agents": 4}}, "holds"),
    ],
)
def test_verdicts_on_known_rows(fields, verdict):
    found = judged(claim(**fields), grows)
    assert found.verdict == verdict, found.findings


def test_intervals_are_those_of_the_statistics_page():
    one = claim(above=0, at={"env.n_agents": 8})
    (finding,) = judged(one, grows).findings
    x = grows("A", 8, np.random.default_rng(2))
    assert finding.effect == pytest.approx(x.mean())
    assert finding.interval == skewed_t([Stratum([0], x[:, None])], np.ones(1), 0.95)
    assert finding.procedure == "skewed t"
    (finding,) = judged(claim(above=0, at={"env.n_agents": 8}, statistic="median"), grows).findings
    assert finding.interval == pytest.approx(median_interval(x, 0.95))
    assert finding.runs == RUNS


def test_a_difference_of_equal_rates_is_no_certainty():
    agents = [Component("DP-MASE", label="A", beta=0.05), Component("Random", label="B")]
    fields = {"env": Component("DPMASE-v0", horizon=1000), "agents": agents}
    one = claim(metric="correct", effect="difference", over="B", above=-0.01)
    found = judged(one, lambda *_: np.ones(RUNS), metric="correct", **fields)
    assert found.verdict == "undecided"
    assert found.findings[0].interval[0] < -0.05


def test_runs_on_other_seeds_are_not():
    def shared(line, n, rng):
        return 1000 + np.random.default_rng(0).normal(0, 100, RUNS) + n

    one = claim(
        effect="difference",
        of={"agent": "A", "env.n_agents": 4},
        over={"agent": "A", "env.n_agents": 8},
        above=-10,
        below=10,
    )
    found = judged(one, shared)
    assert found.verdict == "undecided"
    low, high = found.findings[0].interval
    assert 60 < high - low < 120  # 2 · 1.96 · 100 · √(2/40) = 88


def test_a_slope_of_a_ratio_takes_shared_random_numbers_out():
    """A/B = N^0.1, with shared noise of ten times that size."""

    def shared(line, n, rng):
        uniforms = np.exp(np.random.default_rng(n).normal(0, 1, RUNS))
        return uniforms * (n**0.1 if line == "A" else 1.0) * np.exp(rng.normal(0, 0.01, RUNS))

    one = claim(effect="slope", over="B", along="env.n_agents", above=0.05, below=0.15)
    found = judged(one, shared)
    assert found.verdict == "holds"
    assert found.findings[0].procedure == "skewed t, logarithms"
    assert reproducing.in_words(found).startswith("slope of log ratio of means 0.")


def test_a_slope_through_one_place_is_none():
    one = claim(effect="slope", along="env.n_agents", above=0, at={"env.n_agents": [8]})
    found = judged(one, grows)
    assert (found.verdict, found.findings[0].runs) == ("undecided", 0)


def test_a_run_that_is_no_number_decides_nothing():
    def broken(line, n, rng):
        return np.r_[grows(line, n, rng)[1:], np.nan]

    assert judged(claim(effect="ratio", over="B", above=1), broken).verdict == "undecided"


def test_missing_rows_leave_a_claim_undecided():
    def without_16(line, n, rng):
        return None if n == 16 else grows(line, n, rng)

    assert judged(claim(effect="ratio", over="B", below=1), without_16).verdict == "undecided"
    # A failure at another point still counts.
    assert judged(claim(effect="ratio", over="B", above=1), without_16).verdict == "does not hold"


def test_times_beyond_the_curves_leave_a_claim_undecided():
    for time in (9, 101):  # the rows made up here have curves from 10 to 100
        found = judged(claim(above=0, time=time), grows)
        assert (found.verdict, found.findings[0].runs) == ("undecided", 0)


def test_pairs_are_those_of_runs_that_both_lines_have():
    one = claim(effect="difference", over="B", below=-0.8, above=-1.2)
    whole = experiment(one, sweep={"env.n_agents": (4,)})
    uniforms, noise = np.random.default_rng(0).normal(0, 100, RUNS), np.random.default_rng(1).normal(0, 0.1, RUNS)
    runs = {"A": np.arange(35), "B": np.arange(3, RUNS)}
    values = {"A": uniforms - 1 + noise, "B": uniforms}
    found = lines(whole, lambda cell: values[cell.line][runs[cell.line]], lambda cell: runs[cell.line])
    (found,) = judge(found, whole, 1)
    assert found.verdict == "holds"
    assert found.findings[0].effect == pytest.approx(-1 + noise[3:35].mean())
    assert found.findings[0].runs == 32


@pytest.mark.parametrize(("a", "b"), [(35, 60), (60, 35), (60, 0), (0, 60)])
def test_lines_in_worlds_of_their_own_have_the_runs_of_the_fewer(a, b):
    """The runs of a finding are those of its interval: the smallest stratum."""
    points = {"of": {"agent": "A", "env.n_agents": 4}, "over": {"agent": "A", "env.n_agents": 8}}
    one = claim(effect="difference", above=-100, **points)
    whole = experiment(one, sweep={"env.n_agents": (4, 8)}, runs=60, agents=[Component("Multi-UCB", label="A")])
    rng, counts = np.random.default_rng(0), {4: a, 8: b}
    (found,) = judge(lines(whole, lambda cell: rng.normal(size=counts[cell.point["env.n_agents"]])), whole, 1)
    fewer = min(a, b)
    assert (found.verdict, found.findings[0].runs) == ("holds" if fewer else "undecided", fewer)
    assert reproducing.in_words(found).startswith("difference of means" if fewer else "no runs at its points")


def test_the_finding_that_is_shown_is_the_worst_one():
    low = judged(claim(above=0), grows)
    assert low.worst.where == "agents = 4"
    high = judged(claim(below=20), grows)
    assert high.worst.where == "agents = 16"
    assert reproducing.in_words(high).endswith(", at agents = 16 (worst of 3), claimed < 20")
    both = judged(claim(above=5, below=1000), grows)
    assert (both.region, both.worst.where) == ("in (5, 1000)", "agents = 4")


def test_more_points_need_wider_intervals_to_reject():
    """One of 20 points lies below the region by 2.5 standard errors: rejected alone, undecided among 20."""

    def low_at_4(line, n, rng):
        x = rng.normal(0, 1, RUNS)
        x = (x - x.mean()) / x.std(ddof=1)
        return x + (-2.5 / math.sqrt(RUNS) if n == 4 else 10)

    sizes = tuple(range(4, 24))
    alone = judged(claim(above=0, at={"env.n_agents": 4}), low_at_4, sweep={"env.n_agents": sizes})
    assert alone.verdict == "does not hold"
    assert judged(claim(above=0), low_at_4, sweep={"env.n_agents": sizes}).verdict == "undecided"


def test_more_claims_need_wider_intervals():
    one = claim(above=0, at={"env.n_agents": 8})
    found = {m: judged(one, grows, m=m).findings[0].interval for m in (1, 4, 10)}
    widths = [np.diff(ends)[0] for ends in found.values()]
    x = grows("A", 8, np.random.default_rng(2))
    assert widths == sorted(widths)
    for m, ends in found.items():  # at .05/m, and not at .05
        assert ends == skewed_t([Stratum([0], x[:, None])], np.ones(1), 1 - 0.05 / m)
