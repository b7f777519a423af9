"""Growth of the cost of a pull with M, K, T and runs: ``python -m benchmarks scale [agents|arms|rounds|runs]``.

Each line is a separate process: seconds to build the env, CPU nanoseconds of a pull (an activation, in exploration),
and peak memory beyond that of a small run.  Fitted exponents of the nanoseconds and, for agents, of the building time
follow: 0 is no growth, 1 is linear growth.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import hushbandits as hb
from benchmarks.clock import spent

NETWORK, EXPLORATION = "CoopNetwork-v0", "DPMASE-v0"
_ARMS = {k: {"n_arms": k, "means": hb.UniformMeans(0.2, 0.8), "horizon": 400_000 // k + 2 * k} for k in (10, 100, 1000)}
_TINY = {"n_agents": 2, "means": (0.5, 0.4), "horizon": 5}

#: By part: agent, env, and runs by size.
LAWS: dict[str, list[tuple[str, str, Mapping[int, Mapping[str, object]]]]] = {
    "agents": [
        *[
            (
                team,
                NETWORK,
                {m: {"n_agents": m, "graph": "grid", "max_hops": 2, "horizon": 10_000_000 // m} for m in sides},
            )
            for team, sides in (("UCB1", (1024, 10_000, 99_856)), ("Multi-UCB", (1024, 10_000, 99_856)))
        ],
        ("Decentralized-SER3", EXPLORATION, {m: {"n_agents": m, "horizon": 2_000_000} for m in (10**3, 10**4, 10**5)}),
    ],
    "arms": [(team, NETWORK, _ARMS) for team in ("UCB1", "Multi-UCB", "MOSS")],
    "rounds": [("UCB1", NETWORK, {t: {"n_agents": 4, "horizon": t} for t in (10**5, 10**6, 10**7)})],
    "runs": [("UCB1", NETWORK, {r: {**_TINY, "runs": r} for r in (10**4, 10**5, 10**6)})],
}


def cost(team: str, core: str, game: Mapping[str, object]) -> tuple[float, float, float]:
    """Return seconds to build, nanoseconds of a pull, and MiB."""
    small = {"n_agents": 16, "horizon": 50, **{name: game[name] for name in ("graph", "max_hops") if name in game}}
    hb.rollout(hb.make_batched(core, **small), hb.make_team(team), 0)  # compile
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made: list[hb.Env] = []
    built = spent(lambda: made.append(hb.make_batched(core, **game)))
    (env,) = made
    taken = spent(lambda: hb.rollout(env, hb.make_team(team), 0))
    pulls = int(env.t.sum()) * (env.n_agents if core == NETWORK else 1)
    return built, taken / pulls * 1e9, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main(*words: str) -> None:
    for part in words or LAWS:
        for team, core, games in LAWS[part]:
            print(f"{part}: {team} on {core}")
            found = []
            for size, game in games.items():
                with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
                    found.append(fresh.submit(cost, team, core, game).result())
                print("  {:>9,} {:8.3f} s to build {:10.1f} ns a pull {:8.0f} MiB".format(size, *found[-1]), flush=True)
            sizes = np.log([*games])
            slope, building = (np.polyfit(sizes, np.log(np.array(found)[:, i]), 1)[0] for i in (1, 0))
            print(f"  exponent {slope:.2f} of a pull" + f", {building:.2f} of building" * (part == "agents"))
