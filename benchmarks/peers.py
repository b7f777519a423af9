"""Nanoseconds of CPU time per pull of UCB1 and Thompson sampling, beside other libraries.

Run: ``python -m benchmarks peers`` (some minutes; the table of docs/comparison.md).  Its arguments are
``LIBRARY=INTERPRETER`` for each library in a separate environment, such as ``pymab=/tmp/peers/bin/python``; a library
that its interpreter cannot import is reported and left out.  Each plays the same game with its fastest loop: ten
Bernoulli arms, 10⁴ rounds, some runs.  Libraries take turns, a process each time, and the best turn counts, without
imports, compilation and a first run.
"""

import contextlib
import io
import json
import os
import random
import subprocess
import sys
import time

ARMS = (0.7, 0.5, 0.5, 0.4, 0.4, 0.3, 0.3, 0.2, 0.2, 0.1)
HORIZON, TURNS = 10_000, 3
POLICIES = ("UCB1", "TS")


def hushbandits(policy, runs, n_agents=1):
    import hushbandits as hb

    env = {"n_agents": n_agents, "means": ARMS, "horizon": HORIZON}
    return hb.evaluate("CoopNetwork-v0", policy, runs=runs, env=env).final("regret").mean() / n_agents


def crowd(policy, runs):
    return hushbandits(policy, runs, n_agents=64)


def pymab(policy, runs):
    import numpy as np
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
    from pymab.policies import BernoulliThompsonSamplingPolicy, UCBPolicy

    made = {"UCB1": UCBPolicy, "TS": BernoulliThompsonSamplingPolicy}[policy](n_arms=len(ARMS))
    arms = BanditEnvironment(means=np.array(ARMS), reward_model=BernoulliReward())
    config = ExperimentConfig(horizon=HORIZON, n_replicates=runs, seed=0, backend="rust")
    result = Experiment(environment=arms, policies={policy: made}, config=config).run()
    return HORIZON * max(ARMS) - np.sum(result.expected_rewards) / runs


def native(policy, runs):
    """Play pymab's Rust loop alone, without the validation of its return values: an internal function of pymab."""
    import numpy as np
    from pymab import BanditEnvironment, BernoulliReward
    from pymab._backend import run_native_experiment
    from pymab.policies import BernoulliThompsonSamplingPolicy, UCBPolicy

    made = {"UCB1": UCBPolicy, "TS": BernoulliThompsonSamplingPolicy}[policy](n_arms=len(ARMS))
    found = run_native_experiment(
        environment=BanditEnvironment(means=np.array(ARMS), reward_model=BernoulliReward()), policies={policy: made},
        horizon=HORIZON, n_replicates=runs, seed=0, reward_coupling="common", record_contexts=False,
    )  # fmt: skip
    return HORIZON * max(ARMS) - np.sum(np.asarray(found.expected_rewards, float)) / runs


def SMPyBandits(policy, runs):
    from SMPyBandits.Arms import Bernoulli
    from SMPyBandits.Environment import Evaluator
    from SMPyBandits.Policies import UCB, Thompson

    evaluator = Evaluator({
        "horizon": HORIZON, "repetitions": runs, "n_jobs": 1, "verbosity": 0,
        "environment": [{"arm_type": Bernoulli, "params": list(ARMS)}],
        "policies": [{"archtype": {"UCB1": UCB, "TS": Thompson}[policy], "params": {}}],
    })  # fmt: skip
    evaluator.startOneEnv(0, evaluator.envs[0])
    return float(evaluator.getCumulatedRegret(0)[-1])


def mabwiser(policy, runs):
    from mabwiser.mab import MAB, LearningPolicy

    law = {"UCB1": LearningPolicy.UCB1(alpha=1), "TS": LearningPolicy.ThompsonSampling()}[policy]
    regret, uniforms = 0.0, random.Random(0)
    for run in range(runs):
        arms = list(range(len(ARMS)))
        mab = MAB(arms, law, seed=run)
        mab.fit(arms, [int(uniforms.random() < mean) for mean in ARMS])
        for _ in range(HORIZON - len(ARMS)):
            arm = mab.predict()
            mab.partial_fit([arm], [int(uniforms.random() < ARMS[arm])])
            regret += max(ARMS) - ARMS[arm]
    return regret / runs + sum(max(ARMS) - mean for mean in ARMS)


#: Function and number of runs of each library: fewer runs if one takes a second.
LIBRARIES = {
    "hushbandits": (hushbandits, 100), "hushbandits, 64 agents": (crowd, 10), "pymab": (pymab, 100),
    "pymab, its native loop": (native, 100), "SMPyBandits": (SMPyBandits, 10), "mabwiser": (mabwiser, 2),
}  # fmt: skip


def timed(library):
    """Return nanoseconds per pull and regret per run and agent, by policy, measured in this process."""
    play, runs = LIBRARIES[library]
    pulls = runs * HORIZON * (64 if play is crowd else 1)
    found = {}
    for policy in POLICIES:
        with contextlib.redirect_stdout(io.StringIO()):
            play(policy, 1)
            start = time.process_time()
            regret = play(policy, runs)
        found[policy] = [(time.process_time() - start) / pulls * 1e9, float(regret)]
    return found


def asked(library, interpreter):
    """Return the same from another process, or the last line of its error."""
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([interpreter, __file__, library], capture_output=True, text=True, env=alone, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def main(*where):
    """Print the table."""
    interpreters = dict(word.split("=", 1) for word in where)
    best = {}
    for _ in range(TURNS):
        for library in LIBRARIES:
            if isinstance(best.get(library), str):
                continue
            found = asked(library, interpreters.get(library.partition(",")[0], sys.executable))
            best[library] = found if isinstance(found, str) or library not in best else {
                policy: min(found[policy], best[library][policy]) for policy in POLICIES
            }  # fmt: skip
    print("| library | runs | policy | ns per pull | times hushbandits' | regret of a run |\n|---|---|---|---|---|---|")
    for library, found in best.items():
        if isinstance(found, str):
            print(f"{library} is left out: {found}")
            continue
        for policy, (spent, regret) in found.items():
            ratio = spent / best["hushbandits"][policy][0]
            print(f"| {library} | {LIBRARIES[library][1]} | {policy} | {spent:,.0f} | {ratio:.2g} | {regret:.0f} |")


if __name__ == "__main__":  # in an environment that may contain a single library only
    sys.path.pop(0)  # this folder, whose coverage.py Numba would take for the library
    print(json.dumps(timed(sys.argv[1])))
