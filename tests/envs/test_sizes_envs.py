"""Sizes are estimated before anything is allocated."""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.envs.feedback.env import Feedback

# -- sizes --------------------------------------------------------------------------------------------------------


def test_a_flood_and_a_block_of_individuals_are_estimated_too(monkeypatch):
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "0.1")
    env = hb.make_batched("CoopNetwork-v0", edge_failure_prob=0.1, hop_delay=10**4)
    with pytest.raises(ValueError, match=r"posts in flight for [0-9]+ rounds would take"):
        env.reset(0)
    env = Feedback(simulate_users="individual", horizon=10**12)
    env.reset(0)
    with_users = (np.zeros((1, 1), int), np.full((1, 1), 10**12))
    env.pull(with_users)
    with pytest.raises(ValueError, match="a block of 1000000000000 users one by one would take"):
        env.communicate()


def test_many_short_runs_are_counted_as_what_they_read():
    hb.make_batched("CoopNetwork-v0", n_agents=2, means=(0.5, 0.4), horizon=5, runs=10**6)
