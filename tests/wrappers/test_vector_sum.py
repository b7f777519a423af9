"""The shuffled vector-sum protocol in a tree: exact sums, the law of its noise, and what it promises.

A correct sampler fails a test with probability 10⁻⁶ or less; seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy import stats

import hushbandits as hb
from hushbandits.agents.zhou2024 import tree_of
from hushbandits.audits.planned import composed_delta
from hushbandits.privacy.binomial import vector_sum_epsilon
from hushbandits.wrappers.loss import Loss

SIZES = {"n_agents": 3, "n_arms": 3, "n_features": 2, "batch": 2, "horizon": 16}


class Tap(hb.Wrapper):
    """Record the exact pulls of each round."""

    def reset(self, env, rng, rows=None):
        self.seen = []

    def send(self, message, env):
        self.seen.append(np.concatenate([message["gram"], message["moment"][..., None]], 3))
        return message


def test_sums_are_rounded_data_plus_binomial_noise():
    env = hb.make_batched("ShuffleFedLinear-v0", 4000, wrappers=[Tap()], **SIZES)
    tree, batches = tree_of(env), 8
    obs, server = env.reset(0), []
    for _ in range(16):
        obs = env.pull(np.zeros((4000, 3), int))
        obs = env.communicate()
        server.append(np.concatenate([env._server.sums["gram"][:, 0], env._server.sums["moment"][:, 0, :, None]], 2))
    assert obs.inbox.total("pulls")[0, 0] == 48
    data = np.array(env.wrappers[0].seen).sum(2).transpose(1, 0, 2, 3).reshape(4000, batches, 2, 2, 3).sum(2)
    server = np.array(server).transpose(1, 0, 2, 3)[:, 1::2]
    assert np.array_equal(server[..., :2], server[..., :2].swapaxes(-1, -2))
    i, j = np.triu_indices(2)
    for k in range(1, batches + 1):
        low, level = k & -k, (k & -k).bit_length() - 1
        before = server[:, k - low - 1] if k > low else 0.0
        noise = server[:, k - 1] - before - data[:, k - low : k].sum(1)
        entries = np.concatenate([noise[:, i, j], noise[..., -1]], 1) * tree.steps[level]
        n, b = tree.users[level], tree.coins[level]
        assert n == 6 * low
        variance, rounding = n * b * 3 / 16, n / 4
        at_most = math.sqrt((variance + rounding) / 4000)
        assert np.abs(entries.mean(0)).max() < 6 * at_most
        assert variance * 0.85 < entries.var(0).min()
        assert entries.var(0).max() < (variance + rounding) * 1.18
        assert abs(np.corrcoef(entries.T)[np.triu_indices(5, 1)]).max() < 0.09
        assert stats.kstest(entries[:, 0] / entries[:, 0].std(), "norm").pvalue > 1e-7


def pair(tree, level):
    """Return log-laws of two neighbours' sums in a p-sum: the diagonal entries of e₁ and e₂, and their rewards 1 and 1.

    Their integers differ by g in four entries: two up, two down.
    """
    n, g, b = tree.users[level], tree.steps[level], tree.coins[level]
    sd = math.sqrt(n * b * 3 / 16)
    x = np.arange(max(0, int(n * b / 4 - 12 * sd)) - g, min(n * b, int(n * b / 4 + 12 * sd)) + g + 1)
    with np.errstate(divide="ignore"):
        return stats.binom.logpmf(x, n * b, 0.25), stats.binom.logpmf(x - g, n * b, 0.25)


def attained(tree, epsilon, step=2e-3):
    """Return δ at ε of the two neighbours e₁ and e₂ in all κ p-sums, from below."""
    both = []
    for level in range(tree.depth):
        p, q = pair(tree, level)
        both += [(p, q), (p, q), (q, p), (q, p)]
    return composed_delta(both, epsilon, step)


def test_the_whole_budget_in_each_sum_breaks_the_claim_and_a_share_keeps_it():
    given = {"n_agents": 1, "n_features": 10, "n_arms": 10, "batch": 25, "horizon": 10_000, "delta": 1e-4}
    whole = hb.make_batched("ShuffleFedLinear-v0", budget="whole", **given)
    assert "spends all" in whole.guarantees()[0].invalid_reason
    assert attained(tree_of(whole), 1.0) > 0.05  # .15 by the Gaussian approximation at a distance of √4.5, not 2
    split = hb.make_batched("ShuffleFedLinear-v0", **given)
    assert split.guarantees()[0].epsilon == 1.0
    assert attained(tree_of(split), 1.0) < 1e-4


def test_the_theorem_decides_and_its_bound_holds():
    for b in (2_000, 20_000):  # one p-sum of 50 users, entries as in d = 2: theorem 1 against the exact pair
        tree = type("Tree", (), {"users": [50], "steps": [15], "coins": [b], "depth": 1})
        epsilon = vector_sum_epsilon(50 * b, 1e-5, 15, 5, 4.5)
        assert attained(tree, 0.3 * epsilon) > 0.0
        assert attained(tree, epsilon) < 1e-5
    assert vector_sum_epsilon(10.0, 1e-5, 15, 5, 4.5) == math.inf


def test_what_voids_it_or_is_refused():
    lossy = hb.make_batched("ShuffleFedLinear-v0", wrappers=[Loss(0.1)])
    assert "Loss may lose users" in lossy.guarantees()[0].invalid_reason
    with pytest.raises(ValueError, match="activity"):
        hb.make_batched("ShuffleFedLinear-v0", activity="one")
    result = hb.evaluate("ShuffleFedLinear-v0", "Private-FedLinUCB", runs=2, env={"horizon": 50})
    assert result.final("syncs").tolist() == [2, 2]
