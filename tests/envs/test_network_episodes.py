"""Compiled rounds of the network equal the phases, in all their state."""

import copy
import math
import pickle

import numpy as np
import pytest
from helpers import begin, estimates
from hypothesis import given, settings
from hypothesis import strategies as st
from own_envs_here import Jumps
from rounds import by_phases

import hushbandits as hb
from hushbandits.core.random.rewards import Law
from hushbandits.core.random.streams import Uniforms
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.estimators.running import Samples
from hushbandits.registry import assemble
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss

ID = "CoopNetwork-v0"


class Own(Law):
    """A user-defined law."""

    def __post_init__(self):
        pass

    def quantile(self, u, location):
        return np.sqrt(u) * location

    def __repr__(self):
        return "Own()"


class Tidal(CoopNetwork):
    arms_class = Jumps


COMPILED = ["Multi-UCB", "UCB1", "QuACK-UCB", "Byzantine-UCB"]
BOUNDED = ["bernoulli", "clipped-gaussian", "beta", "truncated-gaussian"]
LAWS = ["bernoulli", "gaussian", "clipped-gaussian", "uniform", "constant", "beta", "truncated-gaussian", Own()]


def equal(one, two, path=""):
    """Return the whole state of an env or team: arrays, random streams, ring buffers, generators."""
    assert type(one) is type(two), path
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, two, err_msg=path)
        assert one.dtype == two.dtype, path
    elif isinstance(one, np.random.Generator):
        equal(one.bit_generator.state, two.bit_generator.state, path)
    elif isinstance(one, dict):
        assert one.keys() == two.keys(), path
        for name in one:
            equal(one[name], two[name], f"{path}.{name}")
    elif type(one).__name__ == "_Robust":  # buffers, and the content of its `Samples`, which is compared
        equal(*([x.mean, x.n, x.own_arm, x.own_reward] for x in (one, two)), path)
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two), path
        for i, pair in enumerate(zip(one, two, strict=True)):
            equal(*pair, f"{path}[{i}]")
    elif isinstance(one, Uniforms):  # the unread part; the rest is buffer
        equal(*([copy.deepcopy(stream).take(r, 9) for r in range(len(stream.step))] for stream in (one, two)), path)
    elif isinstance(one, Samples):  # their positions are buffer
        equal(
            *(
                [x.state.head[..., 0] if hasattr(x.state, "head") else x.state.n, estimated(x, 0.7), estimated(x, 9.0)]
                for x in (one, two)
            ),
            path,
        )
    elif hasattr(one, "__dict__") and not callable(one):
        own = ({k: v for k, v in vars(x).items() if k not in ("episode", "seeds")} for x in (one, two))
        equal(*own, path)
    elif not callable(one):
        assert one == two or one is two, path


def estimated(samples, log_inverse_delta):
    out = np.zeros(samples.state.n.shape)
    estimates(copy.deepcopy(samples), log_inverse_delta, out)
    return out


def begun(agent, runs=2, wrappers=(), seed=0, env=None, make=ID):
    """Return an env and a team before their first round."""
    team = hb.make_team(agent) if isinstance(agent, str) else agent
    core = assemble(make, team, runs=runs, wrappers=wrappers, env={"means": [0.3, 0.7, 0.5], **(env or {})})
    begin(core, team, seed)
    return core, team


@st.composite
def networks(draw):
    """Return a network of any kind with compiled episodes."""
    graph = draw(st.sampled_from(["cycle", "grid", "star", "complete", "path", "erdos-renyi"]))
    m = draw(st.sampled_from([1, 4, 9])) if graph == "grid" else draw(st.integers(1, 8))
    if graph == "cycle":
        m = max(m, 3)
    return {
        "n_agents": m,
        "graph": graph,
        "edge_probability": 0.6,
        "max_hops": draw(st.sampled_from([None, 0, 1, 2, 99, "diameter", "diameter/2", "ceil(diameter/2)"])),
        "hop_delay": draw(st.integers(0, 2)),
        "horizon": draw(st.integers(1, 45)),
        "rewards": draw(st.sampled_from(LAWS)),
        "means": draw(st.sampled_from([(0.3, 0.7, 0.5), (0.5, 0.5), hb.UniformMeans(0.2, 0.8)])),
        "n_arms": None,
        "permute_arms": draw(st.booleans()),
        "n_change_points": draw(st.sampled_from([0, 0, 2])),
    }


def filled(env):
    return {**env, "n_arms": 4} if isinstance(env["means"], hb.UniformMeans) else env


@pytest.mark.weekly
@settings(max_examples=60, deadline=None)
@given(
    agent=st.sampled_from(COMPILED),
    make=st.sampled_from([ID, ID, Tidal]),
    env=networks(),
    runs=st.integers(1, 4),
    losses=st.lists(st.sampled_from([0.0, 0.3, 1.0]), max_size=2),
    contaminated=st.lists(st.tuples(st.sampled_from([0.1, 0.9]), st.sampled_from(["beta", "constant"])), max_size=2),
    stops=st.lists(st.one_of(st.integers(-1, 50), st.floats(0, 50)), max_size=4),
    seed=st.integers(0, 2**32),
)
def test_episodes_and_phases_leave_the_same_behind_and_take_turns(
    agent, make, env, runs, losses, contaminated, stops, seed
):
    env = filled(env)
    if make is Tidal:
        env["n_change_points"], env["rewards"] = 0, "beta"
    if agent == "QuACK-UCB":
        env["max_hops"] = None
    wrappers = [Loss(rate, name=f"L{i}") for i, rate in enumerate(losses)]
    wrappers[1:1] = [Huber(rate, law, name=f"H{i}", fraction=0.7) for i, (rate, law) in enumerate(contaminated)]
    core, team = begun(agent, runs, wrappers, seed, env, make)
    twin, other = begun(agent, runs, wrappers, seed, env, make)
    take_turns(core, team, twin, other, stops)


