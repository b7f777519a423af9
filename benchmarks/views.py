"""Dict steps per second of the PettingZoo view: ``python benchmarks/views.py [agents]``.

The actions are fixed, so that what is timed is the view and the core below it, not the sampling of actions; the
core's own share (pull and talk on arrays) is timed beside it.
"""

import sys
import time

import numpy as np

import hushbandits as hb

SECONDS = 1.0


def core_actions(core):
    if core.setting == "exploration":
        return np.ones((1, 1, core.n_arms), bool)
    if core.setting == "feedback":
        return np.zeros(core.who.shape, int), np.full(core.who.shape, 2)
    return np.zeros(core.who.shape, int)


def view_actions(env):
    k = env.core.n_arms
    still = {
        "exploration": np.array([1] * k + [0] * k, np.int8),  # everything is pulled, nothing voted out
        "network": np.int64(0),
        "feedback": np.array([0, 1]),
    }
    return dict.fromkeys(env.possible_agents, still[env.core.setting])


def rate(step, restart, over):
    """Rounds per second: the best of five slices, so that a busy machine does not count."""
    best = 0.0
    for _ in range(5):
        restart()
        count, start = 0, time.perf_counter()
        while (spent := time.perf_counter() - start) < SECONDS / 5:
            for _ in range(100):
                if over():
                    restart()
                step()
            count += 100
        best = max(best, count / spent)
    return best


def main(agents):
    print(f"{'env':<26}{'agents':>7}{'steps/s':>10}{'µs/step':>9}{'of it core':>12}")
    for env_id in ("CoopNetwork-v0", "DPMASE-v0", "DistDP-v0"):
        n = 1 if env_id == "DistDP-v0" else agents
        for beats in (1, 2):
            env = hb.make(env_id, n_agents=n, beats=beats)
            actions = view_actions(env)
            env.reset(seed=0)
            steps = rate(lambda: env.step(actions), lambda: env.reset(seed=0), lambda: not env.agents)  # noqa: B023
            core = hb.make_core(env_id, n_agents=n)
            core.reset(0)
            arms = core_actions(core)

            def beat():
                core.pull(arms)  # noqa: B023
                core.talk()  # noqa: B023

            rounds = rate(beat, lambda: core.reset(0), lambda: not core.live.any())  # noqa: B023
            share = f"{1e6 / rounds / beats:.0f} µs"
            print(f"{env_id + f', beats={beats}':<26}{n:>7}{steps:>10,.0f}{1e6 / steps:>9.0f}{share:>12}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
