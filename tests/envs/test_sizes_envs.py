"""Sizes are estimated before anything is allocated."""

import time
import tracemalloc

import numpy as np
import pytest
from refusals import rows

import hushbandits as hb
from hushbandits.core.luck.tapes import Uniforms, run_seeds, taped
from hushbandits.envs.feedback.env import Feedback

# -- sizes --------------------------------------------------------------------------------------------------------


@rows(("env_id", "kwargs", "error"), [
    ("CoopNetwork-v0", {"n_agents": 10**6, "graph": "complete"}, "n_agents=1000000 on graph=complete would take"),
    ("CoopNetwork-v0", {"n_agents": 10**6}, "n_agents=1000000 on graph=cycle would take"),
    ("CoopNetwork-v0", {"n_agents": 10**5, "graph": "erdos-renyi"}, "n_agents=100000 on graph=erdos-renyi would take"),
    ("CoopNetwork-v0", {"extra_delay": 10**9}, "extra_delay=1000000000 over 8 hops would take"),
    ("CoopNetwork-v0", {"runs": 10**9}, "runs=1000000000"),
    ("CoopNetwork-v0", {"n_arms": 10**9, "means": hb.UniformMeans()}, "n_arms=1000000000"),
    ("DPMASE-v0", {"n_agents": 10**9}, "n_agents=1000000000 and n_arms=10 would take"),
    ("DPMASE-v0", {"runs": 10**9}, "runs=1000000000"),
    ("DPMASE-v0", {"n_arms": 10**9, "means": hb.UniformMeans()}, "n_arms=1000000000"),
    ("DistDP-v0", {"n_agents": 10**9}, "n_agents=1000000000 and n_arms=10 would take"),
    ("DistDP-v0", {"runs": 10**9}, "runs=1000000000"),
    ("DistDP-v0", {"n_arms": 10**9}, "n_arms=1000000000"),
    ("LTR-v0", {"runs": 10**9}, "runs=1000000000"),
    ("CoopNetwork-v0", {"horizon": 10**18}, "horizon is too large: it must be an integer in 1..9007199254740992"),
    ("DPMASE-v0", {"horizon": 10**18}, "horizon is too large"),
    ("DistDP-v0", {"horizon": 10**18}, "horizon is too large"),
    ("CoopNetwork-v0", {"n_agents": 10**5000}, "n_agents="),
    ("CoopNetwork-v0", {"life": 10**30}, "life="),
])  # fmt: skip
def test_sizes_are_estimated_before_anything_is_allocated(env_id, kwargs, error):
    hb.make_core(env_id)  # imports
    start = time.process_time()
    with pytest.raises(ValueError, match=error) as caught:
        hb.make_core(env_id, **kwargs)
    assert time.process_time() - start < 0.9
    assert "\n" not in str(caught.value)


def test_the_limit_can_be_raised_and_lowered(monkeypatch):
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "0.001")
    with pytest.raises(
        ValueError, match=r"more than the 0.001 GiB allowed; set HUSHBANDITS_MEMORY \(GiB\) to allow more"
    ):
        hb.make_core("CoopNetwork-v0", n_agents=400)
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "1")
    hb.make_core("CoopNetwork-v0", n_agents=400)
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "lots")
    with pytest.raises(ValueError, match="HUSHBANDITS_MEMORY='lots'"):
        hb.make_core("CoopNetwork-v0")


def test_a_flood_and_a_block_of_individuals_are_estimated_too(monkeypatch):
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "0.1")
    env = hb.make_core("CoopNetwork-v0", edge_loss=0.1, extra_delay=10**4)
    with pytest.raises(ValueError, match=r"posts that fly [0-9]+ rounds would take"):
        env.reset(0)
    env = Feedback(users="each", horizon=10**12)
    env.reset(0)
    with_users = (np.zeros((1, 1), int), np.full((1, 1), 10**12))
    env.pull(with_users)
    with pytest.raises(ValueError, match="a block of 1000000000000 users one by one would take"):
        env.talk()


def test_many_short_runs_are_counted_as_what_they_read():
    hb.make_core("CoopNetwork-v0", n_agents=2, means=(0.5, 0.4), horizon=5, runs=10**6)


@pytest.mark.parametrize("draws", [1, 100, 3000, 10**5])
def test_a_tape_takes_no_more_than_is_said(draws):
    seeds = run_seeds(0, 50)
    tracemalloc.start()
    tapes = [Uniforms(seeds, name) for name in ("rows", "store")]
    for _ in range(draws):
        tapes[0].next()
        tapes[1].ensure(1)
        tapes[1].at += 1
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size <= 2 * len(seeds) * taped(draws)
