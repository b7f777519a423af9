"""Guarantees of combined parts: wrapper and wrapper, wrapper and team, guarantee and view, loss and t_min."""

import math
from dataclasses import replace

import numpy as np
import pytest
from kinds import each_once

import hushbandits as hb
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.plans import distributed_pure
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.distributed_dp import DiscreteGaussian, DiscreteLaplace, Skellam
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg


class Times(Wrapper):
    """Rewards in another unit."""

    operations = ("map",)

    def __init__(self, factor=10.0):
        super().__init__()
        self.factor = factor

    def send(self, message, env):
        return message.map(lambda x: self.factor * x)


class DeclaredTimes(Times):
    preserves_guarantees = True


class Dropper(Wrapper):
    """Drops messages without a declaration."""

    operations = ("drop",)
    preserves_guarantees = True

    def reset(self, env, rng):
        self._stream = env.message_class.stream("drop", env, rng)

    def send(self, message, env):
        return message.drop(0.5, self._stream)


class SomeLost(Dropper):
    """Drops at most a tenth."""

    preserves_guarantees = True
    max_drop_fraction = 0.1

    def send(self, message, env):
        return message


def finite(promises):
    return [g.epsilon for g in promises if math.isfinite(g.epsilon)]


# -- own rewards ------------------------------------------------------------------------------------------------------

TELLERS = {
    "means": lambda: PrivateMeans(0.5),
    "laplace": lambda: LocalLaplace(0.5),
    "grid": lambda: LocalLaplace(0.5, quantization_levels=64),
    "coin": lambda: LocalBernoulli(0.5),
    "coin, laplace": lambda: (LocalBernoulli(0.5), LocalLaplace(2.0)),
    "laplace, coin": lambda: (LocalLaplace(2.0), LocalBernoulli(0.5)),
    "laplace, means": lambda: (LocalLaplace(2.0), PrivateMeans(0.5)),
    "exact": lambda: (LocalLaplace(2.0, own_feedback="true"), PrivateMeans(0.5, own_feedback="true")),
}  # fmt: skip


def wrappers_of(name):
    made = TELLERS[name]()
    return list(made) if isinstance(made, tuple) else [made]


@pytest.mark.parametrize("name", TELLERS)
def test_what_is_shown_is_what_is_declared(name):
    env = hb.make_batched("CoopNetwork-v0", n_agents=4, horizon=40, runs=3, wrappers=wrappers_of(name))
    obs, rng = env.reset(0), np.random.default_rng(0)
    while obs.running.any():
        obs = env.pull(rng.integers(10, size=(3, 4)))
        assert (obs.reward is None) == ("reward" not in env.own_reward_fields)
        if obs.reward is not None:
            low, high = env.own_reward_fields["reward"].range
            assert low <= obs.reward.min() <= obs.reward.max() <= high
        assert ("reward" in env.standard_report()) == ("reward" in env.own_reward_fields)
        obs = env.communicate()
        assert set(obs.inbox.own) == set(env.own_reward_fields) - {"reward"}


@each_once
@pytest.mark.parametrize("name", TELLERS)
@pytest.mark.parametrize("two_phase", [False, True])
@pytest.mark.parametrize("extra_fields", [None, {"x": hb.Field((2,), "f4")}])
def test_observations_lie_in_their_space(name, two_phase, extra_fields):
    made = wrappers_of(name)
    env = hb.make(
        "CoopNetwork-v0", n_agents=4, horizon=30, wrappers=made, two_phase=two_phase, extra_fields=extra_fields
    )
    observations, _ = env.reset(seed=0)
    while env.agents:
        for agent, seen in observations.items():
            assert env.observation_space(agent).contains(seen)
        observations, rewards, *_ = env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        assert all(math.isfinite(r) for r in rewards.values())


def test_a_learner_sees_and_earns_what_was_published_and_nothing_else():
    """Before the first release nothing distinguishes arms that always pay from arms that never do."""
    seen = []
    for means in ([0.0, 0.0], [1.0, 1.0]):
        env = hb.make("PrivateNetwork-v0", epsilon=0.02, means=means, n_agents=3, horizon=60)
        observations, _ = env.reset(seed=1)
        rng, shown = np.random.default_rng(0), []
        while env.agents:
            observations, rewards, *_ = env.step({agent: int(rng.integers(2)) for agent in env.agents})
            shown.append([*(o.tolist() for o in observations.values()), *rewards.values()])
        seen.append(shown)
    first = next(t for t, (a, b) in enumerate(zip(*seen, strict=True)) if a != b)
    counts = np.random.default_rng(0).integers(2, size=(60, 3))
    pulls = [max((counts[: t + 1, m] == k).sum() for m in range(3) for k in range(2)) for t in range(60)]
    due = math.ceil(1 / 0.02 / 4)  # no release can be due long before 1/ε pulls
    assert pulls[first] > due
    assert np.ptp([x for shown in seen for t in shown[first:] for x in t[3:]]) > 0  # then own rewards are published


