"""Steps of the PettingZoo view: rows of the batched env phase by phase, and the merged step."""

import math

import numpy as np
import pytest
from helpers import begin, build

import hushbandits as hb
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

# -- two phases: a row of the core ---------------------------------------------------------------------------------

NET = {"n_agents": 6, "graph": "erdos-renyi", "edge_probability": 0.5, "horizon": 25, "permute_arms": True}
VOTE = {"n_agents": 6, "agent_distribution": "power", "permute_arms": True, "horizon": 1000}
FAST = {"epsilon": 0.8, "beta": 0.3, "delta": 0.3}
PLAYERS = {"n_agents": 5, "means": [0.9, 0.3, 0.1], "permute_arms": True}
ROWS = {
    "multi": ("CoopNetwork-v0", "Multi-UCB", NET, {}, ()),
    "multi-wrapped": ("CoopNetwork-v0", "Multi-UCB", NET, {}, (Huber(0.3), Loss(0.2), Shuffle())),
    "private": ("CoopNetwork-v0", "Private-UCB", NET, {"epsilon": 0.5, "own_feedback": "true"}, (Loss(0.2),)),
    "withheld": ("CoopNetwork-v0", "Private-UCB", NET, {"epsilon": 0.5}, (Loss(0.2),)),
    "sealed": ("CoopNetwork-v0", "Multi-UCB", {**NET, "graph": "cycle"}, {}, (SecAgg(),)),
    "vote": ("DPMASE-v0", "DP-MASE", VOTE, FAST, ()),
    "vote-wrapped": ("DPMASE-v0", "DP-MASE", VOTE, FAST, (Loss(0.3), Shuffle(batch_window=8))),
    "players": ("DecentralizedExploration-v0", "Decentralized-SER3", PLAYERS, {"eta": 0.7, "delta": 0.3}, ()),
    "blocks": (
        "DistDP-v0",
        "Dist-DP-SE",
        {"horizon": 20_000, "n_agents": 2, "permute_arms": True},
        {"epsilon": 1.0},
        (Loss(0.05),),
    ),
}


def slots(inbox):
    return {"arrived": inbox.arrived, **{field: np.array(inbox[field]) for field in inbox.fields}}


def script(env, team, seeds):
    """Play a batch by phases; keep row 0's actions, messages, rewards and inboxes while it runs."""
    obs = begin(env, team, seeds)
    rounds = []
    while obs.running.any():
        live, action = bool(obs.running[0]), team.act(obs)
        arms = tuple(part[:1].copy() for part in action) if isinstance(action, tuple) else action[:1].copy()
        who = obs.active_agents[0].copy()
        obs = env.pull(action)
        reward = None if obs.reward is None else obs.reward[:1].copy()
        said = team.compose(obs.reward)
        votes = said["vote"][:1].copy() if said and "vote" in said else None
        obs = env.communicate(said)
        if live:
            rounds.append((who, arms, reward, votes, {k: v[:1] for k, v in slots(obs.inbox).items()}))
        team.receive(obs.inbox)
    return rounds


