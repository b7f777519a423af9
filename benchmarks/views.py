"""Agent-steps per CPU-second of every view, side by side: ``python -m benchmarks views [ID]``.

Actions are fixed, so that the view and the batched env below it are timed, not the sampling.  The batched env is timed
with a learner's reading of its inbox (the tally).  A library that is not installed is reported and left out.
"""

import itertools
import time

import numpy as np

import hushbandits as hb

SLICES, SECONDS = 20, 0.1
RUNS = 32  # for views that play many runs at once
LONG = {"horizon": 10**6}


def rate(step):
    """Return calls per second of this process's CPU time."""
    start = time.process_time()
    for calls in itertools.count(1):
        step()
        if (spent := time.process_time() - start) > SECONDS:
            return calls / spent


def arms(runs, m):
    return np.random.default_rng(0).integers(2, size=runs * m)


def core(env_id, m):
    env = hb.make_batched(env_id, RUNS, n_agents=m, **LONG)
    env.reset(0)
    actions = env.no_action()
    if isinstance(actions, np.ndarray) and actions.shape == (RUNS, m):
        actions = arms(RUNS, m).reshape(RUNS, m)

    def step():
        env.pull(actions)
        inbox = env.communicate().inbox
        if "tally" in env.reductions:
            inbox.tally()

    return step, RUNS * m


def dicts(env_id, m):
    env = hb.make(env_id, n_agents=m, **LONG)
    env.reset(seed=0)
    actions = dict(zip(env.possible_agents, arms(1, m), strict=True))
    return lambda: env.step(actions), m


def supersuit(env_id, m):
    import supersuit

    one = supersuit.pettingzoo_env_to_vec_env_v1(hb.make(env_id, n_agents=m, **LONG))
    env = supersuit.concat_vec_envs_v1(one, 4, num_cpus=0, base_class="gymnasium")
    env.reset(seed=0)
    actions = arms(4, m)
    return lambda: env.step(actions), 4 * m


def vec(env_id, m):
    env = hb.make_vec(env_id, RUNS, n_agents=m, **LONG)
    env.reset(seed=0)
    actions = arms(RUNS, m)
    return lambda: env.step(actions), RUNS * m


def sb3(env_id, m):
    env = hb.make_sb3(env_id, RUNS, n_agents=m, **LONG)
    env.reset()
    actions = arms(RUNS, m)
    return lambda: env.step(actions), RUNS * m


def torchrl(env_id, m):
    env = hb.make_torchrl(env_id, RUNS, n_agents=m, **LONG)
    data = env.rand_action(env.reset())
    return lambda: env.step(data), RUNS * m


VIEWS = {
    "core and its tally": core,
    "make, dicts of agents": dicts,
    "SuperSuit, 4 of these": supersuit,
    "make_vec": vec,
    "make_sb3": sb3,
    "make_torchrl": torchrl,
}


def measured(env_id, m):
    """Return millions of agent-steps per CPU-second by view: the best of many slices, taken in turns, so that load
    affects all alike; or a sentence that says why there are none.
    """  # fmt: skip
    found, built = {}, {}
    for view, build in VIEWS.items():
        try:
            built[view] = build(env_id, m)
        except (ImportError, AttributeError) as missing:
            found[view] = f"{view} is left out: {missing}"
    for step, _ in built.values():
        for _ in range(m + 1):  # until every message is on its way
            step()
    for _ in range(SLICES):
        for view, (step, agents) in built.items():
            found[view] = max(found.get(view, 0.0), rate(step) * agents / 1e6)
    return found


def main(env_id="CoopNetwork-v0"):
    print(f"{env_id}, {RUNS} runs, millions of agent-steps per CPU-second (times SuperSuit's; share of the core's)")
    for m in (8, 64, 256):
        found = measured(env_id, m)
        theirs, most = found["SuperSuit, 4 of these"], found["core and its tally"]
        for view in VIEWS:
            speed = found[view]
            if isinstance(speed, str):
                print(speed)
                continue
            times = "" if isinstance(theirs, str) else f"{speed / theirs:.1f}×"
            print(f"M = {m:<5}{view:<24}{speed:>8.3f} {times:>8} {speed / most:>8.2f}", flush=True)
