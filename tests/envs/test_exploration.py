"""Private exploration: DP-MASE equals twins, compiled episodes equal the phases; edge cases."""

import numpy as np
import pytest
import twins_rio as twins
from helpers import begin, build
from scipy import stats

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.rollout import rollout
from hushbandits.envs.exploration.problems import PROBLEMS, agent_weights
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.shuffle import Shuffle


@pytest.mark.parametrize("distribution", ["uniform", "power"])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_dp_mase_equals_its_twin_run_by_run(distribution, epsilon):
    env_kwargs = {"n_agents": 5, "agent_distribution": distribution, "means": [0.8, 0.45, 0.2, 0.1]}
    env, team = build("DPMASE-v0", "DP-MASE", 2, env_kwargs, {"epsilon": epsilon, "delta": 0.2, "beta": 0.4})
    seeds = spawn_seeds(9, 2)
    metrics = rollout(env, team, seeds)
    for r, seed in enumerate(seeds):
        weights = agent_weights(distribution, 5)
        rounds, active, messages = twins.dp_mase(seed, 5, env_kwargs["means"], epsilon, 0.2, 0.4, weights)
        assert metrics["rounds"][r] == rounds
        assert metrics["messages"][r] == messages
        assert metrics["correct"][r] == (active == {0})


@pytest.fixture(scope="module", autouse=True)
def compiled_twin():
    twins.dp_mase_rounds(0, 3, np.array([0.9, 0.1]), 5.0, 0.3, 0.3)


@pytest.mark.weekly
@pytest.mark.parametrize("epsilon", [0.1, 0.25])
def test_rounds_agree_in_law_with_an_independent_twin(epsilon):
    """Problem 1, 64 agents, δ=.05, β=.5: two-sample Kolmogorov–Smirnov at 200 runs each, and the medians."""
    runs = 200
    ours = hb.evaluate("DPMASE-v0", "DP-MASE", runs=runs, agent_kwargs={"epsilon": epsilon}).final("rounds")
    means = np.array(PROBLEMS["P1"].means)
    theirs = np.array([twins.dp_mase_rounds(s, 64, means, epsilon, 0.05, 0.5) for s in range(runs)])
    assert stats.ks_2samp(ours, theirs).pvalue > 1e-6
    # P(median of one sample outside the other's 20..80 % range) < 1e-9 if the laws are equal
    low, high = np.quantile(theirs, [0.2, 0.8])
    assert low <= np.median(ours) <= high


@pytest.mark.weekly
def test_the_law_test_has_teeth():
    means = np.array(PROBLEMS["P1"].means)
    ours = hb.evaluate("DPMASE-v0", "DP-MASE", runs=200, agent_kwargs={"epsilon": 0.1}).final("rounds")
    wrong = np.array([twins.dp_mase_rounds(s, 64, means, 0.1, 0.05, 0.6) for s in range(200)])
    assert stats.ks_2samp(ours, wrong).pvalue < 1e-6


def test_stranded_runs_end_and_are_marked():
    env, team = build(
        "DPMASE-v0", "DP-MASE", 20, {"n_agents": 6, "permute_arms": True}, {"epsilon": 1.0}, (Loss(0.95),)
    )
    metrics = rollout(env, team, 0)
    assert metrics["inconclusive"].all()
    assert not metrics["correct"].any()
    assert not env.pool.any()
    recommended, drawn = env.recommendation(), []
    for r in range(20):
        left = np.flatnonzero(env.book.active[r])
        fewest = left[env.votes[r, left] == env.votes[r, left].min()]
        assert recommended[r] in fewest
        if len(fewest) > 1:
            drawn.append(fewest.tolist().index(recommended[r]))
    assert len(drawn) > 10
    assert {0, 1} <= set(drawn)  # ties at random: P(all the same) < 2^−9


@pytest.mark.parametrize(("vote_rule", "needed"), [(">", 3), (">=", 2)])
def test_thresholds(vote_rule, needed):
    env = hb.make_batched("DPMASE-v0", n_agents=9, threshold=2, vote_rule=vote_rule)
    obs = env.reset(0)
    vote = np.zeros((1, 1, 10), bool)
    vote[..., 0] = True
    voters = set()
    while env.metrics()["arms"][0] == 10:
        voters.add(int(obs.active_agents[0, 0]))
        env.pull(np.ones((1, 1, 10), bool))
        obs = env.communicate({"vote": vote})
    assert len(voters) == needed