@pytest.mark.parametrize("case", ROWS)
def test_two_phases_replay_a_row_of_a_batch(case, monkeypatch):
    env_id, agent, env, agent_kwargs, wrappers = ROWS[case]
    batch, team = build(env_id, agent, 3, env, agent_kwargs, wrappers)
    rounds = script(batch, team, 11)
    name, kwargs, given = batch.spec
    view = hb.make(
        name, wrappers=given, two_phase=True, **{**kwargs, "action_format": "native", "squash_unbounded": False}
    )
    k, setting = batch.n_arms, batch.setting
    heard, kind = [], type(view.core)
    talk = kind.communicate  # set on the class: on the object it would be a user's hook, which invalidates guarantees
    monkeypatch.setattr(kind, "communicate", lambda core, message=None: heard.append(talk(core, message)) or heard[-1])
    view.reset(seed=11)
    pulls = np.zeros((batch.n_agents, k))
    served = np.zeros((1, batch.n_agents), int)
    still = np.zeros_like(view.action_space("agent_0").sample())
    for at, (who, arms, reward, votes, inbox) in enumerate(rounds):
        doing, saying = ({agent: still.copy() for agent in view.agents} for _ in range(2))
        if setting == "exploration":
            asked = arms[0, 0]  # a set, or one arm (k: none)
            doing[f"agent_{who[0]}"][:-k] = (asked.argmax() if asked.any() else k) if batch.one_arm_per_step else asked
            if votes is not None:
                saying[f"agent_{who[0]}"][-k:] = votes[0, 0]
            pulls[who[0]] += arms[0, 0]
        elif setting == "network":
            doing = {f"agent_{m}": int(arm) for m, arm in enumerate(arms[0])}
            pulls[np.arange(batch.n_agents), arms[0]] += 1
        else:  # a block that is no power of two was cut at the horizon, and so is the next power
            doing = {
                f"agent_{m}": np.array([a, math.ceil(math.log2(n))])
                for m, (a, n) in enumerate(zip(arms[0][0], arms[1][0], strict=True))
            }
        _, paid, *_ = view.step(doing)
        assert len(heard) == at
        if setting == "network":
            assert list(paid.values()) == ([0.0] * batch.n_agents if reward is None else reward[0].tolist())
        observations, paid, ends, cuts, infos = view.step(saying)
        found = slots(heard[-1].inbox)
        assert found.keys() == inbox.keys()
        for field, expected in inbox.items():
            width = found[field].shape[2]  # slots are padded to the widest run of the batch
            np.testing.assert_array_equal(found[field], expected[:, :, :width], err_msg=field)
        own = np.stack([observations[agent][view.layout["own_width"]] for agent in view.possible_agents])
        if setting == "feedback":
            pulls[np.arange(batch.n_agents), arms[0][0]] += heard[-1].inbox.total("n")[0]
            np.testing.assert_allclose(own, 1 / np.sqrt(1 + pulls), rtol=1e-5)
            decoded = heard[-1].inbox.total("reward") / np.maximum(1, heard[-1].inbox.total("n"))
            asked, served = view.core.served - served, view.core.served.copy()
            np.testing.assert_allclose(list(paid.values()), (decoded * asked / batch.horizon)[0], rtol=1e-12)
        else:
            if reward is None:  # what was published, in its place
                shown, seat = heard[-1].inbox.own, (np.arange(batch.n_agents), arms[0])
                known = shown["count"][0]
                np.testing.assert_allclose(list(paid.values()), (shown["mean"][0] * (known > 0))[seat], rtol=1e-12)
            np.testing.assert_allclose(own, 1 / np.sqrt(1 + (pulls if reward is not None else known)), rtol=1e-6)
    assert view.agents == []
    expected = {name: value[0] for name, value in batch.metrics().items()}
    for name, value in infos["agent_0"]["metrics"].items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    if setting == "exploration":
        assert all(ends.values()) == bool(expected["arms"] <= 1 or view.core.deserted[0])
    else:
        assert all(cuts.values())
        assert not any(ends.values())


# -- the merged step ----------------------------------------------------------------------------------------------


SHIFTED = {"rewards": "clipped-gaussian", "graph": "path", "hop_delay": 1, "max_hops": None}
TREE = {"rewards": "gaussian", "graph": "star", "routing": "tree"}
MERGED = [("multi", {}), ("multi", SHIFTED), ("multi", TREE), ("multi-wrapped", {}), ("private", {}), ("blocks", {})]


@pytest.mark.parametrize(("case", "change"), MERGED)
def test_a_merged_step_is_a_round_of_the_core(case, change):
    env_id, agent, env, agent_kwargs, wrappers = ROWS[case]
    core, _ = build(env_id, agent, 1, {**env, **change}, agent_kwargs, wrappers)
    name, kwargs, given = core.spec
    view = hb.make(name, wrappers=given, **kwargs)
    task = core.task()
    task.reset(4)
    observations, infos = view.reset(seed=4)
    total = np.zeros(core.n_agents)
    for space in map(view.action_space, view.agents):
        space.seed(5)
    while view.agents:
        assert {o[view.layout["acts"]].item() for o in observations.values()} <= {0, 1}
        actions = {agent: view.action_space(agent).sample(infos[agent]["action_mask"]) for agent in view.agents}
        action = np.array([list(actions.values())])
        earned = task.pull(action) + task.communicate(action)
        observations, paid, ends, cuts, infos = view.step(actions)
        assert list(paid.values()) == earned[0].tolist()
        total += earned[0]
        np.testing.assert_array_equal(list(observations.values()), task.observe()[0])
    assert all(cuts.values())
    assert not any(ends.values())
    for name, value in core.metrics().items():
        np.testing.assert_array_equal(infos["agent_0"]["metrics"][name], value[0])
    assert infos["agent_0"]["two_phase"] is False


def exploration(**kwargs):
    given = {"n_agents": 4, "horizon": 10, "threshold": 0, "action_format": "native", "permute_arms": False, **kwargs}
    view = hb.make("DPMASE-v0", **given)
    observations, _ = view.reset(seed=2)
    return view, observations


def flagged(view, observations, flag):
    return [agent for agent, o in observations.items() if o[view.layout[flag]] == 1]


