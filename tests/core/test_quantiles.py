"""Quantiles by tables: close to the function, monotone, equal for scalars and arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import rows

import hushbandits as hb
from hushbandits.core import Streams
from hushbandits.core.random.arms import Arms
from hushbandits.core.random.quantiles import WORTH, Tabled
from hushbandits.core.random.rewards import Bernoulli, Beta, UniformMeans

MEANS = (0.01, 0.1, 0.3, 0.5, 0.8, 0.99)


def points(seed=3):
    """Return points of [0, 1), denser towards both ends and beyond the tables."""
    rng = np.random.default_rng(seed)
    near = 2.0 ** -rng.uniform(1, 40, 4000)
    return np.concatenate([[0.0, 0.25, 0.5, 2.0**-21, 1 - 2.0**-21, 1 - 2.0**-53], rng.random(4000), near, 1 - near])


@rows("concentration", [0.5, 1.0, 4.0, 50.0])
@rows("mean", MEANS)
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


def test_all_arms_of_a_uniform_are_looked_up_as_one_by_one():
    table, means, u = Tabled(Beta(), MEANS[1:]), np.array([*MEANS, 0.3]), points()
    one_by_one = [table.quantile(u, mean) for mean in means]
    assert table.quantile(u[:, None], means).T.tolist() == np.array(one_by_one).tolist()


@pytest.mark.parametrize("means", [MEANS, UniformMeans()])
def test_arms_that_are_pulled_often_are_looked_up(means):
    def tables(law, pulls, **kwargs):
        arms = Arms(means, law, n_arms=len(MEANS), horizon=9, **kwargs)
        arms.expect(pulls)
        arms.reset(Streams(hb.spawn_seeds(0, 2)))
        return arms.tables

    often = WORTH * len(MEANS)
    assert tables(Beta(), often).law == Beta()
    assert tables(Beta(), often - 1) is None
    assert tables(Beta(), often, drift=1e-3) is None
    assert tables(Bernoulli(), often) is None


@pytest.mark.parametrize("means", [(0.8, 0.4, 0.2), UniformMeans()])
def test_a_run_alone_fits_the_rewards_of_its_row_also_where_it_starts_afresh(means):
    env = {"rewards": "beta", "means": means, "n_arms": 3, "n_agents": 4, "horizon": 20_000}
    together, alone = (hb.make_batched("CoopNetwork-v0", runs=runs, **env) for runs in (3, 1))
    together.reset(5)
    arms = np.array([[0, 1, 2, 1]])
    together.pull(np.repeat(arms, 3, 0))
    together.communicate(None)
    seeds = hb.spawn_seeds(9, 2)
    together.reset(seeds[:1], rows=[1])
    alone.reset(seeds[:1])
    for _ in range(50):
        rewards = [core.pull(np.repeat(arms, core.runs, 0)).reward for core in (together, alone)]
        assert rewards[0][1].tolist() == rewards[1][0].tolist()
        for core in (together, alone):
            core.communicate(None)
    assert together.arms.tables is not None
