"""The round contract: rows and batches, random streams, wrappers, phases."""

import numpy as np
import pytest
from helpers import build, own_streams
from homes import HOMES, NET
from own_agents_that_fail import Still
from scipy import stats
from twin_streams import generator

import hushbandits as hb
from hushbandits.bench.runner.curves import record
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.wrapper import Wrapper
from hushbandits.testing.games import trace
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.shuffle import Shuffle


@pytest.mark.parametrize(
    "wrapper", [Huber(0.3), Loss(0.3), Shuffle(), LocalLaplace(1.0, own_feedback="true")], ids=repr
)
def test_a_wrapper_leaves_every_other_stream_alone(wrapper):
    # Random ignores its inbox, so with equal random streams it pulls the same arms and must face the same rewards.
    *plain, _ = trace(*build("CoopNetwork-v0", "Random", 2, NET), 0).values()
    *wrapped, _ = trace(*build("CoopNetwork-v0", "Random", 2, NET, wrappers=(wrapper,)), 0).values()
    for one, other in zip(plain, wrapped, strict=True):
        np.testing.assert_array_equal(one["own reward"], other["own reward"])


@pytest.mark.parametrize(
    ("env_id", "given", "action", "message", "kept"),
    [
        (
            "CoopNetwork-v0", {"n_agents": 401, "graph": "complete", "max_hops": 1}, np.zeros((1, 401), int), None,
            lambda env, inbox: inbox.arrived[0, 0],
        ),
        (
            "DPMASE-v0", {"n_agents": 1, "means": np.linspace(0.9, 0.1, 400)}, np.ones((1, 1, 400), bool),
            {"vote": np.ones((1, 1, 400), bool)}, lambda env, inbox: env.votes,
        ),
        (
            "CentralDP-v0", {"simulate_users": "individual", "horizon": 400},
            (np.array([[0]]), np.array([[400]])), None,
            lambda env, inbox: inbox["n"],
        ),
    ],
    ids=["reports", "votes", "users"],
)  # fmt: skip
def test_two_wrappers_of_a_class_lose_apart(env_id, given, action, message, kept):
    """A quarter of 400 passes two losses of one half each; with a shared random stream it would be a half."""
    env = hb.make_batched(env_id, **given, wrappers=[Loss(0.5, name="one"), Loss(0.5, name="other")])
    env.reset(0)
    env.pull(action)
    inbox = env.communicate(message).inbox
    assert stats.binomtest(int(kept(env, inbox).sum()), 400, 0.25).pvalue > 1e-6


@pytest.mark.parametrize("env_id", ["CoopNetwork-v0", "DPMASE-v0", "CentralDP-v0"])
def test_messages_fit_the_wrappers_in_order_and_inboxes_in_reverse(env_id):
    met = []

    class Gate(Wrapper):
        def send(self, message, env):
            met.append(f"{self.name} sends")
            return message

        def deliver(self, inbox, env):
            met.append(f"{self.name} delivers")
            return inbox

    env = hb.make_batched(env_id, wrappers=[Gate(name="outer"), Gate(name="inner")])
    obs = env.reset(0)
    team = hb.make_team("Random")
    team.reset(env, own_streams(env, team))
    env.pull(team.act(obs))
    env.communicate()
    assert met == ["outer sends", "inner sends", "inner delivers", "outer delivers"]


def test_one_wrapper_instance_serves_two_envs():
    shared = Loss(0.5)
    env, team = build("CoopNetwork-v0", "Multi-UCB", 1, NET, wrappers=(shared,))
    other, second = build("CoopNetwork-v0", "Multi-UCB", 1, NET, wrappers=(shared,))
    one, two, again = trace(env, team, 5), trace(other, second, 5), trace(env, team, 5)
    np.testing.assert_equal(one, two)
    np.testing.assert_equal(one, again)


def test_phases_out_of_turn_are_errors():
    env = hb.make_batched("CoopNetwork-v0", n_agents=4, horizon=1)
    arms = np.zeros((1, 4), int)
    env.reset(0)
    with pytest.raises(RuntimeError, match="next phase is pull"):
        env.communicate()
    env.pull(arms)
    with pytest.raises(RuntimeError, match="next phase is communicate"):
        env.pull(arms)
    env.communicate()
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

        def compose(self, reward):
            self.n[self.arm] += 1
            self.s[self.arm] += reward

        def receive(self, messages):
            for message in messages:
                self.n[message["arm"]] += 1
                self.s[message["arm"]] += message["reward"]

    env = hb.make_batched("CoopNetwork-v0", runs=2, **NET)
    *lifted, metrics = trace(env, hb.PerAgent(Agent), 0).values()
    *array, same = trace(*build("CoopNetwork-v0", "Multi-UCB", 2, NET), 0).values()
    for one, other in zip(lifted, array, strict=True):
        np.testing.assert_array_equal(one["arm"], other["arm"])
    np.testing.assert_array_equal(metrics["agent_regret"], same["agent_regret"])