def test_merged_exploration_names_who_acts_and_speaks():
    view, observations = exploration(threshold=3)
    uniforms = hb.make_batched("DPMASE-v0", n_agents=4, horizon=10, threshold=3, permute_arms=False)
    obs = uniforms.reset(2)
    voted = set()
    for _ in range(9):
        (actor,) = flagged(view, observations, "acts")
        assert actor == f"agent_{obs.active_agents[0, 0]}"
        assert flagged(view, observations, "speaks") == [actor]
        arms = np.random.default_rng(3).random(20) < 0.5
        actions = {agent: np.ones(20, np.int8) for agent in view.agents}  # without effect, except the active agent's
        actions[actor][:] = [*arms[:10], 0, 0, 1, *[0] * 7]
        observations, paid, *_ = view.step(actions)
        voted.add(actor)
        reward = uniforms.pull(arms[None, None, :10]).reward[0, 0]
        mean = observations[actor][view.layout["own_mean"]]
        assert set(paid.values()) == {-0.1}
        assert ((mean > 0) <= (arms[:10] & (reward >= 0))).all()
        obs = uniforms.communicate()
    seen = {agent for agent, o in observations.items() if o[view.layout["own_votes"]][2] == 1}
    assert seen == voted
    assert view.core.votes[0].tolist() == [0, 0, len(voted), *[0] * 7]
    assert len(voted) >= 2


@pytest.mark.parametrize(("kept", "verdict"), [(0, 1.0), (1, -1.0), (None, -1.0)])
def test_merged_exploration_ends_with_the_vote_that_decides(kept, verdict):
    view, _ = exploration()
    everything = {agent: np.array([1] * 10 + [k != kept for k in range(10)], np.int8) for agent in view.agents}
    _, paid, ends, cuts, infos = view.step(everything)
    assert set(paid.values()) == {verdict - 0.1}
    assert all(ends.values())
    assert not any(cuts.values())
    assert infos["agent_0"]["metrics"]["rounds"] == 1
    assert infos["agent_0"]["metrics"]["correct"] is (kept == 0)


def test_exploration_ends_when_everyone_has_left_and_at_its_horizon():
    view, _ = exploration()
    for step in range(1, 5):
        _, paid, ends, cuts, infos = view.step({agent: np.zeros(20, np.int8) for agent in view.agents})
        assert all(ends.values()) == (step == 4)
        assert set(paid.values()) == {-1.0 if step == 4 else 0.0}  # the step that ends a run is no round
    assert infos["agent_0"]["metrics"]["inconclusive"] is True
    view, _ = exploration(inactive_agents="keep")
    total = 0.0
    for step in range(1, 11):
        _, paid, ends, cuts, _ = view.step({agent: np.zeros(20, np.int8) for agent in view.agents})
        total += paid["agent_0"]
        assert all(cuts.values()) == (step == 10)
    assert not any(ends.values())
    assert total == pytest.approx(-2.0)


def test_oracle_rewards_are_the_true_means_and_labelled():
    view = hb.make("DistDP-v0", horizon=40, n_agents=2, n_arms=3, reward_source="oracle", action_format="native")
    _, infos = view.reset(seed=0)
    assert infos["agent_1"]["reward_source"] == "oracle"
    _, rewards, _, _, infos = view.step({"agent_0": np.array([2, 5]), "agent_1": np.array([1, 5])})
    assert list(rewards.values()) == (view.core.means[0, [2, 1]] * (32 / 40)).tolist()
    assert infos["agent_1"]["reward_source"] == "oracle"
    _, rewards, _, cuts, _ = view.step({"agent_0": np.array([0, 2]), "agent_1": np.array([0, 3])})
    assert not any(cuts.values())  # agent_0 still has four users
    _, rewards, _, cuts, _ = view.step({"agent_0": np.array([1, 3]), "agent_1": np.array([0, 0])})
    assert list(rewards.values()) == [view.core.means[0, 1] * (4 / 40), 0.0]
    assert all(cuts.values())


def test_extra_fields_travels_beside_the_report():
    fields = {"bit": hb.Field(dtype="?"), "code": hb.Field((2,), "f4")}
    view = hb.make("CoopNetwork-v0", n_agents=3, graph="complete", horizon=4, extra_fields=fields)
    view.reset(seed=0)
    rng = np.random.default_rng(0)
    for t in range(1, 5):
        bits, codes = rng.integers(0, 2, 3), rng.uniform(-1, 1, (3, 2)).astype(np.float32)
        actions = {f"agent_{m}": {"arm": 0, "bit": bits[m], "code": codes[m]} for m in range(3)}
        observations, *_ = view.step(actions)
        for m in range(3):
            o = observations[f"agent_{m}"]
            np.testing.assert_allclose(o[view.layout["heard_bit"]], (bits.sum() - bits[m]) / 2)
            np.testing.assert_allclose(o[view.layout["heard_code"]], (codes.sum(0) - codes[m]) / 2, atol=1e-6)
            assert o[view.layout["heard_width"]][0] == pytest.approx((1 + 2 * t) ** -0.5)


def test_an_action_of_another_library_is_taken_as_numpy_has_it():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.array(1, dtype)

    class Elsewhere:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("on another device")

    env = hb.make("CoopNetwork-v0", n_agents=2, horizon=5)
    env.reset(seed=0)
    env.step({agent: Tensor() for agent in env.agents})
    with pytest.raises(ValueError, match="Elsewhere"):
        env.step({agent: Elsewhere() for agent in env.agents})
