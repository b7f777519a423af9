"""Bad input: one clear sentence that names the argument, the value and what is allowed."""

import networkx as nx
import numpy as np
import pytest

import hushbandits as hb
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss

BAD_ENVS = [
    ("DPMASE", {}, "no env is named 'DPMASE'; did you mean DPMASE-v0?"),
    ("DPMASE-v0", {"beta": 1.0}, r"beta=1.0 must lie in \(0, 1\)"),
    ("DPMASE-v0", {"delta": 0}, r"delta=0 must lie in \(0, 1\)"),
    ("DPMASE-v0", {"n_agents": 0}, "n_agents=0 must be an integer ≥ 1"),
    ("DPMASE-v0", {"problem": "P9"}, "problem='P9' is not one of P1, P2"),
    ("DPMASE-v0", {"agent_distribution": "powr"}, "agent_distribution='powr' is unknown; did you mean power"),
    ("DPMASE-v0", {"agent_distribution": [1, 2]}, r"must list n_agents=64 weights, not shape \(2,\)"),
    ("DPMASE-v0", {"n_agents": 2, "agent_distribution": [0, 0]}, "not all 0"),
    ("DPMASE-v0", {"n_agents": 2, "agent_distribution": [1, -1]}, "weights ≥ 0"),
    ("DPMASE-v0", {"threshold": 0, "comparison": ">="}, "removes every arm without a vote"),
    ("DPMASE-v0", {"means": [0.5]}, "at least two arm means"),
    ("DPMASE-v0", {"means": [0.5, 1.5]}, r"means\[1\]=1.5 must lie in \[0, 1\]"),
    ("CoopNetwork-v0", {"graph": "ring"}, "graph='ring' is no graph"),
    ("CoopNetwork-v0", {"graph": nx.Graph([(0, 1), (2, 3)]), "n_agents": 4}, "connected: it falls into 2 parts"),
    ("CoopNetwork-v0", {"graph": nx.path_graph(3), "n_agents": 4}, "n_agents=4 but the graph has 3 nodes"),
    ("CoopNetwork-v0", {"graph": nx.DiGraph([(0, 1)]), "n_agents": 2}, "undirected"),
    ("CoopNetwork-v0", {"graph": "grid", "n_agents": 10}, "n_agents=10 must be a square"),
    ("CoopNetwork-v0", {"life": -1}, "life=-1 must be an integer ≥ 0"),
    ("CoopNetwork-v0", {"life": "radius"}, "life='radius' must be an integer ≥ 0, None, or one of"),
    ("CoopNetwork-v0", {"horizon": 0}, "horizon=0 must be an integer ≥ 1"),
    ("CoopNetwork-v0", {"rewards": "bernouli"}, "did you mean bernoulli"),
    ("CoopNetwork-v0", {"n_arms": 3, "means": [0.5, 0.4]}, "n_arms=3 but means lists 2 arms"),
    ("CoopNetwork-v0", {"means": hb.UniformMeans(0, 2), "n_arms": 3}, r"must stay in \[0, 1\]"),
    ("CoopNetwork-v0", {"runs": 0}, "runs=0 must be an integer ≥ 1"),
    ("CoopNetwork-v0", {"wrappers": ["Hubr"]}, "no wrapper is named 'Hubr'; did you mean Huber"),
]


@pytest.mark.parametrize(("env_id", "kwargs", "message"), BAD_ENVS)
def test_bad_env(env_id, kwargs, message):
    with pytest.raises(ValueError, match=message):
        hb.make_core(env_id, **kwargs)


def test_unknown_keywords_name_the_nearest():
    with pytest.raises(TypeError, match="env CoopNetwork-v0 takes no parameter 'n_agent'; did you mean n_agents"):
        hb.make_core("CoopNetwork-v0", n_agent=3)
    with pytest.raises(TypeError, match="agent DP-MASE takes no parameter 'eps'; did you mean epsilon"):
        hb.make_team("DP-MASE", eps=3)


