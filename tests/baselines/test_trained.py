"""A trained policy as an agent: the network in NumPy, the games that it plays, and files from strangers."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from policies import HOMES, HYPER, NET, shaken, trained

import hushbandits as hb
from hushbandits.baselines.sb3 import Trained
from hushbandits.baselines.sb3_file import Learned, heads_of, parts_of, read
from hushbandits.baselines.sb3_model import arrays
from hushbandits.baselines.sb3_network import Network
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.core.measure import gathered
from hushbandits.learning.models import MODELS, build
from hushbandits.views.make import make_sb3


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A policy of each setting, and some of the first with other algorithms."""
    root = tmp_path_factory.mktemp("policies")
    made = {case: trained(root / case, "ppo", case) for case in HOMES}
    made |= {algo: trained(root / algo, algo) for algo in ("recurrent-ppo", "dqn")}
    made["masked"] = trained(root / "masked", "maskable-ppo", "exploration")
    made["bits"] = trained(root / "bits", "maskable-ppo", "exploration", task={"actions": "native"})
    made["huber"] = trained(root / "huber", wrappers=[Use("Huber", rate=0.1)])
    return made


def home(folder):
    policy = read(folder)
    return policy.env["use"], {k: v for k, v in policy.env.items() if k != "use"}


# -- the network ---------------------------------------------------------------------------------------------------


def torchs(model, seen, mask, states, first):
    """The distribution of each part of an action, by the library; and the recurrent state."""
    seen = torch.as_tensor(seen.reshape(-1, seen.shape[-1]))
    with torch.no_grad():
        if hasattr(model.policy, "q_net"):
            return model.policy.q_net(seen).numpy(), None
        if hasattr(model.policy, "lstm_actor"):
            found, states = model.policy.get_distribution(seen, states, torch.full((len(seen),), float(first)))
        elif mask is not None:
            found = model.policy.get_distribution(seen, action_masks=mask.reshape(len(seen), -1))
        else:
            found = model.policy.get_distribution(seen)
    law = found.distribution if hasattr(found, "distribution") else found.distributions
    if isinstance(law, torch.distributions.Bernoulli):
        return torch.stack([1 - law.probs, law.probs], -1).reshape(len(seen), -1).numpy(), states
    parts = law if isinstance(law, list) else getattr(found, "distributions", None) or [law]
    return torch.cat([part.probs for part in parts], -1).numpy(), states


FORMS = [
    *((algo, "CoopNetwork-v0", NET, {"actions": "discrete"}) for algo in MODELS),
    *(
        (algo, *HOMES["exploration"], {"actions": form})
        for algo in ("ppo", "recurrent-ppo", "maskable-ppo")
        for form in ("multidiscrete", "native")
    ),
    *((algo, *HOMES["feedback"], {"actions": "multidiscrete"}) for algo in ("a2c", "maskable-ppo")),
]


@pytest.mark.parametrize(("algo", "id", "params", "task"), FORMS, ids=lambda x: x if isinstance(x, str) else "")
def test_the_network_is_torchs_to_a_hundred_thousandth(algo, id, params, task):
    venv = make_sb3(id, 2, **task, **params)
    model = shaken(build(algo, venv, HYPER[algo], 0))
    weights, net = arrays(model)
    kind, heads = heads_of(venv.action_space)
    policy = Learned(
        algorithm=algo, setting="", env={}, options={}, parts=parts_of(venv.rows.task), kind=kind, heads=heads,
        layers=tuple(net["layers"]), activation=net["activation"], lstm=net["lstm"], deterministic=False,
        masked=MODELS[algo].masked, beats=1, weights={k: v.astype(float) for k, v in weights.items()}, told={},
    )  # fmt: skip
    player = Network(policy)
    player.reset([np.random.SeedSequence(0)] * 2, "x")
    states = model._last_lstm_states.pi if algo == "recurrent-ppo" else None
    venv.seed(0)
    seen, rng, m = venv.reset(), np.random.default_rng(0), params["n_agents"]
    for t in range(8):
        mask = np.stack(venv.action_masks())
        theirs, states = torchs(model, seen, mask if policy.masked else None, states, t == 0)
        scores = player.logits(seen.reshape(2, m, -1)).reshape(2 * m, -1)
        if algo == "dqn":
            np.testing.assert_allclose(scores, theirs, atol=1e-5)
            action = scores.argmax(1)
        else:
            if policy.masked:
                scores = np.where(mask, scores, -np.inf)
            parts = np.split(scores, np.cumsum(heads)[:-1], axis=1)
            ours = [np.exp(p - p.max(1, keepdims=True)) for p in parts]
            ours = [p / p.sum(1, keepdims=True) for p in ours]
            np.testing.assert_allclose(np.concatenate(ours, 1), theirs, atol=1e-5)
            action = np.stack([(p.cumsum(1) < rng.random((2 * m, 1))).sum(1) for p in ours], 1)
            action = np.minimum(action, np.array(heads) - 1)
            action = action[:, 0] if kind == "Discrete" else action
        seen, *_ = venv.step(action)