def test_what_is_withheld_cannot_be_said():
    env = hb.make_batched("PrivateNetwork-v0", n_agents=3, horizon=5)
    env.reset(0)
    env.pull(np.zeros((1, 3), int))
    with pytest.raises(ValueError, match="a field 'reward'"):
        env.communicate({"arm": np.zeros((1, 3), int), "reward": np.ones((1, 3))})
    assert env.communicate({"arm": np.zeros((1, 3), int)}).inbox.own["count"].sum() == 3


class Louder(Wrapper):
    def alter_own_reward(self, reward, env):
        return 10.0 * reward


# -- losses ------------------------------------------------------------------------------------------------------------

MECHANISMS = {"pure": DiscreteLaplace, "skellam": Skellam, "gaussian": DiscreteGaussian}


@each_once
@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.parametrize("min_participants", [1.0, 0.9, 0.5, 100])
@pytest.mark.parametrize("losing", [lambda: Loss(0.5), lambda: Loss(1e-6), Dropper], ids=["half", "few", "own"])
@pytest.mark.parametrize("first", [True, False])
def test_no_promise_counts_on_noise_that_may_be_lost(kind, min_participants, losing, first):
    mechanism, loss = MECHANISMS[kind](1.0, min_participants=min_participants), losing()
    order = [loss, mechanism, SecAgg()] if first else [mechanism, loss, SecAgg()]
    promise = Feedback(wrappers=order).guarantees()[0]
    assert math.isinf(promise.epsilon) == (min_participants == 1.0)
    if min_participants == 1.0:
        assert "counts on min_participants=1" in promise.invalid_reason
    elif kind == "pure":  # sums of t_min users or more are opened, and no smaller ones
        core = Feedback(wrappers=order, horizon=2000, runs=2)
        hb.rollout(core, hb.make_team("Random"))
        rows = [row for r in range(2) for row in core.mechanism.ledger.rows(r)]
        assert all(row["survivors"] >= mechanism.sure(row["planned"]) and row["epsilon"] == 1.0 for row in rows)


@pytest.mark.parametrize(("min_participants", "holds"), [(1.0, False), (0.95, True), (0.5, True), (50, True)])
def test_a_loss_that_is_bounded_is_held_against_t_min(min_participants, holds):
    promise = Feedback(
        wrappers=[SomeLost(), DiscreteLaplace(1.0, min_participants=min_participants), SecAgg()]
    ).guarantees()[0]
    assert math.isfinite(promise.epsilon) == holds
    assert promise.epsilon == (1.0 if holds else math.inf)


def test_an_env_that_loses_users_says_so():
    class Leaky(Feedback):
        loses = True

    assert finite(Feedback(wrappers=[DiscreteLaplace(1.0, min_participants=0.5), SecAgg()]).guarantees()) == [1.0]
    assert finite(Leaky(wrappers=[DiscreteLaplace(1.0, min_participants=0.5), SecAgg()]).guarantees()) == []
    assert finite(Leaky(wrappers=[CentralLaplace(1.0)]).guarantees()) == [1.0]


def test_a_wrapper_with_a_send_of_its_own_that_declares_no_drop_loses_nobody():
    for losing, holds in ((DeclaredTimes(1.0), [1.0]), (Dropper(), [])):
        env = Feedback(wrappers=[losing, DiscreteLaplace(1.0), SecAgg()])
        assert finite(env.guarantees()) == holds


def test_loss_behind_the_sum_and_noise_of_ones_own_lose_nothing():
    assert finite(Feedback(wrappers=[Loss(0.0), DiscreteLaplace(1.0), SecAgg()]).guarantees()) == [1.0]
    assert finite(hb.make_batched("LocalDP-v0", wrappers=[Loss(0.5)]).guarantees()) == [1.0]


# -- blocks of every size ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10**3, 10**4, 10**5, 10**6, 10**7])
def test_a_plan_that_breaks_in_large_blocks_is_refuted(n):
    class Narrow(DiscreteLaplace):
        """Noise as for a tenth of the block's size."""

        def plan(self, size):
            whole = distributed_pure(size, self.epsilon, self._p, self.sure(size))
            if size < n:
                return whole
            return replace(whole, noise=replace(whole.noise, b=whole.noise.b / 3))

    promise = Feedback(wrappers=[Narrow(1.0), SecAgg()], horizon=n).guarantees()[0]
    assert math.isinf(promise.epsilon)
    assert "the law of its noise gives ε = 3" in promise.invalid_reason
    assert finite(Feedback(wrappers=[Narrow(1.0), SecAgg()], horizon=n - 1).guarantees()) == [1.0]


# -- post-processing, where it is one ----------------------------------------------------------------------------------


