"""Actions of a learner: their formats, masks and observations."""

import warnings

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.core.team import EnvView
from hushbandits.core.validation import choices, sample_mask
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.shuffle import Shuffle

GAMES = {
    "DPMASE-v0": {"n_agents": 4, "threshold": 2, "horizon": 40},
    "DecentralizedExploration-v0": {"n_agents": 4, "threshold": 2, "horizon": 40, "require_confidence": False},
    "CoopNetwork-v0": {"n_agents": 4, "horizon": 12},
    "DistDP-v0": {"n_agents": 2, "horizon": 300},
}
CODED = [(id, actions) for id in GAMES for actions in ("discrete", "multidiscrete", "native")]


@pytest.mark.parametrize(("id", "actions"), CODED)
def test_samples_within_the_mask_are_actions_and_the_rest_is_void(id, actions):
    """Actions of an agent with one unmasked choice have no effect; masked samples lie in the space."""
    view = hb.make(id, action_format=actions, metrics_in_info=True, **GAMES[id])
    space = view.action_space("agent_0")
    _, infos = view.reset(seed=1)
    while view.agents:
        masks = {agent: infos[agent]["action_mask"] for agent in view.agents}
        played = {}
        for m, agent in enumerate(view.agents):
            view.action_space(agent).seed(m + int(view.core.t[0]))
            played[agent] = view.action_space(agent).sample(masks[agent])
            assert view.action_space(agent).contains(played[agent])
        assert view.task.mask().shape == (1, len(view.agents), choices(space))
        if view.core.setting == "exploration":
            void = [m for m in range(4) if m != view.task.obs.active_agents[0, 0]]
            own = view.core.book.sent.copy()
            *_, infos = view.step(played)
            assert (view.core.book.sent == own)[0, void].all()
        else:
            *_, infos = view.step(played)
        assert "metrics" in infos["agent_0"]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 99), id=st.sampled_from(sorted(GAMES)))
def test_one_game_however_it_is_written(seed, id):
    """A discrete action equals its native form: the same rewards, observations and metrics."""
    env = {**GAMES[id], "permute_arms": True}
    one, two = (hb.make_batched(id, 3, **env).task(action_format=actions) for actions in ("discrete", "native"))
    one.reset(seed), two.reset(seed)
    one.observe(), two.observe()
    rng = np.random.default_rng(seed)
    while one.obs.running.any():
        mask = one.mask()
        action = (rng.random(mask.shape) * mask).argmax(-1)
        native = written(one, action)  # before the observation moves on
        np.testing.assert_array_equal(one.step(action), two.step(native))
        np.testing.assert_array_equal(one.observe(), two.observe())
    for name, value in one.core.metrics().items():
        np.testing.assert_array_equal(value, two.core.metrics()[name], err_msg=name)


