"""AdaP (Azize & Basu 2022) equals its naive twin, respects its bounds, and hides rewards from its observer."""

import math

import numpy as np
import pytest
from halved import BareUCB, HalvedUCB
from helpers import begin, build
from twins_azize import naive_adap

import hushbandits as hb
from hushbandits.agents import azize2022_theory as theory
from hushbandits.agents.azize2022 import AdaPUCB
from hushbandits.audits.cases import Budget, Case, home
from hushbandits.audits.suite import acted, actions
from hushbandits.envs.feedback.users import BlockInbox
from hushbandits.experiments import azize2022 as declared
from hushbandits.policies.kl import kl
from hushbandits.wrappers.loss import Loss

both = pytest.mark.parametrize("agent", ["AdaP-UCB", "AdaP-KLUCB"])
MEANS = (0.75, 0.625, 0.5, 0.375, 0.25)


def episodes(env, team, seed):
    """Return (arm, users) of every block of every run's first server."""
    found = [[] for _ in range(env.runs)]
    obs = begin(env, team, seed)
    while obs.running.any():
        live, (arm, _) = obs.running.copy(), team.act(obs)
        before = env.served.copy()
        obs = env.pull((arm, _))
        for r in np.flatnonzero(live):
            found[r].append((int(arm[r, 0]), int((env.served - before)[r, 0])))
        obs = env.communicate(team.compose(obs.reward))
        team.receive(obs.inbox)
    return found


@both
@pytest.mark.parametrize(("epsilon", "alpha"), [(1.0, 3.1), (8.0, 1.0)])
def test_it_equals_its_naive_twin(agent, epsilon, alpha):
    given = {"horizon": 3000, "n_arms": 4, "epsilon": epsilon, "simulate_users": "individual", "rewards": "bernoulli"}
    env, team = build("CentralDP-v0", agent, 4, given, {"alpha": alpha})
    found, switched = episodes(env, team, 5), 0
    for r in range(4):
        regret, expected = naive_adap(env, r, agent, epsilon, alpha)
        assert found[r] == expected
        assert env.metrics()["regret"][r] == pytest.approx(regret, rel=1e-12)
        switched += len({arm for arm, _ in expected[4:]})
        assert team.metrics(env)["noised_means"][r] == len(expected)
    assert switched > 8  # more than two arms a run come again


@both
def test_a_horizon_below_the_number_of_arms_sees_the_first_arms(agent):
    env, team = build("CentralDP-v0", agent, 2, {"horizon": 3, "means": MEANS})
    assert episodes(env, team, 0) == [[(0, 1), (1, 1), (2, 1)]] * 2


@both
def test_every_server_goes_its_own_way(agent):
    settings = {"horizon": 500, "means": (0.6, 0.5, 0.4), "n_agents": 2, "epsilon": 5.0}
    env, team = build("CentralDP-v0", agent, 3, settings, {"alpha": 0.5})
    hb.rollout(env, team, 1)
    assert env.served.tolist() == [[500, 500]] * 3
    assert (team._mean[:, 0] != team._mean[:, 1]).all()


def test_what_is_lost_whole_is_asked_for_again_and_survivors_count():
    env, team = build("CentralDP-v0", "AdaP-UCB", 1, {"means": (0.9, 0.1), "horizon": 100})
    obs = begin(env, team, 0)

    def hears(n, total, arrived=True):
        arm, asked = (x.item() for x in team.act(obs))
        team.receive(BlockInbox(np.array([[total]]), np.array([[n]]), np.array([[arrived]])))
        return arm, asked

    first = [hears(0, 0.0, False), hears(1, 1e6), hears(0, 0.0, False), hears(1, 0.0)]
    assert first == [(0, 1), (0, 1), (1, 1), (1, 1)]
    assert [hears(1, 1e6), hears(0, 0.0, False), hears(1, 1e6), hears(3, 1e6)] == [(0, 1), (0, 2), (0, 2), (0, 4)]
    assert (team._mean[0, 0, 0], team._n[0, 0, 0]) == (1e6 / 3, 3)
    lossy = hb.evaluate("CentralDP-v0", "AdaP-UCB", runs=2, env={"horizon": 400}, wrappers=[Loss(0.5)])
    assert lossy.final("users").all()


