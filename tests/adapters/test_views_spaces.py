"""The PettingZoo view's spaces, seeds and cycles, and its errors for invalid input."""

import numpy as np
import pytest
from helpers import act

import hushbandits as hb

#: With 3 agents a vote can decide.
FEW = {"DPMASE-v0": {"threshold": 1}}

# -- spaces, seeds, cycles ----------------------------------------------------------------------------------------


def test_action_spaces():
    spaces = {"discrete": "Discrete(4)", "multidiscrete": "MultiDiscrete([2 2 2 2 2 2])", "native": "MultiBinary(6)"}
    for actions, space in spaces.items():
        assert str(hb.make("DPMASE-v0", means=[0.5, 0.4, 0.1], action_format=actions).action_space("agent_0")) == space
    assert str(hb.make("CoopNetwork-v0").action_space("agent_0")) == "Discrete(10)"
    for horizon, powers in ((1, 1), (1000, 10), (1023, 10), (1024, 11)):
        space = hb.make("DistDP-v0", horizon=horizon, n_arms=4, action_format="multidiscrete").action_space("agent_0")
        assert space.nvec.tolist() == [4, powers]


def test_spaces_are_small_flat_homogeneous_and_each_agents_own():
    for env_id in hb.list_envs():
        votes = (
            {"threshold": 1, "require_confidence": False} if hb.make_batched(env_id).setting == "exploration" else {}
        )
        env = hb.make(env_id, n_agents=4, **votes)
        assert env.possible_agents == ["agent_0", "agent_1", "agent_2", "agent_3"]
        box, other = env.observation_space("agent_0"), env.observation_space("agent_1")
        assert box == other
        assert box.dtype == np.float32
        features = env.core.n_arms * getattr(env.core, "n_features", 0)
        heard = len(getattr(env.core, "message_rounds", ())) * (env.core.n_arms + 1)
        assert box.shape[0] <= 5 * env.core.n_arms + 3 + features + heard
        assert sorted((part.start, part.stop) for part in env.layout.values())[-1][1] == box.shape[0]
        assert np.isfinite([box.low, box.high]).all() or features  # whose estimates have no bound
        assert env.state_space.shape == (4 * box.shape[0],)
        space, apart = env.action_space("agent_0"), env.action_space("agent_1")
        assert space is env.action_space("agent_0")
        assert space is not apart
        apart.seed(1)
        expected = [apart.sample() for _ in range(5)]
        apart.seed(1)
        space.seed(2)
        space.sample()
        assert all(np.array_equal(a, apart.sample()) for a in expected)


def test_reset_with_and_without_a_seed():
    env = hb.make("CoopNetwork-v0", n_agents=4, n_arms=5, means=hb.UniformMeans(0.1, 0.9))
    means = []
    for seed in (3, None, None, 3, None, None, None):
        env.reset(seed=seed, options={"options": 1})  # PettingZoo's tests say so
        means.append(env.core.means[0].tolist())
    assert means[:3] == means[3:6]  # the stream continues, and a seed repeats it
    assert len({tuple(m) for m in means}) == 4
    row = hb.make_batched("CoopNetwork-v0", n_agents=4, n_arms=5, means=hb.UniformMeans(0.1, 0.9), permute_arms=True)
    row.reset(3)
    assert row.means[0].tolist() == means[0]
    before = np.random.get_state()
    env.reset()
    env.step(act(env))
    assert all(np.array_equal(a, b) for a, b in zip(before, np.random.get_state(), strict=True))


def test_an_episode_can_be_cut_at_any_time():
    env = hb.make("CoopNetwork-v0", n_agents=4, horizon=50, max_cycles=9)
    env.reset(seed=0)
    for _ in range(3):
        env.step(act(env))
    env.max_cycles = 5
    env.step(act(env))
    *_, cuts, _ = env.step(act(env))
    assert all(cuts.values())
    assert env.agents == []
    assert env.core.t[0] == 5  # the last round had its communication phase
    env.max_cycles = None
    env.reset(seed=0)
    steps = 0
    while env.agents:
        env.step(act(env))
        steps += 1
    assert steps == 50


@pytest.mark.parametrize("env_id", ["DPMASE-v0", "CoopNetwork-v0", "DistDP-v0"])
def test_what_was_returned_belongs_to_the_caller(env_id):
    env, twin = (
        hb.make(env_id, n_agents=3, max_cycles=6, action_format="native", **FEW.get(env_id, {})) for _ in range(2)
    )
    observations, infos = env.reset(seed=0)
    twin.reset(seed=0)
    for step in range(1, 7):
        if env.core.setting == "exploration":
            actions = {agent: np.array([1] * 10 + [step == 3] + [0] * 9, np.int8) for agent in env.agents}
        else:
            actions = dict.fromkeys(env.agents, np.array([step, 3]) if env.core.setting == "feedback" else step)
        for row in observations.values():
            row[:] = -7
        env.state()[:] = -7
        infos["agent_0"]["mine"] = True
        observations, _, _, _, infos = env.step(actions)
        expected, *_ = twin.step(actions)
        assert infos["agent_1"].keys() == ({"two_phase", "metrics"} if step == 6 else {"action_mask"})
        for agent, row in observations.items():
            np.testing.assert_array_equal(row, expected[agent])
        np.testing.assert_array_equal(env.state(), np.concatenate(list(observations.values())))
    infos["agent_0"]["metrics"].clear()
    assert infos["agent_1"]["metrics"]


def test_an_agent_sees_all_the_votes_it_has_cast():
    env = hb.make(
        "DPMASE-v0", n_agents=1, threshold=1, vote_rule=">=", action_format="native", termination="horizon", horizon=50
    )
    env.reset(seed=0)
    for arm, expected in ((2, [2]), (7, [2, 7]), (2, [2, 7])):
        observations, *_ = env.step({"agent_0": np.array([1] * 10 + [k == arm for k in range(10)], np.int8)})
        assert np.flatnonzero(observations["agent_0"][env.layout["own_votes"]]).tolist() == expected
    assert env.metrics()["messages"] == 2


# -- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env_id", "bad"), [("CoopNetwork-v0", 10), ("DPMASE-v0", np.zeros(19, np.int8)), ("DistDP-v0", np.array([0, 20]))]
)
def test_an_action_outside_its_space_changes_nothing(env_id, bad):
    env, twin = (hb.make(env_id, n_agents=3, action_format="native", **FEW.get(env_id, {})) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    actions = act(env)
    with pytest.raises(ValueError, match=r"^action .* of agent_2 lies outside its space"):
        env.step({**actions, "agent_2": bad})
    one, two = env.step(actions), twin.step(actions)
    assert one[1] == two[1]
    np.testing.assert_array_equal(env.state(), twin.state())


def test_actions_may_be_spelled_in_any_way_their_space_contains():
    env = hb.make("DPMASE-v0", n_agents=2, threshold=1, action_format="native")
    env.reset(seed=0)
    env.step({"agent_0": [1] * 20, "agent_1": np.ones(20)})
    assert env.core.t[0] == 1
    env = hb.make("CoopNetwork-v0", n_agents=2)
    env.reset(seed=0)
    env.step({"agent_0": np.int8(3), "agent_1": np.array(4)})
    assert env.task.arm.tolist() == [[3, 4]]
