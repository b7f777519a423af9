"""A declaration means what its labels say, or is refused in one sentence, in every entry point."""

from __future__ import annotations

import pickle
from dataclasses import replace

from bench_helpers import small
from hypothesis import given, settings
from hypothesis import strategies as st

from hushbandits.bench.runner.check import check, check_declared
from hushbandits.bench.spec.catalog import read_toml
from hushbandits.bench.spec.claim import Claim, Value
from hushbandits.bench.spec.experiment import Component, Experiment, Figure
from hushbandits.cli.run import asked
from hushbandits.core.random.seed_text import canonical


def test_a_variation_may_leave_out_what_figures_and_claims_pick():
    claim = Claim("Few.", Value("regret", of="UCB1", at={"env.n_agents": [4]}), above=0)
    whole = small(figures=[Figure(y="regret", at={"env.n_agents": 4})], claims=[claim], quick={"env.n_agents": (3,)})
    for varied in (whole.quickly(), replace(whole.quickly(), runs=2), pickle.loads(pickle.dumps(whole.quickly()))):
        check_declared(varied)
    assert "varied" not in whole.quickly().to_dict()


# -- names alone ------------------------------------------------------------------------------------------------


def test_a_text_is_a_name_in_python_and_in_a_file(tmp_path):
    plain = Experiment(
        name="four", title="Four", env="CoopNetwork-v0", agents=["Multi-UCB", Component("UCB1", label="alone")],
        wrappers={"clean": [], "lossy": ["Loss"]}, runs=1,
    )  # fmt: skip
    written = Experiment(
        name="four", title="Four", env=Component("CoopNetwork-v0"),
        agents=[Component("Multi-UCB"), Component("UCB1", label="alone")],
        wrappers={"clean": (), "lossy": (Component("Loss"),)}, runs=1,
    )  # fmt: skip
    path = tmp_path / "four.toml"
    path.write_text("""
        title = "Four"
        runs = 1
        env = "CoopNetwork-v0"
        agents = ["Multi-UCB", { type = "UCB1", label = "alone" }]
        wrappers = { clean = [], lossy = ["Loss"] }
    """)
    assert [plain] == [written] == list(read_toml(path))
    assert plain.joined_by(["QuACK-UCB"]).lines()[2] == "QuACK-UCB · clean"
    assert replace(plain, wrappers=["Loss"]).wrappers == (Component("Loss"),)
    check([plain])


# -- other entry points -----------------------------------------------------------------------------------------


def test_a_parameter_for_all_agents_reaches_those_who_join(here):
    (here / "mine.toml").write_text('title = "N"\nenv = "CoopNetwork-v0"\nagents = ["Private-UCB"]')
    (one,) = asked("mine.toml", None, False, ["agent.epsilon=2"], ["DP-UCB-INT"])
    assert [(a.name, a.params) for a in one.agents] == [("Private-UCB", {"epsilon": 2}), ("DP-UCB-INT", {"epsilon": 2})]


def test_a_sweep_reaches_the_env_that_an_agent_plays_on():
    """A line on another env is swept like the others, or the sweep is refused."""
    agents = [Component("Dist-DP-SE"), Component("DP-SE", on="CentralDP-v0")]
    base = Experiment(name="x", title="x", env=Component("DistDP-v0", horizon=1000), agents=agents, runs=1)
    check([replace(base, sweep={"env.horizon": (1000, 2000)}, env="DistDP-v0")])


# -- any sweep --------------------------------------------------------------------------------------------------

_KEYS = (
    "env.n_agents",
    "env.max_hops",
    "agent.epsilon",
    "agent.release_exponent",
    "Private-UCB.epsilon",
    "DP-UCB-INT.epsilon",
    "Huber.rate",
)
_USES = {
    "env": [{}, {"n_agents": 3}, {"max_hops": 1, "n_agents": 4}],
    "Private-UCB": [{}, {"epsilon": 0.5}, {"release_exponent": 0.6}],
    "DP-UCB-INT": [{}, {"epsilon": 0.5}],
    "Huber": [{}, {"rate": 0.2}],
}


@settings(max_examples=150, deadline=None)
@given(
    st.fixed_dictionaries({name: st.sampled_from(options) for name, options in _USES.items()}),
    st.lists(st.sampled_from(["Private-UCB", "DP-UCB-INT", "UCB1"]), min_size=1, unique=True),
    st.booleans(),
    st.lists(st.sampled_from(_KEYS), max_size=3, unique=True),
)
def test_a_sweep_that_is_not_refused_is_played_as_it_is_labelled(params, agents, wrapped, keys):
    said = ""
    try:
        experiment = small(
            env=Component("CoopNetwork-v0", **params["env"]), sweep={key: (0.25, 0.75) for key in keys},
            agents=[Component(a, **params.get(a, {})) for a in agents],
            wrappers=[Component("Huber", **params["Huber"])] if wrapped else (),
        )  # fmt: skip
        check_declared(experiment)
    except ValueError as error:
        said = str(error)
    assert len(said) < 300
    for cell in [] if said else experiment.cells():
        uses = {"env": cell.env, "agent": cell.agent, cell.agent.name: cell.agent, **{w.name: w for w in cell.wrappers}}
        for key, value in cell.point.items():
            prefix, _, parameter = key.rpartition(".")
            if prefix in uses:
                assert canonical(uses[prefix].params[parameter]) == canonical(value)
        swept = [key.split(".") for key in keys]
        named = {parameter for prefix, parameter in swept if prefix in ("agent", cell.agent.name)}
        assert cell.agent.params.keys() == {*params.get(cell.agent.name, {}), *named}
