"""Golden traces: whole-number outcomes at a fixed seed.

They change when an algorithm, a random stream or an order of draws does: then say so in the changelog, and write the
new ones.
"""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.registry import assemble

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
        {"epsilon": 0.5, "own": "exact"},
    ),
    ("CoopNetwork-v0", "QuACK-UCB"): ({"n_agents": 9, "graph": "grid", "horizon": 300}, {}),
    ("DistDP-v0", "Dist-DP-SE"): ({"horizon": 20_000, "means": [0.9, 0.5, 0.1], "rewards": "bernoulli"}, {}),
}
EXPECTED = {
    "DP-MASE": [[5182, 5114, 5091], [45, 45, 45]],
    "Central": [[2935, 2105, 2253], [2935, 2105, 2253]],
    "Independent": [[8409, 8618, 8348], [0, 0, 0]],
    "Corrupted-Elimination": [[49209, 50020, 49069], [103, 102, 103]],
    "Decentralized-SER3": [[49014, 41014, 41875], [252, 252, 252]],
    "Decentralized-UGapEc": [[20341, 19473, 19148], [252, 252, 252]],
    "0-Privacy-KL-LUCB": [[432, 432, 412], [1296, 1296, 1236]],
    "1-Privacy-LUCB": [[4610, 5330, 4273], [0, 0, 0]],
    "Multi-UCB": [[2354, 2268, 2293]],
    "Private-UCB": [[2373, 2395, 2209]],
    "QuACK-UCB": [[2194, 2238, 2287]],
    "Dist-DP-SE": [[1018, 1018, 762]],
}


def outcome(env_id, agent, env, agent_kwargs):
    team = hb.make_team(agent, **agent_kwargs)
    core = assemble(env_id, team, runs=3, env={"permute_arms": True, **env})
    finals = hb.play(core, team, seed=2026)
    if "rounds" in finals:
        return [finals["rounds"].tolist(), finals["messages"].tolist()]
    # gaps are multiples of .05 (network) and .4 (feedback): regret counts pulls
    unit = 0.4 if env_id == "DistDP-v0" else 0.05
    return [np.rint(finals["regret"] / unit).astype(int).tolist()]


@pytest.mark.parametrize(("env_id", "agent"), GOLDEN)
def test_golden(env_id, agent):
    assert outcome(env_id, agent, *GOLDEN[env_id, agent]) == EXPECTED[agent]
