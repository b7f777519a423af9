"""A figure's legend says what was spent of privacy, where that is not the parameter."""

import numpy as np
import pytest
from made_up import begun, put

import hushbandits as hb
from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.bench.judge.stats import mean_interval
from hushbandits.bench.report.axes import panels
from hushbandits.bench.report.figures import keys
from hushbandits.bench.report.page import write
from hushbandits.bench.report.tables import interval
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.runner.store import Store


def legends(store, experiment):
    return list(keys(panels(configurations(store, experiment), experiment)))


def test_the_legend_says_what_was_spent(tmp_path):
    network = Experiment(
        name="network", title="N", env=Use("PrivateNetwork-v0", n_agents=3, horizon=300), runs=2, metrics=("regret",),
        agents=[Use("Private-UCB", epsilon=0.5), Use("DP-UCB-INT"), Use("UCB1", on="CoopNetwork-v0")],
    )  # fmt: skip
    blocks = Experiment(
        name="blocks", title="B", env=Use("DistDP-v0", horizon=500), runs=2, metrics=("regret",),
        agents=[Use("Dist-DP-SE"), Use("Dist-RDP-SE", on="DistRDP-v0"), Use("DP-SE", on="CentralDP-v0", epsilon=2.0)],
    )  # fmt: skip
    store = hb.run([network, blocks], tmp_path / "o").store
    most = {c.label: {m: c.final(m).max() for m in c.metrics()} for c in configurations(store, network)}
    spent = [[most[name][metric] for metric in ("epsilon", "epsilon_delta")] for name in ("Private-UCB", "DP-UCB-INT")]
    assert all(pure > 1 for pure, _ in spent)
    assert legends(store, network) == [
        f"Private-UCB (spent ε = {spent[0][0]:.3g}, or {spent[0][1]:.3g} with δ > 0)",
        f"DP-UCB-INT (spent ε = {spent[1][0]:.3g}, or {spent[1][1]:.3g} with δ > 0)",
        "UCB1",
    ]
    epsilon = configurations(store, blocks)[1].final("epsilon").max()
    assert epsilon == pytest.approx(5.235, abs=0.001)
    assert legends(store, blocks) == [
        "Dist-DP-SE (spent ε = 1)",
        f"Dist-RDP-SE (spent ε = {epsilon:.3g}, δ = 1e-06)",
        "DP-SE",
    ]


def stored(folder, epsilons, weaker=(), **changes):
    """A folder whose runs spent so much, cell by cell; `weaker`: with a δ > 0, where a cell was asked for that."""
    fields = {"name": "x", "title": "X", "env": Use("DistDP-v0"), "agents": [Use("Dist-DP-SE", epsilon=1.0)], "runs": 2}
    experiment = Experiment(**{**fields, "metrics": ("regret",), **changes})
    store = begun(folder, experiment)
    for i, (cell, epsilon) in enumerate(zip(experiment.cells(), epsilons, strict=True)):
        finals = {"regret": np.ones(2), "epsilon": np.array(epsilon)}
        if i in weaker:
            finals["epsilon_delta"] = np.array(weaker[i])
        put(store, cell, finals)
    return experiment


@pytest.mark.parametrize(
    ("epsilons", "changes", "legend"),
    [
        ([[1.0, 1.0]], {}, "Dist-DP-SE"),
        ([[1.0, 1.001]], {}, "Dist-DP-SE"),
        ([[1.0, 4.0]], {}, "Dist-DP-SE (spent ε = 4)"),
        ([[0.5, 0.5]], {}, "Dist-DP-SE (spent ε = 0.5)"),
        ([[1.0, np.inf]], {}, "Dist-DP-SE (no ε holds)"),
        (
            [[np.inf, 1.0], [2.0, 2.0]],
            {"sweep": {"env.n_agents": [1, 2]}},
            "Dist-DP-SE (spent ε = 2; elsewhere no ε holds)",
        ),
        ([[1.0, 12345.6]], {}, "Dist-DP-SE (spent ε = 12,346)"),
        ([[9.0, 9.1], [60.0, 69.0]], {"sweep": {"env.n_agents": [1, 2]}}, "Dist-DP-SE (spent ε = 9.1 to 69)"),
        ([[0.5, 0.5], [2.0, 2.0]], {"sweep": {"agent.epsilon": [0.5, 2.0]}}, "Dist-DP-SE"),
        ([[1.0, 1.0]], {"agents": [Use("nobody:Knows")], "env": Use("DistDP-v0", epsilon=1.0)}, "Knows"),
        ([[1.0, 1.0]], {"agents": [Use("nobody:Knows")]}, "Knows (spent ε = 1)"),  # nobody gave it
    ],
)
def test_only_where_it_differs_from_the_parameter(tmp_path, epsilons, changes, legend):
    experiment = stored(tmp_path / "x", epsilons, **changes)
    store = Store(tmp_path / "x")
    assert legends(store, experiment) == [legend]


@pytest.mark.parametrize(
    ("weaker", "said"),
    [
        ({0: [4.0, 4.0], 1: [9.0, 9.0]}, ""),
        ({1: [9.0, 9.0]}, ""),  # the cell that was asked spent as much as without
        ({1: [6.0, 7.0]}, ", or 7 with δ > 0"),
        ({0: [3.0, 3.0]}, ", or 3 with δ > 0"),
        ({0: [3.0, 3.0], 1: [7.0, 6.0]}, ", or 3 to 7 with δ > 0"),
    ],
)
def test_each_cell_is_compared_with_itself(tmp_path, weaker, said):
    experiment = stored(tmp_path / "x", [[4.0, 4.0], [9.0, 9.0]], weaker, sweep={"env.n_agents": [1, 2]})
    store = Store(tmp_path / "x")
    assert legends(store, experiment) == [f"Dist-DP-SE (spent ε = 4 to 9{said})"]


def test_one_legend_says_what_was_spent_in_all_panels(tmp_path):
    swept = {"sweep": {"agent.epsilon": [0.5, 2.0]}, "figures": (Figure(y="regret", x="runs", by="agent.epsilon"),)}
    experiment = stored(tmp_path / "x", [[4.0, 4.0], [9.0, 8.0]], **swept)
    store = Store(tmp_path / "x")
    assert legends(store, experiment) == ["Dist-DP-SE (spent ε = 4 to 9)"]


def test_where_no_promise_holds_the_page_and_its_figures_say_so(tmp_path):
    experiment = Experiment(
        name="void", title="V", env=Use("PrivateNetwork-v0", n_agents=3, horizon=100, rewards="gaussian"), runs=2,
        agents=[Use("Private-UCB", epsilon=0.5)], metrics=("regret", "epsilon"),
        figures=(Figure(y="epsilon", x="time"), Figure(y="epsilon", x="runs"), Figure(y="regret", x="time")),
    )  # fmt: skip
    store = hb.run([experiment], tmp_path / "o").store
    assert legends(store, experiment) == ["Private-UCB (no ε holds)"]
    html = write(store, tmp_path / "page.html").read_text()
    assert "no ε holds" in html
    assert "[∞, ∞]" in html


def test_a_mean_of_runs_that_meet_infinity_is_infinite():
    assert mean_interval(np.array([1.0, np.inf, 2.0])) == (np.inf, np.inf)
    assert interval((np.inf, np.inf)) == "[∞, ∞]"
    assert interval((-np.inf, np.inf)) == "(too few runs)"
