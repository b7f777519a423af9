"""Privatized feedback: blocks of users, the protocol's table, rows and batches, twins."""

import itertools
import math

import numpy as np
import pytest
from helpers import cursors
from refusals import rows
from scipy import stats

import hushbandits as hb
from hushbandits.core.random.rewards import Beta
from hushbandits.envs.feedback.pooled_users import Pooled
from hushbandits.envs.feedback.users import BlockInbox
from hushbandits.privacy.plans import distributed_pure
from hushbandits.privacy.samplers import DiscreteGaussian
from hushbandits.registry import assemble
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg


def individuals(env, arm, n):
    env.reset(0)
    env.pull((np.full((env.runs, env.n_agents), arm), np.full((env.runs, env.n_agents), n)))
    return env.communicate().inbox


# -- sums that wrap --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "env"),
    [("DistDP-v0", {}), ("CentralDP-v0", {"discrete": True}), ("LocalDP-v0", {}), ("ShuffleDP-v0", {})],
)
def test_the_threshold_of_an_underflow_follows_the_survivors(id, env):
    # Lost users leave room for noise: sg + τ is the largest sum, m − 1 the smallest below 0.
    core = hb.make_batched(id, simulate_users="individual", **env)
    core.reset(0)
    core.mechanism.added = lambda n: DiscreteGaussian(1e-3)  # almost no noise of a trusted server
    core.pull((np.zeros((1, 1), int), np.full((1, 1), 64)))
    core.communicate()
    plan, survivors = core.mechanism.planned(64), 20

    def decoded(y):
        inbox = BlockInbox(np.array([[y]]), np.array([[survivors]]), np.array([[True]]))
        return core.mechanism.deliver(inbox, core).total("reward").item()

    top = survivors * plan.g + plan.tau
    for y in (0, 1, top - 1, top):
        assert decoded(y) == y / plan.g
    for y in (top + 1, top + 2, plan.modulus - 1):
        assert decoded(y) == (y - plan.modulus) / plan.g


def test_underflow_happens_and_comes_out_right():
    # All rewards are 0: half of the sums are negative before the modulus, and again after the analyzer.
    arms = {"means": (0.0, 1.0), "rewards": "bernoulli", "permute_arms": False}
    env = hb.make_batched("DistDP-v0", runs=400, **arms, confidence=1e-9)
    z = individuals(env, 0, 64).total("reward")
    assert 0.3 < (z < 0).mean() < 0.6
    assert abs(z.mean()) < 5 * math.sqrt(2 / 400)
    wrong = hb.make_batched("DistDP-v0", runs=400, **arms, confidence=0.5)
    z = individuals(wrong, 0, 64).total("reward")
    # A sum below −τ wraps the wrong way: P(noise < −τ) = β^(τ+1)/(1 + β), and p bounds both sides.
    plan = distributed_pure(64, 1.0, 0.5)
    beta = math.exp(-1 / plan.g)
    rate = beta ** (plan.tau + 1) / (1 + beta)
    assert 0.1 < rate < 0.25
    assert stats.binomtest(int((z > 32).sum()), 400, rate).pvalue > 1e-7


def test_a_block_is_cut_at_the_horizon_and_a_finished_server_rests():
    env = hb.make_batched("DistDP-v0", n_agents=2, horizon=100, rewards="bernoulli")
    env.reset(0)
    env.pull((np.array([[0, 1]]), np.array([[60, 130]])))
    assert env.communicate().inbox.total("n").tolist() == [[60, 100]]
    env.pull((np.array([[2, 7]]), np.array([[60, 0]])))  # server 1 has ended: its action is ignored
    inbox = env.communicate().inbox
    assert inbox.total("n").tolist() == [[40, 0]]
    assert inbox.arrived[0, :, 0].tolist() == [True, False]
    assert env.metrics()["users"].tolist() == [200]
    assert not env.running.any()
    with pytest.raises(RuntimeError, match="after the end"):
        env.pull((np.zeros((1, 2), int), np.ones((1, 2), int)))


def test_regret_counts_the_users_pulls():
    env = hb.make_batched("DistDP-v0", means=(0.2, 0.7), rewards="bernoulli", horizon=100)
    env.reset(0)
    for arm in (0, 1):
        env.pull((np.full((1, 1), arm), np.full((1, 1), 30)))
        env.communicate()
    assert env.metrics()["regret"].item() == pytest.approx(15.0)


def test_by_default_instances_are_easy_ones_and_rewards_clipped_gaussians():
    from hushbandits.envs.feedback.env import Feedback

    env = Feedback(simulate_users="individual", runs=400)
    users = individuals(env, 0, 50)["users"][:, 0, 0]
    assert env.means.shape == (400, 10)
    assert stats.kstest(env.means.ravel(), stats.uniform(0.25, 0.5).cdf).pvalue > 1e-7
    assert stats.kstest((users - env.locations[:, :1]).ravel(), stats.norm(0, 0.1).cdf).pvalue > 1e-7


@pytest.mark.parametrize("users", ["aggregate", "individual"])
def test_a_block_that_is_lost_whole_has_not_arrived(users):
    env = hb.make_batched("CentralDP-v0", simulate_users=users, runs=2, wrappers=[Loss(1.0)])
    inbox = individuals(env, 0, 5)
    assert not inbox.arrived.any()
    assert (inbox.total("n") == 0).all()
    assert (inbox.total("reward") == 0).all()  # without noise
    assert env.metrics()["bits"].tolist() == [0, 0]
    assert env.metrics()["users"].tolist() == [5, 5]
    assert env.metrics()["epsilon"].tolist() == [0, 0]


