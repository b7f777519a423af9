"""Dubey & Pentland 2020: algorithms 1-3 equal their twins; invariants, the ledger and the audit."""

import itertools
import math

import numpy as np
import pytest
from helpers import arms_pulled, begin, build
from kinds import each_once, weekly_but
from twins_network import MEANS, naive_byzantine_ucb, naive_private_ucb

import hushbandits as hb
from hushbandits.audits.cases import Budget, Case
from hushbandits.audits.play import shown, stage
from hushbandits.audits.suite import on_graph
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.estimators.robust import Catoni
from hushbandits.privacy.laplace import lemma, release_counts

GRAPHS = [("cycle", 7, None), ("star", 5, None), ("grid", 9, 2), ("path", 4, 1), ("complete", 4, None), ("cycle", 6, 0)]


def actions_of(env_id, agent, env, runs=2, **kwargs):
    return arms_pulled(*build(env_id, agent, runs, {"means": MEANS, **env}, kwargs), spawn_seeds(11, runs))


# -- algorithm 3 ----------------------------------------------------------------------------------------------------


@each_once
@pytest.mark.parametrize("mean", ["trimmed", "mean"])
@pytest.mark.parametrize(("graph", "m", "max_hops"), GRAPHS)
def test_byzantine_ucb_equals_its_twin(graph, m, max_hops, mean):
    env = {"graph": graph, "n_agents": m, "max_hops": max_hops, "horizon": 90, "rate": 0.3, "fraction": 0.6}
    ours = actions_of("ByzantineNetwork-v0", "Byzantine-UCB", env, epsilon=0.1, mean=mean)
    for r, seed in enumerate(spawn_seeds(11, 2)):
        assert ours[r].tolist() == naive_byzantine_ucb(seed, graph, m, max_hops, 90, 0.1, 0.3, 0.6, mean)


MEANS_OF = [(Catoni(0.1),), ("truncated",), ("lugosi-mendelson",), ("median-of-means",)]


@pytest.mark.parametrize("mean", weekly_but(MEANS_OF[3:], *MEANS_OF), ids=str)
def test_with_any_estimator_it_equals_its_twin(mean):
    env = {"graph": "complete", "n_agents": 4, "horizon": 60, "rate": 0.3}
    ours = actions_of("ByzantineNetwork-v0", "Byzantine-UCB", env, epsilon=0.02, mean=mean, sigma=0.2)
    for r, seed in enumerate(spawn_seeds(11, 2)):
        expected = naive_byzantine_ucb(seed, "complete", 4, None, 60, 0.02, 0.3, 1.0, mean, sigma=0.2)
        assert ours[r].tolist() == expected


@pytest.mark.weekly
def test_a_byzantine_agents_own_statistics_stay_clean():
    """All report 0 for every arm: agents without neighbours are not fooled, the others are."""
    env = {"n_agents": 6, "graph": "complete", "means": [0.9, 0.1], "horizon": 200}
    lies = {"rate": 1.0, "law": "constant", "location": 0.0}

    def regret(id, **given):
        return hb.rollout(hb.make_batched(id, runs=3, **given), hb.make_team("Byzantine-UCB"), seed=0)["regret"]

    deaf = regret("ByzantineNetwork-v0", **env, **lies, max_hops=0)
    clean = regret("CoopNetwork-v0", **env, max_hops=0)
    np.testing.assert_array_equal(deaf, clean)
    heard = regret("ByzantineNetwork-v0", **env, **lies)
    assert heard.mean() > 3 * clean.mean()


# -- invariants -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("agent", "alone", "kwargs"), [
    ("Multi-UCB", "UCB1", {}),
    ("Private-UCB", "DP-UCB-INT", {"epsilon": 0.5, "own_feedback": "private"}),
])  # fmt: skip
def test_without_communication_they_are_the_single_agent_baselines(agent, alone, kwargs):
    env = {"n_agents": 6, "graph": "complete", "horizon": 80}
    silent = actions_of("CoopNetwork-v0", agent, {**env, "max_hops": 0}, **kwargs)
    kwargs = {k: v for k, v in kwargs.items() if k != "own_feedback"}
    np.testing.assert_array_equal(silent, actions_of("CoopNetwork-v0", alone, env, **kwargs))


@pytest.mark.parametrize("agent", ["UCB1", "DP-UCB-INT"])
def test_agents_that_play_alone_send_nothing(agent):
    game = build("CoopNetwork-v0", agent, 2, {"n_agents": 5, "graph": "complete", "horizon": 20})
    assert hb.rollout(*game, 3)["messages"].tolist() == [0, 0]


