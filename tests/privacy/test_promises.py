"""Guarantees are never too strong: every mechanism × ε × t_min × loss × law, by exact computation."""

import itertools
import math

import numpy as np
import pytest
from helpers import begin
from kinds import each_once
from noises import hockey_stick
from refusals import rows
from scipy import special

import hushbandits as hb
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.random.rewards import LAWS
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.divergence import epsilon_at, law_profile, pure_profile
from hushbandits.privacy.laplace import laplaces
from hushbandits.privacy.ledger import Spent
from hushbandits.privacy.noise import NoiseLaw
from hushbandits.privacy.plans import Plan, binomial_delta, extra_bits
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace, PolyaDifference, Skellam
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg

EPSILONS = (0.1, 0.5, 1.0, 4.0, 7.3, 10.0, 12.0)
MECHANISMS = [
    ("CentralDP-v0", {}),
    ("CentralDP-v0", {"discrete": True}),
    ("DistDP-v0", {}),
    ("DistDP-v0", {"min_participants": 0.75}),
    ("DistRDP-v0", {}),
    ("DistRDP-v0", {"min_participants": 0.75, "scale": 1.0}),
    ("DistCDP-v0", {}),
    ("DistCDP-v0", {"min_participants": 0.75, "scale": 1.0}),
    ("LocalDP-v0", {}),
    ("ShuffleDP-v0", {}),
    ("ShuffleDP-v0", {"min_participants": 0.75}),
    ("ShuffleDP-v0", {"shuffle": "pure"}),
    ("ShuffleDP-v0", {"shuffle": "binary-sum"}),
    ("ShuffleDP-v0", {"shuffle": "binary-sum", "calibrate": "exact"}),
]


# -- what one block gives away --------------------------------------------------------------------------------------


