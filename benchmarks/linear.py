"""Time of FedLinUCB in units of a hand-written compiled loop: ``python -m benchmarks linear [TURNS]``.

Both play `FedLinear-v0` (one of 15 agents a round, d = 15, K = 25) at 20 runs, in turns; the least counts.  The loop is
the game alone, with the package's uniforms for contexts: its regret is equal in law.
"""

import math

import numba
import numpy as np

import hushbandits as hb
from benchmarks.clock import least
from hushbandits.core.random.philox import uniform
from hushbandits.core.random.streams import Streams, spawn_seeds
from hushbandits.registry import assemble

M, K, D, RUNS, HORIZON = 15, 25, 15, 20, 10_000
BETA, ALPHA, SIGMA = 0.5, 1.0, 0.3


@numba.njit
def grown(inverse, image, x):
    """Add x to a regression by its inverse; return by what factor the determinant grows."""
    image[:] = 0.0
    norm = 1.0
    for j in range(D):
        for i in range(D):
            image[i] += inverse[j, i] * x[j]
    for i in range(D):
        norm += image[i] * x[i]
    for j in range(D):
        factor = image[j] / norm
        for i in range(D):
            inverse[j, i] -= image[i] * factor
    return norm


@numba.njit
def game(cursors, horizon):
    """Play one run of FedLinUCB; return regret and messages."""
    played, data = np.zeros((2, M, D, D))
    theta, gram, moment = np.zeros((M, D)), np.zeros((M, D, D)), np.zeros((M, D))
    server, total, factor = np.eye(D), np.zeros(D), np.ones(M)
    for m in range(M):
        played[m], data[m] = np.eye(D), np.eye(D)
    x, image, scale = np.empty((K, D)), np.empty(D), 1.0 / math.sqrt(D)
    regret, messages = 0.0, 0
    for _ in range(horizon):
        m = int(uniform(cursors, 0) * M)
        best, top, arm, mean = -math.inf, -math.inf, 0, 0.0
        inverse, guess = played[m], theta[m]
        for k in range(K):
            image[:] = 0.0
            value = 0.0
            for j in range(D):
                x[k, j] = (2.0 * uniform(cursors, 0) - 1.0) * scale
                value += x[k, j]
                for i in range(D):
                    image[i] += inverse[j, i] * x[k, j]
            square, index = 0.0, 0.0
            for i in range(D):
                square += image[i] * x[k, i]
                index += guess[i] * x[k, i]
            index += BETA * math.sqrt(max(square, 0.0))
            best = max(best, value)
            if index > top:
                top, arm, mean = index, k, value
        regret += (best - mean) * scale
        turn = math.sqrt(-2.0 * math.log(1.0 - uniform(cursors, 0)))
        reward = mean * scale + SIGMA * turn * math.cos(2.0 * math.pi * uniform(cursors, 0))
        factor[m] *= grown(data[m], image, x[arm])
        for i in range(D):
            moment[m, i] += reward * x[arm, i]
            for j in range(D):
                gram[m, i, j] += x[arm, i] * x[arm, j]
        if factor[m] > 1.0 + ALPHA:
            server += gram[m]
            total += moment[m]
            played[m] = np.linalg.inv(server)
            data[m], theta[m] = played[m], np.dot(np.ascontiguousarray(played[m]), total)
            gram[m], moment[m], factor[m] = 0.0, 0.0, 1.0
            messages += 2
    return regret, messages


def by_hand(horizon=HORIZON, runs=RUNS):
    """Return regret and messages of `runs` runs, ``(runs, 2)``."""
    cursors = Streams(spawn_seeds(0, runs)).cursors()
    return np.array([game(cursors[r : r + 1], horizon) for r in range(runs)])


def main(turns="5"):
    team = hb.make_team("FedLinUCB")
    core = assemble("FedLinear-v0", team, runs=RUNS, env={"horizon": HORIZON})
    found = {}

    def package():
        found["package"] = hb.rollout(core, team, 0)

    def loop():
        found["loop"] = by_hand()

    cost = least({"package": package, "loop": loop}, int(turns))
    final = found["package"]
    package = final["regret"], final["messages"]
    for name, (regret, messages) in {"package": package, "loop": found["loop"].T}.items():
        error = 2 * regret.std(ddof=1) / math.sqrt(RUNS)
        each, sent = 1e9 * cost[name] / (RUNS * HORIZON), messages.mean()
        print(f"{name:<8} {each:>7,.0f} ns a pull, regret {regret.mean():.1f} ± {error:.1f}, messages {sent:.1f}")
    print(f"ratio {cost['package'] / cost['loop']:.2f}")
