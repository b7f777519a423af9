"""Evolution strategies: they go on to the bit, know no number of arms, and say what they do not take."""

import numpy as np
import pytest
from kinds import weekly_but
from policies import HOMES
from refusals import rows

import hushbandits as hb
from hushbandits.baselines.sb3_choices import CHOICES, described
from hushbandits.baselines.sb3_file import read
from hushbandits.learning.score import HELD_OUT
from hushbandits.learning.train import train

SHORT = {"algo": "es", "runs": 2, "held_out": 2, "evaluations": 3, "hyper": {"population": 4}}
STEPS = {"network": 600, "exploration": 6000, "feedback": 1200}


def bits(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def trained(folder, case, **given):
    id, env = HOMES[case]
    train(id, folder, steps=STEPS[case], env=env, **{**SHORT, **given})
    return folder


class Stopped(Exception):
    """Stands for whatever ends a process."""


@pytest.mark.parametrize("case", weekly_but([("network",), ("exploration",)], *((case,) for case in CHOICES)))
def test_an_interrupted_training_ends_as_if_it_had_not_been(tmp_path, case):
    whole = bits(trained(tmp_path / "whole", case))

    def stop(steps, found):
        if steps > 0.6 * STEPS[case] and found is None:
            raise Stopped

    with pytest.raises(Stopped):
        trained(tmp_path / "stopped", case, notify=stop)
    assert 0 < read(tmp_path / "stopped").told["training"]["steps"] < STEPS[case]
    assert bits(trained(tmp_path / "stopped", case, resume=True)) == whole


def test_hidden_layers_are_played_as_they_were_trained(tmp_path):
    folder = trained(tmp_path / "deep", "network", hyper={"population": 4, "net_arch": [6]})
    assert read(folder).layers == (6,)
    id, env = HOMES["network"]
    curve = read(folder).told["training"]["curve"]
    again = hb.play(hb.make_core(id, 2, **env, permute_arms=True), hb.make_team(f"sb3:{folder}"), HELD_OUT)
    assert again["regret"].mean() == curve[-1]["metrics"]["regret"]


@pytest.mark.parametrize("case", weekly_but([("network",), ("exploration",)], *((case,) for case in CHOICES)))
def test_it_plays_with_other_arms_agents_and_horizon(tmp_path, case):
    id, env = HOMES[case]
    folder = trained(tmp_path / "p", case)
    other = {**env, "means": (0.9, 0.5, 0.1, 0.3, 0.4), "n_agents": 2 * env["n_agents"], "horizon": 2 * env["horizon"]}
    other.pop("n_arms", None)
    results = hb.evaluate(id, f"sb3:{folder}", runs=3, env=other)
    assert np.isfinite(results.final("regret" if case != "exploration" else "rounds")).all()


def test_what_is_shown_in_other_bounds_is_understood():
    """Behind a wrapper means are shown as x/(1 + |x|); one that does nothing changes no choice, but for rounding."""
    plain, behind = (
        hb.evaluate("CoopNetwork-Train-v0", "ES-CoopNetwork", runs=30, wrappers=wrappers).final("regret")
        for wrappers in ([], [hb.make_wrapper("Loss", rate=0.0)])
    )
    assert (plain == behind).mean() >= 0.9


@pytest.mark.parametrize("case", CHOICES)
def test_renamed_arms_rename_what_describes_a_choice(case):
    id, env = HOMES[case]
    task = hb.make_core(id, runs=2, **env).task()
    task.reset(0)
    rng = np.random.default_rng(0)
    k, wide = 3, task.observation_space.shape[0]
    seen = rng.random((2, 4, wide)).astype(np.float32)
    if "active" in task.layout:
        seen[..., task.layout["active"]] = 1.0
        seen[..., task.layout["own_votes"]] = 0.0
    luck = rng.random((2, 4, task.mask().shape[-1]))
    order = np.array([2, 0, 1])
    turned, blocks = seen.copy(), luck.shape[-1] // k
    for at in task.layout.values():
        if at.stop - at.start == k:
            turned[..., at] = seen[..., at][..., order]
    moved = np.concatenate([np.arange(a * blocks, (a + 1) * blocks) for a in order])
    moved = np.concatenate([moved, np.arange(k * blocks, luck.shape[-1])])
    assert np.array_equal(described(task, turned, luck[..., moved]), described(task, seen, luck)[..., moved, :])


@rows(
    ("given", "message"),
    [
        ({"hyper": {"sigm": 1.0}}, "es takes no parameter 'sigm'"),
        ({"hyper": {"population": 2}}, "algo.population"),
        ({"hyper": {"net_arch": 3}}, "algo.net_arch=3"),
        ({"logger": "tensorboard"}, "the curve of es is in policy.json"),
        ({"task": {"actions": "native"}, "case": "exploration"}, "es scores one choice at a time"),
    ],
)
def test_what_it_does_not_take_is_said(tmp_path, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        trained(tmp_path / "x", **{"case": "network", **given})
    assert not (tmp_path / "x").exists()


def test_it_takes_the_best_choice_and_says_so(tmp_path):
    folder = trained(tmp_path / "p", "network")
    with pytest.raises(ValueError, match="deterministic=False"):
        hb.make_team(f"sb3:{folder}", deterministic=False)
