"""The round contract: rows and batches, tapes, wrappers, phases."""

import numpy as np
import pytest
from helpers import build, same_row, trace

import hushbandits as hb
from hushbandits.core.tapes import Ragged, Uniforms, run_seeds, stream
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

NET = {"n_agents": 9, "graph": "erdos-renyi", "edge_probability": 0.4, "horizon": 40, "permute_arms": True}
EXPLORE = {"n_agents": 6, "agent_distribution": "power", "permute_arms": True}
FAST = {"epsilon": 0.8, "beta": 0.3, "delta": 0.3}
CASES = {
    "multi": ("CoopNetwork-v0", "Multi-UCB", NET, {}, ()),
    "multi-life": ("CoopNetwork-v0", "Multi-UCB", {**NET, "life": "ceil(diameter/2)"}, {}, ()),
    "multi-beta": ("CoopNetwork-v0", "Multi-UCB", {**NET, "rewards": "beta"}, {}, (Huber(0.2), LocalLaplace(2.0))),
    "multi-shuffled": ("CoopNetwork-v0", "Multi-UCB", NET, {}, (Huber(0.2, fraction=0.5), Loss(0.3), Shuffle())),
    "private": ("CoopNetwork-v0", "Private-UCB", NET, {"epsilon": 0.4}, ()),
    "private-loss": ("CoopNetwork-v0", "Private-UCB", NET, {"epsilon": 0.4}, (Loss(0.3),)),
    "quack": ("CoopNetwork-v0", "QuACK-UCB", NET, {}, ()),
    "quack-loss": ("CoopNetwork-v0", "QuACK-UCB", NET, {}, (Loss(0.4), Huber(0.1))),
    "multi-secagg": ("CoopNetwork-v0", "Multi-UCB", NET, {}, (Loss(0.2), SecAgg())),
    "multi-noised-secagg": ("CoopNetwork-v0", "Multi-UCB", NET, {}, (LocalLaplace(1.0), SecAgg(bound=64))),
    "random": ("CoopNetwork-v0", "Random", NET, {}, (Shuffle(),)),
    "explore": ("DPMASE-v0", "DP-MASE", EXPLORE, FAST, ()),
    "explore-loss": ("DPMASE-v0", "DP-MASE", EXPLORE, FAST, (Loss(0.5),)),
    "explore-window": ("DPMASE-v0", "DP-MASE", EXPLORE, FAST, (Loss(0.1), Shuffle(window=8))),
    "explore-secagg": ("DPMASE-v0", "DP-MASE", EXPLORE, FAST, (SecAgg(window=5),)),
    "explore-random": ("DPMASE-v0", "Random", EXPLORE, {}, (Loss(0.5),)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_alone_equals_its_row_bit_for_bit(case):
    env_id, agent, env, agent_kwargs, wrappers = CASES[case]
    seeds = run_seeds(3, 3)
    batch = trace(*build(env_id, agent, 3, env, agent_kwargs, wrappers), seeds)
    for r in range(3):
        same_row(trace(*build(env_id, agent, 1, env, agent_kwargs, wrappers), seeds[r : r + 1]), batch, r)


@pytest.mark.parametrize("wrapper", [Huber(0.3), Loss(0.3), Shuffle(), LocalLaplace(1.0)], ids=repr)
def test_a_wrapper_leaves_every_other_tape_alone(wrapper):
    # Random does not listen, so with equal tapes it pulls the same arms and must meet the same rewards.
    plain, _ = trace(*build("CoopNetwork-v0", "Random", 2, NET), 0)
    wrapped, _ = trace(*build("CoopNetwork-v0", "Random", 2, NET, wrappers=(wrapper,)), 0)
    for one, other in zip(plain, wrapped, strict=True):
        np.testing.assert_array_equal(one["own reward"], other["own reward"])


def test_global_numpy_state_is_never_touched():
    before = np.random.get_state()
    for env_id, agent, env, agent_kwargs, wrappers in CASES.values():
        trace(*build(env_id, agent, 1, env, agent_kwargs, wrappers), 0)
    after = np.random.get_state()
    assert before[0] == after[0]
    assert before[2:] == after[2:]
    np.testing.assert_array_equal(before[1], after[1])


def test_two_wrappers_of_one_name_raise():
    with pytest.raises(ValueError, match="two wrappers are named 'Loss'"):
        hb.make_vec("CoopNetwork-v0", wrappers=[Loss(0.1), Loss(0.2)])
    hb.make_vec("CoopNetwork-v0", wrappers=[Loss(0.1), Loss(0.2, name="second")])


def test_one_wrapper_instance_serves_two_envs():
    shared = Loss(0.5)
    env, team = build("CoopNetwork-v0", "Multi-UCB", 1, NET, wrappers=(shared,))
    other, second = build("CoopNetwork-v0", "Multi-UCB", 1, NET, wrappers=(shared,))
    one = trace(env, team, 5)
    two = trace(other, second, 5)
    same_row(one, two, 0)
    same_row(trace(env, team, 5), two, 0)


def test_a_wrapper_without_its_field_raises():
    with pytest.raises(
        ValueError, match="Huber needs the message field 'reward', but the message has: who, mean, count"
    ):
        hb.make_vec("CoopNetwork-v0", wrappers=[hb.make_wrapper("PrivateMeans"), Huber(0.1)])
    with pytest.raises(ValueError, match="works in feedback and network, not in the exploration setting"):
        hb.make_vec("DPMASE-v0", wrappers=[Huber(0.1)])


def test_the_sender_is_needed_by_quack():
    with pytest.raises(ValueError, match="inbox of QuACK-UCB needs the message field 'who'"):
        hb.evaluate("CoopNetwork-v0", "QuACK-UCB", runs=1, wrappers=[Shuffle()])


def test_beats_out_of_turn_are_errors():
    env = hb.make_vec("CoopNetwork-v0", n_agents=4, horizon=1)
    arms = np.zeros((1, 4), int)
    with pytest.raises(RuntimeError, match="call reset"):
        env.pull(arms)
    env.reset(0)
    with pytest.raises(RuntimeError, match="next beat is pull"):
        env.talk()
    env.pull(arms)
    with pytest.raises(RuntimeError, match="next beat is talk"):
        env.pull(arms)
    env.talk()
    with pytest.raises(RuntimeError, match="after the end"):
        env.pull(arms)


def test_each_lifts_a_plain_class_exactly():
    """A UCB1 agent of 15 lines, lifted, equals the array team Multi-UCB action for action."""

    class Agent:
        def __init__(self, m, rng):
            self.n, self.s = np.zeros(10), np.zeros(10)

        def act(self, t):
            if (self.n == 0).any():
                self.arm = int((self.n == 0).argmax())
            else:
                self.arm = int((self.s / self.n + np.sqrt(2 * np.log(t) / self.n)).argmax())
            return self.arm

        def speak(self, reward):
            self.n[self.arm] += 1
            self.s[self.arm] += reward

        def hear(self, messages):
            for message in messages:
                self.n[message["arm"]] += 1
                self.s[message["arm"]] += message["reward"]

    env = hb.make_vec("CoopNetwork-v0", runs=2, **NET)
    lifted, metrics = trace(env, hb.Each(Agent), 0)
    array, same = trace(*build("CoopNetwork-v0", "Multi-UCB", 2, NET), 0)
    for one, other in zip(lifted, array, strict=True):
        np.testing.assert_array_equal(one["arm"], other["arm"])
    np.testing.assert_array_equal(metrics["agent_regret"], same["agent_regret"])


def test_tapes_do_not_depend_on_how_they_are_read():
    seed = run_seeds(0, 1)
    whole = stream(seed[0], "x").random(10_000)
    uniforms = Uniforms(seed, "x", (7,))
    np.testing.assert_array_equal(np.concatenate([uniforms.next()[0].copy() for _ in range(1000)]), whole[:7000])
    ragged = Ragged(seed, "x")
    np.testing.assert_array_equal(np.concatenate([ragged.take(0, 9) for _ in range(1000)]), whole[:9000])


def test_tape_names_and_runs_give_different_streams():
    a, b = run_seeds(0, 2)
    values = [stream(s, name).random() for s in (a, b) for name in ("reward", "activation", "agent/A", "agent/B")]
    assert len(set(values)) == len(values)


def test_play_accepts_a_team_that_only_acts():
    class First(hb.Team):
        def act(self, obs):
            return np.zeros(obs.who.shape, int)

    env = hb.make_vec("CoopNetwork-v0", runs=2, n_agents=4, horizon=5, means=[0.9, 0.4])
    assert (hb.play(env, First(), 0)["regret"] == 0).all()
