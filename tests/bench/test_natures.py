"""Metric specifications: declared with the metric, stored with the run, read without imports."""

from __future__ import annotations

import math
import sys

import bench_helpers
import numpy as np
import pytest
from kinds import one_per_class

import hushbandits as hb
from hushbandits.agents.howson2024 import QuACK
from hushbandits.bench.report.page import write
from hushbandits.bench.report.series import series
from hushbandits.bench.report.tables import summaries
from hushbandits.bench.run import run
from hushbandits.bench.runner.check import check
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.spec.claim import Claim, Difference, Value
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.bench.stats import mean_interval, share_interval
from hushbandits.bench.stats.verdicts import judge
from hushbandits.core.metric import NATURES
from hushbandits.core.wrapper import gathered
from hushbandits.registry import assemble

SMALL = {
    "exploration": {"n_agents": 64, "horizon": 40},
    "network": {"n_agents": 4, "horizon": 12},
    "feedback": {"horizon": 300},
    "linear": {"horizon": 60},
}


def small(id):
    setting = hb.make_batched(id).setting
    return {
        **SMALL[setting],
        **({"n_change_points": 1, "one_arm_per_step": False} if id == "DecentralizedExploration-v0" else {}),
    }


def holds(metrics, declared):
    """Every metric is declared, and its values match the declaration."""
    assert metrics
    for name, values in metrics.items():
        measure, x = declared[name], np.asarray(values, float)
        (low, high), x = NATURES[measure.nature], x[~np.isnan(x)]
        assert ((low <= x) & (x <= high)).all(), (name, measure, x)
        assert measure.nature not in ("rate", "count") or (x == np.round(x)).all(), (name, measure, x)


@pytest.mark.parametrize("id", one_per_class(hb.list_envs()))
def test_every_metric_of_every_env_and_wrapper_is_declared_and_true(id):
    met = set()
    for name in [None, *hb.list_wrappers()]:
        try:
            wrappers = [name] if name else []
            env = hb.make_batched(id, runs=2, wrappers=wrappers, **small(id))
            final = hb.rollout(env, hb.make_team("Random"), seed=1)
        except ValueError:  # not every wrapper fits every env
            continue
        holds(final, gathered(env))
        met.add(name)
    brought = {wrapper.name for wrapper in hb.make_batched(id, **small(id)).wrappers}
    assert met | brought >= {None, "Loss"}


#: Two of QuACK's policies represent all: the policy does not affect the team's metrics.
#: Trained policies play in one env each: tests/baselines/test_trained.py.
AGENTS = [name for name in hb.list_agents() if not name.startswith("QuACK-") or name in ("QuACK-UCB", "QuACK-RUCB")]
AGENTS = [name for name in AGENTS if "PPO-" not in name]


@pytest.mark.parametrize("agent", one_per_class(AGENTS))
def test_every_metric_of_every_agent_is_declared_and_true(agent):
    team = hb.make_team(agent)
    if type(team).metrics is hb.Team.metrics:  # it has no metrics
        assert not gathered(team)
        return
    env = home(team)
    final = hb.rollout(env, team, seed=2)
    assert not gathered(team) or gathered(team).keys() & final.keys() or isinstance(team, QuACK)
    holds(final, gathered(env, team))


def home(team):
    """Return the first env that accepts the agent, LTR if that is one."""
    for id in sorted(hb.list_envs(), key=lambda id: id != "LTR-v0"):
        try:
            env = assemble(id, team, runs=2, env=small(id))
            hb.check_compatible(env, team)
            hb.rollout(env, team)
        except ValueError:  # another setting, other fields, or a policy for other actions
            continue
        return env
    raise AssertionError(f"{team.name} fits nowhere")


@pytest.mark.parametrize(
    ("agent", "given", "id", "env", "always"),
    [
        ("QuACK-UCB", {"elect_leader": True, "routing": "tree"}, "CoopNetwork-v0", {"n_agents": 4, "horizon": 20}, ""),
        ("DP-MASE", {}, "DPMASE-v0", {"n_agents": 64}, "correct"),
        ("Dist-DP-SE", {"require_calibrated": False}, "LocalDP-v0", SMALL["feedback"], "uncalibrated"),
    ],
    ids=["leader and tree", "a vote that ends", "another mechanism"],
)
def test_metrics_of_less_common_runs_are_declared_and_true(agent, given, id, env, always):
    team = hb.make_team(agent, **given)
    core = assemble(id, team, runs=4, env=env)
    final = hb.rollout(core, team, seed=2)
    assert gathered(team).keys() <= final.keys()
    assert not always or final[always].any()
    holds(final, gathered(core, team))


# -- user-defined ---------------------------------------------------------------------------------------------------

MODULE = """
import numpy as np, hushbandits as hb
from hushbandits.envs.rounds.env import Rounds

class Hive(Rounds):
    setting = "network"
    metrics_spec = {
        "swarmed": hb.Metric("share of runs that swarmed", "rate"),
        "bees": hb.Metric("bees left", "count"),
        "height": hb.Metric("height of the comb"),
    }
    logged_metrics = (*Rounds.logged_metrics, "bees")
    def _metrics(self):
        draw = np.array([np.random.default_rng(seed).integers(97) for seed in self.seeds])
        bees = 60 * (self.seeds[:, 2] == 3)
        return {**super()._metrics(), "swarmed": draw % 4 > 0, "bees": bees, "height": draw - 97.0}

class Other(Hive):
    metrics_spec = {"swarmed": hb.Metric("how much swarmed", "amount")}

class Liar(Hive):
    def _metrics(self):
        return {**super()._metrics(), "swarmed": 0.5 * (self.t > 0)}
"""


