"""Gradient training of policies that score choices one by one, for any number of arms."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from chance import LEVEL
from policies import HOMES, HYPER, contents, shaken, trained
from scipy.stats import chisquare
from stable_baselines3.common.vec_env import VecMonitor

import hushbandits as hb
from hushbandits.adapters.learners import HORIZONS
from hushbandits.adapters.make import make_sb3
from hushbandits.baselines.learned import Network, read
from hushbandits.baselines.sb3 import Trained, of_model
from hushbandits.baselines.sb3_choices import CHOICES as FEATURES
from hushbandits.baselines.sb3_choices import SCALE, rule
from hushbandits.core import Streams
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.learning.equivariant import Described
from hushbandits.learning.models import build

CASES = {"network": "ppo", "feedback": "a2c", "exploration": "maskable-ppo"}


def equivariant(folder, case, **given):
    algo = CASES[case]
    return trained(folder, algo, case, hyper={**HYPER[algo], "policy": "equivariant"}, **given)


@pytest.fixture(params=CASES)
def model(request):
    """A model with weights of relevant size, after some steps of its env."""
    id, env = HOMES[request.param]
    venv = Described(make_sb3(id, 2, permute_arms=True, **env))
    venv.seed(3)
    hyper = {**HYPER[CASES[request.param]], "policy": "equivariant"}
    made = shaken(build(CASES[request.param], venv, hyper, 0))
    seen = venv.reset()
    for _ in range(5):
        seen, *_ = venv.step(np.array([venv.action_space.sample() for _ in range(venv.num_envs)]))
    return made, seen


def shown(model, seen):
    with torch.no_grad():
        tensor = torch.as_tensor(seen)
        return model.policy.get_distribution(tensor).distribution.probs.numpy(), model.policy.predict_values(tensor)


def test_who_renames_choices_renames_what_is_done_and_nothing_else(model):
    model, seen = model
    order = np.random.default_rng(0).permutation(seen.shape[1])
    (plain, value), (renamed, same) = shown(model, seen), shown(model, np.ascontiguousarray(seen[:, order]))
    np.testing.assert_allclose(renamed, plain[:, order], rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(same, value, rtol=1e-4, atol=1e-6)
    assert plain.std(1).max() > 0.01  # it does prefer some arms


def test_it_is_played_in_numpy_as_pytorch_would(model):
    model, seen = model
    scores = Network(of_model(model)).logits(seen[None].astype(float))[0, ..., 0]
    ours = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(ours / ours.sum(1, keepdims=True), shown(model, seen)[0], rtol=1e-4, atol=1e-6)


def test_actions_are_drawn_by_the_softmax_of_scores_among_those_that_count(tmp_path):
    policy = read(equivariant(tmp_path / "p", "exploration"))
    core = hb.make_batched("DPMASE-v0", 4000, permute_arms=True, **HOMES["exploration"][1])
    task = core.task()
    task.reset(0)
    player = Network(policy)
    player.reset(Streams(core.seeds))
    count = np.bincount(player.act(task)[np.arange(4000), task.obs.active_agents[:, 0]], minlength=4)
    # at the start all arms look alike
    assert chisquare(count[:3]).pvalue > LEVEL
    assert 0 < count[3] < 4000
    best = Network(policy, deterministic=True)
    best.reset(Streams(core.seeds))
    assert len(set(best.act(task)[np.arange(4000), task.obs.active_agents[:, 0]])) == 1


@pytest.mark.parametrize("case", CASES)
def test_it_plays_with_other_arms_agents_and_horizon(tmp_path, case):
    folder = equivariant(tmp_path / "p", case)
    id, env = HOMES[case]
    other = {**env, "means": (0.9, 0.5, 0.1, 0.3, 0.4), "n_agents": 2 * env["n_agents"], "horizon": 2 * env["horizon"]}
    other.pop("n_arms", None)
    other["permute_arms"] = True
    seeds = spawn_seeds(0, 3)
    batch, one = (
        hb.rollout(hb.make_batched(id, len(s), **other), hb.make_team(f"sb3:{folder}"), s) for s in (seeds, seeds[2:])
    )
    for name in batch:
        np.testing.assert_array_equal(batch[name][2:], one[name])


@pytest.mark.parametrize("case", CASES)
def test_a_model_in_memory_plays_as_its_folder(tmp_path, case):
    (id, env), algo = HOMES[case], CASES[case]
    other = {**env, "means": (0.9, 0.5, 0.1, 0.3), "n_agents": 2 * env["n_agents"], "permute_arms": True}
    other.pop("n_arms", None)
    venv = VecMonitor(Described(make_sb3(id, 2, permute_arms=True, **env)))
    model = shaken(build(algo, venv, {**HYPER[algo], "policy": "equivariant"}, 0))
    mine, its = hb.make_team(model), Trained(equivariant(tmp_path / "p", case))
    assert (mine.setting, mine.name) == (its.setting, f"{type(model).__name__} of {id}")
    assert (mine.policy.observation, mine.policy.masked) == (its.policy.observation, its.policy.masked)
    its._player = Network(replace(its.policy, weights=mine.policy.weights))
    one, two = (hb.rollout(hb.make_batched(id, 3, **other), team, 7) for team in (mine, its))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])
    found = hb.evaluate(id, model, runs=2, env=env)
    assert (found.only.cell.env.name, found.labels) == (id, [mine.name])


@pytest.mark.parametrize("case", CASES)
def test_a_linear_score_starts_at_the_rule(case):
    id, env = HOMES[case]
    hyper = {"policy": "equivariant", "net_arch": [], "n_steps": 4}
    policy = of_model(build(CASES[case], Described(make_sb3(id, 2, **env)), hyper, 0))
    np.testing.assert_allclose(policy.weights["head.weight"], SCALE * rule(case)[None], rtol=1e-6)


def test_a_learner_bootstraps_from_the_choices_at_a_horizon_that_truncates():
    id, env = HOMES["network"]
    for horizon in HORIZONS:
        venv = Described(make_sb3(id, 2, **env), horizon)
        venv.reset()
        for _ in range(env["horizon"]):
            *_, infos = venv.step(np.zeros(venv.num_envs, int))
        assert {info["TimeLimit.truncated"] for info in infos} == {horizon == "truncates"}
        if horizon == "truncates":
            last = np.stack([info["terminal_observation"] for info in infos])
            assert last.shape[1:] == venv.observation_space.shape
            assert not last[..., FEATURES["network"].index("late_spread")].any()  # no time is left


@pytest.mark.parametrize(("policy", "usual"), [("mlp", "truncates"), ("equivariant", "ends")])
def test_the_horizon_matters_in_training(tmp_path, policy, usual):
    hyper = {**HYPER["ppo"], "policy": policy}
    found = {
        horizon: contents(trained(tmp_path / str(horizon), env={"horizon": 4}, hyper={**hyper, **given}))["weights.npz"]
        for horizon, given in ((None, {}), *((horizon, {"horizon": horizon}) for horizon in HORIZONS))
    }
    assert found["truncates"] != found["ends"]
    assert found[None] == found[usual]


def test_a_model_in_memory_without_its_env_is_refused(tmp_path):
    id, env = HOMES["network"]
    model = build("ppo", Described(make_sb3(id, 2, **env)), {**HYPER["ppo"], "policy": "equivariant"}, 0)
    model.env = None
    with pytest.raises(ValueError, match="set_env"):
        hb.make_team(model)
    model.env = Described(make_sb3(id, 2, **env))
    assert hb.make_team(model).setting == "network"
    model.save(tmp_path / "p.zip")
    with pytest.raises(ValueError, match="gives 1 scores"):
        hb.evaluate(id, f"sb3:{tmp_path / 'p.zip'}", runs=1, env=env)
