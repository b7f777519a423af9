"""Homes of the contract tests: registered parts, and combinations of wrappers, in short runs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import hushbandits as hb
from hushbandits.registry import assemble, takes
from hushbandits.wrappers.false_means import FalseMeans
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

sys.path.append(str(Path(__file__).parents[2] / "examples"))


class Home(NamedTuple):
    """An env, an agent that plays in it, and the wrappers between them."""

    env_id: str
    agent: str = "Random"
    env: Mapping = {}
    agent_kwargs: Mapping = {}
    wrappers: tuple = ()

    def build(self, runs):
        """Return a compatible env and team; arms keep the given order unless the home says otherwise."""
        team = hb.make_team(self.agent, **self.agent_kwargs)
        order = {"permute_arms": False} if takes(self.env_id, "permute_arms") else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # votes without effect
            env = assemble(self.env_id, team, runs=runs, env={**order, **self.env}, wrappers=self.wrappers)
            hb.check_compatible(env, team)
        return env, team


NET = {"n_agents": 6, "graph": "erdos-renyi", "edge_probability": 0.5, "horizon": 40, "permute_arms": True}
DUEL = {**NET, "permute_arms": False}
GRAPH = {**NET, "n_agents": 8, "max_hops": "diameter/2"}
CLIENTS = {"n_agents": 6, "means": (0.9, 0.2, 0.5), "margin": 0.1, "horizon": 60, "permute_arms": True}
DRAWN = {**GRAPH, "n_arms": 3, "means": hb.UniformMeans(0.2, 0.8), "rewards": "beta"}
MOVING = {"drift": 0.01, "n_change_points": 2, "permute_arms": True, "n_arms": 3, "means": hb.UniformMeans(0.2, 0.8)}
VOTE = {"n_agents": 6, "agent_distribution": "power", "permute_arms": True}
FEW = {"n_agents": 5, "means": [0.3, 0.9, 0.1], "horizon": 600, "permute_arms": True}
USERS = {"horizon": 1500, "n_arms": 4, "permute_arms": True}
EACH = {**USERS, "simulate_users": "individual"}
TABLE = {"horizon": 1500, "permute_arms": True}
LINEAR = {"n_agents": 4, "n_arms": 5, "n_features": 3, "horizon": 40}
FAST = {"epsilon": 0.8, "beta": 0.3, "delta": 0.3}
#: Parameters with which phases end, votes decide and SER4 resets within a few hundred rounds.
SOON = {"epsilon": 0.9, "eta": 0.5, "delta": 0.25}
LOST = (Loss(0.2),)
#: With users who drop out inside the protocol.
PLAYED = SecAgg(protocol="bonawitz", threshold=1, dropouts={"shares": 0.1, "masked": 0.1, "unmask": 0.1})
MIXED = Shuffle(protocol="mixnet", n_mixes=2)

OWN_ENVS = {name: f"own_env:{name}" for name in ("Seasons", "Channels")} | {"Weather": "own_envs_here:Weather"}

#: Agents whose first home is not CoopNetwork-v0, with loss.
ELSEWHERE = [
    Home("DPMASE-v0", "DP-MASE", FEW, {"epsilon": 20.0, "beta": 0.6, "delta": 0.5}, LOST),
    Home("DPMASE-v0", "Central", FEW, {}, LOST),
    Home("DPMASE-v0", "Independent", FEW),
    Home("DPMASE-v0", "Corrupted-Elimination", FEW, {"eta": 0.6, "delta": 0.5}, LOST),
    Home("DPMASE-v0", "AdaP-TT", {"means": [0.3, 0.9, 0.1], "horizon": 600}, {"epsilon": 20.0}, LOST),
    Home("DPMASE-v0", "DP-SE-alone", {"means": [0.1, 0.9], "horizon": 600}, {"epsilon": 20.0, "delta": 0.5}),
    Home("DPMASE-v0", "Gap-Vote", {**FEW, "threshold": 1}, {}, LOST),
    Home("DistDP-v0", "Commit-Blocks", USERS),
    Home("DistDP-v0", "Dist-DP-SE", USERS),
    Home("DistRDP-v0", "Dist-RDP-SE", USERS),
    Home("DistCDP-v0", "Dist-CDP-SE", USERS),
    Home("CentralDP-v0", "DP-SE", {**USERS, "horizon": 20_000, "epsilon": 5.0}),
    Home("CentralDP-v0", "CDP-SE", USERS),
    Home("CentralDP-v0", "AdaP-UCB", USERS),
    Home("CentralDP-v0", "AdaP-KLUCB", USERS),
    Home("LocalDP-v0", "LDP-SE", USERS),
    Home("ShuffleDP-v0", "Shuffle-DP-SE", USERS),
    Home("ShuffleDP-v0", "VB-SDP-AE", USERS),
    Home("DuelingNetwork-v0", "QuACK-RUCB", DUEL, {}, LOST),
    Home("DuelingNetwork-v0", "RUCB", DUEL, {}, LOST),
    Home("FederatedNetwork-v0", "Fed1-UCB", CLIENTS, {"pulls": 2, "sigma": 0.1}, LOST),
    Home("FederatedNetwork-v0", "Fed-MoM-UCB", CLIENTS, {"growth": "doubling", "sigma": 0.1, "beta": 0.5}, LOST),
    Home("CoopNetwork-v0", "CMP-UCB-leaders", {**NET, "graph": "star"}, {}, LOST),
    Home("ByzantineNetwork-v0", "Byzantine-UCB", DRAWN, {"epsilon": 0.05}),
    Home("PrivateNetwork-v0", "DP-UCB-INT", DRAWN),
    Home("FedLinear-v0", "LinUCB", {**LINEAR, "contexts": "pool"}, {"beta": None}, LOST),
    Home("FedLinear-v0", "LinUCB-alone", {**LINEAR, "activity": "ranked"}),
    Home("FedLinear-v0", "LinTS", {**LINEAR, "contexts": "pool"}, {}, LOST),
    Home("FedLinear-v0", "FedLinUCB", LINEAR, {"alpha": 0.1}),
    Home("FedLinear-v0", "Async-LinUCB", LINEAR, {"gamma": 1.2}),
    Home("FedLinear-All-v0", "DisLinUCB", {**LINEAR, "contexts": "sphere+1"}, {"threshold": 0.5}),
    Home("FedLinear-All-v0", "Batch-LinUCB", {**LINEAR, "contexts": "pool"}, {"batch": 5}),
    Home("PrivateFedLinear-v0", "Private-FedLinUCB", {**LINEAR, "batch": 5, "epsilon": 9.0}, {}, LOST),
    Home("PrivateFedLinear-v0", "LinUCB-JDP", {**LINEAR, "n_agents": 1}),
    Home("PrivateFedLinear-v0", "FedUCB", LINEAR, {"threshold": 5.0}),
    Home("CoopNetwork-Train-v0", "PPO-CoopNetwork", {"horizon": 30}),
    Home("DPMASE-Train-v0", "MaskablePPO-DPMASE", {"horizon": 60}),
    Home("DistDP-Train-v0", "PPO-DistDP"),
    Home("CoopNetwork-Train-v0", "ES-CoopNetwork", {"horizon": 30}),
    Home("DPMASE-Train-v0", "ES-DPMASE", {"horizon": 60}),
    Home("DistDP-Train-v0", "ES-DistDP"),
    Home("DistDP-Train-Tight-v0", "ES-DistDP-Tight"),
    Home("PricedNetwork-Train-v0", "Noisy-Vote", {"n_agents": 4, "horizon": 30}, {}, LOST),
]


def registered(agent):
    """Return the home of a registered agent."""
    role, _, routine = agent.partition("-")
    if role not in ("Decentralized", "0", "1"):
        return next((home for home in ELSEWHERE if home.agent == agent), Home("CoopNetwork-v0", agent, NET, {}, LOST))
    moving = {"agent_distribution": "50/80", "drift": 1e-4}
    soon = {"phi": 0.02} if "SER4" in routine else {}
    soon |= {name: value for name, value in SOON.items() if name != "eta" or role == "Decentralized"}
    return Home(
        "DecentralizedExploration-v0", agent, {**FEW, **moving, "n_change_points": int("SER4" in routine)}, soon, LOST
    )


#: Homes for every part of the contract, by name.
HOMES = {agent: registered(agent) for agent in hb.list_agents()} | {
    # messages of the network
    "max_hops": Home("CoopNetwork-v0", "Multi-UCB", {**NET, "max_hops": "ceil(diameter/2)"}),
    "beta": Home("CoopNetwork-v0", "Multi-UCB", {**NET, "rewards": "beta"}, {}, (Huber(0.2), LocalLaplace(2.0))),
    "shuffled": Home("CoopNetwork-v0", "Multi-UCB", NET, {}, (Huber(0.2, fraction=0.5), Loss(0.3), Shuffle())),
    "byzantine": Home("CoopNetwork-v0", "QuACK-UCB", NET, {}, (Loss(0.4), Huber(0.1))),
    "sealed": Home("CoopNetwork-v0", "Multi-UCB", NET, {}, (Loss(0.2), SecAgg())),
    "noised": Home("CoopNetwork-v0", "Multi-UCB", NET, {}, (LocalLaplace(1.0), SecAgg(bound=64))),
    "sealed by a protocol": Home("CoopNetwork-v0", "Multi-UCB", {**NET, "horizon": 8}, {}, (Loss(0.2), PLAYED)),
    "through mixes": Home("CoopNetwork-v0", "Multi-UCB", {**NET, "horizon": 8}, {}, (Loss(0.2), MIXED)),
    "random": Home("CoopNetwork-v0", "Random", NET, {}, (Shuffle(),)),
    "failing": Home("CoopNetwork-v0", "Multi-UCB", {**GRAPH, "edge_failure_prob": 0.2}),
    "failing, shuffled": Home("CoopNetwork-v0", "Multi-UCB", {**GRAPH, "edge_failure_prob": 0.2}, {}, (Shuffle(),)),
    "late": Home("CoopNetwork-v0", "Multi-UCB", {**NET, "graph": "path", "edge_failure_prob": 0.3, "hop_delay": 1}),
    "relays": Home("CoopNetwork-v0", "Multi-UCB", NET, {}, (Huber(0.3, relays=True),)),
    "failing relays": Home(
        "ByzantineNetwork-v0", "Byzantine-UCB",
        {**GRAPH, "edge_failure_prob": 0.2, "relays": True, "rate": 0.3, "fraction": 0.7},
    ),
    "n_change_points": Home(
        "CoopNetwork-v0", "UCB1", {**NET, "means": hb.UniformMeans(0.1, 0.9), "n_arms": 3, "n_change_points": 1}
    ),
    "moving": Home("CoopNetwork-v0", "Multi-UCB", {**NET, "drift": 0.01, "n_change_points": 2}, {}, LOST),
    "published": Home("CoopNetwork-v0", "coop-UCB", {**NET, "graph": "star"}, {"constant": "published"}, LOST),
    "greedy": Home("CoopNetwork-v0", "CMP-UCB", {**NET, "graph": "star"}, {"partition": "greedy"}, LOST),
    "names, late": Home("CoopNetwork-v0", "GosInE", {**NET, "edge_failure_prob": 0.2, "hop_delay": 1}),
    "names, alone": Home("CoopNetwork-v0", "GosInE-async", {"n_agents": 1, "horizon": 40}),
    "liars": Home(
        "CoopNetwork-v0", "Resilient-UCB", {**NET, "edge_failure_prob": 0.2}, {}, (Loss(0.2), FalseMeans("swap", 0.4))
    ),
    "clients": Home("FederatedNetwork-v0", "Multi-UCB", {**CLIENTS, "graph": "path"}, {}, LOST),
    "clients who lie": Home(
        "FederatedNetwork-v0", "Fed-MoM-UCB", {**CLIENTS, "edge_failure_prob": 0.1}, {"sigma": 0.1},
        (FalseMeans("invert", 0.4), Loss(0.2)),
    ),
    "clients who hide": Home("FederatedNetwork-v0", "Fed1-UCB", CLIENTS, {"pulls": 3}, (FalseMeans("hide", 0.4),)),
    # private messages of the network
    "own exact": Home("CoopNetwork-v0", "Private-UCB", NET, {"epsilon": 0.4, "own_feedback": "true"}),
    "own noised": Home("PrivateNetwork-v0", "Private-UCB", DRAWN, {"own_feedback": "private"}),
    "told late": Home("PrivateNetwork-v0", "Private-UCB", {**GRAPH, "edge_failure_prob": 0.2, "hop_delay": 1}),
    "told means": Home("CoopNetwork-v0", "Random", NET, {}, (PrivateMeans(),)),
    # user-defined envs
    **{
        f"own {name}": Home(env_id, "Random", {"n_agents": 4, "horizon": 24, **MOVING}, {}, LOST)
        for name, env_id in OWN_ENVS.items()
    },
    # votes
    "vote": Home("DPMASE-v0", "DP-MASE", VOTE, FAST),
    "vote, plain": Home("DPMASE-v0", "DP-MASE", {"n_agents": 8}, {"epsilon": 0.5}),
    "vote, power": Home("DPMASE-v0", "DP-MASE", {**VOTE, "n_agents": 8}, {"epsilon": 2.0}),
    "vote, lossy": Home("DPMASE-v0", "DP-MASE", {"n_agents": 8, "permute_arms": True}, {"epsilon": 1.0}, (Loss(0.3),)),
    "vote, lost": Home("DPMASE-v0", "DP-MASE", VOTE, FAST, (Loss(0.5),)),
    "vote, stranding": Home("DPMASE-v0", "DP-MASE", {"n_agents": 7}, {"epsilon": 1.0}, (Loss(0.5),)),
    "vote, gaussian": Home(
        "DPMASE-v0", "DP-MASE", {"n_agents": 6, "means": [1.0, 0.2, 0.0], "rewards": "gaussian"}, {"epsilon": 1.0}
    ),
    "vote, horizon": Home("DPMASE-v0", "DP-MASE", {"n_agents": 8, "horizon": 1000}, {"epsilon": 0.5}),
    "top two": Home("DPMASE-v0", "AdaP-TT", {"means": [0.3, 0.9, 0.1]}, {"epsilon": 2.0}),
    "vote, windows": Home("DPMASE-v0", "DP-MASE", VOTE, FAST, (Loss(0.1), Shuffle(batch_window=8))),
    "vote, sealed": Home("DPMASE-v0", "DP-MASE", VOTE, FAST, (SecAgg(batch_window=5),)),
    "vote, random": Home("DPMASE-v0", "Random", VOTE, {}, (Loss(0.5),)),
    "vote, stays": Home(
        "DPMASE-v0",
        "Random",
        {**FEW, "horizon": 60, "means": [0.9, 0.1], "inactive_agents": "keep", "n_change_points": 2},
    ),
    "vote, alone": Home("DPMASE-v0", "Independent", {"n_agents": 4, "means": [0.9, 0.3, 0.1], "permute_arms": True}),
    "vote, central": Home("DPMASE-v0", "Central", {**VOTE, "n_agents": 9}),
    "vote, P2": Home("DPMASE-v0", "Central", {"problem": "P2", "permute_arms": True}),
    "corrupted": Home(
        "CorruptedElimination-v0", "Corrupted-Elimination", {"n_agents": 32, "means": [0.9, 0.3, 0.1]}, {"xi": 0.1}
    ),
    "corrupted, few": Home(
        "CorruptedElimination-v0", "Corrupted-Elimination", {"n_agents": 9, "horizon": 1500}, {"eta": 0.6, "xi": 0.05}
    ),
    # blocks of users
    "servers": Home("DistDP-v0", "Dist-DP-SE", {**USERS, "n_agents": 3, "rewards": "beta"}),
    "each": Home("DistDP-v0", "Dist-DP-SE", EACH),
    "each, by a protocol": Home(
        "DistDP-v0", "Random", {**EACH, "horizon": 150, "protocol": "bonawitz", "neighbours": 2, "threshold": 1}
    ),
    "each, servers": Home("DistDP-v0", "Dist-DP-SE", {**EACH, "n_agents": 2}),
    "each, central": Home("CentralDP-v0", "DP-SE", EACH),
    "episodes": Home(
        "CentralDP-v0", "AdaP-UCB", {**EACH, "n_agents": 2, "n_change_points": 1}, {}, (Loss(0.3), Huber(0.1))
    ),
    "each, switches": Home("DistDP-v0", "Random", {**EACH, "horizon": 300, "n_agents": 3, "n_change_points": 1}),
    "renyi": Home("DistRDP-v0", "Dist-RDP-SE", {**EACH, "n_agents": 2}, {}, LOST),
    "concentrated": Home("DistCDP-v0", "Dist-CDP-SE", {**USERS, "n_agents": 2}, {}, (Huber(0.1),)),
    "central": Home("CentralDP-v0", "CDP-SE", {**USERS, "rewards": "bernoulli"}, {}, (Loss(0.3), Huber(0.1))),
    "local": Home("LocalDP-v0", "LDP-SE", EACH, {}, (Shuffle(),)),
    "shuffle": Home("ShuffleDP-v0", "Shuffle-DP-SE", {**EACH, "n_agents": 2}, {}, (LocalLaplace(2.0),)),
    "shuffle, pure": Home("ShuffleDP-v0", "Shuffle-DP-SE", {**USERS, "shuffle": "pure"}, {}, (Loss(0.1),)),
    "binary sum": Home("ShuffleDP-v0", "VB-SDP-AE", EACH),
    "table": Home("LTR-v0", "Dist-CDP-SE", TABLE, {}, (Loss(0.1),)),
    "table, each": Home("LTR-v0", "DP-SE", {**TABLE, "simulate_users": "individual", "n_agents": 2}, {}, (Huber(0.1),)),
    "blocks": Home("DistDP-v0", "Random", {**USERS, "n_agents": 2, "rewards": "bernoulli"}),
    # features
    "linear, lossy": Home("FedLinear-v0", "FedLinUCB", LINEAR, {"alpha": 0.1, "beta": None}, LOST),
    "linear, within": Home(
        "PrivateFedLinear-v0", "Private-FedLinUCB", {**LINEAR, "batch": 5, "epsilon": 9.0}, {"acts": "within"}
    ),
    "linear, users": Home("ShuffleFedLinear-v0", "Private-FedLinUCB", {**LINEAR, "batch": 5, "epsilon": 50.0}),
    "linear, sealed": Home(
        "FedLinear-All-v0", "Batch-LinUCB", LINEAR, {"batch": 5}, (Loss(0.2), SecAgg(bound=9.0)),
    ),
    "linear, late": Home(
        "FedLinear-All-v0", "DisLinUCB", {**LINEAR, "up_delay": 2, "down_delay": 1}, {"threshold": 0.5}, (Huber(0.3),)
    ),
    "linear, coins": Home(
        "FedLinear-All-v0", "FedLinUCB", {**LINEAR, "contexts": "sphere+1", "rewards": "bernoulli"}, {"alpha": 0.1}
    ),
    "linear, flood": Home("FedLinear-All-v0", "Batch-LinUCB", {**LINEAR, "graph": "path"}, {"batch": 3}),
    **{
        f"{agent} behind four, {users}": Home(
            "DistDP-v0", agent, {"horizon": 4000, "simulate_users": users}, {},
            (Huber(0.1), LocalLaplace(2.0), Loss(0.2), Shuffle()),
        )
        for agent in ("Dist-DP-SE", "Random") for users in ("aggregate", "individual")
    },
}  # fmt: skip
#: Agents whose wrapper posts states: losses show in phases only.
STATES = {"Private-UCB", "Private-UCB-exact", "DP-UCB-INT"}
#: Agents whose rounds are never compiled.
BY_PHASES = {
    "Resilient-UCB",
    "GosInE",
    "GosInE-async",
    "PPO-CoopNetwork",
    "MaskablePPO-DPMASE",
    "ES-CoopNetwork",
    "ES-DPMASE",
    "LinUCB",
    "LinTS",
    "Private-FedLinUCB",
    "LinUCB-JDP",
    "FedUCB",
    "Noisy-Vote",
    "Random",
}


def compiled(home):
    """Return whether its rounds are compiled: in networks and votes in which only random numbers affect reports."""
    if home.agent in ("Fed1-UCB", "Fed-MoM-UCB"):  # between their messages
        return all(isinstance(w, FalseMeans) for w in home.wrappers) and "edge_failure_prob" not in home.env
    if home.agent in STATES:
        return not home.wrappers and "edge_failure_prob" not in home.env
    if takes(home.env_id, "contexts"):
        return home.agent not in BY_PHASES and not home.wrappers and not {"graph", "up_delay"} & home.env.keys()
    by_draws = (isinstance(w, Loss) or (isinstance(w, Huber) and not w.relays) for w in home.wrappers)
    plain = all(by_draws) and "edge_failure_prob" not in home.env
    return plain and home.agent not in BY_PHASES and not takes(home.env_id, "simulate_users")


def wanders(env_id):
    """Return `Random` in an env, with a short run."""
    votes = {"n_agents": 8, "threshold": 4} if hb.make_batched(env_id).setting == "exploration" else {}
    if env_id.startswith("Decentralized"):
        votes |= {"require_confidence": False, "one_arm_per_step": False}  # it pulls every arm
    if env_id == "PricedNetwork-Train-v0":
        votes = {"graph": "cycle"}  # any number of agents
    return Home(env_id, "Random", {"horizon": 400 if takes(env_id, "simulate_users") else 40, **votes})


WANDERERS = {f"Random in {env_id}": wanders(env_id) for env_id in hb.list_envs()}