def take_turns(core, team, twin, other, stops):
    """One alternates between episodes and phases, the other uses the phases only."""
    for i, stop in enumerate([*sorted(stops), math.inf]):
        if i % 3 == 2:
            by_phases(core, team, stop - core.t[0])
        else:
            assert team.episode(core, stop)
        by_phases(twin, other, stop - twin.t[0])
        equal(core, twin)
        equal(team, other)
        core, team = pickle.loads(pickle.dumps((core, team)))
    assert not core.running.any()
    assert team.episode(core)  # nothing is left to play
    equal(core.metrics(), twin.metrics())
    with pytest.raises(RuntimeError, match="after the end"):
        core.pull(np.zeros((core.runs, core.n_agents), int))


@pytest.mark.weekly
@settings(max_examples=40, deadline=None)
@given(
    own=st.sampled_from(["true", "private", "alone"]),
    epsilon=st.sampled_from([0.3, 1.0, 8.0]),
    env=networks().filter(lambda env: env["rewards"] in BOUNDED),
    runs=st.integers(1, 4),
    stops=st.lists(st.integers(-1, 50), max_size=4),
    seed=st.integers(0, 2**32),
)
def test_so_do_those_whose_wrapper_posts_states(own, epsilon, env, runs, stops, seed):
    pairs = []
    for _ in range(2):
        team = hb.make_team("DP-UCB-INT" if own == "alone" else "Private-UCB", epsilon=epsilon)
        if own == "true":
            team = hb.make_team("Private-UCB", epsilon=epsilon, own_feedback=own)
        pairs += begun(team, runs, (), seed, filled(env))
    take_turns(*pairs, stops)


class Silent(Wrapper):
    """Drops messages as a third-party wrapper may."""

    drop_prob = 1.0

    def send(self, message, env):
        return message.with_fields(sent=np.zeros_like(message["sent"]))


class Deaf(Loss):
    """Drops messages, and changes others."""

    def deliver(self, inbox, env):
        return inbox


class Biased(Huber):
    """Reads what it replaces."""

    def send(self, message, env):
        return message.with_fields(reward=message["reward"] * 0.5)


class Charging(CoopNetwork):
    def _charge(self, arm, gap):
        return gap + 1.0


class OwnAct(type(hb.make_team("Multi-UCB"))):
    def act(self, obs):
        self._arm[:] = 1
        return self._arm


class OwnHear(type(hb.make_team("UCB1"))):
    def receive(self, inbox):
        self._s += 0.25


class NoRules(NetworkTeam):
    act = OwnAct.act

    def reset(self, env, rng):
        self._arm = np.zeros((len(rng), env.n_agents), int)


PHASES = {
    "no rules": {"agent": NoRules()},
    "an own phase": {"agent": OwnAct()},
    "another own phase": {"agent": OwnHear()},
    "an env that charges": {"make": Charging},
    "edges that fail": {"env": {"edge_failure_prob": 0.5}},
    "lost states": {"agent": "Private-UCB", "wrappers": [Loss(0.5)]},
    "states of rewards without a bound": {"agent": "Private-UCB", "env": {"rewards": "gaussian"}},
    "another wrapper": {"wrappers": [hb.make_wrapper("LocalLaplace")]},
    "a contamination that does more": {"wrappers": [Biased(0.5)]},
    "relays": {"wrappers": [Huber(0.5, relays=True)]},
    "a loss that does more": {"wrappers": [Deaf(0.5)]},
}


@pytest.mark.parametrize("case", PHASES)
def test_what_episodes_do_not_know_goes_by_the_phases(case):
    core, team = begun(**{"agent": "Multi-UCB", **PHASES[case]})
    assert not team.episode(core)
    assert (core.t == 0).all()
    assert team.act(core._seen()).shape == (2, 16)


def test_a_phase_replaced_in_one_team_goes_by_the_phases():
    core, team = begun("Multi-UCB")
    team.receive = lambda inbox: None
    assert not team.episode(core)


def test_runs_out_of_step_and_half_a_round_go_by_the_phases():
    core, team = begun("Multi-UCB", env={"horizon": 9})
    obs = core.pull(team.act(core._seen()))
    assert not team.episode(core)
    core.communicate(team.compose(obs.reward))
    core.reset(1, rows=[1])
    assert not team.episode(core)
    by_phases(core, team)
    assert not team.episode(core)
    begin(core, team, 0)
    assert team.episode(core)


@pytest.mark.parametrize("agent", COMPILED)
def test_a_third_party_loss_is_one_of_those_that_episodes_know(agent):
    core, team = begun(agent, wrappers=[Silent(), Loss(0.5)], env={"horizon": 40})
    twin, other = begun(agent, wrappers=[Silent(), Loss(0.5)], env={"horizon": 40})
    assert team.episode(core)
    by_phases(twin, other)
    equal(core, twin)
    equal(team, other)
    assert (core.metrics()["messages"] == 0).all()


def test_queues_that_grow():
    """More reports than a queue holds, of arms that the leader does not want."""
    env = {"n_agents": 12, "graph": "star", "means": [0.1, 0.9], "horizon": 2000, "hop_delay": 3}
    core, team = begun("QuACK-UCB", env=env)
    twin, other = begun("QuACK-UCB", env=env)
    for each in (team, other):
        each.state = each.state._replace(queue=each.state.queue[:, :, :13].copy())
    assert team.episode(core)
    by_phases(twin, other)
    equal(core, twin)
    equal(team, other)
    assert team.state.queue.shape[2] > 13
