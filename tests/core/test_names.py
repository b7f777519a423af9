"""``module:Name`` and classes work like registered names: envs, agents, wrappers, reward laws."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from bench_helpers import filled

import hushbandits as hb
from hushbandits.bench.spec.experiment import Component
from hushbandits.cli.main import main
from hushbandits.core.random.arms import make_law
from hushbandits.core.random.rewards import Law
from hushbandits.core.random.seed_text import canonical

OWN = """
from dataclasses import dataclass
import numpy as np
from hushbandits.core.random.rewards import Law
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.network.env import CoopNetwork

class Net(CoopNetwork):
    def __init__(self, *, shift=0, n_agents=3, horizon=20, **rest):
        self.shift = shift
        super().__init__(n_agents=n_agents, horizon=horizon, **rest)

class Bare(CoopNetwork):
    def __init__(self, n_agents=3):
        super().__init__(n_agents=n_agents)

class Mute(Wrapper):
    def __init__(self, rate=1.0, *, name=None):
        super().__init__(name=name)
        self.rate = rate
    def send(self, message, env):
        return {**message, "sent": message["sent"] & (self.rate < 1)}

class First(Team):
    setting = "network"
    def __init__(self, arm=0):
        self.arm = arm
    def act(self, obs):
        return np.full(obs.active_agents.shape, self.arm)

class Plain:
    blind = True
    def __init__(self, m, rng):
        self.arm = 0
    def act(self, t):
        return self.arm

@dataclass(frozen=True)
class Coin(Law):
    bias: float = 0.125
    def quantile(self, u, location):
        return np.less(u, location + self.bias).astype(float)

def team(arm=1):
    return First(arm)

def nothing():
    return 3

