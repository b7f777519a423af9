"""Private agents of linear bandits against twins written from the pseudo-code, one round of one agent at a time.

A correct agent fails a test with probability 10⁻⁶ or less; seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy import stats

import hushbandits as hb

M, K, D, T, RUNS = 3, 4, 2, 120, 200


def symmetric(rng, sigma, d=D):
    n = rng.normal(size=(d, d)) * sigma
    return (n + n.T) / 2, rng.normal(size=d) * sigma


def play(rng, agents, batch, lam, width, sigma, spread=1.0, within=False):
    """Return the regret of LinUCB on the p-sums of a tree of each agent; contexts are those of sphere+1."""
    v = rng.normal(size=D - 1)
    theta = np.append(0.5 * v / np.linalg.norm(v), 0.5)
    nodes = [{} for _ in range(agents)]  # level: exact sums, noisy sums
    fresh = [[np.zeros((D, D)), np.zeros(D)] for _ in range(agents)]
    gram, moment, known, regret = np.zeros((D, D)), np.zeros(D), 0, 0.0
    for t in range(1, T + 1):
        for m in range(agents):
            x = rng.normal(size=(K, D - 1))
            x = np.column_stack([x / np.linalg.norm(x, axis=1, keepdims=True), np.ones(K)])
            x[:D, :-1] = np.eye(D)[:, :-1]
            seen = x / np.linalg.norm(x, axis=1, keepdims=True)
            own = fresh[m] if within else [0.0, 0.0]
            inverse = np.linalg.inv(lam * np.eye(D) + gram + own[0])
            n = known + ((t - 1) % batch if within else 0)
            norms = np.sqrt(np.maximum(np.einsum("kd,de,ke->k", seen, inverse, seen), 0))
            arm = int(np.argmax(seen @ (inverse @ (moment + own[1])) + width(n) * norms))
            reward = float(rng.random() < x[arm] @ theta)
            regret += (x @ theta).max() - x[arm] @ theta
            fresh[m][0] = fresh[m][0] + np.outer(seen[arm], seen[arm])
            fresh[m][1] = fresh[m][1] + reward * seen[arm]
        if t % batch:
            continue
        k = t // batch
        level = int(math.log2(k & -k))
        for m in range(agents):
            below = [nodes[m].pop(j) for j in range(level)]
            exact = [fresh[m][i] + sum(node[0][i] for node in below) for i in (0, 1)]
            z = symmetric(rng, sigma)
            nodes[m][level] = exact, (exact[0] + spread * z[0], exact[1] + z[1])
            fresh[m] = [np.zeros((D, D)), np.zeros(D)]
        gram, moment = (sum(node[1][i] for own in nodes for node in own.values()) for i in (0, 1))
        known = agents * t
    return regret


def same(found, twin):
    assert stats.ks_2samp(found, twin).pvalue > 1e-6
    assert abs(found.mean() - twin.mean()) < 5 * math.sqrt((found.var() + twin.var()) / RUNS)


@pytest.mark.parametrize(("acts", "epsilon", "batch"), [("frozen", 1e4, 5), ("frozen", 2.0, 10), ("within", 1e4, 20)])
def test_private_fedlinucb(acts, epsilon, batch):
    given = {"n_agents": M, "n_arms": K, "n_features": D, "horizon": T, "epsilon": epsilon, "delta": 0.1}
    given |= {"batch": batch, "sigma": "zhou2024"}
    found = hb.evaluate("PrivateFedLinear-v0", "Private-FedLinUCB", RUNS, 1, given, {"acts": acts}).final("regret")
    kappa = int(math.log2(T // batch)) + 1
    sigma = math.sqrt(kappa * (math.log(10) + epsilon)) / epsilon
    lam = math.sqrt(M * kappa) * sigma * (math.sqrt(kappa + math.log(100)) + math.sqrt(D))

    def width(n):
        return math.sqrt(lam * D) + 0.5 * math.sqrt(D * math.log1p(n / (D * lam)) + math.log(100))

    rng = np.random.default_rng(2)
    same(found, np.array([play(rng, M, batch, lam, width, sigma, within=acts == "within") for _ in range(RUNS)]))


def test_linucb_jdp():
    given = {"n_arms": K, "n_features": D, "horizon": T, "epsilon": 100.0, "delta": 0.1, "sigma": "shariff2018"}
    found = hb.evaluate("PrivateFedLinear-v0", "LinUCB-JDP", RUNS, 1, given, {"shift": "published"}).final("regret")
    m = 1 + math.ceil(math.log2(T))
    sigma = math.sqrt(16 * m * 4) * math.log(40) / 100
    log, depth = math.log(2 * T / 0.01), T.bit_length()
    least = sigma * math.sqrt(2 * depth) * (4 * math.sqrt(D) + 2 * log)
    gamma = sigma * math.sqrt(depth / least) * (math.sqrt(D) + math.sqrt(2 * log))

    def width(n):
        known = 0.5 * math.sqrt(2 * math.log(2 / 0.01) + D * math.log(3 + n / (D * least)))
        return known + math.sqrt(3 * least) + gamma

    rng = np.random.default_rng(3)
    same(found, np.array([play(rng, 1, 1, 2 * least, width, sigma, math.sqrt(2)) for _ in range(RUNS)]))


def test_fed_ucb_synchronises_as_its_exact_sums_say():
    given = {"n_agents": M, "n_arms": K, "n_features": D, "horizon": T}
    often, seldom = (
        hb.evaluate("PrivateFedLinear-v0", "FedUCB", 4, 0, given, {"threshold": threshold}) for threshold in (1.0, 50.0)
    )
    assert (often.final("syncs") > seldom.final("syncs")).all()
    assert (often.final("uploads") == M * often.final("syncs")).all()
    released = hb.evaluate("PrivateFedLinear-v0", "FedUCB", 4, 0, given, {"as_released": True, "threshold": 1.0})
    assert (released.final("syncs") >= 1).all()
    assert np.isinf(released.final("epsilon")).all()
    assert (released.final("delta") == 1.0).all()