def written(task, action):
    """Return the native form of a discrete action, by the docstrings."""
    core, k = task.core, task.core.n_arms
    if core.setting == "network":
        return action
    if core.setting == "feedback":
        j = int(np.log2(core.horizon)) + 1
        return np.stack([action // j, action % j], -1)
    now = task.state().reshape(*action.shape, -1)
    native = np.zeros((*action.shape, k + 1 if core.one_arm_per_step else 2 * k), np.int64)
    for seat in np.ndindex(*action.shape):
        a = action[seat]
        inside, cast = (now[seat][task.layout[part]] == 1 for part in ("active", "own_votes"))
        if core.one_arm_per_step:
            native[seat][0] = a if a < k else k
            if k <= a < 2 * k:
                native[seat][1 + a - k] = 1
        else:
            native[seat][:k] = [inside[i] and not cast[i] and i != a for i in range(k)]
            if a < k:
                native[seat][k + a] = 1
    return native


def test_an_agent_may_be_shown_who_it_is():
    for id, kwargs in GAMES.items():
        plain, named = hb.make(id, **kwargs), hb.make(id, agent_id=True, **kwargs)
        (old, _), (new, _) = plain.reset(seed=0), named.reset(seed=0)
        m = len(old)
        if plain.core.setting != "exploration":  # where one of them acts, they differ already
            assert all(np.array_equal(o, old["agent_0"]) for o in old.values())
        rows = np.stack(list(new.values()))
        np.testing.assert_array_equal(rows[:, named.layout["agent_id"]], np.eye(m))
        np.testing.assert_array_equal(rows[:, :-m], np.stack(list(old.values())))


@pytest.mark.parametrize("kwargs", [
    {"rewards": "gaussian", "means": [-3.0, 0.0, 50.0]}, {"wrappers": ["Huber"]}, {"wrappers": ["LocalLaplace"]},
])  # fmt: skip
def test_what_has_no_bounds_is_squashed_or_shown_as_it_is(kwargs):
    shown, plain = (
        hb.make("CoopNetwork-v0", squash_unbounded=n, n_agents=3, horizon=9, **kwargs) for n in (True, False)
    )
    box, raw = shown.observation_space("agent_0"), plain.observation_space("agent_0")
    assert (box.low >= -1).all()
    assert (box.high <= 1).all()
    assert np.isinf(raw.low).any()
    shown.reset(seed=0), plain.reset(seed=0)
    while shown.agents:
        actions = {agent: i % 3 for i, agent in enumerate(shown.agents)}
        one, two = shown.step(actions)[0]["agent_1"], plain.step(actions)[0]["agent_1"]
        wide = np.isinf(raw.low)
        np.testing.assert_allclose(one[wide], two[wide] / (1 + np.abs(two[wide])), rtol=1e-6)
        np.testing.assert_array_equal(one[~wide], two[~wide])


@pytest.mark.parametrize("wrappers", [(), (Huber(0.5), Loss(0.3)), (Shuffle(),)], ids=lambda ws: str(len(ws)))
@pytest.mark.parametrize("graph", ["path", "complete", "erdos-renyi"])
def test_slots_show_every_message_that_arrived(wrappers, graph):
    env = {"n_agents": 5, "horizon": 8, "graph": graph, "means": [0.9, 0.2, 0.1]}
    view = hb.make("CoopNetwork-v0", wrappers=wrappers, observe_messages=True, squash_unbounded=False, **env)
    view.reset(seed=3)
    heard, talk = [], view.core.communicate
    view.core.communicate = lambda message=None: heard.append(talk(message)) or heard[-1]
    rng = np.random.default_rng(0)
    while view.agents:
        observations, *_ = view.step({agent: int(rng.integers(3)) for agent in view.agents})
        inbox = heard[-1].inbox
        for m in range(5):
            there = inbox.arrived[0, m]
            expected = sorted(zip(inbox["arm"][0, m][there], inbox["reward"][0, m][there].astype("f4"), strict=True))
            o = observations[f"agent_{m}"]
            part = {name: o[view.layout[f"slot_{name}"]] for name in ("arrived", "arm", "reward")}
            n = int(part["arrived"].sum())
            assert part["arrived"].tolist() == [1] * n + [0] * (len(part["arrived"]) - n)  # padded behind
            bits = part["arm"].reshape(-1, 3)
            assert not bits[n:].any()
            assert sorted(zip(bits[:n].argmax(1), part["reward"][:n], strict=True)) == expected


def test_bits_beside_the_report_are_a_multidiscrete_action():
    said = {"bit": hb.Field(dtype="?"), "code": hb.Field((2,), "?")}
    given = {"n_agents": 3, "graph": "complete", "horizon": 5, "extra_fields": said}
    several, native = hb.make("CoopNetwork-v0", **given), hb.make("CoopNetwork-v0", action_format="native", **given)
    assert str(several.action_space("agent_0")) == "MultiDiscrete([10  2  2  2])"
    assert isinstance(native.action_space("agent_0"), spaces.Dict)
    several.reset(seed=0), native.reset(seed=0)
    rng = np.random.default_rng(0)
    while several.agents:
        rows = [np.array([rng.integers(10), *rng.integers(2, size=3)]) for _ in range(3)]
        one = several.step(dict(zip(several.agents, rows, strict=True)))
        spoken = [{"arm": row[0], "bit": row[1], "code": row[2:].astype(np.int8)} for row in rows]
        two = native.step(dict(zip(native.agents, spoken, strict=True)))
        assert one[1] == two[1]
        np.testing.assert_array_equal(list(one[0].values()), list(two[0].values()))
    floats = {**given, "extra_fields": {"x": hb.Field()}}
    assert isinstance(hb.make("CoopNetwork-v0", **floats).action_space("agent_0"), spaces.Dict)


def test_masks_fit_gymnasium():
    rng = np.random.default_rng(0)
    for space in (spaces.Discrete(4), spaces.MultiDiscrete([3, 2]), spaces.MultiBinary(5),
                  spaces.Dict({"arm": spaces.Discrete(3), "bit": spaces.MultiBinary(2)})):  # fmt: skip
        for _ in range(20):
            mask = rng.random(choices(space)) < 0.7
            mask[:] |= not mask.any() or not isinstance(space, spaces.Discrete)
            if isinstance(space, spaces.MultiBinary):
                mask[1] = False  # the first bit must be 0
            drawn = space.sample(sample_mask(space, mask))
            assert space.contains(drawn)
            if isinstance(space, spaces.Discrete):
                assert mask[drawn]
            if isinstance(space, spaces.MultiBinary):
                assert drawn[0] == 0


@pytest.mark.parametrize("id", sorted(GAMES))
def test_a_team_that_looks_through_the_face_sees_what_a_learner_sees(id):
    """The observations of a task need nothing that a team may not see."""
    core = hb.make_batched(id, 3, **GAMES[id])
    task = core.task(agent_id=True)
    task.reset(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        face = EnvView(core)
        other = face.rl_task(face, agent_id=True)
    other.begin(task.obs)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(task.observe(), other.observe())
    while task.obs.running.any():
        mask = task.mask()
        np.testing.assert_array_equal(mask, other.mask())
        action = (rng.random(mask.shape) * mask).argmax(-1)
        other.arms(other.decode(action))
        task.pull(action)
        other.pulled(task.obs)
        other.obs = task.obs
        other.words(other.decode(action))
        task.communicate(action)
        other.heard(task.obs)
        other.obs = task.obs
        np.testing.assert_array_equal(task.observe(), other.observe())


def test_options_of_a_reset_hold_for_one_episode():
    env = hb.make("CoopNetwork-v0", n_agents=4, means=[0.9, 0.1], graph="cycle", permute_arms=False)
    for _ in range(2):
        env.reset(seed=0, options={"means": [0.2, 0.6], "graph": "star"})
        assert env.core.means[0].tolist() == [0.2, 0.6]
        assert env.core.adjacency[0].sum(0).tolist() == [3, 1, 1, 1]
        env.reset(seed=0)
        assert env.core.means[0].tolist() == [0.9, 0.1]
        assert env.core.adjacency[0].sum(0).tolist() == [2, 2, 2, 2]


def test_a_game_that_nobody_can_win_says_which_numbers_decide():
    with pytest.warns(UserWarning, match=r"votes_needed=5 exceeds .* 4"):
        hb.make("DPMASE-v0", n_agents=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hb.make("DPMASE-v0")
        hb.make("DPMASE-v0", n_agents=5)


def test_an_env_that_hands_its_parameters_on_has_its_arms_shuffled_too():
    class Mine(hb.make_batched("CoopNetwork-v0").__class__):
        def __init__(self, own=1, **rest):
            super().__init__(**rest)

    assert hb.make(Mine).core.arms.permute
    assert not hb.make(Mine, permute_arms=False).core.arms.permute
