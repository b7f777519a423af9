"""An option of a user-defined task reaches every way to make an env, and policies trained with it."""

import json

import numpy as np
import pytest
from policies import HYPER, NET, SHORT
from refusals import rows

import hushbandits as hb
from hushbandits.baselines.learned import read
from hushbandits.core.messages import Observation
from hushbandits.core.task import Coding
from hushbandits.envs.network import CoopNetwork
from hushbandits.envs.network.task import NetworkTask
from hushbandits.learning.models import build
from hushbandits.learning.train import train
from hushbandits.registry import ENVS


class Recent(NetworkTask):
    """Task that also shows the last `window` rewards, and may reverse the arms."""

    def __init__(self, core, *, window=2, turned=False, **options):
        self._window, self._turned = window, turned
        super().__init__(core, **options)

    def _parts(self):
        return {**super()._parts(), "recent": (self._window, 0.0, 1.0)}

    def _codings(self):
        last = self.core.n_arms - 1
        codings = super()._codings()
        if not self._turned:
            return codings
        turn = codings["discrete"]
        return {"discrete": Coding(turn.space, lambda action: last - action, turn.mask)}

    def pulled(self, obs: Observation):
        super().pulled(obs)
        at = self.layout["recent"]
        self.observations[..., at] = np.concatenate(
            [self.observations[..., at][..., 1:], np.asarray(obs.reward)[..., None]], -1
        )


class Shown(CoopNetwork):
    rl_task = Recent


class Clashing(CoopNetwork):
    rl_task = Recent

    def __init__(self, *, window=1, **rest):
        super().__init__(**rest)


WAYS = {
    "make": lambda id, **kw: hb.make(id, **kw).observation_space("agent_0"),
    "make_aec": lambda id, **kw: hb.make_aec(id, **kw).observation_space("agent_0"),
    "make_vec": lambda id, **kw: hb.make_vec(id, 2, **kw).single_observation_space,
    "make_sb3": lambda id, **kw: hb.make_sb3(id, 2, **kw).observation_space,
    "make_torchrl": lambda id, **kw: hb.make_torchrl(id, 2, **kw).rows.task.observation_space,
}


@rows("way", WAYS)
def test_it_goes_through_whatever_makes_an_env(way):
    if way == "make_torchrl":
        pytest.importorskip("torchrl")
    make = WAYS[way]
    assert [make(Shown, **NET, **given).shape for given in ({}, {"window": 5})] == [(17,), (20,)]
    with pytest.raises(TypeError, match="windw"):
        make(Shown, **NET, windw=5)
    with pytest.raises(TypeError, match=r"window= is both a parameter of env Clashing and a task option: rename"):
        make(Clashing, **NET, window=5)
    assert make(Clashing, **NET).shape == (17,)
    with pytest.raises(TypeError, match="takes no parameter window=5"):
        make("CoopNetwork-v0", **NET, window=5)


def test_a_parameter_that_an_id_sets_is_the_envs_still():
    hb.register_env("Clashing-window-v0", Clashing, window=3)
    try:
        with pytest.raises(TypeError, match="window= is both a parameter of env Clashing-window-v0 and a task option"):
            hb.make("Clashing-window-v0", **NET, window=5)
    finally:
        del ENVS.entries["Clashing-window-v0"]


def test_a_view_wrapped_or_reset_keeps_it():
    view = hb.wrap(hb.make(Shown, window=5, **NET), "Loss")
    assert view.reset(seed=0)[0]["agent_0"].shape == (20,)
    assert view.layout["recent"].stop - view.layout["recent"].start == 5


def test_who_was_trained_under_it_looks_so(tmp_path):
    """A folder and a model store the option; a different value is refused."""
    task = {"window": 4, "turned": True}
    venv = hb.make_sb3(Shown, 2, **NET, **task)
    model = build("ppo", venv, HYPER["ppo"], 0)
    assert hb.make_team(model).policy.options == task
    mine = hb.evaluate(Shown, model, runs=2, env=NET)
    model.save(tmp_path / "my.zip")
    zipped = f"sb3:{tmp_path / 'my.zip'}"
    again = hb.evaluate(Shown, zipped, runs=2, env=NET, agent_kwargs={"task": task})
    assert np.array_equal(mine.final("agent_regret"), again.final("agent_regret"))
    with pytest.raises(ValueError, match="window=4"):
        hb.evaluate("CoopNetwork-v0", model, runs=1, env=NET)


def test_a_training_from_the_shell_keeps_it_and_its_setting(here):
    (here / "own_recent.py").write_text(
        "from hushbandits.envs.network import CoopNetwork\nfrom hushbandits.envs.network.task import NetworkTask\n"
        "class Longer(NetworkTask):\n"
        "    def __init__(self, core, *, extra=1, **options):\n"
        "        self._extra = extra\n        super().__init__(core, **options)\n"
        "    def _parts(self):\n        return {**super()._parts(), 'extra': (self._extra, 0.0, 1.0)}\n"
        "class Env(CoopNetwork):\n    rl_task, setting = Longer, 'elsewhere'\n"
    )
    given = {**SHORT, "hyper": HYPER["ppo"], "env": NET}
    train("own_recent:Env", here / "a", task={"extra": 3, "cost_coefficients": {"messages": 0.1}}, **given)
    assert (read(here / "a").options, read(here / "a").setting) == ({"extra": 3}, "elsewhere")
    last = json.loads((here / "a" / "card.json").read_text())["training"]["curve"][-1]
    found = hb.evaluate("own_recent:Env", f"sb3:{here / 'a'}", runs=2, env={**NET, "permute_arms": True})
    assert found.final("regret").shape == (2,)
    assert set(last["metrics"]) <= {*found.metrics}
    with pytest.raises(ValueError, match="plays the elsewhere setting, but CoopNetwork-v0 has network"):
        hb.evaluate("CoopNetwork-v0", f"sb3:{here / 'a'}", runs=1, env=NET)
    with pytest.raises(
        ValueError, match=r"extr=3 is not an option for learners in the elsewhere setting; known: extra"
    ):
        train("own_recent:Env", here / "b", task={"extr": 3}, **given)