def test_actions_are_drawn_as_the_softmax_says_and_what_is_masked_never():
    policy = Learned(
        algorithm="maskable-ppo", setting="", env={}, options={}, parts=(("x", 1, None, None),), kind="MultiDiscrete",
        heads=(3, 2), layers=(), activation="tanh", lstm=0, deterministic=False, masked=True, beats=1,
        weights={"head.weight": np.zeros((5, 1)), "head.bias": np.log([1.0, 2.0, 3.0, 1.0, 3.0])}, told={},
    )  # fmt: skip
    player = Network(policy)
    player.reset(hb.run_seeds(0, 4000), "agent/x")
    seen, mask = np.zeros((4000, 2, 1)), np.ones((4000, 2, 5), bool)
    mask[:, 1, 2] = False
    drawn = np.concatenate([player.choose(seen, mask) for _ in range(10)])
    # 40,000 draws: an honest share is within 5 of its standard errors but for 1e-6
    for agent, head, law in ((0, 0, [1 / 6, 2 / 6, 3 / 6]), (1, 0, [1 / 3, 2 / 3, 0]), (0, 1, [1 / 4, 3 / 4])):
        share = np.bincount(drawn[:, agent, head], minlength=len(law)) / len(drawn)
        np.testing.assert_allclose(share, law, atol=5 * 0.5 / np.sqrt(len(drawn)))
    assert not (drawn[:, 1, 0] == 2).any()
    exact = Network(policy, deterministic=True)
    exact.reset(hb.run_seeds(0, 2), "agent/x")
    assert exact.choose(seen[:2], mask[:2])[:, :, 0].tolist() == [[2, 1], [2, 1]]


# -- the game ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["network", "exploration", "feedback", "recurrent-ppo", "masked", "bits", "huber"])
def test_the_agent_plays_what_was_scored_in_training(folders, case):
    """The harness's own loop leads to the learner's metrics, to the last bit of the mean."""
    told = read(folders[case]).told
    asked, last = told["training"]["asked"], told["training"]["curve"][-1]
    wrappers = [hb.make_wrapper(w["use"], **{k: v for k, v in w.items() if k != "use"}) for w in told["wrappers"]]
    core = hb.make_core(asked["id"], 2, wrappers=wrappers, permute_arms=True, **asked["env"])
    found = hb.play(core, Trained(folders[case]), asked["seed"] + (1 << 64))
    for name, value in last["metrics"].items():
        assert found[name].mean() == value


def test_the_two_games_differ_and_luck_is_left_out_where_asked(folders):
    def regret(**given):
        team = Trained(folders["network"], **given)
        return hb.play(hb.make_core("CoopNetwork-v0", 4, **NET), team, 0)["agent_regret"]

    assert not np.array_equal(regret(), regret(deterministic=True))
    assert np.array_equal(regret(deterministic=True), regret(deterministic=True))
    id, params = home(folders["exploration"])
    once, twice = (
        hb.play(hb.make_core(id, 8, **params), Trained(folders["exploration"], beats=beats), 0) for beats in (1, 2)
    )
    assert not np.array_equal(once["rounds"], twice["rounds"])


def test_other_numbers_of_agents_are_welcome_where_none_is_named(folders, tmp_path):
    found = hb.evaluate("CoopNetwork-v0", f"sb3:{folders['network']}", runs=2, env={**NET, "n_agents": 7})
    assert found.final("agent_regret").shape == (2, 7)
    named = trained(tmp_path / "named", task={"agent_id": True})
    with pytest.raises(ValueError, match="with 3 numbers in \\[0, 1\\] as 'agent_id', and here are 7 numbers"):
        hb.evaluate("CoopNetwork-v0", f"sb3:{named}", runs=2, env={**NET, "n_agents": 7})


