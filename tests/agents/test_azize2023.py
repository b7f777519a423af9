"""AdaP-TT (Azize et al. 2023) equals its naive twin, and its arms reveal no more than guaranteed."""

import math

import numpy as np
import pytest
from helpers import begin, build
from scipy import stats
from twins_azize_top_two import naive_dp_se, naive_top_two

import hushbandits as hb
from hushbandits.agents.azize2023 import AdaPTT
from hushbandits.audits.cases import Budget, Case, home
from hushbandits.audits.suite import actions, chosen
from hushbandits.best_arm.top_two import top_two_threshold
from hushbandits.core.random.streams import spawn_seeds

MEANS = (0.1, 0.85, 0.5, 0.3)


def by_phases(env, team, seeds):
    """Return the arms of every run's rounds, −1 after the end."""
    obs, found = begin(env, team, seeds), []
    while obs.running.any():
        arms = team.act(obs)
        found.append(np.where(obs.running & arms[:, 0].any(1), arms[:, 0].argmax(1), -1))
        obs = env.pull(arms)
        obs = env.communicate(team.compose(obs.reward))
        team.receive(obs.inbox)
    return np.stack(found, 1)


@pytest.mark.parametrize(("epsilon", "beta"), [(1.0, 0.5), (0.2, 0.5), (5.0, 0.7)])
def test_it_equals_its_naive_twin(epsilon, beta):
    env, team = build("DPMASE-v0", "AdaP-TT", 4, {"means": MEANS}, {"epsilon": epsilon, "beta": beta})
    arms = by_phases(env, team, spawn_seeds(4, 4))
    final, ties = env.metrics(), 0
    for r, seed in enumerate(spawn_seeds(4, 4)):
        played, best = naive_top_two(seed, MEANS, epsilon, 0.01, beta)
        assert arms[r][arms[r] >= 0].tolist() == played
        assert final["rounds"][r] == len(played)
        assert env.recommendation()[r] == best
        ties += len(played) > 20
    assert ties


def test_dp_se_alone_equals_its_naive_twin():
    means = (0.5, 0.85, 0.7, 0.3)
    env, team = build("DPMASE-v0", "DP-SE-alone", 4, {"means": means}, {"epsilon": 0.5, "delta": 0.1})
    final = hb.rollout(env, team, spawn_seeds(4, 4))
    twins = [naive_dp_se(seed, means, 0.5, 0.1) for seed in spawn_seeds(4, 4)]
    assert list(zip(final["rounds"].tolist(), env.recommendation().tolist(), strict=True)) == twins
    assert len({pulls for pulls, _ in twins}) > 1


def test_a_horizon_below_the_number_of_arms_ends_inconclusive():
    final = hb.evaluate("DPMASE-v0", "AdaP-TT", runs=3, env={"means": MEANS, "horizon": 3}).only.data.finals
    assert (final["rounds"].tolist(), final["inconclusive"].tolist()) == ([3] * 3, [True] * 3)


def test_the_threshold_is_the_papers_empirical_one():
    log = math.log(100)
    expected = log + math.log(1 + math.log(4)) + math.log(1 + math.log(16)) + (1 / 4 + 1 / 16) * log**2 / 0.25
    assert top_two_threshold(4.0, 16.0, 0.5, 0.01) == pytest.approx(expected, rel=1e-12)


def test_wrong_answers_are_rare_where_nothing_proves_it():
    final = hb.evaluate("DPMASE-v0", "AdaP-TT", runs=400, env={"means": (0.6, 0.4, 0.4)}, agent_kwargs={"delta": 0.1})
    wrong = int((~final.final("correct").astype(bool)).sum())
    assert stats.binom.sf(wrong - 1, 400, 0.1) > 1e-7  # no more than δ = .1 of them


# -- privacy --------------------------------------------------------------------------------------------------------


def test_first_means_have_laplace_noise():
    settings = {"means": MEANS, "rewards": "constant", "horizon": 4}
    env, team = build("DPMASE-v0", "AdaP-TT", 2000, settings, {"epsilon": 2.0})
    hb.rollout(env, team, 5)
    noise = (team._state.mean[:, 0] - np.array(MEANS)) * 2.0
    assert stats.kstest(noise.ravel(), stats.laplace.cdf).pvalue > 1e-7
    assert stats.kstest(noise.ravel(), stats.laplace(scale=1.25).cdf).pvalue < 1e-7  # it would notice


def test_what_is_said_of_it():
    (line,) = hb.privacy_report("DPMASE-v0", "AdaP-TT", agent_kwargs={"epsilon": 0.3}).lines
    assert (line.by, line.epsilon) == ("AdaP-TT", 0.3)
    assert line.protects == "one reward of a learner replaced by any other in [0, 1]"
    (line,) = hb.privacy_report("DPMASE-v0", "AdaP-TT", problem="P2").lines
    assert math.isinf(line.epsilon)  # rewards without a bound


class Bare(AdaPTT):
    """Almost no noise, with a strong guarantee."""

    def routine(self, n_arms):
        return super().routine(n_arms)._replace(params=(1e6, self.delta, self.beta))


def test_an_observer_of_arms_refutes_it_without_noise(monkeypatch):
    monkeypatch.setattr("hushbandits.audits.suite.USERS", 16)
    words = {}
    for team in (Bare(0.5), AdaPTT(0.5)):
        case = Case(type(team).__name__, team, home(team), budget=Budget(samples=800))
        words[type(team)] = {v.word for v in actions(case)}
    assert "FAILS" in words[Bare]
    assert words[AdaPTT] == {"passes"}


def test_what_is_seen_are_arms_and_votes():
    seen = chosen(Bare(0.5), np.tile(np.array([1.0, *[0.0] * 15])[:, None], 300), 1)
    assert [np.unique(row).tolist() for row in seen["arm"][:3]] == [[0], [1], [2]]
    assert 0.4 < (seen["arm"][3] == 0).mean() < 0.6  # the leader, with probability β
