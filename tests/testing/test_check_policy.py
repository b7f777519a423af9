"""`check_policy` names class and rule of every planted fault."""

from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.policies.luck import uniform
from hushbandits.testing import check_policy


class Known(NamedTuple):
    n: np.ndarray
    luck: np.ndarray


class Sound(hb.Policy):
    """The ground of the faults: any arm, by luck."""

    random = True

    def state(self, learners, n_arms, plays, luck=None):
        return Known(np.zeros((learners, n_arms)), luck)

    @staticmethod
    def choose(state, r):
        return int(uniform(state.luck, r) * state.n.shape[1])

    @staticmethod
    def update(state, r, arm, reward):
        state.n[r, arm] += reward


class Misspelt(hb.Policy):
    """Its choose is missing."""

    state, update = Sound.state, staticmethod(Sound.update)

    @staticmethod
    def chooses(state, r):
        return 0


class Bare(Sound):
    def state(self, learners, n_arms, plays, luck=None):
        return np.zeros((learners, n_arms))


class Turned(Sound):
    def state(self, learners, n_arms, plays, luck=None):
        return Known(np.zeros((n_arms, learners)), luck)


class Beyond(Sound):
    @staticmethod
    def choose(state, r):
        return state.n.shape[1]


class Halves(Sound):
    @staticmethod
    def choose(state, r):
        return 0.5


class Global(Sound):
    @staticmethod
    def choose(state, r):
        return int(np.random.randint(state.n.shape[1]))


class Unseeded(Sound):
    @staticmethod
    def choose(state, r):
        return int(np.random.default_rng().integers(state.n.shape[1]))


class First(Sound):
    @staticmethod
    def choose(state, r):
        return int(uniform(state.luck, 0) * state.n.shape[1])


class Common(Sound):
    plays: ClassVar = []

    @staticmethod
    def update(state, r, arm, reward):
        Common.plays.append(reward)


class Raises(Sound):
    @staticmethod
    def update(state, r, arm, reward):
        raise KeyError("gone")


class Everyone(Sound):
    @staticmethod
    def update(state, r, arm, reward):
        state.n[:, arm] += reward


PLANTED = [
    (Misspelt, "Misspelt.chooses is called by nobody; the hook is choose"),
    (Bare, "Bare.state must return a named tuple of arrays, not ndarray"),
    (Turned, r"Turned.state: n must have shape \(3, …\), a row per learner, not \(4, 3\)"),
    (Beyond, "Beyond.choose, play 1 of learner 0: .*answered 4; arms are 0..3"),
    (Halves, "Halves.choose, play 1 of learner 0: .*answered 0.5"),
    (Global, r"Global: it moved the global state of numpy\.random"),
    (Unseeded, "Unseeded: the same luck, .* differ at entry"),
    (First, r"First: learner \d alone and its row among 3 differ at"),
    (Common, "Common.plays is data of the class and changed in play"),
    (Raises, "Raises.update, play 1 of learner 0: .*KeyError: 'gone'"),
    (Everyone, "Everyone.update of learner 0 writes to n of another learner"),
]


@pytest.mark.parametrize(("fault", "says"), PLANTED, ids=lambda x: getattr(x, "__name__", ""))
def test_planted_faults_are_caught(fault, says):
    with pytest.raises(AssertionError, match=says) as caught:
        check_policy(fault)
    assert "\n" not in str(caught.value)


def test_the_ground_of_the_planted_faults_is_sound():
    check_policy(Sound)
    check_policy(Sound, n_arms=3)