CORNERS = {
    "one agent": {"n_agents": 1, "threshold": 0},
    "two arms": {"n_agents": 8, "means": [0.9, 0.1]},
    "all the probability": {"n_agents": 6, "threshold": 0, "agent_distribution": [1.0, 0, 0, 0, 0, 0]},
    "a zero-probability agent": {"n_agents": 6, "agent_distribution": [0.0, 1, 1, 1, 1, 1]},
}


@pytest.mark.parametrize("corner", CORNERS)
def test_corners_behave(corner):
    team = hb.make_team("DP-MASE", epsilon=1.0)
    results = hb.evaluate("DPMASE-v0", team, runs=5, env=CORNERS[corner])
    assert results.final("correct").all()


def test_a_zero_probability_agent_is_never_waited_for():
    # votes of 5 agents are needed, but only 4 can act: those leave, and the run ends
    env = hb.make_batched("DPMASE-v0", runs=3, n_agents=6, agent_distribution=[0.0, 0.0, 1, 1, 1, 1])
    team = hb.make_team("DP-MASE", epsilon=1.0)
    begin(env, team, 0)
    assert team.episode(env)
    assert env.metrics()["inconclusive"].all()


def test_means_of_ones_own_may_be_drawn_anew_in_every_run_and_stand_still():
    env = hb.make_batched(
        "DPMASE-v0", runs=3, problem="P3", n_arms=5, means=hb.UniformMeans(0.4, 0.6), n_agents=5, inactive_agents="keep"
    )
    obs = env.reset(0)
    start = env.means.copy()
    assert start.shape == (3, 5)
    assert len(np.unique(start)) == 15
    assert ((start >= 0.4) & (start <= 0.6)).all()
    for _ in range(3):
        env.pull(np.ones((3, 1, 5), bool))
        obs = env.communicate()
    assert obs.running.all()
    np.testing.assert_array_equal(env.means, start)  # the problem's means drift, not these


def test_agents_are_drawn_from_their_distribution():
    env = hb.make_batched("DPMASE-v0", n_agents=5, agent_distribution="power:1.5")
    obs = env.reset(0)
    seen = np.zeros(5)
    for _ in range(6000):
        seen[obs.active_agents[0, 0]] += 1
        env.pull(np.ones((1, 1, 10), bool))
        obs = env.communicate()
    assert stats.chisquare(seen, agent_weights("power:1.5", 5) * 6000).pvalue > 1e-6


def test_empty_global_set_is_inconclusive():
    env = hb.make_batched("DPMASE-v0", runs=30, n_agents=2, threshold=0)
    env.reset(0)
    env.pull(np.ones((30, 1, 10), bool))
    env.communicate({"vote": np.ones((30, 1, 10), bool)})
    metrics = env.metrics()
    assert metrics["inconclusive"].all()
    assert not metrics["correct"].any()
    assert not env.running.any()
    assert len(set(env.recommendation())) > 4  # every arm has one vote: each may be recommended


def test_windows_open_as_their_twin_does():
    """Random votes and departures against windows of at least 5 activations by at least 3 agents."""
    runs, n, k, length, cohort = 40, 5, 3, 5, 3
    env = hb.make_batched(
        "DPMASE-v0", runs=runs, n_agents=n, means=[0.9, 0.5, 0.1], threshold=n, agent_distribution="power:2",
        wrappers=[Shuffle(batch_window=length, min_cohort=cohort)],
    )  # fmt: skip
    rng = np.random.default_rng(0)
    obs = env.reset(0)
    expected, pending = np.zeros((runs, k), int), np.zeros((runs, k), int)
    cast = [set() for _ in range(runs)]
    since = [[] for _ in range(runs)]
    gone = [set() for _ in range(runs)]
    early = never = 0
    while obs.running.any():
        who, live = obs.active_agents[:, 0], obs.running.copy()
        stay = rng.random(runs) < 0.5
        env.pull(np.repeat(stay[:, None, None], k, 2))
        vote = rng.random((runs, 1, k)) < 0.2
        obs = env.communicate({"vote": vote})
        for r in np.flatnonzero(live):
            for arm in np.flatnonzero(vote[r, 0]):
                if (who[r], arm) not in cast[r]:
                    cast[r].add((who[r], arm))
                    pending[r, arm] += 1
            since[r].append(who[r])
            if not stay[r]:
                gone[r].add(who[r])
            last, enough = len(gone[r]) == n, len(set(since[r])) >= cohort
            if enough and (last or len(since[r]) >= length):
                early += last and len(since[r]) < length and pending[r].any()
                expected[r] += pending[r]
                pending[r] = 0
                since[r] = []
            never += last and not enough and pending[r].any()
        np.testing.assert_array_equal(env.votes, expected)
    assert early
    assert never
