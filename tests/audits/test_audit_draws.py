"""The test of draws keeps its level, detects its faults, and refutes nothing because of another law."""

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import hushbandits as hb
from hushbandits.audits import uniforms
from hushbandits.audits.cases import Budget
from hushbandits.audits.draws import Draws
from hushbandits.audits.planned import Continuous, planned_law

SHAPE = 400, 6, 2
PROMISE = hb.Guarantee("Laplace", 1.0, 0.0, hb.Adjacency("a reward", "reward"), "all", (), "Dwork 2006")


def verdicts(u, level=1e-6, after=None, **more):
    """Return verdicts on Laplace noise made of uniforms, with fair bits; by the last words of each check."""
    bits = np.random.default_rng(99).random(u.shape) < 0.5
    noise = stats.laplace.ppf(u)
    if after is not None:
        noise = after(noise + bits) - bits
    case = SimpleNamespace(promise=PROMISE, subject="mine", budget=Budget(level=level))
    parts = [(~np.isnan(noise), lambda times: Continuous(stats.laplace(scale=1 / times).cdf))]
    draws = Draws(case, "drawn", noise, parts, np.random.default_rng(9), bits, moved=bits * 1.0, **more)
    return {v.check.partition(": ")[2].partition(" (")[0]: v for v in draws.verdicts()}


def draws(seed=0, shape=SHAPE):
    return np.random.default_rng(seed).random(shape)


def test_fresh_draws_pass_at_their_level():
    """At a level of 1/5 no check fails in more than a fifth of 60 tries, up to chance."""
    failed = {}
    for seed in range(60):
        u = draws(seed, (60, 4, 2))
        u[5, 1] = np.nan  # a block that did not arrive
        groups = {"size": np.arange(60) // 6, "seat": np.broadcast_to(np.arange(2), u.shape)}
        for check, verdict in verdicts(u, 0.2, groups=groups).items():
            failed[check] = failed.get(check, 0) + (verdict.word in ("FAILS", "other law"))
    assert len(failed) == 4
    assert max(failed.values()) <= stats.binom.isf(1e-3, 60, 0.2)


@pytest.mark.parametrize("after", [np.rint, lambda z: np.clip(z, 0, 1), lambda z: np.clip(z, 0, 4)])
def test_what_is_done_to_what_is_released_is_accused_at_the_level(after):
    """The same at a level of 1/5 in small groups, which fit many laws."""
    failed = {}
    for seed in range(60):
        found = verdicts(draws(seed, (60, 4, 2)), 0.2, after, groups={"size": np.arange(60) // 15})
        for check, verdict in found.items():
            failed[check] = failed.get(check, 0) + (verdict.word == "FAILS")
    assert len(failed) == 4
    assert max(failed.values()) <= stats.binom.isf(1e-3, 60, 0.2)


@pytest.mark.parametrize("lag", [1, 5, 137])
def test_noise_of_any_earlier_block(lag):
    u = draws()
    u[lag:] = np.where(np.arange(len(u) - lag)[:, None, None] % (2 * lag) < lag, u[:-lag], u[lag:])
    verdict = verdicts(u)["what two rewards tell"]
    assert verdict.word == "FAILS"
    assert f"{lag} later, 0 runs on" in verdict.check


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda u: np.where(np.arange(len(u))[:, None, None] % 2, 1 - np.roll(u, 1, 0), u), "1 later, 0 runs on"),
        (lambda u: np.repeat(u[:, :, :1], 2, 2), "0 later, 0 runs on, seats 0 and 1"),
        (lambda u: np.stack([u[..., 0], np.roll(u[..., 0], 3, 0)], 2), "seats 0 and 1"),
        (lambda u: np.concatenate([u[:, :3], u[:, :3]], 1), "0 later, 3 runs on"),
    ],
    ids=["antithetic", "seats", "seats, later", "runs"],
)
def test_dependence_of_any_kind(change, words):
    verdict = verdicts(change(draws(0, (400, 12, 2) if words.endswith("3 runs on") else SHAPE)))[
        "what two rewards tell"
    ]
    assert verdict.word == "FAILS"
    assert words in verdict.check