@pytest.mark.parametrize("own", ["true", "private"])
def test_private_ucb_plays_both_envs_alike(own):
    env = {"n_agents": 6, "horizon": 60}
    here = actions_of("CoopNetwork-v0", "Private-UCB", env, epsilon=0.5, own_feedback=own)
    np.testing.assert_array_equal(
        here, actions_of("PrivateNetwork-v0", "Private-UCB", env, epsilon=0.5, own_feedback=own)
    )
    core, _ = build("PrivateNetwork-v0", "Private-UCB", 1, env, {"epsilon": 0.5, "own_feedback": own})
    assert [type(w).__name__ for w in core.wrappers] == ["PrivateMeans"]
    assert core.wrappers[0].epsilon == 0.5


# -- algorithm 1: noised own means ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("agent", "kwargs", "max_hops"), [
    ("DP-UCB-INT", {}, 0), ("Private-UCB", {"own_feedback": "private"}, None),
])  # fmt: skip
def test_agents_that_go_by_their_own_releases_equal_their_twins(agent, kwargs, max_hops):
    env = {"n_agents": 4, "graph": "complete", "horizon": 80}
    ours = actions_of("CoopNetwork-v0", agent, env, epsilon=0.4, release_exponent=1.2, **kwargs)
    for r, seed in enumerate(spawn_seeds(11, 2)):
        assert ours[r].tolist() == naive_private_ucb(seed, "complete", 4, max_hops, 80, 0.4, 1.2, "private")


# -- the ledger -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("v", [1.05, 1.1, 1.4])
def test_the_ledger_is_the_exact_sum_and_below_the_lemma(epsilon, v):
    counts, last = [], 0
    for x in range(1, 2001):  # the schedule, literally
        if math.fsum(i ** (-v / 2) for i in range(last + 1, x + 1)) >= x ** (-v / 2) / epsilon:
            counts.append(x)
            last = x
    assert release_counts(epsilon, v, 2000).tolist() == counts
    assert counts[0] <= math.ceil(1 / epsilon)
    for t in (1, 10, 100, 2000):
        spent = math.fsum(c ** (-v / 2) for c in counts if c <= t)
        assert spent <= epsilon * t ** (1 - v / 2) / (1 - v / 2)  # the lemma's first branch, for one arm
    zeta = sum(i**-v for i in range(1, 200_000)) + 200_000 ** (1 - v) / (v - 1)  # tail by its integral
    second = 2 * epsilon * zeta + math.sqrt(2 * epsilon * zeta * 10)
    assert lemma(epsilon, v, 1e300, math.exp(-10)) == pytest.approx(second, rel=1e-4)
    assert lemma(epsilon, v, 50.0, math.exp(-10)) == pytest.approx(
        min(second, epsilon * 50 ** (1 - v / 2) / (1 - v / 2))
    )


ZETA = 10.584448464950801  # ζ(1.1)


def test_the_ledger_follows_a_run():
    env = {"n_agents": 3, "horizon": 60, "means": MEANS, "graph": "path", "max_hops": 1}
    core, team = build("PrivateNetwork-v0", "Private-UCB", 2, {**env, "delta": math.exp(-4)}, {"epsilon": 0.5})
    obs = begin(core, team, 5)
    due = set(release_counts(0.5, 1.1, 60).tolist())
    pulls, spent = np.zeros((2, 3, 3), int), [[[[] for _ in range(3)] for _ in range(3)] for _ in range(2)]
    while obs.running.any():
        arm = team.act(obs).copy()
        obs = core.pull(arm)
        for r, m in itertools.product(range(2), range(3)):
            pulls[r, m, arm[r, m]] += 1
            if (c := int(pulls[r, m, arm[r, m]])) in due:
                spent[r][m][arm[r, m]].append(c**-0.55)
        team.receive(core.communicate(team.compose(obs.reward)).inbox)
        obs = type(obs)(core.t, core.running, core.active_agents)
        metrics = core.metrics()
        worst = [[max(math.fsum(a) for a in agent) for agent in run] for run in spent]
        np.testing.assert_allclose(metrics["agent_epsilon"], worst, rtol=1e-12)
        np.testing.assert_allclose(metrics["epsilon"], np.max(worst, 1), rtol=1e-12)
        # per run, the agent and arm that have spent most: Σε, and Σε²/2 + √(2·4·Σε²) at δ′ = e⁻⁴
        squares = [max(math.fsum(x * x for x in a) for agent in run for a in agent) for run in spent]
        strong = [s / 2 + math.sqrt(8 * s) for s in squares]
        np.testing.assert_allclose(metrics["epsilon_delta"], np.minimum(np.max(worst, 1), strong), rtol=1e-12)
        t = int(core.t[0])
        assert (metrics["epsilon"] <= 0.5 * t**0.45 / 0.45).all()
        # a neighbour's knowledge is one round old
        second = 2 * 0.5 * ZETA + math.sqrt(2 * 0.5 * ZETA * 4)
        np.testing.assert_allclose(metrics["epsilon_lemma"], min(0.5 * (t - 1) ** 0.45 / 0.45, second), rtol=1e-9)
    assert (metrics["epsilon"] > metrics["agent_epsilon"].T).any(1).all()  # the largest spender differs by run
    results = hb.evaluate("PrivateNetwork-v0", "Private-UCB", runs=2, seed=5, env=env, agent_kwargs={"epsilon": 0.5})
    assert {"epsilon", "epsilon_delta", "epsilon_lemma"} <= set(results.only.data.curves)
    guarantee = core.guarantees()[0]
    assert guarantee.epsilon == pytest.approx(math.fsum(c**-0.55 for c in due))
    assert guarantee.epsilon >= metrics["epsilon"].max()


