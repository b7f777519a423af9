"""Evolution strategies: their policies work for any number of arms, and play as in training."""

import numpy as np
import pytest
from kinds import weekly_but
from policies import HOMES, NET, trained

import hushbandits as hb
from hushbandits.adapters.learners import Rows, learners_core
from hushbandits.baselines.learned import read
from hushbandits.baselines.sb3_choices import CHOICES, described
from hushbandits.learning.record import HELD_OUT, uniform

ALL = HOMES | {"priced": ("PricedNetwork-Train-v0", {**NET, "graph": "path", "message_rounds": (4,)})}
STEPS = {"network": 300, "exploration": 3000, "feedback": 600}


def test_hidden_layers_are_played_as_they_were_trained(tmp_path):
    hyper = {"population": 4, "net_arch": [6]}
    policy = read(folder := trained(tmp_path / "deep", "es", steps=300, hyper=hyper))
    assert [weight.shape for weight, _ in policy.layers] == [(6, 7), (1, 6)]
    id, env = HOMES["network"]
    again = hb.rollout(hb.make_batched(id, 2, **env, permute_arms=True), hb.make_team(f"sb3:{folder}"), HELD_OUT)
    assert again["regret"].mean() == policy.card["training"]["curve"][-1]["metrics"]["regret"]
    with pytest.raises(ValueError, match="deterministic=False"):  # it takes the best choice
        hb.make_team(f"sb3:{folder}", deterministic=False)
    with pytest.raises(ValueError, match="MultiBinary"):
        trained(tmp_path / "bits", "es", "exploration", task={"action_format": "native"})


@pytest.mark.parametrize("case", weekly_but([("network",), ("exploration",)], *((case,) for case in HOMES)))
def test_it_plays_with_other_arms_agents_and_horizon(tmp_path, case):
    id, env = HOMES[case]
    folder = trained(tmp_path / "p", "es", case, steps=STEPS[case])
    other = {**env, "means": (0.9, 0.5, 0.1, 0.3, 0.4), "n_agents": 2 * env["n_agents"], "horizon": 2 * env["horizon"]}
    other.pop("n_arms", None)
    results = hb.evaluate(id, f"sb3:{folder}", runs=3, env=other)
    assert np.isfinite(results.final("regret" if case != "exploration" else "rounds")).all()


def test_what_is_shown_in_other_bounds_is_understood():
    """Behind a wrapper, means are shown as x/(1 + |x|); a wrapper without effect changes no choice, up to rounding."""
    plain, behind = (
        hb.evaluate("CoopNetwork-Train-v0", "ES-CoopNetwork", runs=30, wrappers=wrappers).final("regret")
        for wrappers in ([], [hb.make_wrapper("Loss", rate=0.0)])
    )
    assert (plain == behind).mean() >= 0.9


@pytest.mark.parametrize("case", CHOICES)
def test_renamed_arms_rename_what_describes_a_choice(case):
    id, env = ALL[case]
    task = hb.make_batched(id, runs=2, **env).task()
    task.reset(0)
    rng = np.random.default_rng(0)
    k, wide = 3, task.observation_space.shape[0]
    seen = rng.random((2, 4, wide)).astype(np.float32)
    if "active" in task.layout:
        seen[..., task.layout["active"]] = 1.0
        seen[..., task.layout["own_votes"]] = 0.0
    uniforms = rng.random((2, 4, task.mask().shape[-1] or k))
    order = np.array([2, 0, 1])
    turned, blocks = seen.copy(), uniforms.shape[-1] // k
    for at in task.layout.values():
        if at.stop - at.start == k:
            turned[..., at] = seen[..., at][..., order]
    moved = np.concatenate([np.arange(a * blocks, (a + 1) * blocks) for a in order])
    moved = np.concatenate([moved, np.arange(k * blocks, uniforms.shape[-1])])
    assert np.array_equal(described(task, turned, uniforms[..., moved]), described(task, seen, uniforms)[..., moved, :])


def test_uniform_play_reports_the_metrics_of_its_own_return():
    rows = Rows(learners_core("DPMASE-Train-v0", 64, (), None, {}))
    found = uniform(rows, HELD_OUT)
    earned = 2 * found["metrics"]["correct"] - 1 - found["metrics"]["rounds"] / rows.core.horizon
    assert found["return"] == pytest.approx(earned)
