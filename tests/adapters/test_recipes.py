"""The recipes of the page of clients run, where the client is installed, and those that learn do so."""

import importlib.util
import runpy
from pathlib import Path

import numpy as np
import pytest

import hushbandits as hb

FOLDER = Path(__file__).parents[2] / "examples/recipes"
#: What a recipe imports, where its name does not say so.
NEEDS = {"sb3": "stable_baselines3", "vec": "torch", "epymarl": "hushbandits", "rllib": "ray"}


@pytest.fixture
def played(tmp_path, monkeypatch):
    """Return a function that runs a recipe in an empty folder, and returns its names; skip where its client lacks."""
    monkeypatch.chdir(tmp_path)

    def run(name):
        library = name.split("_")[0]
        if importlib.util.find_spec(needed := NEEDS.get(library, library)) is None:
            pytest.skip(f"{name} needs {needed}")
        return runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")

    return run


def test_sb3(played):
    assert played("sb3_ppo")["share"] < 0.7


def test_vec(played):
    assert np.mean(played("vec_ppo")["curve"][-200:]) > 0.75


def test_torchrl(played):
    assert np.median(played("torchrl_ppo")["curve"][5:]) > 0.65


def test_epymarl_keeps_the_last_reward(played):
    names = played("epymarl_env")
    env = hb.make("CoopNetwork-v0", n_agents=4, horizon=5)
    env.reset(seed=0)
    actions = {f"agent_{m}": m for m in range(4)}
    assert names["rewards"] == [sum(env.step(actions)[1].values()) for _ in range(5)]
    assert names["over"] == {"episode_limit": True}
    assert names["env"].get_env_info()["episode_limit"] == 5


def test_jax(played):
    rewards = played("jax_scan")["rewards"]
    assert rewards[:10].mean() < rewards[-10:].mean()


@pytest.mark.weekly
@pytest.mark.parametrize("name", ["benchmarl_mappo", "tianshou_dqn", "rllib_ppo", "agilerl_ippo", "skrl_ippo"])
@pytest.mark.filterwarnings("default")
def test_it_trains(played, name):
    played(name)


def test_every_recipe_is_tested_and_shown():
    page = (FOLDER.parents[1] / "docs/clients.md").read_text()
    test = Path(__file__).read_text()
    for path in FOLDER.glob("*.py"):
        assert f"recipes/{path.name}\n" in page
        assert f'"{path.stem}"' in test
