"""The PettingZoo view: PettingZoo's own tests, the core's rows beat by beat, the merged step, errors, pictures."""

import copy
import math
import runpy
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pettingzoo
import pytest
from helpers import build
from pettingzoo.test import parallel_api_test, parallel_seed_test, render_test
from pettingzoo.test.max_cycles_test import max_cycles_test
from pettingzoo.utils.conversions import parallel_to_aec

import hushbandits as hb
from hushbandits import registry
from hushbandits.envs.network import CoopNetwork
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

WRAPPED = {
    "exploration": [(), (Loss(0.2),), (Loss(0.2), Shuffle(window=6)), (SecAgg(window=5),)],
    "network": [(), (Huber(0.2), Loss(0.1), Shuffle()), (LocalLaplace(1.0), SecAgg(bound=64)), (PrivateMeans(),)],
    "feedback": [(), (Huber(0.1), Loss(0.1))],
}


def wrapped(env_id):
    """Tuples of wrappers that fit: an id that brings its own takes none that ask for what those replace."""
    env = hb.make_vec(env_id)
    return [(), (Loss(0.2),)] if env.wrappers and env.setting != "feedback" else WRAPPED[env.setting]


EVERY = [(env_id, wrappers) for env_id in hb.list_envs() for wrappers in wrapped(env_id)]


def by_name(value):
    return "+".join(w.name for w in value) if isinstance(value, tuple) else str(value)


def act(env):
    return {agent: env.action_space(agent).sample() for agent in env.agents}


# -- PettingZoo's own tests (warnings are errors here) ------------------------------------------------------------


@pytest.mark.parametrize("beats", [1, 2])
@pytest.mark.parametrize(("env_id", "wrappers"), EVERY, ids=by_name)
def test_pettingzoo_finds_nothing(env_id, wrappers, beats):
    parallel_api_test(hb.make(env_id, wrappers=wrappers, beats=beats), num_cycles=150)
    parallel_seed_test(lambda: hb.make(env_id, wrappers=wrappers, beats=beats), num_cycles=20)


@pytest.mark.parametrize("env_id", hb.list_envs())
def test_pettingzoo_makes_and_cuts_it(env_id):
    def parallel_env(**kwargs):
        return pettingzoo.make("parallel", f"hushbandits/{env_id}", **kwargs)

    assert isinstance(parallel_env().unwrapped, pettingzoo.ParallelEnv)
    assert str(parallel_env()) == f"hushbandits/{env_id}"
    assert type(parallel_env().core) is type(hb.make(env_id).core)
    # 60 users or fewer: then a random episode of feedback is longer than the four cycles of the test.
    assert parallel_env(max_cycles=3).max_cycles == 3
    if parallel_env().core.setting != "feedback":
        max_cycles_test(
            SimpleNamespace(parallel_env=parallel_env, env=lambda **kw: parallel_to_aec(parallel_env(**kw)))
        )


@pytest.mark.parametrize("env_id", ["DPMASE-v0", "CoopNetwork-v0", "DistDP-v0"])
def test_pettingzoo_renders_it(env_id):
    matplotlib.use("agg")
    render_test(lambda render_mode: parallel_to_aec(hb.make(env_id, n_agents=4, render_mode=render_mode)))


# -- two beats: a row of the core ---------------------------------------------------------------------------------

