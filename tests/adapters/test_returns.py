"""Returns of a learner order policies as the env's regret does, in every setting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.adapters.learners import Rows, learners_core

RUNS = 32


def played(id, choose, seed=0, wrappers=(), **kwargs):
    """Return every run's return by agent, and the final metrics; `choose(rng, t, shape)` gives native actions."""
    core = learners_core(id, RUNS, wrappers, None, {"permute_arms": False, **kwargs})
    rows, rng = Rows(core, action_format="multidiscrete"), np.random.default_rng(seed)
    rows.reset(seed)
    total, t = np.zeros((RUNS, core.n_agents)), 0
    while core.running.any():
        total += rows.step(choose(rng, t, (RUNS, core.n_agents)))[0]
        t += 1
    return total, core.metrics()


@settings(max_examples=12, deadline=None)
@given(arm=st.integers(0, 2), share=st.sampled_from([0.0, 0.5, 1.0]), seed=st.integers(0, 3))
def test_network_returns_are_what_the_best_arm_pays_less_the_regret(arm, share, seed):
    """A policy that plays at random in a share of rounds, else a fixed arm."""
    means, horizon = np.array([0.8, 0.5, 0.1]), 100

    def choose(rng, t, shape):
        return np.where(rng.random(shape) < share, rng.integers(3, size=shape), arm)[..., None]

    total, metrics = played("CoopNetwork-v0", choose, seed, means=means, n_agents=4, horizon=horizon)
    expected = horizon * 0.8 - metrics["agent_regret"]
    assert abs((total - expected).mean()) < 5 * 0.5 * np.sqrt(horizon / expected.size)


@settings(max_examples=20, deadline=None)
@given(
    arm=st.integers(0, 2), power=st.integers(0, 9), share=st.sampled_from([0.0, 0.5, 1.0]), seed=st.integers(0, 3),
    id=st.sampled_from(["DistDP-v0", "CentralDP-v0", "LocalDP-v0"]),
)  # fmt: skip
def test_feedback_returns_weigh_blocks_by_their_users(id, arm, power, share, seed):
    """For any block sizes, the mean of a short block counts in proportion to its cost."""
    means, horizon = np.array([0.8, 0.5, 0.1]), 500

    def choose(rng, t, shape):
        arms = np.where(rng.random(shape) < share, rng.integers(3, size=shape), arm)
        powers = np.where(rng.random(shape) < share, rng.integers(10, size=shape), max(power, 3))
        return np.stack([arms, powers], -1)

    given = {"means": means, "rewards": "bernoulli", "epsilon": 20.0, "horizon": horizon, "n_agents": 2}
    if id != "CentralDP-v0":  # a modular sum wraps with probability p, and a wrapped sum is no mean
        given["confidence"] = 1e-9
    total, metrics = played(id, choose, seed, **given)
    expected = 0.8 - metrics["regret"] / (2 * horizon)
    spread = 5 * 0.6 / np.sqrt(horizon * total.size)
    assert abs((total.mean(1) - expected).mean()) < spread


@settings(max_examples=15, deadline=None)
@given(votes=st.floats(0, 0.3), pulls=st.floats(0.2, 1), seed=st.integers(0, 3), single=st.booleans())
def test_exploration_returns_are_the_verdict_less_the_share_of_rounds(votes, pulls, seed, single):
    id = "DecentralizedExploration-v0" if single else "DPMASE-v0"
    env = {"means": [0.8, 0.5, 0.1], "n_agents": 4, "threshold": 2, "horizon": 60}

    def choose(rng, t, shape):
        bits = (rng.random((*shape, 6)) < np.repeat([pulls, votes], 3)).astype(int)
        return np.concatenate([rng.integers(4, size=(*shape, 1)), bits[..., 3:]], -1) if single else bits

    total, metrics = played(id, choose, seed, **env, **({"require_confidence": False} if single else {}))
    expected = np.where(metrics["correct"], 1.0, -1.0) - metrics["rounds"] / 60
    np.testing.assert_allclose(total, np.repeat(expected[:, None], 4, 1), atol=1e-9)


def test_the_best_arm_is_nobodys_by_its_index():
    for id in ("CoopNetwork-v0", "DPMASE-v0", "DistDP-v0"):
        core = learners_core(id, 200, (), None, {"horizon": 100})
        core.reset(0)
        best = np.bincount(core.means.argmax(1), minlength=10)
        assert best.max() < 45, id  # of 200 over 10 arms
        assert hb.make(id).core.arms.permute


@pytest.mark.parametrize("id", [id for id in hb.list_envs() if "Train" in id])
def test_ids_for_training_are_short_drawn_and_can_be_won(id):
    core = learners_core(id, 8, (), None, {})
    core.reset(0)
    drawn = core.theta if core.setting == "linear" else core.means
    assert len(np.unique(drawn.round(9), axis=0)) == 8
    assert core.horizon <= 5000
    if core.setting == "exploration":
        assert core.votes_needed <= core.n_agents


def test_a_price_is_paid_when_it_is_spent():
    plain, dear = (
        played("CoopNetwork-v0", lambda rng, t, shape: np.zeros((*shape, 1), int), n_agents=3, horizon=5)[0],
        Rows(learners_core("CoopNetwork-v0", RUNS, (), None, {"permute_arms": False, "n_agents": 3, "horizon": 5}),
             cost_coefficients={"messages": 0.25}, action_format="multidiscrete"),
    )  # fmt: skip
    dear.reset(0)
    paid, before = np.zeros((RUNS, 3)), np.zeros(RUNS)
    for _ in range(5):
        paid += dear.step(np.zeros((RUNS, 3, 1), int))[0]
        assert (dear.core.metrics()["messages"] > before).all()
        before = dear.core.metrics()["messages"]
    np.testing.assert_allclose(plain - paid, 0.25 * np.repeat(before[:, None], 3, 1))
    dear.reset(rows=np.array([3]))  # a new episode has no cost
    assert (dear.step(np.zeros((RUNS, 3, 1), int))[0][3] >= -0.25 * dear.core.metrics()["messages"][3] - 1e-9).all()
    ledger = Rows(learners_core("DistDP-v0", 2, (), None, {"horizon": 64}), cost_coefficients={"epsilon": 1.0})
    free = Rows(learners_core("DistDP-v0", 2, (), None, {"horizon": 64}))
    ledger.reset(0), free.reset(0)
    total = np.zeros((2, 1))
    while free.core.running.any():
        action = np.full((2, 1), 4)
        total += free.step(action)[0] - ledger.step(action)[0]
    np.testing.assert_allclose(total[:, 0], ledger.core.metrics()["epsilon"])
