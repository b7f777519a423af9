"""Secure sums never wrap, and small ones are never opened."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talk import NET, at_talk

import hushbandits as hb
from hushbandits.envs.feedback.env import Feedback
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.secagg import SecAgg

# -- secure aggregation -------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(epsilon=st.floats(1e-3, 10), grid=st.sampled_from([None, 1, 64]), twice=st.booleans(), seed=st.integers(0, 9))
def test_noise_beyond_the_bound_is_refused_when_they_fit_and_never_later(epsilon, grid, twice, seed):
    noise = [LocalLaplace(epsilon, quantization_levels=grid, name=name) for name in ("one", "two")[: 1 + twice]]
    with pytest.raises(ValueError, match=r"SecAgg encodes rewards up to bound=1, but one may return") as caught:
        hb.make_batched("CoopNetwork-v0", wrappers=[*noise, SecAgg()], **NET)
    enough = int(str(caught.value).rpartition("bound=")[2])
    with pytest.raises(ValueError, match="give SecAgg bound="):
        hb.make_batched("CoopNetwork-v0", wrappers=[*noise, SecAgg(bound=enough - 1)], **NET)
    env = hb.make_batched("CoopNetwork-v0", wrappers=[*noise, SecAgg(bound=enough)], **NET)
    env.reset(seed)
    for end in (0.0, 1 - 2**-53):  # of the random stream
        for wrapper in env.wrappers[:-1]:
            wrapper._stream.next = lambda end=end: np.full((1, 5), end)
        env.pull(np.zeros((1, 5), int))
        env.communicate()


def test_a_block_too_large_for_the_grid_is_refused_when_env_and_wrapper_fit():
    arms = {"rewards": "bernoulli", "means": [0.5, 0.6], "permute_arms": False}
    env = Feedback(horizon=9 * 10**9, **arms, wrappers=[SecAgg()])
    env.reset(0)
    env.pull((np.array([[0]]), np.array([[9 * 10**9]])))
    assert abs(env.communicate().inbox.total("reward")[0, 0] / 9e9 - 0.5) < 1e-3


@settings(max_examples=40, deadline=None)
@given(
    grid=st.integers(0, 30).map(lambda b: 2**b),
    bound=st.floats(0.01, 1e12),
    m=st.integers(3, 6),
    sign=st.sampled_from([-1, 1]),
)
def test_what_is_not_refused_does_not_wrap(grid, bound, m, sign):
    try:
        env = hb.make_batched(
            "CoopNetwork-v0", wrappers=[SecAgg(quantization_levels=grid, bound=bound)], **{**NET, "n_agents": m}
        )
    except ValueError:
        return
    env.reset(0)
    env.pull(np.zeros((1, m), int))
    sums = env.communicate({"arm": np.zeros((1, m), int), "reward": np.full((1, m), sign * bound)}).inbox.tally()[1]
    exact = (m - 1) * np.rint(sign * bound * grid) / grid
    np.testing.assert_allclose(sums[0, :, 0], exact, rtol=1e-12)


@pytest.mark.parametrize("location", [1.5, -3.0, 1e90])
def test_a_far_contamination_does_not_pass_the_bound_and_is_not_printed(location):
    env, _ = at_talk(wrappers=[Huber(1.0, law="constant", location=location), SecAgg()])
    with pytest.raises(ValueError, match=r"reward of agent 0 in run 0 must be at most bound=1 of SecAgg") as caught:
        env.communicate()
    assert f"{location:g}" not in str(caught.value)