NET = {"n_agents": 6, "graph": "erdos-renyi", "edge_probability": 0.5, "horizon": 25, "permute_arms": True}
VOTE = {"n_agents": 6, "agent_distribution": "power", "permute_arms": True, "horizon": 3000}
FAST = {"epsilon": 0.8, "beta": 0.3, "delta": 0.3}
PLAYERS = {"n_agents": 5, "means": [0.9, 0.3, 0.1], "permute_arms": True}
ROWS = {
    "multi": ("CoopNetwork-v0", "Multi-UCB", NET, {}, ()),
    "multi-wrapped": ("CoopNetwork-v0", "Multi-UCB", NET, {}, (Huber(0.3), Loss(0.2), Shuffle())),
    "private": ("CoopNetwork-v0", "Private-UCB", NET, {"epsilon": 0.5}, (Loss(0.2),)),
    "sealed": ("CoopNetwork-v0", "Multi-UCB", {**NET, "graph": "cycle"}, {}, (SecAgg(),)),
    "vote": ("DPMASE-v0", "DP-MASE", VOTE, FAST, ()),
    "vote-wrapped": ("DPMASE-v0", "DP-MASE", VOTE, FAST, (Loss(0.3), Shuffle(window=8))),
    "players": ("DecentralizedExploration-v0", "Decentralized-SER3", PLAYERS, {"eta": 0.7, "delta": 0.3}, ()),
    "blocks": ("DistDP-v0", "Dist-DP-SE", {"horizon": 20_000, "n_agents": 2}, {"epsilon": 1.0}, (Loss(0.05),)),
}


def slots(inbox):
    return {"arrived": inbox.arrived, **{field: np.array(inbox[field]) for field in inbox.fields}}


def script(env, team, seeds):
    """Play a batch by the beats; keep row 0's actions, messages, rewards and inboxes while it is live."""
    obs = env.reset(seeds)
    team.reset(env, env.seeds)
    rounds = []
    while obs.live.any():
        live, action = bool(obs.live[0]), team.act(obs)
        arms = tuple(part[:1].copy() for part in action) if isinstance(action, tuple) else action[:1].copy()
        who = obs.who[0].copy()
        obs = env.pull(action)
        reward = obs.reward[:1].copy()
        said = team.speak(obs.reward)
        votes = said["vote"][:1].copy() if said and "vote" in said else None
        obs = env.talk(said)
        if live:
            rounds.append((who, arms, reward, votes, {k: v[:1] for k, v in slots(obs.inbox).items()}))
        team.hear(obs.inbox)
    return rounds


@pytest.mark.parametrize("case", ROWS)
def test_two_beats_replay_a_row_of_a_batch(case):
    env_id, agent, env, agent_kwargs, wrappers = ROWS[case]
    batch, team = build(env_id, agent, 3, env, agent_kwargs, wrappers)
    rounds = script(batch, team, 11)
    name, kwargs, given = batch.recipe
    view = hb.make(name, wrappers=given, beats=2, **kwargs)
    k, setting = batch.n_arms, batch.setting
    heard, talk = [], view.core.talk
    view.core.talk = lambda message=None: heard.append(talk(message)) or heard[-1]
    view.reset(seed=11)
    pulls = np.zeros((batch.n_agents, k))
    still = np.zeros_like(view.action_space("agent_0").sample())
    for at, (who, arms, reward, votes, inbox) in enumerate(rounds):
        doing, saying = ({agent: still.copy() for agent in view.agents} for _ in range(2))
        if setting == "exploration":
            asked = arms[0, 0]  # a set, or one arm (k: none)
            doing[f"agent_{who[0]}"][:-k] = (asked.argmax() if asked.any() else k) if batch.single else asked
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
            assert list(paid.values()) == reward[0].tolist()
        observations, paid, ends, cuts, infos = view.step(saying)
        found = slots(heard[-1].inbox)
        assert found.keys() == inbox.keys()
        for field, expected in inbox.items():
            width = found[field].shape[2]  # slots are padded to the widest run of the batch
            np.testing.assert_array_equal(found[field], expected[:, :, :width], err_msg=field)
        if setting == "feedback":
            decoded = heard[-1].inbox.total("reward") / np.maximum(1, heard[-1].inbox.total("n"))
            assert list(paid.values()) == decoded[0].tolist()
        else:
            own = np.stack([observations[agent][view.layout["own_width"]] for agent in view.possible_agents])
            np.testing.assert_allclose(own, 1 / np.sqrt(1 + pulls), rtol=1e-6)
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