@each_once
@pytest.mark.parametrize("calibrate", ["paper", "exact"])
@pytest.mark.parametrize("epsilon", [0.05, *EPSILONS, 30.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_binary_sums_keep_their_delta_at_every_epsilon(epsilon, delta, calibrate):
    for n in (2, 19, 300, 100_000):
        bits = extra_bits(n, epsilon, delta, calibrate)
        assert binomial_delta(n * bits.k, bits.q, epsilon) <= delta
    printed = 96 * math.log(2 / delta) / epsilon**2
    as_printed = 1, printed / 200_000
    if calibrate == "paper" and printed < 100_000 and binomial_delta(100_000, as_printed[1], epsilon) <= delta:
        assert (bits.k, bits.q) == as_printed


def test_the_printed_constant_falls_short_at_epsilon_ten():
    tau = 96 * math.log(2e6) / 100
    assert binomial_delta(1024, tau / 2048, 10.0) == pytest.approx(9.2e-4, rel=0.03)
    tau = 96 * math.log(2e6) / 144
    assert binomial_delta(1024, tau / 2048, 12.0) == pytest.approx(7.8e-3, rel=0.03)


@each_once
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("id", "env"), MECHANISMS)
def test_no_block_exceeds_its_price_or_the_promise(id, env, epsilon):
    core = hb.make_batched(id, epsilon=epsilon, horizon=10**6, **env)
    core.reset(0)
    mechanism, promise = core.mechanism, core.guarantees()[0]
    assert math.isfinite(promise.epsilon), promise.assumptions
    for n, left in itertools.product((2, 3, 19, 50, 64, 1000), (0.2, 0.5, 0.75, 1.0)):
        survivors = math.floor(left * n)
        if survivors < mechanism.smallest:
            continue
        spent, seen = mechanism.price(n, survivors), mechanism.seen(n, survivors)
        assert seen(np.array([spent.epsilon * (1 + 1e-9)]))[0] <= spent.delta * (1 + 1e-6) + 1e-12
        if survivors >= mechanism.sure(n):
            assert spent.epsilon <= promise.epsilon * (1 + 1e-9)
            assert spent.delta <= promise.delta * (1 + 1e-9)


def test_laws_of_sums_reach_far_into_their_tails():
    one = DiscreteGaussian(1.3).pmf(np.arange(-60, 61))
    pmf = one
    for _ in range(7):
        pmf = np.convolve(pmf, one)
    skellam = special.ive(np.abs(np.arange(-400, 401)), 100.0)
    for law, total, shift, largest in ((DiscreteGaussian(1.3), pmf, 14, 60.0), (Skellam(12.5), skellam, 60, 100.0)):
        for epsilon in (0.5, 4.0, 20.0, largest):
            found = law_profile(law, 8, shift)(np.array([epsilon]))[0]
            assert found == pytest.approx(hockey_stick(total, shift, epsilon), rel=1e-6, abs=1e-14)
    assert math.isinf(epsilon_at(pure_profile(1.0, 1e-3), 1e-4))
    assert epsilon_at(law_profile(PolyaDifference(1 / 64, 8.0), 64, 16), 1e-9) == pytest.approx(2.0, rel=1e-6)


# -- which promise holds where --------------------------------------------------------------------------------------


@rows("name", sorted(LAWS))
def test_unbounded_rewards_void_every_promise(name):
    law = LAWS[name]()
    for wrapper in (PrivateMeans(), LocalLaplace()):
        try:
            env = hb.make_batched("CoopNetwork-v0", n_agents=4, rewards=law, wrappers=[wrapper])
        except ValueError:  # some refuse such rewards
            assert not law.unit_interval
            continue
        finite = [g for g in env.guarantees() if math.isfinite(g.epsilon)]
        assert bool(finite) == law.unit_interval
    if law.unit_interval:
        for id, more in MECHANISMS:
            assert math.isfinite(hb.make_batched(id, rewards=law, **more).guarantees()[0].epsilon)
    else:
        for id, _ in MECHANISMS:
            with pytest.raises(ValueError, match=r"must stay in \[0, 1\]"):
                hb.make_batched(id, rewards=law)
    if name != "alpha-stable":
        env = hb.make_batched("DPMASE-v0", rewards=law)
        assert math.isfinite(hb.make_team("DP-MASE").guarantees(env)[0].epsilon) == law.unit_interval


class Boaster(Wrapper):
    """A user-defined wrapper with a strong guarantee."""

    def claimed_guarantees(self, env):
        return (Guarantee("none", 0.1, 0.0, "one reward", "everyone", (), "me"),)


def test_a_wrapper_of_ones_own_cannot_promise_on_unbounded_rewards():
    for rewards, holds in (("bernoulli", True), ("gaussian", False)):
        (promise,) = hb.make_batched("CoopNetwork-v0", rewards=rewards, wrappers=[Boaster()]).guarantees()
        assert math.isfinite(promise.epsilon) == holds


class Mine(Mechanism):
    """A user-defined mechanism; `law` is each user's noise in a block of n."""

    def __init__(self, law, epsilon=1.0):
        super().__init__(epsilon)
        self.law = law

    def plan(self, n):
        return Plan(n, 4, 50, self.law(n))

    def price(self, n, survivors):
        return Spent(self.epsilon)

    def claimed_guarantees(self, env):
        return (Guarantee("mine", self.epsilon, 0.0, "one reward", "the server", (), "me"),)


class Unknown(NoiseLaw):
    def draw(self, rng, size):
        return np.zeros(size, np.int64)


def test_a_mechanism_claims_no_more_delta_than_its_blocks_cost():
    class Half(Mine):
        def claimed_guarantees(self, env):
            return (Guarantee("mine", self.epsilon, 1e-5, "one reward", "the server", (), "me"),)

    env = Feedback(wrappers=[Half(lambda n: PolyaDifference(1 / n, 4.0)), SecAgg()], horizon=2000)
    with pytest.raises(ValueError, match=r"delta=0 of Half .* 1e-05"):
        env.guarantees()
    env.mechanism.delta = 1e-5
    assert env.guarantees()[0].delta == 1e-5


def test_the_base_decides_what_a_mechanism_of_ones_own_may_promise():
    def privacy(law, *wrappers, epsilon=1.0):
        return Feedback(wrappers=[Mine(law, epsilon), *wrappers], horizon=2000).guarantees()[0]

    enough, thin = lambda n: PolyaDifference(1 / n, 4.0), lambda n: PolyaDifference(1 / n, 1.0)
    assert privacy(enough, SecAgg()).epsilon == 1.0
    naked = privacy(enough)
    assert math.isinf(naked.epsilon)
    assert naked.view == "the server: every user's message"
    refuted = privacy(thin, SecAgg())
    assert math.isinf(refuted.epsilon)
    assert "the law of its noise gives ε = 4 " in refuted.invalid_reason
    assert privacy(thin, SecAgg(), epsilon=4.0).epsilon == 4.0
    odd = privacy(lambda n: PolyaDifference(1 / n, 1.0 if n == 64 else 4.0), SecAgg())
    assert "in blocks of 64" in odd.invalid_reason
    assert math.isinf(privacy(lambda n: None, SecAgg()).epsilon)
    unknown = privacy(lambda n: Unknown(), SecAgg())
    assert unknown.epsilon == 1.0
    assert unknown.assumptions[0] == "as claimed: its noise has no law to check"
    core = Feedback(wrappers=[Mine(thin), SecAgg()], horizon=300)
    # nor does the ledger repeat it
    assert math.isinf(hb.rollout(core, hb.make_team("Random"))["epsilon"].item())


@rows(("id", "env"), MECHANISMS)
def test_a_lossy_env_voids_what_counts_on_every_user(id, env):
    counts, enforced = id.startswith(("Dist", "Shuffle")), id.startswith("Dist") and "min_participants" in env
    for wrappers, loses in (([], False), ([Loss(0.0)], False), ([Loss(0.05)], True), ([Huber(0.1)], False)):
        (promise, *_) = hb.make_batched(id, wrappers=wrappers, **env).guarantees()
        assert math.isinf(promise.epsilon) == (loses and counts and not enforced)
    if counts and not enforced:
        core = hb.make_batched(id, wrappers=[Loss(0.05)], horizon=3000, **env)
        assert core.guarantees()[0].invalid_reason.startswith(
            "Loss may leave 0 of a block's users, and their noise alone"
        )
        # the true cost of blocks is known
        assert np.isfinite(hb.rollout(core, hb.make_team("Random"))["epsilon"]).all()


# -- local noise on a graph -----------------------------------------------------------------------------------------


def arms_after(first, own, levels=None, epsilon=1.0, runs=10, n_agents=40):
    """Return an observer's view of two arms' third round: UCB plays the better of its first two rewards."""
    wrapper = LocalLaplace(epsilon, own_feedback=own, quantization_levels=levels)
    kwargs = {"n_agents": n_agents, "graph": "cycle", "max_hops": 1, "horizon": 3, "means": [0.5, 0.5]}
    env = hb.make_batched("CoopNetwork-v0", runs=runs, wrappers=[wrapper], **kwargs)
    fixed = lambda self, u, location: np.full(u.shape, 0.5 if env._t[0] else first)  # noqa: E731
    env.law = type("Fixed", (type(env.law),), {"quantile": fixed})()
    team = hb.make_team("UCB1")
    obs = begin(env, team, 0)
    shown = []
    while obs.running.any():
        arms = np.array(team.act(obs))
        obs = env.pull(arms)
        shown.append(obs.reward.copy())
        obs = env.communicate(team.compose(obs.reward))
        team.receive(obs.inbox)
    posted = env._ring.values["reward"][env._ring.t % env._ring.depth]
    return arms, shown, posted


def test_arms_show_on_exact_own_rewards_but_not_on_noised_ones():
    low, high = (arms_after(first, "true")[0] for first in (0.0, 1.0))
    assert (low != high).all()  # the third arm reveals the first reward with certainty
    low, high = (arms_after(first, "private", n_agents=400)[0].mean() for first in (0.0, 1.0))
    assert abs(low - high) < math.tanh(0.5)  # randomized response at ε = 1 reveals no more
    for grid in (None, 64):
        _, shown, posted = arms_after(0.3, "private", grid)
        np.testing.assert_array_equal(shown[-1], posted)  # the message equals the published own reward, drawn once


def excluded(reports, epsilon, candidate):
    """Return the share of reports that this reward cannot produce: no uniform k/2^53 leads there."""
    scale = 1 / epsilon
    out = 0
    for y in reports:
        noise = y - candidate
        u = math.exp(noise / scale) / 2 if noise < 0 else 1 - math.exp(-noise / scale) / 2
        near = (np.round(u * 2**53) + np.arange(-40, 41)) / 2**53
        out += not (candidate + laplaces(near[(near >= 0) & (near < 1)], scale) == y).any()
    return out / len(reports)


def test_a_doubles_last_bits_show_and_the_grids_do_not():
    _, _, posted = arms_after(0.0, "true", epsilon=0.5, n_agents=30)
    assert excluded(posted.ravel(), 0.5, 0.5) == 0  # the true reward
    assert 0.6 < excluded(posted.ravel(), 0.5, 1.0) < 0.95  # another reward: "about 4 cases of 5"
    assert any(
        "4 cases of 5" in a for a in LocalLaplace().claimed_guarantees(hb.make_batched("CoopNetwork-v0"))[0].assumptions
    )
    _, _, posted = arms_after(0.3, "true", levels=64, n_agents=4000)
    steps = posted * 64
    np.testing.assert_array_equal(steps, np.round(steps))
    x = np.arange(-100, 101)
    found = np.bincount((steps - 32).astype(int).ravel() + 2000, minlength=4001)[1900:2101] / steps.size
    law = DiscreteLaplace(64.0).pmf(x)
    assert np.abs(found - law).max() < 5 * math.sqrt(law.max() / steps.size)
