"""A figure's legend says what was spent of privacy, where that is not the parameter."""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.bench.judge.line import lines
from hushbandits.bench.judge.stats import mean_interval
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.show.panels import panels
from hushbandits.bench.show.plots import legend
from hushbandits.bench.show.report import write
from hushbandits.bench.show.tables import interval


def legends(store, experiment):
    return [key.label for key in legend(panels(lines(store, experiment), experiment))]


def test_the_legend_says_what_was_spent(tmp_path):
    network = Experiment(
        name="network", title="N", env=Use("PrivateNetwork-v0", n_agents=3, horizon=300), runs=2, metrics=("regret",),
        agents=[Use("Private-UCB", epsilon=0.5), Use("DP-UCB-INT"), Use("UCB1", on="CoopNetwork-v0")],
    )  # fmt: skip
    blocks = Experiment(
        name="blocks", title="B", env=Use("DistDP-v0", horizon=500), runs=2, metrics=("regret",),
        agents=[Use("Dist-DP-SE"), Use("Dist-RDP-SE", on="DistRDP-v0"), Use("DP-SE", on="CentralDP-v0", epsilon=2.0)],
    )  # fmt: skip
    with hb.run([network, blocks], tmp_path / "o", progress=False).store as store:
        private, alone, _ = network.cells()
        spent = [
            [float(store.final(cell, name, 2).max()) for name in ("epsilon", "epsilon_delta")]
            for cell in (private, alone)
        ]
        assert all(pure > 1 for pure, _ in spent)
        assert legends(store, network) == [
            f"Private-UCB (spent ε = {spent[0][0]:.3g}, or {spent[0][1]:.3g} with δ > 0)",
            f"DP-UCB-INT (spent ε = {spent[1][0]:.3g}, or {spent[1][1]:.3g} with δ > 0)",
            "UCB1",
        ]
        epsilon = store.final(blocks.cells()[1], "epsilon", 2).max()
        assert epsilon == pytest.approx(5.235, abs=0.001)
        assert legends(store, blocks) == ["Dist-DP-SE", f"Dist-RDP-SE (spent ε = {epsilon:.3g}, δ = 1e-06)", "DP-SE"]
        assert network.lines()[0] == "Private-UCB"  # what claims go by


def stored(folder, epsilons, weaker=(), **changes):
    """A folder whose runs spent so much, cell by cell; `weaker`: with a δ > 0, where a cell was asked for that."""
    fields = {"name": "x", "title": "X", "env": Use("DistDP-v0"), "agents": [Use("Dist-DP-SE", epsilon=1.0)], "runs": 2}
    experiment = Experiment(**{**fields, "metrics": ("regret",), **changes})
    folder.mkdir()
    with Store(folder / FILE, [experiment], 0) as store:
        for i, (cell, epsilon) in enumerate(zip(experiment.cells(), epsilons, strict=True)):
            finals = {"regret": np.ones(2), "epsilon": np.array(epsilon)}
            if i in weaker:
                finals["epsilon_delta"] = np.array(weaker[i])
            store.add(cell, range(2), finals, {}, np.zeros(0))
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
        ([[1.0, 1.0]], {"agents": [Use("nobody:Knows")]}, "Knows"),  # by the env's default
        ([[1.0, 1.0]], {"agents": [Use("nobody:Knows")], "env": Use("nobody:Env")}, "Knows (spent ε = 1)"),
    ],
)
def test_only_where_it_differs_from_the_parameter(tmp_path, epsilons, changes, legend):
    experiment = stored(tmp_path / "x", epsilons, **changes)
    with Store(tmp_path / "x" / FILE, readonly=True) as store:
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
    with Store(tmp_path / "x" / FILE, readonly=True) as store:
        assert legends(store, experiment) == [f"Dist-DP-SE (spent ε = 4 to 9{said})"]


def test_one_legend_says_what_was_spent_in_all_panels(tmp_path):
    swept = {"sweep": {"agent.epsilon": [0.5, 2.0]}, "figures": (Figure(y="regret", x="runs", by="agent.epsilon"),)}
    experiment = stored(tmp_path / "x", [[4.0, 4.0], [9.0, 8.0]], **swept)
    with Store(tmp_path / "x" / FILE, readonly=True) as store:
        assert legends(store, experiment) == ["Dist-DP-SE (spent ε = 4 to 9)"]


def test_where_no_promise_holds_the_page_and_its_figures_say_so(tmp_path):
    experiment = Experiment(
        name="void", title="V", env=Use("PrivateNetwork-v0", n_agents=3, horizon=100, rewards="gaussian"), runs=2,
        agents=[Use("Private-UCB", epsilon=0.5)], metrics=("regret", "epsilon"),
        figures=(Figure(y="epsilon", x="time"), Figure(y="epsilon", x="runs"), Figure(y="regret", x="time")),
    )  # fmt: skip
    with hb.run([experiment], tmp_path / "o", progress=False).store as store:
        assert legends(store, experiment) == ["Private-UCB (no ε holds)"]
        html = write(store, tmp_path / "page.html").read_text()
    assert "no ε holds" in html
    assert "[∞, ∞]" in html


def test_a_mean_of_runs_that_meet_infinity_is_infinite():
    assert mean_interval(np.array([1.0, np.inf, 2.0])) == (np.inf, np.inf)
    assert interval((np.inf, np.inf)) == "[∞, ∞]"
    assert interval((-np.inf, np.inf)) == "(too few runs)"
