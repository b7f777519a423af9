"""A user-defined compiled agent equals itself by phases and in compiled rounds, behind every wrapper."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.core.messages import Inbox
from hushbandits.core.wrapper import Wrapper
from hushbandits.registry import assemble
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

sys.path.append(str(Path(__file__).parents[2] / "examples"))
from forgetting import ForgettingUCB

WORLD = {"n_agents": 6, "graph": "star", "horizon": 80, "means": [0.3, 0.7, 0.5], "n_change_points": 2}
WRAPPERS = {"none": (), "Loss": (Loss(0.3),), "SecAgg": (SecAgg(min_cohort=2),), "Shuffle": (Shuffle(),)}


def played(team, wrappers=(), by_phases=False, env=None):
    core = assemble("CoopNetwork-v0", team, runs=3, env={**WORLD, **(env or {})}, wrappers=wrappers)
    seen = []
    shown = core.pull

    def pull(action):
        seen.append(np.array(action))
        return shown(action)

    core.pull = pull
    final = hb.rollout(core, team, seed=4, step=(lambda: None) if by_phases else None)
    return final, team, seen


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize(
    "env", [{}, {"rewards": "beta"}, {"hop_delay": 1, "graph": "cycle", "n_change_points": 0}], ids=str
)
def test_an_agent_of_ones_own_plays_alike_by_phases_and_compiled(name, env):
    fast, team, pulled = played(ForgettingUCB(), WRAPPERS[name], env=env)
    assert (not pulled) == (name in ("none", "Loss"))  # all of it was compiled
    slow, other, _ = played(ForgettingUCB(), WRAPPERS[name], by_phases=True, env=env)
    for metric, values in fast.items():
        np.testing.assert_array_equal(slow[metric], values, err_msg=metric)
    for one, two in zip(team.state, other.state, strict=True):
        np.testing.assert_array_equal(one, two)


def test_it_is_discounted_ucb_over_what_has_arrived():
    """Against the formula, on a complete graph: all agents know everything at the end of a round."""
    env = {"graph": "complete", "n_agents": 3, "horizon": 60}
    _, _, arms = played(ForgettingUCB(changes=2), env=env, by_phases=True)
    core = assemble("CoopNetwork-v0", ForgettingUCB(), runs=3, env={**WORLD, **env})
    obs = core.reset(4)
    gamma, n, s = 1 - math.sqrt(2 / 60) / 4, np.zeros((3, 3)), np.zeros((3, 3))
    for arm in arms:
        with np.errstate(divide="ignore", invalid="ignore"):
            width = 2 * np.sqrt(0.6 * np.log(np.maximum(n.sum(1, keepdims=True), 1)) / n)
            index = np.where(n > 0, s / n + width, np.inf)
        assert (arm == index.argmax(1)[:, None]).all()
        obs = core.pull(arm)
        n, s = gamma * n, gamma * s
        for r, (row, paid) in enumerate(zip(arm, obs.reward, strict=True)):
            np.add.at(n[r], row, 1)
            np.add.at(s[r], row, paid)
        core.communicate()


class Odd(Inbox):
    """A third-party inbox whose tally has another shape."""

    def __init__(self, inbox):
        self._inbox, self.fields = inbox, inbox.fields

    @property
    def arrived(self):
        return self._inbox.arrived

    def __getitem__(self, field):
        return self._inbox[field]

    def tally(self):
        pulls, sums = self._inbox.tally()
        return pulls[:, :1], sums[:, :1]


class Delivering(Wrapper):
    def deliver(self, inbox, env):
        return Odd(inbox)


def test_what_a_third_party_inbox_gives_is_checked_where_it_is_delivered():
    with pytest.raises(ValueError, match=r"a tally must be pulls and sums of shape \(3, 6, 3\), not \(3, 1, 3\)"):
        played(hb.make_team("Multi-UCB"), [Delivering()])
    with pytest.raises(ValueError, match="coop-UCB needs a SlotInbox to average messages, not Odd"):
        played(hb.make_team("coop-UCB"), [Delivering()], env={"n_change_points": 0})
