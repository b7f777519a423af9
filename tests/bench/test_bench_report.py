"""Numbers in figures and tables."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from bench_helpers import RUNS, TIMES, filled, known, rows
from rich.console import Console

from hushbandits.bench.report.axes import panels
from hushbandits.bench.report.figures import inline
from hushbandits.bench.report.series import figures, series
from hushbandits.bench.report.tables import summaries
from hushbandits.bench.report.terminal import print_table
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.spec.experiment import Figure
from hushbandits.bench.stats import mean_interval, median_interval, quantile_band


def twice(env, agent, x):
    return 2 * x


def hundreds(env, agent, x):
    return 100 * env["n_agents"] + x if env["n_agents"] > 4 else np.nan


def test_a_curve_is_mean_and_interval(tmp_path):
    whole = known()
    store = filled(tmp_path, whole)
    first, _ = series(configurations(store, whole), Figure(y="regret"))
    late, _ = series(configurations(store, whole), Figure(y="regret", per_time=True, since=10))
    x = rows(whole.cells()[0])
    assert first.label == "A <b>"
    assert first.x.tolist() == TIMES.tolist()
    assert first.center == pytest.approx(x.mean() * TIMES / 100)
    assert (first.low[-1], first.high[-1]) == pytest.approx(mean_interval(x))
    assert late.x.tolist() == [10, 100]
    assert late.center == pytest.approx([x.mean() / 100] * 2)


def test_bands_say_what_they_are(tmp_path):
    whole = known(sweep={"env.n_agents": (4, 8)})
    figure = Figure(y="regret", x="env.n_agents", center="median", band="quantiles")
    store = filled(tmp_path, whole)
    a, _ = series(configurations(store, whole), figure)
    b, _ = series(configurations(store, whole), Figure(y="regret", x="env.n_agents", center="median"))
    said = [
        panels(configurations(store, whole), whole, wanted=one)[0].caption
        for one in (figure, Figure(y="regret", center="median"))
    ]
    x = rows(whole.cells()[0])
    assert a.center[0] == np.median(x)
    assert (a.low[0], a.high[0]) == tuple(map(float, quantile_band(x)))
    assert (b.low[0], b.high[0]) == median_interval(x)
    assert [("middle 95 %" in text, "order statistics" in text) for text in said] == [(True, False), (False, True)]


def test_one_panel_per_value_of_a_parameter(tmp_path):
    swept = {"env.n_agents": (4, 8), "env.max_hops": (1, 2)}
    whole = known(
        sweep=swept, figures=(Figure(y="regret", by="env.max_hops"), Figure(y="regret", at={"env.max_hops": 2}))
    )
    store = filled(tmp_path, whole)
    one, two, picked = figures(configurations(store, whole), whole)
    labels = [[s.label for s in series(configurations(store, whole), f)] for f in (one, two, picked)]
    drawn = series(configurations(store, whole), two)
    titles = [panel.title for panel in panels(configurations(store, whole), whole)]
    assert titles == ["γ = 1", "γ = 2", ""]
    assert labels == [["A <b>, agents = 4", "B, agents = 4", "A <b>, agents = 8", "B, agents = 8"]] * 3
    (cell,) = [c for c in whole.cells() if c.line == "B" and c.point == {"env.n_agents": 8, "env.max_hops": 2}]
    assert drawn[3].center[-1] == pytest.approx(rows(cell).mean())


def test_the_law_over_runs_is_an_ecdf(tmp_path):
    whole = known()
    store = filled(tmp_path, whole)
    first, _ = series(configurations(store, whole), Figure(y="regret", x="runs"))
    assert first.x.tolist() == sorted(rows(whole.cells()[0]))
    assert first.center[-1] == 1


def test_theory_is_drawn_dashed(tmp_path):
    bound = {"theorem 1": f"{__name__}:twice"}
    whole = known(figures=(Figure(y="regret", bounds=bound),))
    store = filled(tmp_path, whole)
    first, _ = series(configurations(store, whole), whole.figures[0])
    drawn = inline(configurations(store, whole), whole, bound.values())
    averaged, _ = series(configurations(store, whole), Figure(y="regret", bounds=bound, per_time=True))
    assert first.bounds["theorem 1"].tolist() == [2, 20, 200]
    assert averaged.bounds["theorem 1"].tolist() == [2, 2, 2]
    assert "theorem 1" in drawn["wide"]
    assert "stroke-dasharray" in drawn["wide"]


def test_along_a_sweep_theory_is_asked_cell_by_cell(tmp_path):
    bound = {"theorem 2": f"{__name__}:hundreds"}
    whole = known(sweep={"env.n_agents": (4, 8, 16)})
    store = filled(tmp_path, whole)
    first, _ = series(configurations(store, whole), Figure(y="regret", x="env.n_agents", bounds=bound))
    np.testing.assert_array_equal(first.bounds["theorem 2"], [np.nan, 808, 1616])


def test_a_figure_may_pick_lines_by_how_their_labels_begin(tmp_path):
    whole = known(sweep={"env.n_agents": (4, 8)})
    store = filled(tmp_path, whole)
    found = series(configurations(store, whole), Figure(y="regret", lines=["B"]))
    assert [s.label for s in found] == ["B, agents = 4", "B, agents = 8"]


@pytest.mark.parametrize("sweep", [{}, {"env.n_agents": (4, 8)}])
def test_an_experiment_without_figures_gets_one(tmp_path, sweep):
    whole = known(sweep=sweep)
    store = filled(tmp_path, whole)
    (figure,) = figures(configurations(store, whole), whole)
    assert (figure.y, figure.x) == ("regret", "env.n_agents" if sweep else "time")


def test_pictures_of_a_page_do_not_share_ids(tmp_path):
    one = known(figures=(Figure(y="regret"), Figure(y="regret", x="runs")))
    two = known(name="other", figures=(Figure(y="regret"),))
    store = filled(tmp_path, one, two)
    drawn = [inline(configurations(store, whole), whole) for whole in (one, two)]
    pictures = [picture for pages in drawn for picture in pages.values()]
    assert len(pictures) == 4
    ids = [set(re.findall(r'id="([^"]+)"', p)) for p in pictures]
    assert sum(map(len, ids)) == len(set().union(*ids))
    for picture in pictures:
        referred = set(re.findall(r"url\(#([^)]+)\)", picture)) | set(re.findall(r'href="#([^"]+)"', picture))
        assert referred <= set(re.findall(r'id="([^"]+)"', picture))


def test_the_table_is_the_statistics_page(tmp_path):
    whole = known()
    store = filled(tmp_path, whole)
    first, _ = summaries(configurations(store, whole), whole.metrics)
    x = rows(whole.cells()[0])
    assert (first.mean, first.median, first.runs) == (pytest.approx(x.mean()), pytest.approx(np.median(x)), RUNS)
    assert first.mean_interval == mean_interval(x)
    assert first.median_interval == median_interval(x)


def test_rows_of_a_table_that_is_too_wide_become_paragraphs():
    shown = []
    for width in (60, 20):
        console = Console(width=width, file=io.StringIO(), color_system=None)
        print_table(console, "regret", ["agent", "mean"], [["UCB1 at 16 agents", "4.25"], ["UCB1", "3"]], 1, {0})
        shown.append(console.file.getvalue())
    wide, narrow = shown
    assert "UCB1 at 16 agents" in next(line for line in wide.splitlines() if "4.25" in line)
    assert " ".join(narrow.split()) == "regret UCB1 at 16 agents · mean 4.25 UCB1 · mean 3"
