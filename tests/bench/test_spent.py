"""Infinite privacy costs of runs."""

import numpy as np

import hushbandits as hb
from hushbandits.bench.report.page import write
from hushbandits.bench.report.tables import interval
from hushbandits.bench.spec.experiment import Component, Experiment, Figure
from hushbandits.bench.stats import mean_interval


def test_where_no_promise_holds_the_page_and_its_figures_say_so(tmp_path):
    experiment = Experiment(
        name="void", title="V", env=Component("PrivateNetwork-v0", n_agents=3, horizon=100, rewards="gaussian"), runs=2,
        agents=[Component("Private-UCB", epsilon=0.5)], metrics=("regret", "epsilon"),
        figures=(Figure(y="epsilon", x="time"), Figure(y="epsilon", x="runs"), Figure(y="regret", x="time")),
    )  # fmt: skip
    store = hb.run([experiment], tmp_path / "o").store
    html = write(store, tmp_path / "page.html").read_text()
    assert "[∞, ∞]" in html


def test_a_mean_of_runs_that_fit_infinity_is_infinite():
    assert mean_interval(np.array([1.0, np.inf, 2.0])) == (np.inf, np.inf)
    assert interval((np.inf, np.inf)) == "[∞, ∞]"
    assert interval((-np.inf, np.inf)) == "(too few runs)"
