"""Many blocks together never reveal more than the ledger says."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.privacy.divergence import (
    binomial_profile,
    composed_epsilon,
    gaussian_profile,
    laplace_profile,
    law_profile,
)  # fmt: skip
from hushbandits.privacy.ledger import Ledger, Spent
from hushbandits.privacy.plans import binomial_delta
from hushbandits.privacy.samplers import DiscreteGaussian, DiscreteLaplace
from hushbandits.wrappers.loss import Loss

# -- what many blocks give away -------------------------------------------------------------------------------------


def test_composition_by_direct_convolution():
    law = DiscreteLaplace(3.0)
    pmf = law.pmf(np.arange(-100, 101))
    loss = np.log(np.append(pmf, np.zeros(2) + 1e-300)) - np.log(np.append(np.zeros(2) + 1e-300, pmf))
    middle = slice(2, -2)
    steps = np.round(loss[middle] * 3).astype(int)  # of −2/3 … 2/3, in thirds
    assert np.allclose(loss[middle] * 3, steps, atol=1e-9)
    single = np.bincount(steps + 2, weights=np.append(pmf, [0, 0])[middle], minlength=5)
    for times in (2, 5, 20):
        total = np.ones(1)
        for _ in range(times):
            total = np.convolve(total, single)
        losses = (np.arange(len(total)) - 2 * times) / 3
        for delta in (1e-3, 1e-6):
            epsilon = composed_epsilon(law_profile(law, 1, 2), times, delta)
            at = float((total * np.maximum(-np.expm1(epsilon - losses), 0)).sum())
            before = float((total * np.maximum(-np.expm1(0.99 * epsilon - 0.01 - losses), 0)).sum())
            assert at <= delta * (1 + 1e-6) < before


def shuffled(shuffle, epsilon, law):
    env = hb.make_batched("ShuffleDP-v0", epsilon=epsilon, shuffle=shuffle, horizon=1000)
    return env.mechanism.price(100, 100).exact(), law(env.mechanism.planned(100).g)


#: By mechanism: our profile and dp-accounting's law, at ε and a grid of g steps.
MECHANISMS = {
    "laplace": lambda pld, e, g: (laplace_profile(e), pld.from_laplace_mechanism(1 / e)),
    "gaussian": lambda pld, e, g: (gaussian_profile(e), pld.from_gaussian_mechanism(1 / e)),
    "discrete laplace": lambda pld, e, g: (
        law_profile(DiscreteLaplace(g / e), 1, g), pld.from_discrete_laplace_mechanism(e / g, sensitivity=g)
    ),
    "discrete gaussian": lambda pld, e, g: (
        law_profile(DiscreteGaussian((g / e) ** 2), 1, g), pld.from_discrete_gaussian_mechanism(g / e, sensitivity=g)
    ),
    "split-and-mix": lambda pld, e, g: shuffled(
        "split-and-mix", e, lambda g: pld.from_discrete_laplace_mechanism(e / g, sensitivity=g)
    ),
    "any pure view": lambda pld, e, g: shuffled(
        "pure", e, lambda g: pld.from_privacy_parameters(pld.common.DifferentialPrivacyParameters(e, 0.0))
    ),
}  # fmt: skip


@pytest.mark.parametrize("settings", [6, pytest.param(30, marks=pytest.mark.weekly)])
def test_random_compositions_agree_with_dp_accounting_within_a_percent(settings):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    rng = np.random.default_rng(2027)
    for _ in range(settings):
        kind, g = str(rng.choice([*MECHANISMS])), int(rng.integers(1, 30))
        epsilon, times = math.exp(rng.uniform(-3, 0.7)), int(math.exp(rng.uniform(0, 5.7)))
        delta = 10 ** rng.uniform(-8, -3)
        profile, law = MECHANISMS[kind](pld, epsilon, g)
        theirs = law.self_compose(times).get_epsilon_for_delta(delta)
        assert composed_epsilon(profile, times, delta) == pytest.approx(theirs, rel=0.01), (kind, epsilon, g, times)


def ledger(price):
    return Ledger(price, lambda n: {}, 1)


def test_what_is_dearer_once_may_be_cheaper_a_thousand_times():
    core = hb.make_batched("DistRDP-v0", epsilon=1.0, scale=1.0)
    core.reset(0)

    def cost(*kinds):
        book = ledger(core.mechanism.price)
        for kind in kinds:
            book.use(*np.reshape(kind, (2, 1, 1)))
        return book.returning(0, 1000, 1e-6)[0]

    one, other = (65_536, 32_768), (4, 3)
    assert cost(one, other) >= max(cost(one), cost(other)) * (1 - 1e-9)


kinds = st.one_of(
    st.builds(Spent, st.floats(0.05, 3.0), st.sampled_from([0.0, 1e-9, 1e-4])),
    st.builds(
        lambda b, g: Spent(g / b, 0.0, None, lambda: law_profile(DiscreteLaplace(b), 1, g)),
        st.floats(2, 30),
        st.integers(1, 9),
    ),
    st.builds(
        lambda q: Spent(1.0, binomial_delta(400, q, 1.0), None, lambda: binomial_profile(400, q)),
        st.floats(0.05, 0.5),
    ),
)


@settings(max_examples=8, deadline=None)
@given(st.lists(kinds, min_size=1, max_size=3), st.lists(st.integers(0, 2), min_size=1, max_size=6))
def test_no_mixture_of_blocks_costs_more_than_the_ledger_says(blocks, order):
    book = ledger(lambda n, s: blocks[n - 1])
    sizes = np.arange(1, len(blocks) + 1)[None]
    book.use(sizes, sizes)
    played = [blocks[i % len(blocks)] for i in order]
    epsilon, delta = book.returning(0, len(played), 1e-5)
    if math.isinf(epsilon):
        return
    # The mixture itself: the losses of the blocks that were played, each rounded down to a grid, add up.
    step, total, low, lost = 1e-3, np.ones(1), 0, 0.0
    for block in played:
        profile = block.exact()
        edges = np.arange(0, 5 + step, step)  # no block here costs more than 4.5
        above = profile(edges)
        below = -np.expm1(-edges) + np.exp(-edges) * above  # δ(−x)
        x = np.concatenate([-edges[:0:-1], edges])
        delta_at, scale = np.concatenate([below[:0:-1], above]), np.exp(x)
        slopes = -np.diff(delta_at) / np.diff(scale)  # Q(loss > x), between the points
        masses = np.exp(x[:-2]) * (slopes[:-1] - slopes[1:])  # at x[1:-1], as if one step lower
        total, low = np.convolve(total, masses), low + round(x[0] / step)
        lost = 1 - (1 - lost) * (1 - above[-1])
    losses = (low + np.arange(len(total))) * step
    spent = lost + float((total * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0)).sum())
    assert spent <= delta * (1 + 1e-3) + 1e-9


def test_losses_show_in_the_metrics():
    env = {"shuffle": "binary-sum", "calibrate": "exact", "horizon": 20_000}
    core = hb.make_batched("ShuffleDP-v0", wrappers=[Loss(0.05)], **env)
    final = hb.rollout(core, hb.make_team("Random"), 0)
    assert final["epsilon"][0] == 1.0
    assert final["delta"][0] == core.mechanism.ledger.worst_delta[0] > 1e-6
    for row in core.mechanism.ledger.rows(0):
        bits = core.mechanism.planned(row["planned"]).noise
        assert binomial_delta(row["survivors"] * bits.k, bits.q, 1.0) <= final["delta"][0]
