"""Everything that holds state can be pickled, in mid-episode too, and goes on as if nothing had happened."""

import pickle

import numpy as np
import pytest
from helpers import equal
from homes import HOMES, WANDERERS

import hushbandits as hb
from hushbandits.core.face import Face
from hushbandits.envs.feedback.env import Feedback
from hushbandits.wrappers.shuffle import Shuffle

ALL = {**HOMES, **WANDERERS}


def copied(*state):
    return pickle.loads(pickle.dumps(state))


def played(env, team, between=lambda *state: state):
    """To the end by the beats, or 60 rounds far; something is done to all that there is after each of the first."""
    obs = env.reset(7)
    team.reset(Face(env), env.seeds)
    for t in range(60):
        if not obs.live.any():
            break
        between = between if t < 8 else lambda *state: state
        env, team, obs = between(env, team, env.pull(team.act(obs)))
        env, team, obs = between(env, team, env.talk(team.speak(obs.reward)))
        team.hear(obs.inbox)
    return env.metrics()


@pytest.mark.parametrize("name", ALL)
def test_a_game_pickled_at_every_beat_ends_with_the_same_numbers(name):
    plain = played(*ALL[name].build(2))
    equal(played(*copied(*ALL[name].build(2)), copied), plain)


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
