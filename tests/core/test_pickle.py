"""Everything that holds state can be pickled, in mid-episode too, and goes on as if nothing had happened."""

import pickle

import numpy as np
import pytest
from helpers import build

import hushbandits as hb
from hushbandits.core.entries import ENVS
from hushbandits.core.face import Face
from hushbandits.envs.feedback.env import Feedback
from hushbandits.registry import list_agents, list_envs
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

SETTINGS = {id: ENVS[id].load().setting for id in list_envs()}
SMALL = {
    "exploration": {"n_agents": 32, "horizon": 400},
    "network": {"n_agents": 4, "horizon": 12},
    "feedback": {"horizon": 3000},
}
#: The first env that each registered agent plays in.
HOMES = {
    "Decentralized": "DecentralizedExploration-v0", "0-Privacy": "DecentralizedExploration-v0",
    "1-Privacy": "DecentralizedExploration-v0", "DP-MASE": "DPMASE-v0", "Central": "DPMASE-v0",
    "Independent": "DPMASE-v0", "Corrupted": "CorruptedElimination-v0", "Dist-DP": "DistDP-v0",
    "Dist-RDP": "DistRDP-v0", "Dist-CDP": "DistCDP-v0", "DP-SE": "CentralDP-v0", "CDP-SE": "CentralDP-v0",
    "LDP-SE": "LocalDP-v0", "Shuffle-DP": "ShuffleDP-v0", "VB-SDP": "ShuffleDP-v0", "Private-UCB": "CoopNetwork-v0",
    "QuACK-RUCB": "DuelingNetwork-v0", "RUCB": "DuelingNetwork-v0",
}  # fmt: skip


def home(agent):
    return next((id for start, id in HOMES.items() if agent.startswith(start)), "CoopNetwork-v0")


#: Trained policies play in one env each: tests/baselines/test_trained.py.
TRAINED = ("PPO-CoopNetwork", "MaskablePPO-DPMASE", "PPO-DistDP")
PAIRS = [(home(agent), agent) for agent in list_agents() if agent not in TRAINED] + [
    (id, "Random") for id in list_envs()
]


def same(one, two):
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=name)


def play_on(env, team, obs, rounds=0):
    """To the end by the beats; in the first `rounds`, everything is pickled after each beat."""
    t = 0
    while obs.live.any():
        t += 1
        between = copied if t <= rounds else lambda *state: state
        env, team, obs = between(env, team, env.pull(team.act(obs)))
        env, team, obs = between(env, team, env.talk(team.speak(obs.reward)))
        team.hear(obs.inbox)
    return env.metrics()


def copied(*state):
    return pickle.loads(pickle.dumps(state))


def start(env, team):
    obs = env.reset(7)
    team.reset(Face(env), env.seeds)
    return env, team, obs


def settings(env_id, agent):
    small = dict(SMALL[SETTINGS[env_id]])
    if env_id.startswith("Decentralized") and agent == "Random":
        small["single"] = False  # it pulls every arm
    if agent.endswith("SER4"):
        small["switches"] = 1
    return small


@pytest.mark.parametrize(("env_id", "agent"), PAIRS)
def test_a_game_pickled_at_every_beat_ends_with_the_same_numbers(env_id, agent):
    env, team = build(env_id, agent, 2, settings(env_id, agent))
    plain = play_on(*start(env, team))
    fresh = copied(*build(env_id, agent, 2, settings(env_id, agent)))
    same(play_on(*start(*fresh), 8), plain)


WRAPPED = {
    "shuffle": ("CoopNetwork-v0", {"n_agents": 5, "horizon": 9}, lambda: [Loss(0.2), Shuffle()]),
    "shuffled flood": ("CoopNetwork-v0", {"n_agents": 5, "horizon": 9, "edge_loss": 0.3}, lambda: [Shuffle()]),
    "relays": ("CoopNetwork-v0", {"n_agents": 5, "horizon": 9}, lambda: [Huber(0.3, relays=True)]),
    "secagg": ("CoopNetwork-v0", {"n_agents": 5, "horizon": 9}, lambda: [SecAgg()]),
    "votes": ("DPMASE-v0", {"n_agents": 5, "horizon": 90}, lambda: [SecAgg(window=7)]),
    "each": ("CentralDP-v0", {"horizon": 900, "users": "each"}, lambda: [Huber(0.1), Loss(0.1), Shuffle()]),
}


@pytest.mark.parametrize("case", WRAPPED)
def test_every_wrapper_and_inbox_goes_along(case):
    env_id, kwargs, wrappers = WRAPPED[case]
    plain = play_on(*start(*build(env_id, "Random", 2, kwargs, wrappers=wrappers())))
    same(play_on(*start(*build(env_id, "Random", 2, kwargs, wrappers=wrappers())), 8), plain)


@pytest.mark.parametrize("read_before", [False, True])
def test_a_shuffled_inbox_keeps_its_order(read_before):
    env = hb.make_core("CoopNetwork-v0", n_agents=9, graph="complete", rewards="beta", wrappers=[Shuffle()])
    env.reset(0)
    env.pull(np.zeros((1, 9), int))
    inbox = env.talk().inbox
    if read_before:
        inbox["reward"]
    np.testing.assert_array_equal(copied(inbox)[0]["reward"], inbox["reward"])


def test_individual_users_go_along():
    env = Feedback(users="each", horizon=100)
    env.reset(0)
    env.pull((np.array([[0]]), np.array([[50]])))
    inbox = env.talk().inbox
    np.testing.assert_array_equal(copied(inbox)[0]["users"], inbox["users"])
