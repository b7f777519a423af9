"""Odd values: each is refused in one sentence that names the argument, by the package itself."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import rows
from talk import NET, at_talk, game, mine

import hushbandits as hb
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle


@pytest.mark.parametrize("name", ["LocalLaplace", "PrivateMeans", "LocalBernoulli"])
def test_the_least_level_gives_noise_that_is_finite(name):
    env = hb.make_batched("CoopNetwork-v0", wrappers=[hb.make_wrapper(name, epsilon=1e-9)], **{**NET, "horizon": 20})
    assert np.isfinite(hb.rollout(env, hb.make_team("Random"))["regret"]).all()


@rows("form", ["f2", "f4", "f8", "i1", "u8"])
def test_gossip_takes_any_real_matrix(form):
    env, obs = at_talk(max_hops=1)
    mixed = env.communicate().inbox.mix("reward", np.eye(5)[None].astype(form))
    np.testing.assert_array_equal(mixed, obs.reward)


def test_a_shuffle_leaves_a_sum_as_it_is():
    plain, _ = at_talk(wrappers=[SecAgg()])
    both, _ = at_talk(wrappers=[Shuffle(), SecAgg()])
    for one, other in zip(plain.communicate().inbox.tally(), both.communicate().inbox.tally(), strict=True):
        np.testing.assert_array_equal(one, other)


@rows("value", [[0.0], [True], [3], np.zeros((1, 7), np.float16), np.zeros((1, 0))])
def test_any_number_per_run_is_a_metric(value):
    game(mine("metrics", {"height": value}))
