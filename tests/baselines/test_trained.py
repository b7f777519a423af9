"""A trained policy as an agent: the network in NumPy, its runs, and its folder."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from policies import HOMES, HYPER, NET, shaken, trained
from scipy.stats import chisquare

import hushbandits as hb
from hushbandits.adapters.make import make_sb3
from hushbandits.baselines.learned import Network, drawn, read
from hushbandits.baselines.sb3 import Trained, of_model
from hushbandits.bench.spec.experiment import Component, Experiment
from hushbandits.core.wrapper import gathered
from hushbandits.learning.models import build


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A policy of each setting, and some with other actions or wrappers."""
    root = tmp_path_factory.mktemp("policies")
    made = {case: trained(root / case, "ppo", case) for case in HOMES}
    made["bits"] = trained(root / "bits", "maskable-ppo", "exploration", task={"action_format": "native"})
    made["huber"] = trained(root / "huber", wrappers=[Component("Huber", rate=0.1)])
    return made


# -- the network ---------------------------------------------------------------------------------------------------

FORMS = [("ppo", "network", "discrete"), ("maskable-ppo", "network", "discrete"), ("a2c", "feedback", "multidiscrete"),
         ("maskable-ppo", "exploration", "multidiscrete"), ("ppo", "exploration", "native")]  # fmt: skip


@pytest.mark.parametrize(("algo", "case", "form"), FORMS)
def test_the_network_is_torchs_to_a_hundred_thousandth(algo, case, form):
    id, params = HOMES[case]
    venv = make_sb3(id, 2, action_format=form, **params)
    model = shaken(build(algo, venv, HYPER[algo], 0))
    venv.seed(0)
    seen = venv.reset()
    with torch.no_grad():
        law = model.policy.get_distribution(torch.as_tensor(seen))
    law = getattr(law, "distributions", None) or [law.distribution]
    law = law[0] if isinstance(law[0], list) else law
    theirs = torch.cat([part.logits for part in law], -1).numpy()
    ours = Network(of_model(model)).logits(seen.reshape(2, params["n_agents"], -1)).reshape(len(seen), -1)
    if form != "native":  # the library's scores sum to one choice by choice
        ends = np.cumsum([part.logits.shape[-1] for part in law])[:-1]
        ours = np.concatenate([p - np.log(np.exp(p).sum(1, keepdims=True)) for p in np.split(ours, ends, 1)], 1)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_actions_are_drawn_as_the_softmax_says_and_what_is_masked_never():
    scores, uniforms = np.log([1.0, 2.0, 3.0]), np.random.default_rng(0).random(40_000)
    count = np.bincount(drawn(np.broadcast_to(scores, (40_000, 3)), uniforms))
    assert chisquare(count, 40_000 * np.array([1, 2, 3]) / 6).pvalue > 1e-6
    scores[2] = -np.inf
    edges = np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])
    assert drawn(np.broadcast_to(scores, (3, 3)), edges).tolist() == [0, 1, 1]


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["network", "exploration", "feedback", "bits", "huber"])
def test_the_agent_plays_what_was_scored_in_training(folders, case):
    """The harness's loop gives the learner's metrics exactly."""
    shown = read(folders[case]).card
    asked, last = shown["training"]["asked"], shown["training"]["curve"][-1]
    wrappers = [hb.make_wrapper(w["type"], **{k: v for k, v in w.items() if k != "type"}) for w in shown["wrappers"]]
    core = hb.make_batched(asked["id"], 2, wrappers=wrappers, permute_arms=True, **asked["env"])
    found = hb.rollout(core, Trained(folders[case]), asked["seed"] + (1 << 64))
    for name, value in last["metrics"].items():
        assert found[name].mean() == value


def test_the_two_games_differ_and_random_numbers_is_left_out_where_asked(folders):
    def regret(**given):
        team = Trained(folders["network"], **given)
        return hb.rollout(hb.make_batched("CoopNetwork-v0", 4, **NET), team, 0)["agent_regret"]

    assert not np.array_equal(regret(), regret(deterministic=True))
    assert np.array_equal(regret(deterministic=True), regret(deterministic=True))
    id, params = HOMES["exploration"]
    policies = (Trained(folders["exploration"], two_phase=two_phase) for two_phase in (False, True))
    once, twice = (hb.rollout(hb.make_batched(id, 8, **params), policy, 0) for policy in policies)
    assert not np.array_equal(once["rounds"], twice["rounds"])


def test_other_numbers_of_agents_are_welcome_where_none_is_named(folders, tmp_path):
    found = hb.evaluate("CoopNetwork-v0", f"sb3:{folders['network']}", runs=2, env={**NET, "n_agents": 7})
    assert found.final("agent_regret").shape == (2, 7)
    named = trained(tmp_path / "named", task={"agent_id": True})
    with pytest.raises(ValueError, match="agent_id"):
        hb.evaluate("CoopNetwork-v0", f"sb3:{named}", runs=2, env={**NET, "n_agents": 7})