def test_ties_fall_on_every_arm_alike():
    env, team = build("CentralDP-v0", "AdaP-KLUCB", 2000, {"means": (0.5,) * 4, "horizon": 5, "epsilon": 0.01})
    fifth = np.array([it[4][0] for it in episodes(env, team, 3)])  # all indices are 1 there
    counts = np.bincount(fifth, minlength=4)
    assert ((counts - 500) ** 2 / 500).sum() < 35.9  # χ² of 3 degrees, level 1e-7


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_the_bound_is_the_declared_one():
    gaps = [MEANS[0] - mean for mean in MEANS]
    assert math.floor(theory.regret_bound(gaps, 1e7, 1.0, 3.1)) == declared.BOUND


def test_regret_stays_below_the_bound_and_neither_would_without_the_term_of_privacy():
    """Measured 3,604: an index without ε has 56,000, its best arms drowned in noise; the bound without ε is 1,490."""
    env = {"means": (0.9, 0.1, 0.1), "rewards": "bernoulli", "horizon": 10**5, "epsilon": 0.05}
    regret = hb.evaluate("CentralDP-v0", "AdaP-UCB", runs=50, env=env).final("regret").mean()
    free, bound = (theory.regret_bound((0.8, 0.8), 1e5, epsilon, 3.1) for epsilon in (math.inf, 0.05))
    assert free < regret < bound


def test_the_lower_bounds_have_two_regimes():
    means = (0.8, 0.1, 0.6)
    free = sum((0.8 - mean) / kl(mean, 0.8) for mean in means[1:])
    assert theory.least_regret(means, 1e9) == pytest.approx(free)  # Lai & Robbins 1985
    assert theory.least_regret(means, 0.01) == pytest.approx(2 / 0.06)


# -- privacy --------------------------------------------------------------------------------------------------------


@both
def test_what_is_said_of_the_pair(agent):
    of_sums, of_actions = hb.privacy_report("CentralDP-v0", agent, epsilon=0.25).lines
    assert (of_actions.by, of_actions.epsilon, of_actions.delta, of_actions.run_epsilon) == (agent, 0.25, 0.0, 0.25)
    assert of_actions.protects == of_sums.protects
    assert of_sums.protects == "one user's reward replaced by any other in [0, 1]; a user takes part once"
    assert of_actions.against.startswith("an observer of all actions")
    team = hb.make_team(agent)
    (promise,) = team.guarantees(home(team))
    assert (promise.adjacency.replaced, promise.run.times) == ("reward", 1)


def test_a_mechanism_that_promises_nothing_leaves_nothing_of_the_actions():
    class Bare(hb.Wrapper):
        """A user-defined wrapper without declarations."""

        def send(self, message, env):
            return message

    lines = hb.privacy_report("CentralDP-v0", "AdaP-UCB", wrappers=[Bare()]).lines
    assert [math.isinf(line.epsilon) for line in lines] == [True, True]
    assert hb.make_team("AdaP-UCB").guarantees(hb.make_batched("CoopNetwork-v0")) == ()


@pytest.mark.parametrize(
    ("false", "samples"), [(BareUCB, 300), pytest.param(HalvedUCB, 2500, marks=pytest.mark.weekly)]
)
def test_an_observer_of_actions_refutes_too_little_noise_and_not_the_whole(monkeypatch, false, samples):
    monkeypatch.setattr("hushbandits.audits.suite.USERS", 16)
    monkeypatch.setattr("hushbandits.audits.suite.places", lambda horizon: [1])
    verdicts = {}
    for team in (false(1.0), AdaPUCB(1.0)):
        case = Case(type(team).__name__, team, home(team), budget=Budget(samples=samples))
        verdicts[type(team)] = [v.word for v in actions(case)]
    assert "FAILS" in verdicts[false]
    assert set(verdicts[AdaPUCB]) == {"passes"}


def test_rewards_belong_to_users_in_their_order():
    shown = np.tile(np.array([1.0, 0.0, *[0.0] * 14])[:, None], 50)
    found = acted(AdaPUCB(1000.0, alpha=1e-9), shown, 0)  # greedy, and next to no noise
    assert found["arm"][:3].mean(1).tolist() == [0, 1, 0]
