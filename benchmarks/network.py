"""Speed of the delayed graph: ``python -m benchmarks network [gossip|memory|speeds|robust|flood]``.

``gossip``  agent-pulls per second of QuACK over other policies, and of the gossip methods beside it, on one core
          (14 × 14 grid, K = 10, 32 runs of 1,000 rounds, γ unlimited); target: 10 M.
``memory``  peak MiB of 100 runs × 196 agents × 10⁴ rounds, a process each; target: under 1 GiB.
``speeds``  µs per round by phases and by compiled episodes, alternating, the least of five; and their ratio.
``robust``  seconds of one run of Byzantine-UCB, M = 200, T = 1000, by estimator, rewards and γ.
``flood``   cost and memory of one round's messages over M and γ.  A round delivers Σ_m |{m′ : 0 < d(m, m′) ≤ γ}|
          reports, so its time grows as M·S with S the size of a γ-neighbourhood; the ring buffer keeps γ rounds of M
          posts, and the slots keep M·S names: no copy is stored.
"""

from __future__ import annotations

import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import hushbandits as hb
from benchmarks.clock import spent
from hushbandits.registry import assemble

GRID = {"n_agents": 196, "graph": "grid"}


#: Runs, rounds, and the network.
CASES = {
    "cycle 16, 1 run": (1, 2000, {}),
    "cycle 16, 32 runs": (32, 400, {}),
    "grid 14 × 14, 32 runs": (32, 50, GRID),
    "star 32, 8 runs": (8, 800, {"n_agents": 32, "graph": "star"}),
    "cycle 16, switches": (8, 800, {"switches": 3}),
    "cycle 16, truncated": (8, 800, {"rewards": "truncated-gaussian"}),
    "cycle 16, beta": (8, 200, {"rewards": "beta"}),
}


def seconds(agent: str, runs: int, horizon: int, by_phases: bool = False, **env: object) -> float:
    team = hb.make_team(agent)
    if by_phases:
        team.episode = lambda *_: False  # type: ignore[method-assign]
    core = assemble("CoopNetwork-v0", team, runs=runs, env={**env, "horizon": horizon})
    return spent(lambda: hb.rollout(core, team, 0))


COMPARED = ("QuACK-UCB", "QuACK-UCB1", "QuACK-MOSS", "QuACK-TS", "coop-UCB", "DDUCB", "DDUCB-rechoosing", "Dec-TS")


def gossip() -> None:
    runs, horizon = 32, 1000
    for agent in COMPARED:
        seconds(agent, runs, 50, **GRID)  # compile
        best = min(seconds(agent, runs, horizon, **GRID) for _ in range(3))
        print(f"{agent:16} {runs * GRID['n_agents'] * horizon / best / 1e6:6.2f} M agent-pulls/s")


def memory() -> None:
    for agent in COMPARED:
        with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
            print(f"{agent:16} {fresh.submit(peak, agent).result():6.0f} MiB")


def peak(agent: str) -> float:
    seconds(agent, 100, 10_000, **GRID)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def speeds() -> None:
    for agent in ("Multi-UCB", "UCB1", "QuACK-UCB"):
        for case, (runs, horizon, env) in CASES.items():
            for by_phases in (True, False):
                seconds(agent, runs, 50, by_phases, **env)  # compile
            turns = [[seconds(agent, runs, horizon, by_phases, **env) for by_phases in (True, False)] for _ in range(5)]
            slow, fast = np.min(turns, 0) / horizon * 1e6
            print(f"{agent:12} {case:24} {slow:9.1f} µs by phases {fast:9.1f} µs by episodes: {slow / fast:5.1f} ×")


def robust() -> None:
    random = {"n_agents": 200, "n_arms": 5, "graph": "erdos-renyi", "means": hb.UniformMeans(0.3, 0.7)}
    for mean in ("trimmed", "lugosi-mendelson", "mean"):
        for max_hops in (1, "diameter"):
            for rewards in ("bernoulli", "beta"):
                for horizon in (2, 1000):  # compile, measure
                    team = hb.make_team("Byzantine-UCB", mean=mean, epsilon=1e-3)
                    env = {**random, "max_hops": max_hops, "rewards": rewards, "horizon": horizon}
                    core = assemble("ByzantineNetwork-v0", team, runs=1, env=env)
                    taken = spent(lambda core=core, team=team: hb.rollout(core, team, 0))
                print(f"{mean:17} γ = {max_hops:8} {rewards:10} {taken:6.2f} s")


def flood() -> None:
    print(f"{'M':>5} {'γ':>9} {'S':>6} {'ns/report':>10} {'µs/round':>9} {'ring KiB':>9} {'slots KiB':>10}")
    for side in (4, 8, 14, 20, 28):
        for max_hops in (1, 2, 4, 8, None):
            env = hb.make_batched("CoopNetwork-v0", n_agents=side**2, graph="grid", max_hops=max_hops, horizon=10**9)
            env.reset(0)
            rng = np.random.default_rng(0)
            taken, rounds = 0.0, 2 * side + 40
            for _ in range(rounds):
                env.pull(rng.integers(10, size=(1, side**2)))
                inbox = env.communicate().inbox
                assert inbox is not None
                taken += spent(inbox.tally)
            slots, ring = env.slots, env._ring  # type: ignore[attr-defined]
            reports = int(slots.degree.sum())
            ring_bytes = sum(v.nbytes for v in ring.values.values()) + ring.sent.nbytes + ring.held.nbytes
            slot_bytes = slots.sender.nbytes + slots.delay.nbytes + slots.shell.nbytes
            print(
                f"{side**2:5} {max_hops or 'unlimited':>9} {reports / side**2:6.1f} "
                f"{taken / rounds / reports * 1e9:10.2f} "
                f"{taken / rounds * 1e6:9.1f} {ring_bytes / 1024:9.1f} {slot_bytes / 1024:10.1f}"
            )


def main(*words: str) -> None:
    parts = {"gossip": gossip, "memory": memory, "speeds": speeds, "robust": robust, "flood": flood}
    for part in words or parts:
        parts[part]()
