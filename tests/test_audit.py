"""Audits: every shipped mechanism passes, six mutants are rejected."""

import dataclasses
import math

import numpy as np
import pytest
from hushbandits.bench.audit import _VARIANTS, audit, black_box, one_run, white_box
from scipy import stats

import hushbandits as hb
from hushbandits.cli import main
from hushbandits.privacy.audit import (
    epsilon_lower_bound,
    one_run_p_value,
    polya_epsilon,
    renyi_divergence,
    worst_log_ratio,
)
from hushbandits.privacy.ledger import Spent
from hushbandits.privacy.plans import Plan, distributed_pure
from hushbandits.privacy.samplers import DiscreteLaplace as LaplaceLaw
from hushbandits.privacy.samplers import NoiseLaw, PolyaDifference
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle_dp import ShuffledLaplace, ShuffledSum


class GammaScale(DiscreteLaplace):
    """1: the released sampler, whose gamma scale is (1−p)/p for p = e^(−ε/g): β and 1 − β swapped."""

    def plan(self, n):
        plan = super().plan(n)
        wrong = -1 / math.log(1 - math.exp(-1 / plan.noise.b))
        return dataclasses.replace(plan, noise=PolyaDifference(1 / n, wrong))


class ForgottenPrecision(DiscreteLaplace):
    """2: scale 1/ε on an integer sum of sensitivity g."""

    def plan(self, n):
        return dataclasses.replace(super().plan(n), noise=PolyaDifference(1 / n, 1 / self.epsilon))


@dataclasses.dataclass(frozen=True)
class OneSidedLaw(NoiseLaw):
    r: float
    b: float

    def draw(self, rng, size):
        return rng.negative_binomial(self.r, -math.expm1(-1 / self.b), size)

    def wrapped_pmf(self, n, m):
        assert n * self.r == 1  # geometric
        beta = math.exp(-1 / self.b)
        k = np.arange(20 * m)
        return np.bincount(k % m, weights=(1 - beta) * beta**k, minlength=m)


class OneSided(DiscreteLaplace):
    """3: γ⁺ alone."""

    def plan(self, n):
        plan = super().plan(n)
        return dataclasses.replace(plan, noise=OneSidedLaw(1 / n, plan.noise.b), tau=2 * plan.tau)

    def price(self, n, survivors):
        return Spent(self.epsilon)


class ReusedSeed(DiscreteLaplace):
    """4: the same noise for every block."""

    def reset(self, env, seeds):
        super().reset(env, seeds)
        self._again = [seed.spawn(1)[0] for seed in seeds]

    def send(self, message, env):
        self._rngs = [np.random.default_rng(seed) for seed in self._again]
        return super().send(message, env)


class AsPrinted(ShuffledLaplace):
    """6: theorem 3 with e^(−ε/g) where it charges ε′ = ε/2."""

    def plan(self, n):
        return distributed_pure(n, self.epsilon, self._p)


def made(mechanism, *more):
    """The mechanism in an env of its own, reset."""
    env = hb.envs.feedback.Feedback(wrappers=[mechanism, *more], users="each")
    env.reset(0)
    return env.mechanism


@pytest.mark.parametrize("mutant", [GammaScale, ForgottenPrecision])
@pytest.mark.parametrize("n", [64, 1024])
def test_white_box_rejects_noise_that_is_too_small(mutant, n):
    (verdict,) = white_box(made(mutant(1.0, 1e-6), SecAgg()), n)
    assert not verdict.passed
    (honest,) = white_box(made(DiscreteLaplace(1.0, 1e-6), SecAgg()), n)
    assert honest.passed
    assert honest.measured == pytest.approx(1, abs=1e-9)
    if n == 1024:
        assert verdict.measured == pytest.approx(111.4 if mutant is GammaScale else 32, rel=1e-3)


def test_white_box_rejects_one_sided_noise():
    (verdict,) = white_box(made(OneSided(1.0, 1e-6), SecAgg()), 64)
    assert verdict.measured > 10


def test_white_box_rejects_dropouts_without_t_min():
    spent = {}
    for t_min in (1.0, 0.9):
        (verdict,) = white_box(made(DiscreteLaplace(1.0, 1e-6, t_min=t_min), SecAgg()), 1024, 922)
        spent[t_min] = verdict
    assert not spent[1.0].passed
    assert spent[1.0].measured == pytest.approx(1.18, abs=0.005)
    assert spent[0.9].passed
    # And the ledger of a run says so.
    for t_min, bound in ((1.0, math.inf), (0.5, 1.0 + 1e-9)):
        env = hb.make_vec("DistDP-v0", horizon=3000, t_min=t_min, wrappers=[Loss(0.1)])
        worst = hb.play(env, hb.make_team("Dist-DP-SE"))["epsilon"].item()
        assert worst <= bound
        assert (worst > 1.05) == (t_min == 1.0)


def test_white_box_rejects_theorem_3_as_printed():
    (verdict,) = white_box(made(AsPrinted(1.0, shuffle="pure"), ShuffledSum("pure")), 1024)
    assert verdict.measured == pytest.approx(1.5, abs=1e-6)
    assert not verdict.passed
    (corrected,) = white_box(made(ShuffledLaplace(1.0, shuffle="pure"), ShuffledSum("pure")), 1024)
    assert corrected.passed
    assert corrected.measured == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("mutant", [GammaScale, ForgottenPrecision, OneSided, ReusedSeed])
def test_black_box_rejects_mutants_from_runs_alone(mutant):
    samples = 24_000 if mutant is OneSided else 1500
    verdict = black_box([mutant(1.0, 1e-6), SecAgg()], 1.0, n=32, samples=samples)
    assert not verdict.passed


