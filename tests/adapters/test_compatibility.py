"""The scripts for other libraries compile, use existing ids and parameters, and have a session."""

import ast
from pathlib import Path

import pettingzoo
import pytest

import hushbandits as hb
from hushbandits.registry import ENVS

ROOT = Path(__file__).parents[2]
NOX = ast.parse((ROOT / "noxfile.py").read_text())


def assigned(tree, name):
    """Return the values that a script assigns to a name, from literals and objects of the package."""
    (value,) = (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name)
    return eval(ast.unparse(value), {"hb": hb})


COMPAT = assigned(NOX, "COMPAT")
SCRIPTS = [path for library in COMPAT for path in (ROOT / "examples").glob(f"{library}_*.py")]


def test_every_library_has_a_script_or_a_recipe():
    scripts = {path.stem.split("_")[0] for path in (ROOT / "examples").rglob("*_*.py")}
    assert scripts >= {*COMPAT}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_steps_an_env_of_each_setting(script):
    text = script.read_text()
    compile(text, script, "exec")
    tasks = assigned(ast.parse(text), "TASKS")
    envs = [hb.make(env_id, **kwargs) for env_id, kwargs in tasks.items()]
    assert {env.core.setting for env in envs} == {"exploration", "network", "feedback"}
    for env in envs:
        env.reset(seed=0)
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})


def test_a_pettingzoo_without_a_registry_does(monkeypatch):
    """A library as its releases before 1.27 are."""
    monkeypatch.delattr(pettingzoo, "register", raising=False)
    monkeypatch.delattr(pettingzoo, "make", raising=False)
    monkeypatch.setattr(ENVS, "entries", dict(ENVS.entries))
    hb.register_env("Old-v0", "hushbandits.envs.network.env:CoopNetwork", n_agents=3)
    hb.testing.check_env("Old-v0", horizon=4)