MISMATCHES = {
    "arms": ("network", "CoopNetwork-v0", {**NET, "n_arms": 4, "means": (0.9, 0.5, 0.1, 0.1)}, (), "with 3 numbers in"),
    "behind Huber": ("network", "CoopNetwork-v0", NET, ("Huber",), "as 'heard_mean', and here are 3 numbers in \\[-1"),
    "not behind Huber": ("huber", "CoopNetwork-v0", NET, (), "as 'heard_mean', and here are 3 numbers in \\[0"),
    "blocks": ("feedback", "DistDP-v0", {**HOMES["feedback"][1], "horizon": 4000}, (), "to act in Discrete\\(18"),
    "no horizon": ("exploration", "DPMASE-v0", {"n_agents": 6}, (), "give the env a horizon"),
    "setting": ("network", "DPMASE-v0", HOMES["exploration"][1], (), "plays the network setting; DPMASE-v0 is explor"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISMATCHES)
def test_an_env_that_shows_something_else_is_refused_in_a_sentence(folders, case):
    which, id, params, wrappers, message = MISMATCHES[case]
    with pytest.raises(ValueError, match=message) as error:
        hb.evaluate(id, f"sb3:{folders[which]}", runs=1, env=params, wrappers=wrappers)
    assert "\n" not in str(error.value)


def test_it_stands_wherever_an_agents_name_may(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").symlink_to(folders["network"])
    lines = [Use("sb3:here"), Use("sb3:here", beats=2), Use("sb3:here", deterministic=True, label="no luck")]
    experiment = Experiment(
        name="x", title="X", env=Use("CoopNetwork-v0", **NET), agents=["UCB1", *lines], runs=4, metrics=["regret"]
    )
    assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment
    before = hb.source_digests([experiment])
    assert list(before) == ["sb3:here"]
    assert {*hb.run(experiment, tmp_path / "out").results.labels} == {*experiment.lines()}
    (tmp_path / "other").mkdir()
    for path in folders["network"].iterdir():
        (tmp_path / "other" / path.name).write_bytes(path.read_bytes() + b"\n" * (path.suffix == ".json"))
    (tmp_path / "here").unlink()
    (tmp_path / "here").symlink_to(tmp_path / "other")
    assert hb.source_digests([experiment]) != before


def test_it_is_declared_what_it_measures(folders):
    team = Trained(folders["network"])
    env = hb.make_core("CoopNetwork-v0", 2, **NET)
    assert hb.play(env, team, 0).keys() <= gathered(env, team).keys()
    assert not hb.privacy(env, team).lines[0].epsilon < np.inf


def test_it_is_played_without_torch(folders):
    code = (
        "import sys\nsys.modules['torch'] = sys.modules['stable_baselines3'] = None\nimport hushbandits as hb\n"
        f"print(hb.evaluate('CoopNetwork-v0', 'sb3:{folders['network']}', runs=1, env={NET!r}).final('regret').shape)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "(1,)\n"


# -- the policies that ship ----------------------------------------------------------------------------------------

SHIPPED = {
    "PPO-CoopNetwork": ("CoopNetwork-Train-v0", {}),
    "MaskablePPO-DPMASE": ("DPMASE-Train-v0", {}),
    "PPO-DistDP": ("DistDP-Train-v0", {}),
    "ES-CoopNetwork": ("CoopNetwork-Train-v0", {}),
    "ES-DPMASE": ("DPMASE-Train-v0", {}),
    "ES-DistDP": ("DistDP-Train-v0", {}),
    "ES-DistDP-Tight": ("DistDP-Train-Tight-v0", {}),
}


def test_the_shipped_policies_are_small_and_say_how_they_were_made():
    folders = [hb.make_team(name).policy for name in SHIPPED]
    for (id, _), policy in zip(SHIPPED.values(), folders, strict=True):
        training = policy.told["training"]
        assert policy.env == {"use": id}
        assert training["complete"]
        assert training["command"].startswith(f"hushbandits train {id} --algo {policy.algorithm} --steps ")
        assert len(training["curve"]) == training["asked"]["evaluations"] + 1
    data = Path(hb.__file__).parent / "data" / "policies"
    assert sum(path.stat().st_size for path in data.rglob("*")) < 1_000_000
    assert {path.suffix for path in data.rglob("*") if path.is_file()} == {".json", ".npz"}


def test_the_shipped_policy_of_the_network_loses_less_than_half_of_what_random_does():
    mine, random = (
        hb.evaluate("CoopNetwork-Train-v0", agent, runs=20, env={"permute_arms": True}).final("regret").mean()
        for agent in ("PPO-CoopNetwork", "Random")
    )
    assert mine < 0.5 * random
