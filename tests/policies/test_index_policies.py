"""Every policy equals its twin, action for action, and respects its published bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import each_once
from naive_laws import kl
from naive_policies import NAIVE, naive_policy

from hushbandits.core import Streams, jit, spawn_seeds
from hushbandits.policies.registry import list_policies, make_policy

#: Other parameters than the defaults.
PARAMS = {
    "EXP3": [{"gamma": 0.3}], "ETC": [{"m": 3}], "KL-UCB": [{"c": 3.0}], "LDP-UCB-L": [{"epsilon": 4.0}],
    "RUCB": [{"alpha": 1.5}], "Robust-UCB": [{"moment": 0.3, "excess": 0.5}, {"moment": 0.01}],
    "Robust-UCB-Catoni": [{"variance": 0.05}], "Robust-UCB-MoM": [{"moment": 0.2, "excess": 0.4}],
    "TS-Gaussian": [{"sigma": 0.3}], "UCB": [{"sigma": 0.1, "delta": 0.02}], "UCB-V": [{"zeta": 2.0, "bound": 0.5}],
    "epsilon-greedy": [{"epsilon": 0.25}, {"epsilon": 0.0}], "softmax": [{"temperature": 1.0}],
}  # fmt: skip
CASES = [(name, params) for name in list_policies() for params in ({}, *PARAMS.get(name, []))]
NAMES = [f"{name}{params or ''}" for name, params in CASES]


def fits(name, arms):
    """Duels need pairs."""
    return math.isqrt(arms) ** 2 if name == "RUCB" else arms


def seeded(policy, learners, seed=7):
    return Streams(spawn_seeds(seed, learners)).cursors() if policy.random else None


def agree(name, params, table):
    """Play a table of rewards, (plays, K), with the policy and its twin."""
    plays, arms = table.shape
    policy = make_policy(name, **params)
    cursors = seeded(policy, 1)
    twin = naive_policy(name, arms, plays, cursors, **params)
    state = policy.state(1, arms, plays, cursors)
    for t in range(plays):
        arm = policy.choose(state, 0)
        assert twin.agrees(arm), (t, arm)
        x = float(table[t, arm])
        policy.update(state, 0, arm, x)
        twin.update(arm, x)


def test_every_policy_has_a_twin():
    assert sorted(NAIVE) == list_policies()


@each_once
@pytest.mark.parametrize("law", ["coins", "reals", "heavy"])
@pytest.mark.parametrize(("name", "params"), CASES, ids=NAMES)
def test_a_policy_equals_its_twin(name, params, law):
    for arms, plays in ((1, 5), (2, 60), (5, 250), (10, 120)):
        rng = np.random.default_rng([arms, plays])
        shape, means = (plays, fits(name, arms)), np.linspace(0.7, 0.3, fits(name, arms))
        table = {
            "coins": lambda m=means, s=shape, g=rng: (g.random(s) < m).astype(float),
            "reals": lambda m=means, s=shape, g=rng: np.clip(m + 0.2 * g.standard_normal(s), 0, 1),
            "heavy": lambda m=means, s=shape, g=rng: m + g.standard_t(1.7, s),
        }[law]()
        agree(name, params, table if law != "heavy" or name not in UNIT else np.clip(table, 0, 1))


#: Policies that need rewards in [0, 1].
UNIT = {"IMED", "KL-UCB", "EXP3"}

eighths = st.sampled_from([0.0, 0.0, 1.0, 1.0, 0.5, 0.125, 0.875])


@pytest.mark.parametrize("name", list_policies())
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_policy_equals_its_twin_on_ties(name, data):
    arms = fits(name, data.draw(st.integers(1, 6)))
    plays = data.draw(st.integers(1, 40))
    row = st.lists(eighths, min_size=arms, max_size=arms)
    agree(name, {}, np.array(data.draw(st.lists(row, min_size=plays, max_size=plays))))


@pytest.mark.parametrize("arms", [33, 40, 1000])
@pytest.mark.parametrize("name", ["MOSS", "UCB"])
def test_many_arms_are_chosen_as_few_are(name, arms):
    policy, rewards = make_policy(name), np.random.default_rng(arms).choice([0.0, 0.5, 1.0], 4 * arms)
    state = policy.state(1, arms, len(rewards))
    for reward in rewards.tolist():
        arm = policy.choose(state, 0)
        assert arm == state.bound[0].argmax()  # the lowest of equal ones
        policy.update(state, 0, arm, reward)


# -- regret ---------------------------------------------------------------------------------------------------


def regret(name, gaps, tables):
    """Mean regret over learners, ``tables`` (L, plays, K)."""
    policy = make_policy(name)
    learners, plays, arms = tables.shape
    state = policy.state(learners, arms, plays, seeded(policy, learners))
    counts = np.zeros((learners, arms))
    _play(policy)(state, tables, counts)
    assert (counts.sum(1) == plays).all()
    return float((counts @ gaps).mean())


def _play(policy):
    choose, update = policy.choose, policy.update

    @jit
    def run(state, tables, counts):
        for r in range(tables.shape[0]):
            for t in range(tables.shape[1]):
                arm = choose(state, r)
                update(state, r, arm, tables[r, t, arm])
                counts[r, arm] += 1.0

    return run


def coins(means, learners, plays, seed=5):
    return (np.random.default_rng(seed).random((learners, plays, len(means))) < np.array(means)).astype(float)


def leading(gaps, n, means):
    """Lai & Robbins' term in theorems on KL-UCB, IMED and Thompson sampling; a factor 1.5 covers the other terms."""
    pairs = zip(gaps, means, strict=True)
    return sum(d * (1.5 * math.log(n) / kl(m, max(means)) + 5) for d, m in pairs if d)


BOUNDS = {
    "UCB1": lambda g, n, means: sum(8 * math.log(n) / d + (1 + math.pi**2 / 3) * d for d in g if d),
    "UCB": lambda g, n, means: sum(16 * 0.25 * math.log(n) / d + 3 * d for d in g if d),
    "MOSS": lambda g, n, means: 49 * math.sqrt(n * len(g)),
    "EXP3": lambda g, n, means: 2 * math.sqrt(math.e - 1) * math.sqrt(n * len(g) * math.log(len(g))),
    **dict.fromkeys(("KL-UCB", "IMED", "TS"), leading),
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("means", [(0.5, 0.2, 0.6, 0.9), (0.5, *[0.45] * 4), (0.1, 0.05)], ids=["far", "near", "rare"])
def test_a_policy_keeps_under_its_bound(name, means):
    gaps = max(means) - np.array(means)
    n = 5000
    assert regret(name, gaps, coins(means, 30, n)) < BOUNDS[name](gaps.tolist(), n, means)