@pytest.fixture
def hive(tmp_path, monkeypatch):
    (tmp_path / "hive_here.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hive_here", raising=False)
    return tmp_path


def experiment(*claims, **changes):
    fields = {
        "env": Component("hive_here:Hive", horizon=4),
        "agents": [Component("Random", label="A"), Component("Multi-UCB", label="B")],
        "runs": 30,
        "checkpoints": [2, 4],
        "metrics": ("swarmed", "bees", "height"),
        "sweep": {"env.n_agents": (2, 3)},
    }
    return bench_helpers.experiment(*claims, **{**fields, **changes})


def test_a_rate_of_ones_own_is_one_in_tables_figures_and_verdicts(hive):
    claims = [
        Claim("It swarms.", Value("swarmed", of="A"), above=0.4),
        Claim("They swarm alike.", Difference("swarmed", of="A", over="B"), above=-0.9, below=0.9),
        Claim("Bees stay.", Value("bees", of="A"), above=-1),
    ]
    one = experiment(*claims)
    store = run(one, hive / "out").store
    x = store.rows.runs(one.cells()[0].key).finals["swarmed"]
    assert set(x) == {0.0, 1.0}
    exact = share_interval(int(x.sum()), 30)
    rows = {line.metric: line for line in summaries(configurations(store, one, one.cells()[:1]), one.metrics)}
    assert (rows["swarmed"].mean_interval, rows["swarmed"].median) == (exact, None)
    assert rows["swarmed"].label == "share of runs that swarmed"
    bees = store.rows.runs(one.cells()[0].key).finals["bees"]
    assert mean_interval(bees)[0] < 0  # for a count the interval is cut at 0
    assert rows["bees"].mean_interval[0] == 0.0
    assert rows["height"].mean_interval[0] < 0
    drawn = series(configurations(store, one), Figure(y="swarmed", x="env.n_agents"))[0]
    assert (drawn.low[0], drawn.high[0]) == exact
    assert series(configurations(store, one), Figure(y="bees"))[0].low.min() == 0.0
    verdicts = judge(configurations(store, one), one, 1)
    assert [v.findings[0].procedure for v in verdicts] == ["Clopper–Pearson", "Clopper–Pearson", "skewed t"]
    assert [v.effect for v in verdicts] == ["rate", "difference of rates", "mean"]
    assert verdicts[0].findings[0].interval == exact
    assert verdicts[2].findings[0].interval[0] == 0.0
    page = write(store, hive / "report.html").read_text()
    assert "share of runs that swarmed" in page


def test_a_folder_says_what_its_metrics_are_and_nothing_is_imported(hive, monkeypatch):
    one = experiment()
    run(one, hive / "out")
    (hive / "hive_here.py").write_text("raise SystemExit('imported')")
    for name in ("hive_here", "hushbandits.registry"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    results = hb.load_results(hive / "out").select("A", at={"env.n_agents": 2})
    assert results.only.metrics_spec["swarmed"] == hb.Metric("share of runs that swarmed", "rate")
    assert results.only.metrics_spec["anything_else"] == hb.Metric("anything else")
    assert next(summaries(results.configurations, ["swarmed"])).median is None
    assert "hive_here" not in sys.modules


def test_experiments_that_measure_otherwise_under_one_name_share_a_folder(hive):
    ours = experiment(checkpoints=0, runs=2)
    theirs = experiment(
        name="other", env=Component("hive_here:Other", horizon=4), metrics=("swarmed",), checkpoints=0, runs=2
    )
    run([ours, theirs], hive / "out", shard="1/2")
    store = run([ours, theirs], hive / "out", shard="2/2").store
    for whole, nature in ((ours, "rate"), (theirs, "amount")):
        assert {store.metrics_spec(cell)["swarmed"].nature for cell in whole.cells()} == {nature}


def test_a_rate_that_is_none_is_refused_where_it_is_played(hive):
    outcome = run(experiment(env=Component("hive_here:Liar", horizon=4)), hive / "out")
    assert outcome.failures
    assert not outcome.played
    says = "metric 'swarmed' has the value 0.5, but the nature 'rate' allows only"
    assert all(says in str(failure) for failure in outcome.failures)
    with pytest.raises(ValueError, match=says):
        hb.evaluate("hive_here:Liar", "Random", runs=2, env={"n_agents": 2, "horizon": 4})


def test_two_that_disagree_are_refused_before_anything_runs(hive):
    agents = [Component("Random"), Component("UCB1", on="hive_here:Other")]
    with pytest.raises(ValueError, match=r"metric 'swarmed' is declared as amount and as rate"):
        check([experiment(agents=agents)])


def test_what_is_divided_by_a_time_is_no_rate_and_no_count():
    natures = {name: hb.Metric("x", name).per_time().nature for name in NATURES}
    assert natures == {"rate": "amount", "share": "amount", "count": "amount", "amount": "amount", "measure": "measure"}
    assert math.isinf(hb.Metric("x").bounds[0])
