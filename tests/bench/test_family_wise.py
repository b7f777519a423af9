"""Error rate of verdicts: of m claims at their boundary, all stay undecided in 95 % of the families."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench_helpers import experiment, lines
from kinds import each_once
from scipy import stats as scipy_stats

from hushbandits.bench.spec.claim import Claim
from hushbandits.bench.stats.intervals import RAREST, fewest_runs
from hushbandits.bench.stats.verdicts import ALPHA, judge

M = 20


def modes(rng, n, p):
    return 0.2 + (rng.random(n) < p) + 0.05 * rng.normal(size=n)


#: Draws, and the mean of each law.
LAWS = {
    "normal": (lambda rng, n: rng.normal(5, 1, n), 5.0),
    "exponential": (lambda rng, n: rng.exponential(1, n), 1.0),
    "two modes": (lambda rng, n: modes(rng, n, 0.5), 0.7),
    "mode of 1/7": (lambda rng, n: modes(rng, n, 1 / 7), 0.2 + 1 / 7),
}
#: Effects on means whose truth is the boundary: fields of the claim, given the law's mean.
EFFECTS = {
    "value": lambda mean: {"above": mean},
    "difference": lambda mean: {"effect": "difference", "over": "B", "below": mean - 2},
    "ratio": lambda mean: {"effect": "ratio", "over": "B", "above": mean / 2},
    "slope": lambda mean: {"effect": "slope", "along": "env.n_agents", "below": 1.0},
    "slope of ratio": lambda mean: {"effect": "slope", "along": "env.n_agents", "over": "B", "above": 1.0},
}


class Draws:
    """Draw new rows each time: line A follows the law, times the place; B is normal around 2."""

    def __init__(self, law, runs, seed=0):
        self.law, self.runs, self.rng = law, runs, np.random.default_rng(seed)

    def __call__(self, cell):
        if cell.line == "B":
            return self.rng.normal(2, 0.5, self.runs)
        return self.law(self.rng, self.runs) * cell.point["env.n_agents"] / 4


def family(fields, m=M):
    sweep = (4, 8, 16) if fields.get("effect") == "slope" else (4,)
    claims = [Claim.from_dict({"sentence": f"Claim {i}.", "metric": "regret", "of": "A", **fields}) for i in range(m)]
    return experiment(*claims, sweep={"env.n_agents": sweep})


def wrong_families(whole, uniforms, families):
    return sum(any(v.verdict != "undecided" for v in judge(lines(whole, uniforms), whole)) for _ in range(families))


def at_most_alpha(wrong, families):
    return scipy_stats.binomtest(wrong, families, ALPHA, alternative="greater").pvalue > 1e-3


@each_once
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize(("law", "runs"), [("normal", 20), ("exponential", 10), ("two modes", 10), ("mode of 1/7", 10)])
def test_too_few_runs_decide_no_claim_on_means(law, runs, effect):
    draw, mean = LAWS[law]
    assert wrong_families(family(EFFECTS[effect](mean)), Draws(draw, runs), 20) == 0


@each_once
@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("law", LAWS)
def test_of_twenty_claims_at_their_boundary_none_is_decided(law, effect):
    draw, mean = LAWS[law]
    families, runs = 50, 42  # ⌈7 ln(20/.05)⌉: the fewest runs for a verdict
    wrong = wrong_families(family(EFFECTS[effect](mean)), Draws(draw, runs), families)
    assert at_most_alpha(wrong, families), f"{wrong} of {families} families have a wrong verdict"


@pytest.mark.parametrize("statistic", ["median", "iqm"])
@pytest.mark.parametrize("runs", [10, 90])
def test_medians_and_interquartile_means_need_no_law(statistic, runs):
    # Cauchy around 1: no mean, no variance; median and interquartile mean are 1.
    def cauchy(rng, n):
        return 1 + rng.standard_cauchy(n)

    wrong = wrong_families(family({"statistic": statistic, "above": 1.0}), Draws(cauchy, runs), 50)
    assert at_most_alpha(wrong, 50)


@pytest.mark.parametrize("law", LAWS)
def test_claims_that_are_clear_are_decided(law):
    draw, mean = LAWS[law]
    for effect, edge in (("value", mean), ("difference", mean - 2), ("ratio", mean / 2), ("slope", 1.0)):
        fields = EFFECTS[effect](mean)
        end = "above" if "above" in fields else "below"
        far = {"above": edge - 3 * abs(edge) - 1, "below": edge + 3 * abs(edge) + 1}
        for ends, verdict in ((far[end], "holds"), (far["below" if end == "above" else "above"], "does not hold")):
            whole = family({**fields, end: ends}, 3)
            judged = judge(lines(whole, Draws(draw, 42)), whole, M)
            assert {v.verdict for v in judged} == {verdict}, (effect, verdict)


def test_an_unseen_mode_has_at_most_its_share_of_the_error():
    for m in (1, 7, 61, 1000):
        n = fewest_runs(1 - ALPHA / m)
        assert (1 - 1 / RAREST) ** n <= ALPHA / m
        assert math.exp(-(n - 1) / RAREST) > ALPHA / m