def test_merged_network_hears_one_round_later_and_talks_inside_the_last_step():
    kwargs = {"n_agents": 5, "graph": "path", "horizon": 12, "life": 3}
    arms = np.random.default_rng(0).integers(0, 10, (12, 5))
    core = hb.make_vec("CoopNetwork-v0", **kwargs)
    core.reset(4)
    rewards, heard = [], [np.zeros((5, 10))]
    for arm in arms:
        rewards.append(core.pull(arm[None]).reward[0].copy())
        heard.append(heard[-1] + core.talk().inbox.tally()[0][0])
    view = hb.make("CoopNetwork-v0", **kwargs)
    observations, _ = view.reset(seed=4)
    assert [o[view.layout["speaks"]].item() for o in observations.values()] == [0] * 5  # nothing pulled, nothing to say
    for t, arm in enumerate(arms, 1):
        observations, paid, ends, cuts, infos = view.step({f"agent_{m}": k for m, k in enumerate(arm)})
        assert list(paid.values()) == rewards[t - 1].tolist()
        after = heard[t] if t == 12 else heard[t - 1]
        width = np.stack([o[view.layout["heard_width"]] for o in observations.values()])
        np.testing.assert_allclose(width, 1 / np.sqrt(1 + after), rtol=1e-6)
        assert {o[view.layout["time"]].item() for o in observations.values()} == {np.float32(t / 12)}
        assert set(cuts.values()) == {t == 12}
        assert not any(ends.values())
    assert view.agents == []
    for name, value in core.metrics().items():
        np.testing.assert_array_equal(infos["agent_3"]["metrics"][name], value[0])
    assert infos["agent_3"]["beats"] == 1


def exploration(**kwargs):
    view = hb.make("DPMASE-v0", **{"n_agents": 4, "horizon": 10, "threshold": 0, **kwargs})
    observations, _ = view.reset(seed=2)
    return view, observations


def flagged(view, observations, flag):
    return [agent for agent, o in observations.items() if o[view.layout[flag]] == 1]


def test_merged_exploration_names_who_acts_and_who_speaks():
    view, observations = exploration(threshold=3)
    luck = hb.make_vec("DPMASE-v0", n_agents=4, horizon=10, threshold=3)
    obs = luck.reset(2)
    speaker = []
    for _ in range(9):
        (actor,) = flagged(view, observations, "acts")
        assert actor == f"agent_{obs.who[0, 0]}"
        assert flagged(view, observations, "speaks") == speaker
        arms = np.random.default_rng(3).random(20) < 0.5
        actions = {agent: np.zeros(20, np.int8) for agent in view.agents}
        actions[actor][:10] = arms[:10]
        if speaker:
            actions[speaker[0]][12] = 1
            others = [agent for agent in view.agents if agent not in (*speaker, actor)]
            actions[others[0]][:] = 1  # neither acts nor speaks: void
        observations, paid, *_ = view.step(actions)
        reward = luck.pull(arms[None, None, :10]).reward[0, 0]
        mean = observations[actor][view.layout["own_mean"]]
        assert set(paid.values()) == {-0.1}
        assert ((mean > 0) <= (arms[:10] & (reward >= 0))).all()
        obs = luck.talk()
        speaker = [actor]
    voted = {agent for agent, o in observations.items() if o[view.layout["own_votes"]][2] == 1}
    assert view.core.votes[0].tolist() == [0, 0, len(voted), *[0] * 7]
    assert len(voted) >= 2