def test_a_place_that_repeats_another_and_one_that_knows_a_later_reward():
    u, rewards = draws(3, (6, 900, 1)), draws(4, (6, 900, 1))
    assert {v.word for v in verdicts(u, rewards=rewards).values()} == {"passes"}
    one = u.copy()
    one[4] = (one[1] + 0.001) % 1
    assert "3 later, 0 runs on" in (found := verdicts(one, rewards=rewards)["what two rewards tell"]).check
    assert found.word == "FAILS"
    for place, word in (
        (3, "FAILS"),
        (0, "passes"),
    ):  # the random numbers of the same or an earlier reward: clipped noise reveals them too
        one = u.copy()
        one[0 if place else 2] = rewards[place]
        assert verdicts(one, rewards=rewards)["noise that knows a later reward"].word == word


@pytest.mark.parametrize(
    ("change", "check", "least"),
    [
        (lambda u, i: stats.laplace.cdf(stats.laplace.ppf(u) / 2), "noise that is too narrow", 1.8),
        (lambda u, i: np.where(i % 20 == 0, 0.5, u), "noise that is missing", 2.0),
        (lambda u, i: np.where(i // 8 == 30, 0.5, u), "noise that is missing", 2.0),
        (lambda u, i: np.clip(u, math.exp(-3) / 2, 1 - math.exp(-3) / 2), "what two rewards tell", 1.1),
        (lambda u, i: np.where(u < 0.5, 0.5 * np.sqrt(2 * u), u), "what two rewards tell", 1.1),
    ],
    ids=["half", "missing", "missing in a group", "tails", "one side"],
)
def test_what_is_not_as_private_as_promised_is_measured(change, check, least):
    u = draws(5, (400, 12, 2))
    i = np.broadcast_to(np.arange(400)[:, None, None], u.shape)
    found = verdicts(change(u, i), groups={"place": np.arange(400) // 8})
    assert found[check].word == "FAILS"
    assert found[check].measured > least


@pytest.mark.parametrize(
    "after",
    [
        np.rint, lambda z: np.round(z, 3), lambda z: np.clip(z, 0, 1), lambda z: np.clip(z, -1, 0.5),
        lambda z: 0.9 * z, lambda z: z + np.random.default_rng(1).laplace(0, 0.7, z.shape),
    ],
    ids=["rounded", "thousandths", "clipped", "clipped on one side", "shrunk", "more"],
)  # fmt: skip
def test_whatever_is_done_to_what_is_released_is_another_law_and_no_failure(after):
    found = verdicts(draws(6, (400, 12, 2)), after=after, groups={"server": np.arange(400) % 2})
    assert "FAILS" not in {v.word for v in found.values()}
    assert found["another law than planned"].word == "other law"
    assert found["another law than planned"].passed


def test_single_statistics_show_what_they_say():
    u = draws(7)
    assert uniforms.repeats(u, 1e-13) == 0 < uniforms.repeats(np.round(u, 5), 1e-13)
    assert max(uniforms.scale(u), uniforms.tails(u), uniforms.distance(u)) < math.log(1e6)
    inside = 1e-3 + 0.998 * draws(8, (2000, 10, 1))  # cut off, without an atom
    assert uniforms.tails(inside) > math.log(1e6)
    off, rng = uniforms.factor(20_000, 1e-6), np.random.default_rng(7)
    found = [uniforms.scale(stats.laplace.cdf(rng.laplace(size=20_000) / off)) > math.log(1e6) for _ in range(50)]
    assert np.mean(found) > 0.8


def test_noise_that_has_no_scale_is_not_too_narrow():
    """Counted coins have their planned law, or another one."""
    env = hb.make_batched("ShuffleDP-v0", shuffle="binary-sum")
    env.reset(0)
    coins, law = env.mechanism.planned(19).noise, partial(planned_law, env.mechanism, 19, 19)
    case = SimpleNamespace(promise=PROMISE, subject="mine", budget=Budget())
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noise, bits = (coins.draw(rng, (*SHAPE, 19)) - coins.mean).sum(-1), rng.random(SHAPE) < 0.5
        found = Draws(case, "drawn", noise, [(noise < np.inf, law)], rng, bits, moved=bits * 1.0).verdicts()
        assert {v.word for v in found} <= {"passes", "not tested"}


def test_without_any_noise_nothing_was_tested():
    (found,) = verdicts(np.full(SHAPE, np.nan)).values()
    assert found.word == "not tested"
