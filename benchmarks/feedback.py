"""Users per second of Dist-DP-SE, pooled and one by one, and the cost of one pooled block.

Run: ``python -m benchmarks feedback``.
"""

import numpy as np

import hushbandits as hb
from benchmarks.clock import spent
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace, Exact, Laplace, PolyaDifference, Skellam
from hushbandits.registry import assemble


def users_per_second(users, horizon, runs, **env):
    team = hb.make_team("Dist-DP-SE")
    core = assemble("DistDP-v0", team, runs=runs, env={"simulate_users": users, "horizon": horizon, **env})
    hb.rollout(core, team, 0)  # compile
    taken = spent(lambda: hb.rollout(core, team, 1))
    return core.metrics()["users"].sum() / taken


def block_seconds(n, repeats=50, **env):
    core = hb.make_batched("DistDP-v0", horizon=n * (repeats + 1), **env)
    core.reset(0)
    arm, block = np.zeros((1, 1), int), np.full((1, 1), n)
    core.pull((arm, block))
    core.communicate()

    def blocks():
        for _ in range(repeats):
            core.pull((arm, block))
            core.communicate()

    return spent(blocks) / repeats


def draws_per_second(law, sampler, size):
    rng = np.random.default_rng(0)
    return size / spent(lambda: sampler(law).draw(rng, size))


LAWS = (PolyaDifference(1 / 1024, 32.0), DiscreteLaplace(32.0), Skellam(100.0), DiscreteGaussian(100.0), Laplace(1.0))


def main():
    for rewards in ("bernoulli", "clipped-gaussian"):
        print(f"{rewards}")
        print(f"  pooled, T = 10^7:   {users_per_second('aggregate', 10**7, 20, rewards=rewards):.3g} users/s")
        print(f"  one by one, T = 10^5: {users_per_second('individual', 10**5, 20, rewards=rewards):.3g} users/s")
        print(f"  pooled block of 10^6: {1e6 * block_seconds(10**6, rewards=rewards):.0f} µs")
    print("draws per second")
    for law in LAWS:
        fast, integers = draws_per_second(law, lambda law: law, 10**6), draws_per_second(law, Exact, 3000)
        print(f"  {law!r:<42} fast {fast:.3g}, exact {integers:.3g}")