@pytest.mark.parametrize(("agent", "kwargs", "message"), [
    ("DP-MASE", {"epsilon": 0}, "epsilon=0 must be a number > 0"),
    ("DP-MASE", {"epsilon": float("nan")}, "epsilon=nan must be a number > 0"),
    ("DP-MASE", {"beta": 1.5}, r"beta=1.5 must lie in \(0, 1\)"),
    ("Private-UCB", {"v": 2}, r"v=2 must lie in \(1, 1.5\)"),
    ("QuACK-UCBs", {}, "no agent is named 'QuACK-UCBs'; did you mean QuACK-UCB "),
])  # fmt: skip
def test_bad_agent(agent, kwargs, message):
    with pytest.raises(ValueError, match=message):
        hb.make_team(agent, **kwargs)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Huber(1.5), r"rate=1.5 must lie in \[0, 1\]"),
    (lambda: Loss(-0.1), r"rate=-0.1 must lie in \[0, 1\]"),
    (lambda: LocalLaplace(0), "epsilon=0 must be a number > 0"),
    (lambda: Huber(0.1, law="cauchy"), "law='cauchy' is no reward law"),
    (lambda: hb.make_core("CoopNetwork-v0", rewards="gaussian", wrappers=[LocalLaplace(1)]), r"rewards in \[0, 1\]"),
    (lambda: hb.make_core("DPMASE-v0", wrappers=[hb.make_wrapper("Shuffle")]), "needs a declared window"),
    (
        lambda: hb.make_core("DPMASE-v0", wrappers=[hb.make_wrapper("Shuffle", window=9), Loss(0.1)]),
        "Loss needs the message field 'vote', but the message has: tally",
    ),
])  # fmt: skip
def test_bad_wrapper(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_actions():
    env = hb.make_core("CoopNetwork-v0", n_agents=4)
    env.reset(0)
    with pytest.raises(ValueError, match=r"integer arms of shape \(1, 4\), not float64 \(1, 4\)"):
        env.pull(np.zeros((1, 4)))
    with pytest.raises(ValueError, match=r"action=10 is no arm: arms are 0..9"):
        env.pull(np.full((1, 4), 10))
    env = hb.make_core("DPMASE-v0")
    env.reset(0)
    with pytest.raises(ValueError, match=r"bool arm sets of shape \(1, 1, 10\)"):
        env.pull(np.zeros((1, 10), bool))


def test_conflicting_parameters():
    with pytest.raises(ValueError, match=r"env beta=0.3 conflicts with beta=0.5 of agent DP-MASE"):
        hb.evaluate("DPMASE-v0", "DP-MASE", env={"beta": 0.3})
    hb.evaluate(
        "DPMASE-v0", "DP-MASE", runs=1, env={"beta": 0.3, "n_agents": 6}, agent_kwargs={"beta": 0.3, "epsilon": 1}
    )


def test_team_in_the_wrong_setting():
    with pytest.raises(ValueError, match="DP-MASE plays the exploration setting; this env is network"):
        hb.play(hb.make_core("CoopNetwork-v0"), hb.make_team("DP-MASE"))


def test_quack_needs_a_life_that_reaches_everybody():
    with pytest.raises(ValueError, match="life=1 is too short for QuACK"):
        hb.evaluate("CoopNetwork-v0", "QuACK-UCB", runs=1, env={"life": 1})


def test_a_sparse_random_graph_says_what_it_needs():
    env = hb.make_core("CoopNetwork-v0", n_agents=50, graph="erdos-renyi", edge_probability=0.01)
    with pytest.raises(ValueError, match=r"edge_probability=0\.01 gave no connected graph of 50 agents"):
        env.reset(0)


def test_results_name_the_nearest_metric():
    results = hb.evaluate("CoopNetwork-v0", "Random", runs=1, env={"horizon": 3})
    with pytest.raises(ValueError, match="no metric is named 'regrets'; did you mean regret"):
        results.final("regrets")


def test_a_duplicate_id_is_an_error():
    with pytest.raises(ValueError, match="an env 'CoopNetwork-v0' is registered already"):
        hb.register_env("CoopNetwork-v0", "x:y")