@pytest.mark.parametrize(("kept", "verdict"), [(0, 1.0), (1, -1.0), (None, -1.0)])
def test_merged_exploration_ends_with_the_vote_that_decides(kept, verdict):
    view, observations = exploration()
    (actor,) = flagged(view, observations, "acts")
    everything = {agent: np.array([1] * 10 + [0] * 10, np.int8) for agent in view.agents}
    _, paid, ends, _, infos = view.step(everything)
    assert set(paid.values()) == {-0.1}
    assert infos["agent_0"] == {}
    everything[actor][10:] = [k != kept for k in range(10)]
    _, paid, ends, cuts, infos = view.step(everything)
    assert set(paid.values()) == {verdict}  # the episode ends with the talk: no second round is paid for
    assert all(ends.values())
    assert not any(cuts.values())
    assert infos["agent_0"]["metrics"]["rounds"] == 1
    assert infos["agent_0"]["metrics"]["correct"] is (kept == 0)
    assert flagged(view, observations, "acts") == [actor]


def test_exploration_ends_when_everyone_has_left_and_at_its_horizon():
    view, _ = exploration()
    for step in range(1, 5):
        _, paid, ends, cuts, infos = view.step({agent: np.zeros(20, np.int8) for agent in view.agents})
        assert all(ends.values()) == (step == 4)
        assert set(paid.values()) == {-1.0 if step == 4 else 0.0}  # leaving is no round
    assert infos["agent_0"]["metrics"]["inconclusive"] is True
    view, _ = exploration(idle="stays")
    total = 0.0
    for step in range(1, 11):
        _, paid, ends, cuts, _ = view.step({agent: np.zeros(20, np.int8) for agent in view.agents})
        total += paid["agent_0"]
        assert all(cuts.values()) == (step == 10)
    assert not any(ends.values())
    assert total == pytest.approx(-2.0)


def test_feedback_pays_what_was_decoded_and_ends_after_t_users():
    view = hb.make("DistDP-v0", horizon=100, n_agents=2, means=[0.9, 0.1], rewards="bernoulli", epsilon=5.0)
    view.reset(seed=0)
    paid = []
    for exponents in ([5, 6], [5, 6], [6, 0]):
        actions = {f"agent_{m}": np.array([m, j]) for m, j in enumerate(exponents)}
        observations, rewards, _, cuts, infos = view.step(actions)
        paid.append(list(rewards.values()))
    assert all(cuts.values())
    assert infos["agent_0"]["metrics"]["users"] == 200
    assert paid[2][1] == 0.0  # its users are used up
    assert np.abs(np.array(paid)[:2] - [0.9, 0.1]).max() < 0.3
    assert np.ptp(np.array(paid)[:2, 0]) > 0  # not the true mean
    users = observations["agent_0"][view.layout["own_width"]][0] ** -2.0 - 1
    assert users == pytest.approx(100, rel=1e-4)


def test_oracle_rewards_are_the_true_means_and_labelled():
    view = hb.make("DistDP-v0", horizon=40, n_agents=2, n_arms=3, reward="oracle")
    _, infos = view.reset(seed=0)
    assert infos["agent_1"] == {"reward": "oracle"}
    _, rewards, _, _, infos = view.step({"agent_0": np.array([2, 5]), "agent_1": np.array([1, 5])})
    assert list(rewards.values()) == view.core.means[0, [2, 1]].tolist()
    assert infos["agent_1"] == {"reward": "oracle"}
    _, rewards, _, cuts, _ = view.step({"agent_0": np.array([0, 2]), "agent_1": np.array([0, 3])})
    assert not any(cuts.values())  # agent_0 still has four users
    _, rewards, _, cuts, _ = view.step({"agent_0": np.array([1, 3]), "agent_1": np.array([0, 0])})
    assert list(rewards.values()) == [view.core.means[0, 1], 0.0]
    assert all(cuts.values())