def test_central_noise_on_what_another_mechanism_leaves_is_no_promise():
    outer, inner, _ = Feedback(wrappers=[CentralLaplace(0.1), DiscreteLaplace(5.0), SecAgg()]).guarantees()
    assert math.isinf(outer.epsilon)
    assert "what DiscreteLaplace makes of the sum" in outer.invalid_reason
    assert inner.epsilon == 5.0
    assert finite(Feedback(wrappers=[CentralLaplace(0.1), SecAgg()]).guarantees()) == [0.1]
    local = Feedback(wrappers=[LocalLaplace(0.1), DiscreteLaplace(5.0), SecAgg()]).guarantees()
    assert finite(local) == [0.1, 5.0]


# -- more than [0, 1] --------------------------------------------------------------------------------------------------


def network(wrapper, said):
    """Return what others receive from an agent that reports `said`, minus the noise of these random numbers."""
    env = hb.make_batched("CoopNetwork-v0", n_agents=2, graph="complete", horizon=50, wrappers=[wrapper], runs=4)
    env.reset(3)
    heard = []
    for _ in range(50):
        env.pull(np.zeros((4, 2), int))
        inbox = env.communicate({"arm": np.zeros((4, 2), int), "reward": np.full((4, 2), said)}).inbox
        heard.append(inbox["mean" if "mean" in inbox.fields else "reward"].ravel())
    return np.concatenate(heard)


@pytest.mark.parametrize(
    "make",
    [lambda: LocalLaplace(1.0, own_feedback="true"),
     lambda: LocalLaplace(1.0, own_feedback="true", quantization_levels=8),
     lambda: PrivateMeans(1.0, own_feedback="true")],
    ids=["laplace", "grid", "means"],
)  # fmt: skip
def test_what_a_team_says_beyond_one_counts_as_one(make):
    np.testing.assert_array_equal(network(make(), 1000.0), network(make(), 1.0))
    np.testing.assert_array_equal(network(make(), -7.0), network(make(), 0.0))


@pytest.mark.parametrize("users", ["aggregate", "individual"])
@pytest.mark.parametrize(
    "make",
    [lambda: [CentralLaplace(1e6)], lambda: [CentralLaplace(1e6, discrete=True)],
     lambda: [DiscreteLaplace(1e6, confidence=1e-9), SecAgg()], lambda: [LocalLaplace(1e6)]],
    ids=["central", "discrete", "distributed", "local"],
)  # fmt: skip
def test_a_wrapper_before_a_mechanism_moves_a_sum_by_no_more_than_its_users(make, users):
    arms = {"means": [0.5, 1.0], "rewards": "bernoulli", "permute_arms": False}
    env = Feedback(**arms, simulate_users=users, horizon=100, wrappers=[Times(10.0), *make()])
    env.reset(0)
    env.pull((np.array([[1]]), np.array([[64]])))
    assert env.communicate().inbox.total("reward")[0, 0] == pytest.approx(64, abs=0.5)


def test_a_part_of_ones_own_beside_a_promise_is_unknown():
    for order in ([Times(), CentralLaplace(1.0)], [CentralLaplace(1.0), Times(1.0)]):
        promise = next(g for g in Feedback(wrappers=order).guarantees())
        assert math.isinf(promise.epsilon)
        assert promise.invalid_reason.startswith("Times is a user-defined wrapper, and nothing says what it does")
        known = [DeclaredTimes() if isinstance(w, Times) else w for w in order]
        assert finite(Feedback(wrappers=known).guarantees()) == [1.0]
    env = hb.make_batched("DPMASE-v0", wrappers=[Louder()])
    assert finite(hb.make_team("DP-MASE").guarantees(env)) == []
    assert finite(hb.make_team("DP-MASE").guarantees(hb.make_batched("DPMASE-v0"))) == [0.1]

    class Renamed(Loss):
        """A subclass without changes."""

    assert finite(hb.make_batched("LocalDP-v0", wrappers=[Renamed(0.5)]).guarantees()) == [1.0]

    class OneLine(DeclaredTimes):
        """Another subclass without changes."""

    assert finite(hb.make_batched("LocalDP-v0", wrappers=[OneLine()]).guarantees()) == [1.0]

    class Inherits(DeclaredTimes):
        def send(self, message, env):
            return message.map(lambda x: env.means[0, 0] * x)

    # a base class's declaration does not count
    assert finite(hb.make_batched("LocalDP-v0", wrappers=[Inherits()]).guarantees()) == []


# -- at the edge of floating point -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [20.0, 5.0, 1e-6])
def test_both_sides_of_a_coin_are_there(epsilon):
    coin = LocalBernoulli(epsilon)
    low, high = coin.chance(np.array([0.0, 1.0]))
    steps = np.floor(np.array([low, 1.0 - high]) * 2.0**53)  # uniforms below it, and above
    assert (steps > 1e6).all()
    assert math.log(high / low) <= epsilon * (1 + 1e-6)