@pytest.mark.parametrize("servers", [1, 3])
def test_a_curve_of_regret_ends_at_the_regret_and_is_linear_inside_a_block(servers):
    env = {"horizon": 4000, "n_agents": servers, "means": (0.2, 0.7), "rewards": "bernoulli", "epsilon": 0.1}
    env["permute_arms"] = False
    results = hb.evaluate(
        "DistDP-v0", "Dist-DP-SE", runs=3, env=env, options=hb.RunOptions(checkpoints=[1, 2, 3, 4, 1000, 4000])
    )
    _, curve = results.curve("regret")
    np.testing.assert_allclose(curve[:, -1], results.final("regret"))
    # Batch 1: two users of the bad arm, then two of the good one, at every server.
    np.testing.assert_allclose(curve[:, :4], servers * np.array([[0.5, 1.0, 1.0, 1.0]] * 3))
    assert (np.diff(curve, axis=1) >= 0).all()


def test_bits_are_counted_per_user():
    env = hb.make_batched("DistDP-v0", horizon=10_000)
    individuals(env, 0, 1024)
    assert env.metrics()["bits"].item() == 1024 * 16  # m = 1024·32 + 2·96 + 1
    assert env.metrics()["bits_per_user"].item() == 16


# -- what is hidden, and bad input ------------------------------------------------------------------------------


class Cheat(hb.Team):
    """Reads all agents' rewards, if it can."""

    setting = "feedback"
    required_inbox = ("users",)


@rows("id", ["CentralDP-v0", "LocalDP-v0", "ShuffleDP-v0", "DistDP-v0", "DistRDP-v0", "DistCDP-v0"])
def test_every_protocol_hides_individuals_from_a_cheating_agent(id):
    env = hb.make_batched(id, simulate_users="individual", horizon=100)
    with pytest.raises(ValueError, match="needs the field 'users'"):
        hb.check_compatible(env, Cheat())
    assert individuals(env, 0, 32).fields == ("reward", "n")


def test_secagg_alone_encodes_on_its_own_grid():
    from hushbandits.envs.feedback.env import Feedback

    raw, summed = (
        Feedback(simulate_users="individual"),
        Feedback(simulate_users="individual", wrappers=[SecAgg(quantization_levels=1 << 20)]),
    )
    exact, decoded = individuals(raw, 3, 1000).total("reward"), individuals(summed, 3, 1000).total("reward")
    assert abs(exact - decoded).item() < 5 * math.sqrt(1000) / 2 / (1 << 20)
    assert exact.item() != decoded.item()
    assert summed.metrics()["bits_per_user"].item() == math.ceil(math.log2(1000 * 2**20 + 1))


def test_a_cohort_of_one_reveals_nothing():
    inbox = individuals(hb.make_batched("DistDP-v0"), 0, 1)
    assert not inbox.arrived.any()
    assert (inbox.total("n"), inbox.total("reward")) == (0, 0)


def test_a_pool_has_no_individuals():
    pool = Pooled(np.array([[10]]), Beta(), np.array([[0.4]]), cursors(1))
    pool.total()
    with pytest.raises(RuntimeError, match="has been drawn"):
        pool.drop(0.5, [np.random.default_rng(0)])


def test_agent_and_mechanism_agree_on_epsilon():
    either = [({"epsilon": 0.4}, {}), ({}, {"epsilon": 0.4})]
    one, other = (
        hb.rollout(assemble("DistDP-v0", team, runs=2, env={"horizon": 3000, **env}), team, seed=0)["regret"]
        for env, given in either
        for team in [hb.make_team("Dist-DP-SE", **given)]
    )
    np.testing.assert_array_equal(one, other)


class Idle(hb.Wrapper):
    """A wrapper that changes nothing, so that messages exist and pass every wrapper."""


SHARES = [{"epsilon": 5.0}, {"epsilon": 0.1, "min_participants": 0.5}, {"min_participants": 9}]
HIDDEN = itertools.product(["DistDP-v0", "DistRDP-v0", "ShuffleDP-v0"], SHARES)
ALONE = [("CentralDP-v0", {"epsilon": 0.1, "discrete": True}), ("LocalDP-v0", {"epsilon": 0.1})]


@pytest.mark.parametrize(("id", "env"), [*HIDDEN, *ALONE])
@pytest.mark.parametrize("law", ["bernoulli", "clipped-gaussian", "truncated-gaussian"])
def test_blocks_in_one_pass_are_those_whose_messages_pass_every_wrapper(id, env, law):
    given = {"n_agents": 3, "horizon": 3000, "rewards": law, **env}
    core = hb.make_batched(id, 4, **given)
    other = hb.make_batched(id, 4, wrappers=[Idle()], **given)
    rng = np.random.default_rng(1)
    for one in (core, other):
        one.reset(5)
    for _ in range(60):
        action = rng.integers(10, size=(4, 3)), rng.integers(1, 200, size=(4, 3)) ** rng.integers(0, 2, size=(4, 3))
        inboxes = [one.communicate().inbox for one in (core, other) if one.pull(action) is not None]
        for field in ("reward", "n"):
            assert (inboxes[0].total(field) == inboxes[1].total(field)).all()
        assert (inboxes[0].arrived == inboxes[1].arrived).all()
    for (name, value), again in zip(core.metrics().items(), other.metrics().values(), strict=True):
        assert (value == again).all(), name
    assert [*core.mechanism.ledger.rows(2)] == [*other.mechanism.ledger.rows(2)]