def test_speech_travels_beside_the_report():
    fields = {"bit": hb.Field(dtype="?"), "code": hb.Field((2,), "f4")}
    view = hb.make("CoopNetwork-v0", n_agents=3, graph="complete", horizon=4, speech=fields)
    view.reset(seed=0)
    rng = np.random.default_rng(0)
    for t in range(1, 5):
        bits, codes = rng.integers(0, 2, 3), rng.uniform(-1, 1, (3, 2)).astype(np.float32)
        actions = {f"agent_{m}": {"arm": 0, "bit": bits[m], "code": codes[m]} for m in range(3)}
        observations, *_ = view.step(actions)
        # The first words come before any round to speak in, the last talk is silent: what is heard is a step's own.
        spoken = 1 < t < 4
        for m in range(3):
            o = observations[f"agent_{m}"]
            np.testing.assert_allclose(o[view.layout["heard_bit"]], spoken * (bits.sum() - bits[m]) / 2)
            np.testing.assert_allclose(o[view.layout["heard_code"]], spoken * (codes.sum(0) - codes[m]) / 2, atol=1e-6)
            assert o[view.layout["heard_width"]][0] == pytest.approx((1 + 2 * (t - 1 + (t == 4))) ** -0.5)


def test_adding_a_wrapper_leaves_the_rewards_alone():
    plain = hb.make("CoopNetwork-v0", **NET)
    noisy = hb.wrap(plain, Huber(0.5), Loss(0.5), Shuffle())
    plain.reset(seed=5)
    noisy.reset(seed=5)
    while plain.agents:
        actions = {agent: 1 for agent in plain.agents}
        assert plain.step(actions)[1] == noisy.step(actions)[1]
    assert noisy.agents == []


# -- spaces, seeds, cycles ----------------------------------------------------------------------------------------


def test_action_spaces():
    assert str(hb.make("DPMASE-v0", means=[0.5, 0.4, 0.1]).action_space("agent_0")) == "MultiBinary(6)"
    assert str(hb.make("CoopNetwork-v0").action_space("agent_0")) == "Discrete(10)"
    for horizon, powers in ((1, 1), (1000, 10), (1023, 10), (1024, 11)):
        space = hb.make("DistDP-v0", horizon=horizon, n_arms=4).action_space("agent_0")
        assert space.nvec.tolist() == [4, powers]


def test_spaces_are_small_flat_homogeneous_and_each_agents_own():
    for env_id in hb.list_envs():
        few = {"strict": False} if env_id == "DecentralizedExploration-v0" else {}
        env = hb.make(env_id, n_agents=3, **few)
        assert env.possible_agents == ["agent_0", "agent_1", "agent_2"]
        box, other = env.observation_space("agent_0"), env.observation_space("agent_1")
        assert box == other
        assert box.dtype == np.float32
        assert box.shape[0] <= 5 * env.core.n_arms + 3
        assert sorted((part.start, part.stop) for part in env.layout.values())[-1][1] == box.shape[0]
        assert np.isfinite([box.low, box.high]).all()
        assert env.state_space.shape == (3 * box.shape[0],)
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
    for seed in (3, 3, None, None):
        env.reset(seed=seed, options={"what": "ever"})
        means.append(env.core.means[0].tolist())
    assert means[0] == means[1]
    assert len({tuple(m) for m in means}) == 3
    row = hb.make_vec("CoopNetwork-v0", n_agents=4, n_arms=5, means=hb.UniformMeans(0.1, 0.9))
    row.reset(hb.run_seeds(3, 1))
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
    assert env.core.t[0] == 5  # the last round had its talk
    env.max_cycles = None
    env.reset(seed=0)
    steps = 0
    while env.agents:
        env.step(act(env))
        steps += 1
    assert steps == 50
    with pytest.raises(ValueError, match="max_cycles=0 must be an integer"):
        env.max_cycles = 0


@pytest.mark.parametrize("env_id", ["DPMASE-v0", "CoopNetwork-v0", "DistDP-v0"])
def test_what_was_returned_belongs_to_the_caller(env_id):
    env, twin = (hb.make(env_id, n_agents=3, max_cycles=6) for _ in range(2))
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
        assert infos["agent_1"].keys() == ({"beats", "metrics"} if step == 6 else set())
        for agent, row in observations.items():
            np.testing.assert_array_equal(row, expected[agent])
        np.testing.assert_array_equal(env.state(), np.concatenate(list(observations.values())))
    infos["agent_0"]["metrics"].clear()
    assert infos["agent_1"]["metrics"]


