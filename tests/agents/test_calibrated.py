"""A radius fits one mechanism: every agent on every feedback env, and on user-defined mechanisms."""

import numpy as np
import pytest
from helpers import begin
from homes import ELSEWHERE
from kinds import each_once

import hushbandits as hb
from hushbandits.bench.report.tables import summaries
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.best_arm.private_elimination import batch_radius
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.secagg import SecAgg

#: Agents with a radius, and the env of their mechanism.
AGENTS = {home.agent: home.env_id for home in ELSEWHERE if getattr(hb.make_team(home.agent), "mechanisms", ())}
ENVS = [id for id in hb.list_envs() if getattr(hb.make_batched(id), "setting", "") == "feedback"]
ENVS = [id for id in ENVS if id != "LTR-v0" and "-Train-" not in id]  # these have the mechanism of another id
SMALL = {"horizon": 3000, "n_arms": 3, "means": (0.9, 0.5, 0.1)}


class Mine(DiscreteLaplace):
    """A user-defined noise of unknown law."""


class Declared(DiscreteLaplace):
    """A user-defined noise with tails no heavier than the built-in mechanism's."""

    noise_as = "DiscreteLaplace"


@pytest.fixture(autouse=True)
def third_party(registries):
    """Two user-defined mechanisms, each with an env."""
    core = type(hb.make_batched("DistDP-v0"))
    for name, wrapper in (("Mine-calibrated-test", Mine), ("Declared-calibrated-test", Declared)):
        hb.register_wrapper(name, wrapper)
        hb.register_env(f"{name}-v0", core, wrappers=(name, "SecAgg"))


NO_SCALE = ("CentralDP-v0", "LocalDP-v0", "DistDP-v0", "ShuffleDP-v0", "Mine-calibrated-test-v0",
            "Declared-calibrated-test-v0")  # fmt: skip
LACKS = {
    **{(agent, id): "needs a mechanism with scale" for agent in ("Dist-RDP-SE", "Dist-CDP-SE") for id in NO_SCALE},
    ("Shuffle-DP-SE", ""): "needs a mechanism with shuffle",
    ("VB-SDP-AE", "CentralDP-v0"): "needs users who add noise",
}
OWN = {"Mine-calibrated-test-v0": "", "Declared-calibrated-test-v0": "Dist-DP-SE"}


def test_all_agents_of_the_setting_are_here():
    feedback = {name for name in hb.list_agents() if hb.make_team(name).setting == "feedback"}
    without_radius = {"PPO-DistDP", "ES-DistDP", "ES-DistDP-Tight", "Commit-Blocks"}
    assert feedback - without_radius == set(AGENTS)


@each_once
@pytest.mark.parametrize("id", [*ENVS, *OWN])
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_fits_its_own_mechanism_and_no_other(agent, id):
    if AGENTS[agent] == id or OWN.get(id) == agent:
        finals = hb.evaluate(id, agent, runs=1, env=SMALL).only.data.finals
        assert "uncalibrated" not in finals
        return
    with pytest.raises(ValueError, match=rf"{agent} is calibrated to the noise of \w+, not to that of .*calibrated="):
        hb.evaluate(id, agent, runs=1, env=SMALL)
    core = hb.make_batched(id, **SMALL)
    needs = "is calibrated to|needs a mechanism with|needs shuffle="
    with pytest.raises(ValueError, match=needs):
        hb.rollout(core, hb.make_team(agent))
    given = {"env": SMALL, "agent_kwargs": {"require_calibrated": False}}
    if lacks := LACKS.get((agent, id)) or LACKS.get((agent, "")):  # its radius needs a missing parameter
        with pytest.raises(ValueError, match=lacks):
            hb.evaluate(id, agent, runs=2, **given)
    else:
        assert hb.evaluate(id, agent, runs=2, **given).final("uncalibrated").tolist() == [1, 1]


