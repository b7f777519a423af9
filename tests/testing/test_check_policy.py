"""`check_policy` names class and method of every planted fault."""

from typing import NamedTuple

import numpy as np
import pytest
from planted import caught, fault

import hushbandits as hb
from hushbandits.policies.draws import uniform
from hushbandits.testing import check_policy


class Known(NamedTuple):
    n: np.ndarray
    cursors: np.ndarray


class Sound(hb.Policy):
    """Base of the faults: random arms."""

    random = True

    def state(self, learners, n_arms, plays, cursors=None):
        return Known(np.zeros((learners, n_arms)), cursors)

    @staticmethod
    def choose(state, r):
        return int(uniform(state.cursors, r) * state.n.shape[1])

    @staticmethod
    def update(state, r, arm, reward):
        state.n[r, arm] += reward


class Misspelt(hb.Policy):
    """A policy without choose."""

    state, update = Sound.state, staticmethod(Sound.update)
    chooses = staticmethod(lambda state, r: 0)


def begins(name, state):
    return fault(
        name, Sound, state=lambda self, learners, n_arms, plays, cursors=None: state(learners, n_arms, cursors)
    )


def chooses(name, choose):
    return fault(name, Sound, choose=staticmethod(choose))


def updates(name, update, **data):
    return fault(name, Sound, update=staticmethod(update), **data)


def gone(state, r, arm, reward):
    raise KeyError("gone")


def everyone(state, r, arm, reward):
    state.n[:, arm] += reward


def common(state, r, arm, reward):
    Common.plays.append(reward)


Common = updates("Common", common, plays=[])

PLANTED = [
    (Misspelt, "Misspelt.chooses is never called; the hook is choose"),
    (
        begins("Bare", lambda learners, n_arms, cursors: np.zeros((learners, n_arms))),
        "Bare.state must return a named tuple",
    ),
    (
        begins("Turned", lambda learners, n_arms, cursors: Known(np.zeros((n_arms, learners)), cursors)),
        r"Turned.state: n .*\(4, 3\)",
    ),
    (chooses("Beyond", lambda state, r: state.n.shape[1]), "Beyond.choose, play 1 of learner 0: .*4"),
    (chooses("Halves", lambda state, r: 0.5), "Halves.choose, play 1 of learner 0: .*not 0.5"),
    (chooses("Global", lambda state, r: int(np.random.randint(state.n.shape[1]))), r"Global: .*numpy\.random"),
    (
        chooses("Unseeded", lambda state, r: int(np.random.default_rng().integers(state.n.shape[1]))),
        "Unseeded: the same seed",
    ),
    (chooses("First", lambda state, r: int(uniform(state.cursors, 0) * state.n.shape[1])), r"First: learner \d alone"),
    (Common, "Common.plays is a class attribute and changed"),
    (updates("Raises", gone), "Raises.update, play 1 of learner 0: .*KeyError: 'gone'"),
    (updates("Everyone", everyone), "Everyone.update of learner 0 changes another learner.s row: .* n,"),
]


@pytest.mark.parametrize(("faulty", "says"), PLANTED, ids=lambda x: getattr(x, "__name__", ""))
def test_planted_faults_are_caught(faulty, says):
    caught(check_policy, faulty, says)


def test_the_ground_of_the_planted_faults_is_sound():
    check_policy(Sound)
    check_policy(Sound, n_arms=3)