def test_an_agent_sees_all_the_votes_it_has_cast():
    env = hb.make("DPMASE-v0", n_agents=1, threshold=1)
    env.reset(seed=0)
    for arm, expected in ((0, []), (2, [2]), (7, [2, 7]), (2, [2, 7])):  # the first step has nobody to vote
        observations, *_ = env.step({"agent_0": np.array([1] * 10 + [k == arm for k in range(10)], np.int8)})
        assert np.flatnonzero(observations["agent_0"][env.layout["own_votes"]]).tolist() == expected
    assert env.metrics()["messages"] == 2


# -- wrap, registry -----------------------------------------------------------------------------------------------


def test_wrap_adds_behind_what_was_given_and_before_the_ids_own():
    names = lambda env: [w.name for w in getattr(env, "core", env).wrappers]  # noqa: E731
    env = hb.make("DistDP-v0", wrappers=[Huber(0.1)], horizon=64, beats=2, max_cycles=7, reward="oracle")
    more = hb.wrap(env, Loss(0.1))
    assert names(more) == ["Huber", "Loss", "DiscreteLaplace", "SecAgg"]
    assert names(env) == ["Huber", "DiscreteLaplace", "SecAgg"]
    assert (more.beats, more.max_cycles, more.reward, more.core.horizon) == (2, 7, "oracle", 64)
    assert names(hb.wrap(hb.wrap(env, Loss(0.1)), Loss(0.2, name="again"))) == [
        "Huber", "Loss", "again", "DiscreteLaplace", "SecAgg"
    ]  # fmt: skip
    vec = hb.wrap(hb.make_vec("CoopNetwork-v0", runs=3, n_agents=4), Huber(0.1), Loss(0.1))
    assert (names(vec), vec.runs, vec.n_agents) == (["Huber", "Loss"], 3, 4)
    assert hb.wrap(hb.make("DPMASE-v0"), Loss(0.1)).core.horizon == hb.make("DPMASE-v0").core.horizon == 100_000
    said = {"bit": hb.Field(dtype="?")}
    assert "heard_bit" in hb.wrap(hb.make("CoopNetwork-v0", speech=said), Loss(0.1)).layout
    with pytest.raises(ValueError, match="two wrappers are named 'Huber'"):
        hb.wrap(env, Huber(0.2))
    with pytest.raises(ValueError, match="wrap needs an env from make"):
        hb.wrap(CoopNetwork(), Loss(0.1))
    with pytest.raises(ValueError, match="must be Wrapper instances"):
        hb.wrap(env, "Loss")


@pytest.fixture
def mine():
    yield "Mine-v3"
    registry._ENVS.pop("Mine-v3", None)
    pettingzoo.parallel_registry.pop("hushbandits/Mine-v3", None)


def test_registering_registers_with_pettingzoo_too(mine):
    hb.register_env(mine, CoopNetwork, n_agents=3)
    env = pettingzoo.make("parallel", f"hushbandits/{mine}", horizon=2)
    assert len(env.possible_agents) == 3
    hb.testing.check_env(mine, horizon=4)
    with pytest.raises(ValueError, match="'Mine-v3' is registered already"):
        hb.register_env(mine, CoopNetwork)
    with pytest.raises(ValueError, match="'hushbandits/Mine-v3' is registered with PettingZoo already"):
        hb.register_env("Mine_v3", CoopNetwork)  # PettingZoo reads both alike
    with pytest.raises(ValueError, match="id='not this one' must be letters"):
        hb.register_env("not this one", CoopNetwork)
    assert "Mine_v3" not in hb.list_envs()


def test_the_example_runs():
    example = runpy.run_path(str(Path(__file__).parent.parent / "examples" / "step_by_hand.py"))
    assert example["play"](hb.make("CoopNetwork-v0", n_agents=4, horizon=20))["messages"] > 0


