"""A new setting on `Env` needs code in four places only: everything that works on built-in envs works on it."""

import re
from pathlib import Path

import numpy as np
import pytest

import hushbandits as hb

SETTING = "own_setting:Relay"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)


class Reader:
    """Agent that follows the notes it finds."""

    def __init__(self, m, rng, n_arms):
        self.plays, self.sums = np.ones(n_arms), np.ones(n_arms)

    def act(self, t):
        return int((self.sums / self.plays).argmax())

    def receive(self, messages):
        for message in messages:
            self.plays[message["arm"]] += 1
            self.sums[message["arm"]] += message["reward"]


class Counting(Reader):
    found = 0

    def receive(self, messages):
        super().receive(messages)
        type(self).found += len(messages)


def test_agents_play_it_alone_in_a_batch_and_in_workers():
    one, two = (hb.evaluate(SETTING, Counting, runs=4, options=hb.RunOptions(jobs, checkpoints=3)) for jobs in (1, 2))
    np.testing.assert_array_equal(one.final("regret"), two.final("regret"))
    assert Counting.found == 4 * 58  # the first turn has no note, and the last one no reader
    assert one.curve("regret")[1].shape == (4, 3)
    hb.testing.check_agent(Reader, SETTING)


def test_wrappers_reach_its_messages_by_its_verbs():
    Counting.found = 0
    hb.evaluate(SETTING, Counting, runs=4, wrappers=[hb.make_wrapper("Loss", rate=0.5)])
    assert 58 < Counting.found < 3 * 58


@pytest.mark.parametrize("wrappers", [[], ["Loss"]], ids=str)
def test_learners_fit_it_and_it_keeps_its_promises(wrappers):
    hb.testing.check_env(SETTING, horizon=8, wrappers=wrappers)
    view = hb.make(SETTING, n_agents=4)
    assert view.observation_space("agent_0").shape == hb.make_vec(SETTING, 2, n_agents=4).single_observation_space.shape


def test_it_is_short_and_needs_nothing_private_of_its_bases():
    text = (EXAMPLES / "own_setting.py").read_text()
    assert len(text.splitlines()) <= 130
    read, own = (
        set(re.findall(rf"(?:self|super\(\))\.(_[a-z]\w*){end}", text)) for end in ("", r"\b[^=\n]*(?<![=<>!])=(?!=)")
    )
    assert read - own == set()


def test_a_wrapper_that_its_messages_cannot_answer_is_named():
    with pytest.raises(ValueError, match="LocalLaplace"):
        hb.make_batched(SETTING, wrappers=["LocalLaplace"])
