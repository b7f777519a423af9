"""Tests of uniforms: they hold their level, and see what they are made for."""

import math

import numpy as np
import pytest
from scipy import stats

from hushbandits.audits.uniforms import Draws, _repeats, _scale, _tails, against_law, factor

SHAPE = 400, 6, 2


def verdicts(u, level=1e-6, alike=1e-13, **more):
    nothing = np.zeros(u.shape)
    draws = Draws(u, u == 0.5, nothing, alike=alike, **more)
    return {v.check.partition(": ")[2].partition(" (")[0]: v for v in against_law(draws, level, "mine", "drawn")}


def uniforms(seed=0, shape=SHAPE):
    return np.random.default_rng(seed).random(shape)


def test_fresh_draws_pass_at_their_level():
    """At a level of 1/5 no check fails in more than a fifth of 100 tries, but for chance."""
    failed = {}
    for seed in range(100):
        u = uniforms(seed, (60, 4, 2))
        u[5, 1] = np.nan  # a block that did not arrive
        groups = {"size": np.arange(60) // 6, "seat": np.broadcast_to(np.arange(2), u.shape)}
        found = verdicts(u, 0.2, groups=groups, again=("size",), beside=uniforms(1000 + seed, u.shape))
        for check, verdict in found.items():
            failed[check] = failed.get(check, 0) + (not verdict.passed)
    assert len(failed) == 7
    assert max(failed.values()) <= stats.binom.isf(1e-3, 100, 0.2)


@pytest.mark.parametrize("lag", [1, 5, 137, 390])
def test_noise_of_any_earlier_block(lag):
    u = uniforms()
    u[lag:] = np.where(np.arange(len(u) - lag)[:, None, None] % (2 * lag) < lag, u[:-lag], u[lag:])
    verdict = verdicts(u)["two views together"]
    assert not verdict.passed or lag == 390  # ten pairs a run are too few
    assert f"{lag} later, 0 runs on" in verdict.check or lag == 390


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda u: np.where(np.arange(len(u))[:, None, None] % 2, 1 - np.roll(u, 1, 0), u), "1 later, 0 runs on"),
        (lambda u: np.repeat(u[:, :, :1], 2, 2), "0 later, 0 runs on, seats 0 and 1"),
        (lambda u: np.stack([u[..., 0], np.roll(u[..., 0], 3, 0)], 2), "seats 0 and 1"),
        (lambda u: np.concatenate([u[:, :3], u[:, :3]], 1), "0 later, 3 runs on"),
        (lambda u: np.concatenate([u[:, :3], np.roll(u[:, :3], 9, 0)], 1), "9 later, 3 runs on"),
        (lambda u: u % 0.5 + 0.5 * (np.repeat(u[:200], 2, 0) > 0.5), "1 later"),
    ],
    ids=["antithetic", "seats", "seats, later", "runs", "runs, later", "signs"],
)
def test_dependence_of_any_kind(change, words):
    verdict = verdicts(change(uniforms()))["two views together"]
    assert not verdict.passed
    assert words in verdict.check


def test_a_place_that_repeats_another_and_one_that_knows_the_rewards():
    u, beside = uniforms(3, (6, 400, 1)), uniforms(4, (6, 400, 1))
    assert verdicts(u, beside=beside)["two views together"].passed
    one = u.copy()
    one[4] = (one[1] + 0.01) % 1
    worst = verdicts(one)["two views together"].check  # either way round: both say the same, but for rounding
    assert "place 1, seat 0 and place 4" in worst or "place 4, seat 0 and place 1" in worst
    one = u.copy()
    one[0] = beside[3]
    assert "luck of the rewards of place 3" in verdicts(one, beside=beside)["two views together"].check


def test_tails_that_end():
    u = uniforms(5, (2000, 10, 1))
    for scales in (3, 5, 6):  # of Laplace noise
        end = math.exp(-scales) / 2
        clipped = np.clip(u, end, 1 - end)
        found = verdicts(clipped)
        assert not found["values that occur again"].passed
        assert not found["its tails"].passed
        inside = end + (1 - 2 * end) * u  # cut off, without an atom
        assert not verdicts(inside)["its tails"].passed


def test_values_on_a_grid_that_nobody_told():
    u = uniforms(6)
    assert _repeats(u, 1e-13) == 0
    assert not verdicts(np.round(u, 5))["values that occur again"].passed


def test_scales_are_told_as_finely_as_is_said():
    rng = np.random.default_rng(7)
    off = factor(20_000, 1e-6)
    caught = []
    for _ in range(50):
        x = rng.laplace(size=20_000) / off
        caught.append(_scale(stats.laplace.cdf(x)) > math.log(1e6))
    assert np.mean(caught) > 0.8
    assert _scale(uniforms(8)) < math.log(1e6)
    assert _tails(uniforms(8))[0] < math.log(1e6)


def test_groups_are_looked_at_one_by_one():
    u = uniforms(9)
    u[200:202] = 0.5
    groups = {"place": np.arange(len(u)) // 2}
    verdict = verdicts(u, groups=groups)["its law by place"]
    assert not verdict.passed
    assert verdict.check.endswith("(worst: 100)")


def test_without_any_noise_nothing_was_tested():
    found = verdicts(np.full(SHAPE, np.nan))
    assert [v.word for v in found.values()] == ["not tested"]