@pytest.mark.parametrize(("m", "horizon", "v"), [(2, 1, 1.1), (16, 10_000, 1.1), (300, 50_000, 1.49)])
def test_sums_of_released_means_are_the_same_in_any_order(m, horizon, v):
    """Counts up to T and means as far out as a double's Laplace noise goes, on the grid."""
    core = hb.make_batched(
        "PrivateNetwork-v0", n_agents=m, graph="path", max_hops=1, horizon=horizon, release_exponent=v
    )
    core.reset(0)
    grid, rng = core.wrappers[0]._own.grid, np.random.default_rng(0)
    n = rng.integers(1, horizon + 1, m)
    mean = np.rint((1 + 36.7 * n ** (v / 2 - 1)) * rng.uniform(0.9, 1, m) * grid) / grid
    terms = (n * mean).tolist()
    assert sum(terms) == sum(reversed(terms)) == math.fsum(terms)
    assert grid >= 2**20


# -- the audit ------------------------------------------------------------------------------------------------------


def published(own, first, runs=50, seed=0):
    """Return messages of an agent with two arms and rewards `first`, ½, ½: by field (rounds, runs, agent, arm)."""
    env = hb.make_batched("PrivateNetwork-v0", own_feedback=own)
    stated = [np.full(1, x) for x in (first, 0.5, 0.5)]
    case = stage(Case("means", env.wrappers[0], env), 3, 1, runs=runs)
    return shown(case, hb.make_team("Private-UCB", own_feedback=own), seed, stated).fields


def test_published_counts_leak_exact_rewards_and_noised_ones_mend_it():
    """Erratum: one changed warm-up reward changes with certainty the count of round 3, and which mean is refreshed."""
    high, low = published("true", 1.0), published("true", 0.0, seed=1)
    for side, count, moves in ((high, 2, True), (low, 1, False)):
        assert (side["count"][2, :, 0, 0] == count).all()
        assert ((side["mean"][2] != side["mean"][1])[:, 0, 0] == moves).all()
    counts = {count for x in (0.0, 1.0) for count in published("private", x)["count"][2, :, 0, 0].tolist()}
    assert counts == {1.0, 2.0}


@pytest.mark.parametrize("mutant", ["a tenth of the noise", "no noise", "the exact means told"])
def test_the_audit_rejects_a_mechanism_that_breaks_its_word(monkeypatch, mutant):
    from hushbandits.wrappers import private_means as home

    if mutant == "the exact means told":  # the agents act on them

        def leak(self, env):
            return {"mean": self._own.s / np.maximum(self._own.n, 1), "count": self._own.pulls}

        monkeypatch.setattr(home.PrivateMeans, "published", leak)
    else:  # without any: line 10 as printed, without the hat
        schedule, share = home._schedule, 0.1 if mutant == "a tenth of the noise" else 0.0

        def less(*of):
            due, scale, spent = schedule(*of)
            return due, share * scale, spent

        monkeypatch.setattr(home, "_schedule", less)
    env = hb.make_batched("PrivateNetwork-v0")
    assert not all(v.passed for v in on_graph(Case(mutant, env.wrappers[0], env, budget=Budget(samples=1600)), (3,)))


def test_the_statement_names_what_is_covered():
    noised = hb.make_batched("PrivateNetwork-v0").guarantees()
    whole, alone = hb.make_batched("PrivateNetwork-v0", own_feedback="true").guarantees()
    assert (whole.epsilon, whole.invalid_reason) == (math.inf, "arms and counts follow exact own rewards")
    assert whole.view == noised[0].view == "any receiver: all messages, counts included"
    assert (alone.epsilon, alone.single_release, alone.run) == (1.0, True, None)  # the first release is of one reward
    assert not any(g.single_release for g in noised)
    assert noised[0].delta == 0 < noised[1].delta == pytest.approx(math.exp(-10))
    assert noised[1].epsilon < noised[0].epsilon
