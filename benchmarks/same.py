"""Whether hand-written loops play the package's game: equal regret, or p-values of its law.

Run: ``python -m benchmarks same [AGENT …]``; default: all agents with a loop.
"""

import numpy as np
from scipy import stats

import hushbandits as hb
from benchmarks.cells import GRAPHS, LOOPS, MEANS
from benchmarks.loops import exploration, feedback
from hushbandits.registry import assemble

#: Agents, rounds and runs.
NETWORKS = ((16, 1000, 200), (196, 100, 20))
BLOCKS = {"Dist-DP-SE": "DistDP-v0", "CDP-SE": "CentralDP-v0", "Shuffle-DP-SE": "ShuffleDP-v0"}
VOTES = {"Decentralized-SER3": 0.25, "Decentralized-Median": 0.9}
ENVS = {"Private-UCB": "PrivateNetwork-v0", "Byzantine-UCB": "ByzantineNetwork-v0"}


def played(env_id, agent, runs, env, **params):
    """Return the final metrics of the package's runs."""
    team = hb.make_team(agent, **params)
    return hb.rollout(assemble(env_id, team, runs=runs, env=env), team, 0)


def pairs(agent):
    """Yield what is compared, and the package's and the loop's numbers, one or more per run."""
    for m, horizon, runs in NETWORKS if agent in LOOPS else ():
        env = {"n_agents": m, "graph": GRAPHS[m], "means": MEANS, "permute_arms": False, "horizon": horizon}
        theirs = LOOPS[agent](agent, GRAPHS[m], m, horizon, runs)
        final = played(ENVS.get(agent, "CoopNetwork-v0"), agent, runs, env)
        yield f"{agent}, M = {m}", final["agent_regret"], theirs
    if agent in BLOCKS:
        final = played(BLOCKS[agent], agent, 1000, {"horizon": 20_000})
        yield agent, final["regret"], feedback.by_hand(agent, 4000, 20_000)
    if agent in VOTES:
        final = played("DecentralizedExploration-v0", agent, 200, {}, epsilon=VOTES[agent])
        yield agent, final["rounds"], exploration.by_hand(agent, range(1000), epsilon=VOTES[agent])


def main(*agents):
    for agent in agents or (*LOOPS, *BLOCKS, *VOTES):
        for shown, mine, theirs in pairs(agent):
            if mine.shape == theirs.shape and np.array_equal(mine, theirs):
                print(f"{shown}: equal in {len(mine)} runs", flush=True)
                continue
            mine, theirs = (x.reshape(len(x), -1).sum(1).astype(float) for x in (mine, theirs))
            welch, ks = stats.ttest_ind(mine, theirs, equal_var=False).pvalue, stats.ks_2samp(mine, theirs).pvalue
            ratio = mine.mean() / theirs.mean()
            print(f"{shown}: means' ratio {ratio:.3f}, p = {welch:.2g} (Welch), {ks:.2g} (KS)", flush=True)