MISMATCHES = {
    "arms": ("network", "CoopNetwork-v0", {**NET, "n_arms": 4, "means": (0.9, 0.5, 0.1, 0.1)}, (), "own_mean"),
    "behind Huber": ("network", "CoopNetwork-v0", NET, ("Huber",), "heard_mean"),
    "not behind Huber": ("huber", "CoopNetwork-v0", NET, (), "heard_mean"),
    "blocks": ("feedback", "DistDP-v0", {**HOMES["feedback"][1], "horizon": 4000}, (), "18"),
    "no horizon": ("exploration", "DPMASE-v0", {"n_agents": 6}, (), "horizon"),
    "setting": ("network", "DPMASE-v0", HOMES["exploration"][1], (), "network setting"),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_an_env_that_shows_something_else_is_refused(folders, case):
    which, id, params, wrappers, named = MISMATCHES[case]
    with pytest.raises(ValueError, match=named):
        hb.evaluate(id, f"sb3:{folders[which]}", runs=1, env=params, wrappers=wrappers)


def test_it_stands_wherever_an_agents_name_may(folders, here):
    (here / "here").symlink_to(folders["network"])
    lines = [
        Component("sb3:here"),
        Component("sb3:here", two_phase=True),
        Component("sb3:here", deterministic=True, label="deterministic"),
    ]
    experiment = Experiment(
        name="x", title="X", env=Component("CoopNetwork-v0", **NET), agents=["UCB1", *lines], runs=4, metrics=["regret"]
    )
    assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment
    before = hb.source_digests([experiment])
    assert list(before) == ["sb3:here"]
    assert {*hb.run(experiment, here / "out").results.labels} == {*experiment.lines()}
    (here / "other").mkdir()
    for path in folders["network"].iterdir():
        (here / "other" / path.name).write_bytes(path.read_bytes() + b"\n" * (path.suffix == ".json"))
    (here / "here").unlink()
    (here / "here").symlink_to(here / "other")
    assert hb.source_digests([experiment]) != before


def test_it_is_declared_what_it_measures(folders):
    team = Trained(folders["network"])
    env = hb.make_batched("CoopNetwork-v0", 2, **NET)
    assert hb.rollout(env, team, 0).keys() <= gathered(env, team).keys()
    assert not hb.privacy_report(env, team).lines[0].epsilon < np.inf


# -- the folder ----------------------------------------------------------------------------------------------------


def test_a_folder_that_holds_no_policy_is_refused(folders, tmp_path):
    card = json.loads((folders["network"] / "card.json").read_text())
    with np.load(folders["network"] / "weights.npz") as file:
        arrays = dict(file)
    bad = {
        "setting": ({k: v for k, v in card.items() if k != "setting"}, arrays),
        "activation='sin'": ({**card, "activation": "sin"}, arrays),
        "head.bias": (card, {k: v for k, v in arrays.items() if k != "head.bias"}),
        "finite": (card, {**arrays, "head.bias": arrays["head.bias"] * np.nan}),
        "layers": (card, {**arrays, "layer0.weight": arrays["layer0.weight"].T}),
        "pickle": (card, {**arrays, "head.bias": np.array([print] * 3, object)}),
    }
    for named, (shown, content) in bad.items():
        (tmp_path / "card.json").write_text(json.dumps(shown))
        np.savez(tmp_path / "weights.npz", **content)
        with pytest.raises(ValueError, match=named):
            read(tmp_path)
    (tmp_path / "card.json").write_text("{")
    for source in (f"sb3:{tmp_path}", "sb3:nowhere", "sb3:"):
        with pytest.raises(ValueError, match="policy"):
            hb.make_team(source)
    with pytest.raises(ValueError, match="task"):
        Trained(folders["network"], task={"agent_id": True})
    with pytest.raises(ValueError, match="masked=True"):
        Trained(folders["network"], masked=True)


def test_it_is_played_without_torch(folders):
    code = (
        "import sys\nsys.modules['torch'] = sys.modules['stable_baselines3'] = None\nimport hushbandits as hb\n"
        f"print(hb.evaluate('CoopNetwork-v0', 'sb3:{folders['network']}', runs=1, env={NET!r}).final('regret').shape)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "(1,)\n"


SHIPPED = {
    "PPO-CoopNetwork": "CoopNetwork-Train-v0", "MaskablePPO-DPMASE": "DPMASE-Train-v0", "PPO-DistDP": "DistDP-Train-v0",
    "ES-CoopNetwork": "CoopNetwork-Train-v0", "ES-DPMASE": "DPMASE-Train-v0", "ES-DistDP": "DistDP-Train-v0",
    "ES-DistDP-Tight": "DistDP-Train-Tight-v0",
}  # fmt: skip


def test_the_shipped_policies_are_small_and_say_how_they_were_made():
    for name, id in SHIPPED.items():
        policy = hb.make_team(name).policy
        training = policy.card["training"]
        assert policy.env == {"type": id}
        assert training["complete"]
        assert training["command"].startswith(f"hushbandits train {id} --algo {policy.algorithm} --steps ")
        assert len(training["curve"]) == training["asked"]["evaluations"] + 1
    data = Path(hb.__file__).parent / "data" / "policies"
    assert sum(path.stat().st_size for path in data.rglob("*")) < 1_000_000
    assert {path.name for path in data.rglob("*") if path.is_file()} == {"card.json", "weights.npz"}


@pytest.mark.parametrize(("agent", "alone"), [("PPO-CoopNetwork", "TS"), ("PPO-DistDP", "Dist-DP-SE")])
def test_a_shipped_policy_has_less_than_half_the_regret_of_an_agent_that_is_not_told(agent, alone):
    mine, its = (hb.evaluate(SHIPPED[agent], name, runs=50).final("regret").mean() for name in (agent, alone))
    assert mine < 0.5 * its
