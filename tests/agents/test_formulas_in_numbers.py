"""Values of the papers' formulas that no other test calls."""

import math

import pytest
from refusals import rows

from hushbandits.agents import feraud2019_theory, rio2023_theory
from hushbandits.agents.rio2023_theory import most_likely
from hushbandits.best_arm.elimination import confidence_under_loss, elimination_gap
from hushbandits.best_arm.fixed_design import median_length, naive_length
from hushbandits.best_arm.lucb import lucb_rate, ugapec_rate
from hushbandits.best_arm.private_elimination import batch_radius, epoch_length, radii
from hushbandits.best_arm.racing import kl_level, pass_gap
from hushbandits.estimators.robust import Mean, TrimmedMean
from hushbandits.estimators.rules import clipped_points, kept_points
from hushbandits.estimators.running import values_kept
from hushbandits.privacy.plans import precision

GAPS = [0, 0.2, 0.4, 0.6]


@rows(
    ("found", "known"),
    [
        (feraud2019_theory.elimination_samples(GAPS, 0.9, 0.25), 1652),
        (rio2023_theory.first_below(lambda t: 1 / t, 0.01), 100),
        (rio2023_theory.first_below(lambda t: 0.0, 0.01), 1),
        (most_likely([0.2, 0.5, 0.3], 2), 0.3),
        (confidence_under_loss(0.9, 0.1, 10), 0.7419),
        (elimination_gap(10, 400, 0.9), 0.3794),
        (naive_length(10, 0.9, 0.25), 199),
        (median_length(1, 0.9, 0.25), 1943),
        (median_length(2, 0.9, 0.25), 4716),
        (math.sqrt(lucb_rate(10, 100, 0.9) / 40), 0.513),
        (math.sqrt(ugapec_rate(10, 100, 0.9) / 40), 0.4692),
        (pass_gap(10, 100, 0.9), 0.51),
        (kl_level(10, 1, 0.9), 8.4131),
        (epoch_length(10, 1, 0.1, 0.5), 702),
        (radii(10, 1, 0.1, 0.5, 702.0), (0.0601, 0.0624)),
        (batch_radius(10, 3, 0.1, 8.0, 0.0, 0.0), 0.7154),
        (kept_points(1000, 2.0, 0.01), 968),
        (clipped_points(1000, 2.0, 0.01), 121),
        (values_kept(TrimmedMean(0.0), 10**6, 14.0), 268),
        (values_kept(Mean(), 10**6, 14.0), 2),
        ([precision(1024, 1.0), precision(1024, 0.1), precision(900, 0.1), precision(1024, 0.5, 10)], [32, 4, 3, 160]),
    ],
)
def test_a_formula_gives_its_number(found, known):
    assert found == pytest.approx(known, abs=5e-5)