def test_black_box_passes_the_honest_mechanism_and_is_not_far_below():
    verdict = black_box([DiscreteLaplace(1.0, 1e-6), SecAgg()], 1.0, n=32, samples=6000)
    assert verdict.passed
    assert verdict.measured > 0.7


def test_black_box_catches_a_factor_of_two_with_880_runs():
    assert not black_box([DiscreteLaplace(2.0, 1e-6), SecAgg()], 1.0, n=32, samples=880).passed
    # The bound itself, at the expected counts: P = (1+β)⁻¹ near ½ against e^(−2)/2.
    assert epsilon_lower_bound(440, round(440 * math.exp(-2)), 880, 0.0, 1e-6) > 1


@pytest.mark.parametrize(("hits", "others"), [(300, 40), (500, 0), (500, 500), (7, 3), (0, 10)])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_bound_is_that_of_two_clopper_pearson_intervals(hits, others, delta):
    # A two-sided interval at level 1e-3 has 5e-4 at either end, which is each count's share of the level.
    low = stats.binomtest(hits, 500).proportion_ci(1 - 1e-3, "exact").low
    high = stats.binomtest(others, 500).proportion_ci(1 - 1e-3, "exact").high
    expected = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    assert epsilon_lower_bound(hits, others, 500, delta, 1e-3) == pytest.approx(expected, rel=1e-9)


def test_one_run_p_value_is_a_binomial_tail():
    assert one_run_p_value(1, 1, math.log(3)) == pytest.approx(3 / 4)
    assert one_run_p_value(2, 3, math.log(3)) == pytest.approx((27 + 27) / 64)
    assert one_run_p_value(0, 3, 1.0) == 1


@pytest.mark.slow
def test_black_box_catches_a_factor_of_two_at_a_tenth_with_24_000_runs():
    assert not black_box([DiscreteLaplace(0.2, 1e-6), SecAgg()], 0.1).passed
    assert black_box([DiscreteLaplace(0.1, 1e-6), SecAgg()], 0.1).passed


def test_one_run_audit_of_the_local_mechanism():
    assert one_run(LocalDiscreteLaplace(1.0)).passed
    assert one_run(LocalDiscreteLaplace(1.0)).measured > 0.7

    class Loud(LocalDiscreteLaplace):
        def plan(self, n):
            plan = super().plan(n)
            return Plan(n, plan.g, plan.tau, LaplaceLaw(plan.noise.b / 2))

    loud = one_run(Loud(1.0))
    assert not loud.passed
    assert loud.measured > 1.2


@pytest.mark.parametrize("id", sorted(_VARIANTS))
def test_every_shipped_mechanism_passes(id):
    verdicts = list(audit([id], samples=1000))
    assert verdicts
    assert all(v.passed for v in verdicts), [v for v in verdicts if not v.passed]


def test_no_env_with_a_mechanism_escapes_the_audit():
    audited = {id for id in hb.list_envs() if id != "LTR-v0" and getattr(hb.make_vec(id), "mechanism", None)}
    assert audited == set(_VARIANTS)


@pytest.mark.slow
def test_the_audit_table_in_full(capsys):
    assert main(["audit"]) == 0
    assert "every mechanism passes" in capsys.readouterr().out


def test_the_command_line_says_what_failed(capsys, monkeypatch):
    assert main(["audit", "DistDP-v0", "--samples", "100"]) == 0
    assert "passes  DistDP-v0" in capsys.readouterr().out
    honest = DiscreteLaplace.plan
    monkeypatch.setattr(
        DiscreteLaplace, "plan", lambda self, n: dataclasses.replace(honest(self, n), noise=PolyaDifference(1 / n, 1.0))
    )
    assert main(["audit", "DistDP-v0", "--samples", "100"]) == 1
    assert "FAILS   DistDP-v0" in capsys.readouterr().out
    assert main(["audit", "CoopNetwork-v0"]) == 2
    assert "no privacy mechanism" in capsys.readouterr().err


def test_dropouts_as_the_erratum_states_them():
    assert [round(polya_epsilon(r, 32.0, 32), 2) for r in (1.0, 0.9, 0.5)] == [1.0, 1.18, 2.58]


@pytest.mark.parametrize(("shape", "b", "g"), [(0.9, 3.0, 2), (0.4, 8.0, 5), (0.25, 30.0, 30)])
def test_what_is_left_of_polya_noise_by_its_own_law(shape, b, g):
    k = np.arange(round(80 * b))
    law = [stats.nbinom.pmf(k + s, shape, -math.expm1(-1 / b)) for s in range(4 * g)]
    pmf = [law[0] @ shifted for shifted in law]  # of the difference at 0, 1, …
    ratios = [math.log(pmf[j] / pmf[j + s]) for s in range(1, g + 1) for j in range(3 * g)]
    assert polya_epsilon(shape, b, g) == pytest.approx(max(ratios), rel=1e-8)
    assert polya_epsilon(2.0, b, g) == g / b


def test_renyi_divergence_takes_the_worse_direction():
    for p in ([0.7, 0.2, 0.1], [0.1, 0.2, 0.7]):
        one, other = np.array(p[1:]), np.array(p[:-1])
        either = [math.log((x**3 * y**-2.0).sum()) / 2 for x, y in ((one, other), (other, one))]
        assert renyi_divergence(np.log(p), 1, 3) == pytest.approx(max(either))
        assert abs(either[0] - either[1]) > 0.1


def test_renyi_divergence_of_what_is_impossible_is_infinite():
    with np.errstate(divide="ignore"):
        log_pmf = np.log(np.array([0.5, 0.5, 0.0]))
    assert renyi_divergence(log_pmf, 1, 2) == math.inf
    assert worst_log_ratio(log_pmf, 1) == math.inf
