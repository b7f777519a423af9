"""Quantiles by tables: near the function everywhere, monotone, the same for one number as for many."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.core.luck.arms import Arms
from hushbandits.core.luck.quantiles import Tabled, tabled
from hushbandits.core.luck.rewards import Bernoulli, Beta, UniformMeans

MEANS = (0.01, 0.1, 0.3, 0.5, 0.8, 0.99)


def points(seed=3):
    """Everywhere in [0, 1), more of them towards both ends, and beyond where the tables end."""
    rng = np.random.default_rng(seed)
    near = 2.0 ** -rng.uniform(1, 40, 4000)
    return np.concatenate([[0.0, 0.25, 0.5, 2.0**-35, 1 - 2.0**-35, 1 - 2.0**-53], rng.random(4000), near, 1 - near])


@pytest.mark.parametrize("concentration", [0.5, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("mean", MEANS)
def test_a_table_is_near_its_law_and_rises(concentration, mean):
    law = Beta(concentration)
    table, u = Tabled(law, MEANS), np.sort(points())
    at = np.full(u.shape, mean)
    looked_up = table.quantile(u, at)
    assert np.abs(looked_up - law.quantile(u, at)).max() < 5e-11
    assert np.diff(looked_up).min() > -1e-14
    assert (looked_up >= 0).all()
    assert (looked_up <= 1).all()
    assert looked_up[::400].tolist() == [float(table.quantile(v, np.array(mean))) for v in u[::400]]


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-6, 1.0), st.lists(st.integers(0, 2**53 - 1).map(lambda i: i / 2**53), min_size=1, max_size=8))
def test_where_there_is_no_table_it_is_the_law_itself(mean, u):
    law = Beta()
    table, u = Tabled(law, MEANS), np.array(u)
    if mean not in MEANS:
        assert table.quantile(u, np.array(mean)).tolist() == law.quantile(u, np.array(mean)).tolist()


def test_a_quantile_that_no_table_is_near_has_none():
    law, u = Beta(1e-3), points()  # nearly a coin: too steep
    assert Tabled(law, (0.5,)).quantile(u, np.array(0.5)).tolist() == law.quantile(u, np.array(0.5)).tolist()


def test_arms_look_up_what_stands_still_and_is_given():
    law = Beta()
    assert isinstance(tabled(law, np.array(MEANS)), Tabled)
    assert tabled(law, None) is law
    assert tabled(law, np.linspace(0, 1, 65)) is law
    assert tabled(Bernoulli(), np.array(MEANS)) == Bernoulli()
    assert isinstance(Arms(MEANS, law)._pays, Tabled)
    assert Arms(MEANS, law, drift=1e-3, horizon=9)._pays is law
    assert Arms(UniformMeans(), law, n_arms=3)._pays is law


@pytest.mark.parametrize(("id", "agent"), [("CoopNetwork-v0", "UCB1"), ("DPMASE-v0", "Random")])
def test_a_run_alone_meets_the_rewards_of_its_row(id, agent):
    env = {"rewards": "beta", "means": (0.8, 0.4, 0.2), "n_agents": 8, "horizon": 60}
    together, alone = hb.evaluate(id, agent, runs=3, env=env), hb.evaluate(id, agent, runs=1, env=env)
    assert together.finals.keys() == alone.finals.keys()
    for name in alone.finals:
        np.testing.assert_array_equal(together.final(name)[:1], alone.final(name))