value = 3
"""
TOML = """
title = "Mine"
runs = 3
checkpoints = 3
env = {{ type = "{m}:Net", shift = 1, rewards = "{m}:Coin" }}
wrappers = [{{ type = "{m}:Mute" }}]
agents = [{{ type = "{m}:Plain" }}, {{ type = "{m}:First", arm = 1 }}, {{ type = "UCB1" }}]
sweep = {{ "{m}:Mute.rate" = [0.5, 1.0] }}
"""


@pytest.fixture
def own(here, monkeypatch):
    """A user module in the working folder, under a name that no other test imports."""
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    name = "own_" + here.name.replace("-", "_")
    (here / f"{name}.py").write_text(OWN)
    (here / "mine.toml").write_text(TOML.format(m=name))
    return name


def test_all_four_kinds_by_name(own):
    env = hb.make_batched(f"{own}:Net", runs=2, shift=2, rewards=f"{own}:Coin", wrappers=[f"{own}:Mute", "Loss"])
    assert (type(env).__name__, env.shift, repr(env.law)) == ("Net", 2, "Coin(bias=0.125)")
    assert [w.name for w in env.wrappers] == ["Mute", "Loss"]
    assert hb.make_team(f"{own}:First", arm=1).arm == 1
    assert hb.make_team(f"{own}:Plain").name == "Plain"
    assert hb.make_wrapper(f"{own}:Mute", rate=0.3).rate == 0.3
    view = hb.make(f"{own}:Net", wrappers=[f"{own}:Mute"])
    view.reset(seed=0)
    assert view.core.spec[0] == f"{own}:Net"
    assert [w.name for w in hb.wrap(view, "Loss").core.wrappers] == ["Mute", "Loss"]
    assert [w.name for w in hb.wrap(hb.make_batched(f"{own}:Net"), f"{own}:Mute").wrappers] == ["Mute"]


def test_a_class_is_what_its_name_is(own):
    names = hb.evaluate(f"{own}:Net", f"{own}:Plain", runs=2, wrappers=[f"{own}:Mute"])
    mine = sys.modules[own]
    classes = hb.evaluate(mine.Net, mine.Plain, runs=2, wrappers=[mine.Mute])
    instances = hb.evaluate(mine.Net, hb.PerAgent(mine.Plain), runs=2, wrappers=[mine.Mute()])
    for other in (classes, instances):
        np.testing.assert_array_equal(names.final("regret"), other.final("regret"))
    one = hb.evaluate("CoopNetwork-v0", mine.First, runs=2, env={"horizon": 9}, agent_kwargs={"arm": 1})
    two = hb.evaluate("CoopNetwork-v0", mine.team, runs=2, env={"horizon": 9})
    np.testing.assert_array_equal(one.final("regret"), two.final("regret"))
    view = hb.wrap(hb.make(mine.Net), mine.Mute)
    assert view.metadata["name"] == "hushbandits/Net"


@pytest.mark.parametrize("as_class", [pytest.param(False, marks=pytest.mark.weekly), True])
def test_workers_know_what_is_ones_own(own, as_class):
    given = f"{own}:Net", f"{own}:First", [f"{own}:Mute"], {"rewards": f"{own}:Coin"}
    if as_class:
        hb.make_team(given[1])
        mine = sys.modules[own]
        given = mine.Net, mine.First, [mine.Mute], {"rewards": mine.Coin(0.1)}
    env, agent, wrappers, params = given
    alone, two = (
        hb.evaluate(env, agent, runs=4, env=params, wrappers=wrappers, options=hb.RunOptions(jobs)) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(alone.final("regret"), two.final("regret"))


@pytest.mark.weekly
def test_workers_know_what_was_registered_here():
    class Net(type(hb.make_batched("CoopNetwork-v0"))):
        """Not importable."""

    class Silent(hb.Wrapper):
        def send(self, message, env):
            return {**message, "sent": message["sent"] & False}

    hb.register_wrapper("Silent-test", Silent)
    hb.register_env("SilentNet-test-v0", Net, wrappers=("Silent-test",), horizon=20)
    hb.register_agent("UCB1-test", type(hb.make_team("UCB1")))
    alone, two = (hb.evaluate("SilentNet-test-v0", "UCB1-test", runs=4, options=hb.RunOptions(jobs)) for jobs in (1, 2))
    np.testing.assert_array_equal(alone.final("regret"), two.final("regret"))


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.weekly)])
def test_a_file_and_its_options_name_them(own, capsys, jobs):
    args = ["run", "mine.toml", "--jobs", jobs, "--out", "o", "--agents", f"{own}:Plain2"]
    Path(f"{own}.py").write_text(OWN + "\nclass Plain2(Plain):\n    pass\n")
    assert main([*args, "--set", "env.shift=3", "--set", f'env.rewards={{"{own}:Coin" = {{ bias = 0.1 }}}}']) == 0, (
        capsys.readouterr().err
    )
    out = capsys.readouterr().out
    assert all(name in out for name in ("Plain", "First", "UCB1", "Plain2"))
    sys.modules.pop(own)
    assert main(["report", "o"]) == 0
    assert main(["check", "o"]) == 0
    assert own not in sys.modules  # names in a store are not imported


MAKE = {
    "env": hb.make_batched,
    "agent": hb.make_team,
    "wrapper": hb.make_wrapper,
    "reward law": lambda path: hb.make_batched("CoopNetwork-v0", rewards=path),
}
RIGHT = {"env": "Net", "agent": "First", "wrapper": "Mute", "reward law": "Coin"}


@pytest.mark.parametrize("kind", MAKE)
def test_a_path_of_the_wrong_kind_is_refused(own, kind):
    MAKE[kind](f"{own}:{RIGHT[kind]}")
    others = {name for other, name in RIGHT.items() if other != kind}
    paths = [f"{own}:{name}" for name in ("value", "nothing", "Nobody", *others)]
    for path in (*paths, f"../{own}.py:Net", "a b:C", f"{own}:", "nowhere_at_all:X"):
        with pytest.raises(ValueError, match=re.escape(path.split(":")[-1] or path)) as error:
            MAKE[kind](path)
        assert str(error.value).startswith(f"{kind} ")


def test_a_folder_of_somebody_else_imports_nothing(own, capsys):
    """On continuing a run, a user's declaration is compared without importing its names."""
    net = hb.Experiment(
        name="mine", title="Theirs", env=Component(f"{own}:Net", rewards=f"{own}:Coin"), runs=2, metrics=("regret",),
        agents=[Component(f"{own}:First")], wrappers=[Component(f"{own}:Mute")],
    )  # fmt: skip
    filled("theirs", net, values=lambda cell: {"regret": np.ones(2), "epsilon": np.ones(2)}, measures={})
    Path("plain.toml").write_text('name = "mine"\nenv = { type = "CoopNetwork-v0" }\nagents = [{ type = "UCB1" }]\n')
    assert main(["run", "plain.toml", "--out", "theirs"]) == 2
    assert "has other results" in capsys.readouterr().err
    for command in ("report", "check"):
        assert main([command, "theirs"]) == 0
    assert own not in sys.modules


def test_own_code_is_known_by_all_its_names(own):
    use = Component(f"{own}:Net", rewards={f"{own}:Coin": {"bias": 0.2}})
    experiment = hb.Experiment(
        name="x", title="x", env=use, agents=[Component("UCB1")], wrappers=[Component(f"{own}:Mute")]
    )
    assert set(hb.source_digests([experiment])) == {f"{own}:Net", f"{own}:Coin", f"{own}:Mute"}
    assert own not in sys.modules


def test_laws_with_parameters(own):
    law = make_law({f"{own}:Coin": {"bias": 0.25}})
    assert law.bias == 0.25
    assert make_law(type(law)) == type(law)()
    assert (
        canonical(Component("CoopNetwork-v0", rewards=law).params) == f'{{"rewards":{{"{own}:Coin":{{"bias":0.25}}}}}}'
    )
    with pytest.raises(TypeError, match=r"takes no parameter biass=.*; did you mean bias"):
        make_law({f"{own}:Coin": {"biass": 0.25}})
    with pytest.raises(ValueError, match="must map a law to a table"):
        make_law({f"{own}:Coin": 3})

    class Local(Law):
        def quantile(self, u, location):
            return u

    with pytest.raises(ValueError, match="cannot be a value in an experiment"):
        Component("CoopNetwork-v0", rewards=Local())