@pytest.mark.parametrize(
    ("mechanism", "agent", "fits"),
    [
        (CentralLaplace(discrete=True), "DP-SE", False),
        (CentralLaplace(discrete=True), "CDP-SE", True),
        (CentralLaplace(), "CDP-SE", False),
        (DiscreteLaplace(min_participants=0.5), "Dist-DP-SE", True),
        (DiscreteLaplace(min_participants=20), "Dist-DP-SE", True),
        (DiscreteLaplace(min_participants=1.0), "Dist-DP-SE", True),
        (Mine(), "Dist-DP-SE", False),
        (Declared(), "Dist-DP-SE", True),
        (Declared(), "LDP-SE", False),
    ],
)
def test_a_mechanism_is_known_by_its_parameters_too(mechanism, agent, fits):
    secure = [] if isinstance(mechanism, CentralLaplace) else [SecAgg()]
    core = type(hb.make_batched("DistDP-v0"))(wrappers=[mechanism, *secure], **SMALL)
    if fits:
        assert hb.rollout(core, hb.make_team(agent))["regret"].shape == (1,)
        assert hb.rollout(core, hb.make_team(agent, require_calibrated=False))["uncalibrated"].tolist() == [0]
        return
    with pytest.raises(ValueError, match="is calibrated to the noise of"):
        hb.rollout(core, hb.make_team(agent))
    assert hb.rollout(core, hb.make_team(agent, require_calibrated=False))["uncalibrated"].tolist() == [1]


@pytest.mark.parametrize("min_participants", [0.7, 0.8])
@pytest.mark.parametrize("agent", ["Dist-DP-SE", "Dist-RDP-SE", "Dist-CDP-SE"])
def test_a_fifth_of_the_users_may_drop_out(agent, min_participants):
    """Noise for the surviving share, a radius for it, and an ε that the ledger respects."""
    env = {**SMALL, "horizon": 20_000, "min_participants": min_participants, "rewards": "bernoulli"}
    lost = [hb.make_wrapper("Loss", rate=0.2)]
    results = hb.evaluate(AGENTS[agent], agent, runs=10, env=env, wrappers=lost)
    whole = hb.make_batched(AGENTS[agent]).guarantees()[0]
    promise = hb.make_batched(AGENTS[agent], wrappers=lost, min_participants=min_participants).guarantees()[0]
    assert promise.epsilon == whole.epsilon
    assert results.final("epsilon").max() <= promise.epsilon * (1 + 1e-9)
    assert results.final("covered").mean() >= 1 - 3 * 0.1  # lemma 2 at p = .1; .985 in 200 runs
    assert results.final("regret").max() < 20_000 * 0.4 / 2  # half of uniform play: it learns


def test_more_noise_has_a_wider_radius():
    """The radius reserves the 1 − p quantile of n users' noise, where that of t would suffice."""
    env, team = (
        hb.make_batched("DistDP-v0", min_participants=0.7, horizon=1024, confidence=0.1),
        hb.make_team("Dist-DP-SE"),
    )
    begin(env, team, 0)
    noise = env.mechanism.planned(1024).noise
    drawn = [noise.total(np.random.default_rng(i), 1024) / env.mechanism.planned(1024).g for i in range(20_000)]
    room = 1024 * (team.width(2, 10, 1024) - batch_radius(2, 10, 0.1, 1024, np.sqrt(2), 0.0))
    beyond, p = (np.abs(drawn) > room).mean(), 0.1 / 200
    assert beyond <= p + 5 * np.sqrt(p / 20_000)
    assert (np.abs(drawn) > room / 2).mean() > 4 * p  # and no more than that


def test_no_number_changes_where_the_radius_is_the_mechanisms():
    plain = hb.evaluate("DistDP-v0", "Dist-DP-SE", runs=2, env=SMALL)
    asked = hb.evaluate("DistDP-v0", "Dist-DP-SE", runs=2, env=SMALL, agent_kwargs={"require_calibrated": False})
    np.testing.assert_array_equal(plain.final("regret"), asked.final("regret"))


def test_the_mark_is_in_every_name_and_row(tmp_path):
    experiment = Experiment(
        name="marked", title="Marked", env=Component("LocalDP-v0", **SMALL), runs=2,
        agents=[Component("LDP-SE"), Component("Dist-DP-SE", require_calibrated=False),
                Component("Dist-DP-SE", label="bold", require_calibrated=False)],
    )  # fmt: skip
    assert experiment.lines() == ["LDP-SE", "Dist-DP-SE (uncalibrated)", "bold (uncalibrated)"]
    store = hb.run(experiment, tmp_path / "o").store
    found = summaries(configurations(store, experiment), experiment.metrics)
    rows = [(row.cell.line, row.mean) for row in found if row.metric == "uncalibrated"]
    assert rows == [("Dist-DP-SE (uncalibrated)", 1.0), ("bold (uncalibrated)", 1.0)]