# -- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env_id", "bad"),
    [
        ("CoopNetwork-v0", 10),
        ("CoopNetwork-v0", -1),
        ("CoopNetwork-v0", 1.0),
        ("CoopNetwork-v0", "left"),
        ("CoopNetwork-v0", [1]),
        ("CoopNetwork-v0", None),
        ("DPMASE-v0", np.full(20, 2)),
        ("DPMASE-v0", np.zeros(19, np.int8)),
        ("DPMASE-v0", np.zeros((20, 1), np.int8)),
        ("DPMASE-v0", 3),
        ("DistDP-v0", np.array([10, 0])),
        ("DistDP-v0", np.array([0, 20])),
        ("DistDP-v0", np.array([0, -1])),
        ("DistDP-v0", np.array([0.0, 1.0])),
        ("DistDP-v0", 5),
    ],
)
@pytest.mark.parametrize("where", ["agent_0", "agent_2"])
def test_an_action_outside_its_space_changes_nothing(env_id, bad, where):
    env, twin = (hb.make(env_id, n_agents=3) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    actions = act(env)
    with pytest.raises(ValueError, match=f"^action .* of {where} lies outside its space") as caught:
        env.step({**actions, where: bad})
    assert "\n" not in str(caught.value)
    one, two = env.step(actions), twin.step(actions)
    assert one[1] == two[1]
    np.testing.assert_array_equal(env.state(), twin.state())


@pytest.mark.parametrize(
    ("part", "bad"), [("bit", 2), ("bit", 0.5), ("code", np.array([0.0, 1.5])), ("code", np.zeros(3)), ("arm", 10)]
)
def test_speech_outside_its_space(part, bad):
    fields = {"bit": hb.Field(dtype="?"), "code": hb.Field((2,), "f4")}
    env = hb.make("CoopNetwork-v0", n_agents=2, speech=fields)
    env.reset(seed=0)
    actions = act(env)
    actions["agent_1"] = {**actions["agent_1"], part: bad}
    with pytest.raises(ValueError, match="of agent_1 lies outside its space"):
        env.step(actions)
    with pytest.raises(ValueError, match="of agent_0 lies outside its space"):
        env.step({**actions, "agent_0": 3})


def test_actions_may_be_spelled_in_any_way_their_space_contains():
    env = hb.make("DPMASE-v0", n_agents=2)
    env.reset(seed=0)
    env.step({"agent_0": [1] * 20, "agent_1": np.ones(20)})
    assert env.core.t[0] == 1
    env = hb.make("CoopNetwork-v0", n_agents=2)
    env.reset(seed=0)
    env.step({"agent_0": np.int8(3), "agent_1": np.array(4)})
    assert env.lens.arm.tolist() == [[3, 4]]


def over():
    env = hb.make("CoopNetwork-v0", n_agents=2, horizon=1)
    env.reset(seed=0)
    env.step({"agent_0": 0, "agent_1": 0})
    return env


def begun(**kwargs):
    env = hb.make("CoopNetwork-v0", n_agents=2, **kwargs)
    env.reset(seed=0)
    return env


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        (lambda: hb.make("DPMSE-v0"), ValueError, "no env is named 'DPMSE-v0'; did you mean DPMASE-v0"),
        (lambda: hb.make("CoopNetwork-v0", agents=3), TypeError, "takes no parameter 'agents'; did you mean n_agents"),
        (lambda: hb.make("CoopNetwork-v0", runs=3), TypeError, "make takes no parameter 'runs'"),
        (lambda: hb.make("CoopNetwork-v0", beats=3), ValueError, "beats=3 must be 1 .* or 2"),
        (lambda: hb.make("CoopNetwork-v0", render_mode="rgb"), ValueError, "render_mode='rgb' is not one of human"),
        (lambda: hb.make("CoopNetwork-v0", reward="oracle"), ValueError, "only the feedback setting has a choice"),
        (lambda: hb.make("DistDP-v0", reward="raw"), ValueError, "reward='raw' is not one of decoded, oracle"),
        (lambda: hb.make("DPMASE-v0", speech={"x": hb.Field()}), ValueError, "speech works in the network setting"),
        (lambda: hb.make("DistDP-v0", speech={"x": hb.Field()}), ValueError, "users speak, not servers"),
        (lambda: hb.make("CoopNetwork-v0", speech={"who": hb.Field()}), ValueError, "none of arm, reward, sent, who"),
        (lambda: hb.make("CoopNetwork-v0", speech={}), ValueError, "must name at least one field"),
        (lambda: hb.make("CoopNetwork-v0", speech={"x": hb.Field(dtype="i8")}), ValueError, "field 'x' has dtype 'i8'"),
        (lambda: hb.make("CoopNetwork-v0", wrappers=[Huber(), Huber()]), ValueError, "two wrappers are named 'Huber'"),
        (lambda: hb.make("CoopNetwork-v0", max_cycles=-1), ValueError, "max_cycles=-1 must be an integer"),
        (lambda: hb.make("DPMASE-v0", beta=1), ValueError, r"beta=1 must lie in \(0, 1\)"),
        (lambda: hb.make("DistDP-v0", epsilon=0), ValueError, "epsilon=0 must be a number > 0"),
        (lambda: begun().reset(seed=-1), ValueError, "seed=-1 must be an integer"),
        (lambda: begun().step({"agent_0": 0}), ValueError, "actions lack 'agent_1'"),
        (lambda: begun().step({"agent_0": 0, "agent_1": 0, "bob": 0}), ValueError, "actions name 'bob'"),
        (lambda: begun().action_space("agent_2"), KeyError, "no agent is named 'agent_2'"),
        (lambda: begun().render(), RuntimeError, "render needs make"),
        (lambda: hb.make("CoopNetwork-v0").step({}), RuntimeError, "step before the start of an episode"),
        (lambda: hb.make("CoopNetwork-v0").state(), RuntimeError, "state before the start of an episode"),
        (lambda: hb.make("CoopNetwork-v0", render_mode="ansi").render(), RuntimeError, "render before the start"),
        (lambda: over().step({"agent_0": 0, "agent_1": 0}), RuntimeError, "step after the end of an episode"),
        (lambda: over().step({}), RuntimeError, "step after the end of an episode"),
    ],
)
def test_errors_are_one_clear_sentence(wrong, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        wrong()
    assert "\n" not in str(caught.value)


# -- pictures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env_id", "kwargs", "word"),
    [
        ("DPMASE-v0", {"n_agents": 4}, "votes per arm"),
        ("CoopNetwork-v0", {"n_agents": 9, "graph": "grid"}, "agents per arm"),
        ("CoopNetwork-v0", {"n_agents": 2, "graph": "path", "means": [0.5] * 30}, "agents per arm"),
        ("DistDP-v0", {"horizon": 10_000}, "users heard per arm"),
    ],
)
def test_every_mode_shows_what_happened(env_id, kwargs, word):
    matplotlib.use("agg")
    env = hb.make(env_id, render_mode="rgb_array", **kwargs)
    env.reset(seed=0)
    k = env.core.n_arms
    before = env.render()
    action = {"exploration": np.array([1] * k + [0] * k), "network": 1, "feedback": np.array([1, 9])}[env.core.setting]
    for _ in range(3):
        env.step({agent: action for agent in env.agents})
    after = env.render()
    assert before.dtype == np.uint8
    assert before.shape == after.shape == (360, 720, 3)
    assert (before != after).any()
    env.render_mode = "ansi"
    assert word in env.render()
    env.render_mode = "human"
    assert env.render() is None
    window = env._window
    env.step({agent: action for agent in env.agents})
    assert env._window is window
    copy.deepcopy(env)  # a window does not travel
    env.close()
    assert env._window is None