@pytest.mark.weekly
def test_each_lifts_algorithm_3_of_rio_et_al_exactly():
    """An exploration agent returns K bools twice: the arms that it pulls, and those that it gives up."""

    class Agent:
        def __init__(self, m, rng, n_arms):
            self.left, self.sums, self.t = np.ones(n_arms, bool), np.zeros(n_arms), 0

        def act(self, t):
            return self.left & (self.left.sum() > 1)

        def compose(self, reward):
            if np.isnan(reward).all():
                return None
            self.t += 1
            self.sums[self.left] += reward[self.left]
            mean = np.where(self.left, self.sums / self.t, -np.inf)
            gap = 2 * np.sqrt(np.log(len(mean) * self.t**2 / 0.6) / self.t)
            out = self.left & (mean.max() - mean >= gap)
            self.left = self.left & ~out
            return out

        def receive(self, messages):
            (shown,) = messages
            if self.t:
                self.left = self.left & shown["active"]

    settings = {"n_agents": 7, "means": [0.9, 0.5, 0.2], "permute_arms": True, "eta": 0.6, "delta": 0.2}
    env = hb.make_batched("CorruptedElimination-v0", runs=3, horizon=10**6, **settings)  # Random's runs may not end
    lifted = hb.rollout(env, hb.PerAgent(Agent), 0)
    array = hb.make_team("Corrupted-Elimination", eta=0.6, delta=0.2)
    same = hb.rollout(hb.make_batched("CorruptedElimination-v0", runs=3, **settings), array, 0)
    for name, value in same.items():
        np.testing.assert_array_equal(lifted[name], value, err_msg=name)
    assert same["messages"].any()


def test_each_shows_a_feedback_agent_the_users_so_far():
    asked = []

    class Agent:
        blind = True

        def __init__(self, m, rng):
            self.size = 1

        def act(self, t):
            asked.append(t)
            self.size *= 2
            return 1, self.size

    metrics = hb.rollout(
        hb.make_batched("CentralDP-v0", horizon=14, means=[0.9, 0.4], rewards="bernoulli", permute_arms=False),
        hb.PerAgent(Agent),
        0,
    )
    assert asked == [1, 3, 7]  # blocks of 2, 4 and 8 users: t is the next one
    np.testing.assert_allclose(metrics["regret"], 14 * 0.5)


def test_every_lifted_agent_has_a_generator_of_its_own():
    drawn = {}

    class Agent(Still):
        def __init__(self, m, rng):
            drawn.setdefault(m, []).append(rng.random())

    seeds = spawn_seeds(0, 2)
    env = hb.make_batched("CoopNetwork-v0", n_agents=3, graph="path", horizon=1)
    hb.rollout(env, hb.PerAgent(Agent, name="A"), seeds)
    assert drawn == {m: [generator(seed, "agent/A", m).random() for seed in seeds] for m in range(3)}


@pytest.mark.parametrize("fields", [None, {"arm": hb.Field(dtype="i8"), "reward": hb.Field()}])
def test_who_says_nothing_sends_the_standard_report_or_where_there_is_none_nothing(fields):
    heard = {}

    class Agent:
        def __init__(self, m, rng):
            self.m = m

        def act(self, t):
            return self.m

        def compose(self, reward):
            self.reward = reward
            return {"arm": 5, "reward": -1.0} if self.m == 1 else None

        def receive(self, messages):
            heard[self.m] = {int(m["sender"]): (int(m["arm"]), float(m["reward"])) for m in messages}
            heard["rewards"] = {**heard.get("rewards", {}), self.m: float(self.reward)}

    env = hb.make_batched("CoopNetwork-v0", n_agents=3, graph="complete", rewards="beta", fields=fields, horizon=2)
    obs, team = env.reset(0), hb.PerAgent(Agent, fields=fields)
    team.reset(env, own_streams(env, team))
    obs = env.communicate(team.compose(env.pull(team.act(obs)).reward))
    team.receive(obs.inbox)
    said = {1: (5, -1.0)} | ({m: (m, heard["rewards"][m]) for m in (0, 2)} if fields is None else {})
    for m in range(3):
        assert heard[m] == {who: words for who, words in said.items() if who != m}


def test_curves_hold_what_the_metrics_were_when_the_clock_stood_there():
    env = hb.make_batched("CoopNetwork-v0", runs=2, **NET)
    team, seen = hb.make_team("Multi-UCB"), []
    hb.rollout(env, team, 4, step=lambda: seen.append(env.metrics()))
    _, curves = record(env, team, 4, [1, 2, 17, 39, 40], ("regret", "messages"))
    for name, values in curves.items():
        np.testing.assert_array_equal(values.T, [seen[t - 1][name] for t in (1, 2, 17, 39, 40)])


def test_curves_of_runs_that_end_by_themselves_stop_there():
    env, team = HOMES["vote"].build(4)
    seen = [{} for _ in range(4)]

    def note():
        for r, (rounds, arms) in enumerate(zip(env.metrics()["rounds"], env.metrics()["arms"], strict=True)):
            seen[r].setdefault(int(rounds), int(arms))  # the step in which an agent leaves is no round

    final = hb.rollout(env, team, 1, step=note)
    ends = final["rounds"]
    grid = sorted({1, *ends.tolist(), *(ends + 1).tolist()})
    _, curves = record(env, team, 1, grid, ("arms",))
    for r in range(4):
        for t, value in zip(grid, curves["arms"][r], strict=True):
            assert np.isnan(value) if t > ends[r] else value == seen[r][t]
    assert np.isnan(curves["arms"]).any()
