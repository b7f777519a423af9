"""Golden traces: integer outcomes at a fixed seed.

They change if an algorithm, a random stream or an order of draws changes: then record it in the changelog, and save
the new traces.
"""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.registry import assemble, takes

GOLDEN = {
    ("DPMASE-v0", "DP-MASE"): ({"n_agents": 8}, {"epsilon": 0.5}),
    ("DPMASE-v0", "Central"): ({"n_agents": 8}, {}),
    ("DPMASE-v0", "Independent"): ({"n_agents": 4}, {}),
    ("CorruptedElimination-v0", "Corrupted-Elimination"): ({"n_agents": 32}, {"xi": 0.1}),
    ("DecentralizedExploration-v0", "Decentralized-SER3"): ({"n_agents": 32, "agent_distribution": "50/80"}, {}),
    ("DecentralizedExploration-v0", "Decentralized-UGapEc"): ({"n_agents": 32, "problem": "P3"}, {}),
    ("DecentralizedExploration-v0", "0-Privacy-KL-LUCB"): ({"n_agents": 4}, {}),
    ("DecentralizedExploration-v0", "1-Privacy-LUCB"): ({"n_agents": 4}, {}),
    ("CoopNetwork-v0", "Multi-UCB"): ({"n_agents": 9, "graph": "grid", "horizon": 300}, {}),
    ("CoopNetwork-v0", "Private-UCB"): (
        {"n_agents": 9, "graph": "grid", "horizon": 300},
        {"epsilon": 0.5, "own_feedback": "true"},
    ),
    ("CoopNetwork-v0", "QuACK-UCB"): ({"n_agents": 9, "graph": "grid", "horizon": 300}, {}),
    ("DistDP-v0", "Dist-DP-SE"): ({"horizon": 20_000, "means": [0.9, 0.5, 0.1], "rewards": "bernoulli"}, {}),
}
#: Contexts of which no two tie; the tree's noise is small enough to see the data.
_WORLD = {"n_agents": 5, "n_arms": 5, "n_features": 4, "horizon": 300, "contexts": "cube", "rewards": "gaussian"}
_TREE = {**_WORLD, "epsilon": 200.0, "delta": 0.1}
GOLDEN |= {
    **{("FedLinear-v0", agent): (_WORLD, {"beta": 0.5}) for agent in ("LinUCB", "LinUCB-alone", "FedLinUCB")},
    **{("FedLinear-v0", agent): (_WORLD, {}) for agent in ("LinTS", "Async-LinUCB")},
    **{("FedLinear-All-v0", agent): (_WORLD, {}) for agent in ("DisLinUCB", "Batch-LinUCB")},
    ("PrivateFedLinear-v0", "FedUCB"): (_TREE, {"threshold": 5.0}),
    ("PrivateFedLinear-v0", "LinUCB-JDP"): ({**_TREE, "n_agents": 1}, {}),
    ("ShuffleFedLinear-v0", "Private-FedLinUCB"): (_TREE, {}),
}
EXPECTED = {
    "DP-MASE": [[5146, 5094, 5147], [45, 45, 53]],
    "Central": [[1933, 1741, 1907], [1933, 1741, 1907]],
    "Independent": [[8436, 9473, 8295], [0, 0, 0]],
    "Corrupted-Elimination": [[49511, 43950, 46841], [102, 101, 104]],
    "Decentralized-SER3": [[43468, 50957, 46981], [252, 252, 252]],
    "Decentralized-UGapEc": [[20592, 19821, 20770], [252, 252, 252]],
    "0-Privacy-KL-LUCB": [[468, 514, 448], [1404, 1542, 1344]],
    "1-Privacy-LUCB": [[4491, 4094, 5066], [0, 0, 0]],
    "Multi-UCB": [[2298, 2365, 2422]],
    "Private-UCB": [[2369, 2325, 2382]],
    "QuACK-UCB": [[2284, 2178, 2293]],
    "Dist-DP-SE": [[1018, 1018, 1018]],
    # regret in millionths
    "LinUCB": [[4760483, 1428012, 5603606], [1800, 1800, 1800]],
    "LinUCB-alone": [[17521189, 20292400, 11033020], [0, 0, 0]],
    "FedLinUCB": [[11583246, 8046374, 6536243], [46, 46, 48]],
    "LinTS": [[9486302, 5605495, 6660164], [1800, 1800, 1800]],
    "Async-LinUCB": [[9427788, 10248009, 9220980], [25, 25, 25]],
    "DisLinUCB": [[28591619, 13086159, 16034713], [30, 30, 30]],
    "Batch-LinUCB": [[24516528, 13558045, 16881858], [120, 120, 120]],
    "FedUCB": [[141978818, 139821066, 144939701], [90, 90, 90]],
    "LinUCB-JDP": [[28740590, 28683529, 32890030], [600, 600, 600]],
    "Private-FedLinUCB": [[85623812, 72247921, 84547299], [120, 120, 120]],
}


def outcome(env_id, agent, env, agent_kwargs):
    team = hb.make_team(agent, **agent_kwargs)
    order = {"permute_arms": True} if takes(env_id, "permute_arms") else {}
    core = assemble(env_id, team, runs=3, env={**order, **env})
    finals = hb.rollout(core, team, seed=2026)
    if "rounds" in finals:
        return [finals["rounds"].tolist(), finals["messages"].tolist()]
    if core.setting == "linear":
        return [np.rint(finals["regret"] * 1e6).astype(int).tolist(), finals["messages"].tolist()]
    # gaps are multiples of .05 (network) and .4 (feedback): regret counts pulls
    unit = 0.4 if env_id == "DistDP-v0" else 0.05
    return [np.rint(finals["regret"] / unit).astype(int).tolist()]


@pytest.mark.parametrize(("env_id", "agent"), GOLDEN)
def test_golden(env_id, agent):
    assert outcome(env_id, agent, *GOLDEN[env_id, agent]) == EXPECTED[agent]
