"""Figures: shared axes, a legend that covers no axes, and equal bytes for equal rows."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from bench_helpers import begun, filled, known
from hypothesis import given
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.bench.report.axes import COLOURS, panels, style
from hushbandits.bench.report.figures import FORMATS, compose, drawn, inline, keys, pictures
from hushbandits.bench.report.series import series
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.spec.experiment import Component, Figure

SWEPT = {"env.n_agents": (4, 8), "env.max_hops": (1, 2)}
LONG = "a label that is much too long for one line of a legend below a panel of a paper's column, and goes on"


def composed(store, **how):
    (whole,) = store.experiments
    return compose(panels(configurations(store, whole), whole), whole.title, **how)


@pytest.mark.parametrize(
    ("sweep", "figures"),
    [
        ({}, [Figure(y="regret")]),
        ({}, [Figure(y="regret", xlabel=LONG[:71])]),
        ({}, [Figure(y="regret", x="runs"), Figure(y="regret", per_time=True, log="xy")]),
        ({"env.n_agents": (4, 8)}, [Figure(y="regret", x="env.n_agents")]),
        ({"env.graph": ("star", "complete", "erdos-renyi", "grid")}, [Figure(y="regret", x="env.graph")]),
        (SWEPT, [Figure(y="regret", x="env.n_agents", by="env.max_hops"), Figure(y="regret", x="env.max_hops")]),
        ({"env.n_agents": (3, 4, 5, 6, 8)}, [Figure(y="regret", by="env.n_agents")]),
    ],
)
@pytest.mark.parametrize("how", [{}, {"columns": 1, "width": 3.6}])
def test_no_kind_of_figure_has_a_legend_over_its_axes_or_a_text_that_is_cut_off(tmp_path, sweep, figures, how):
    agents = [Component("UCB1", label=LONG), Component("Multi-UCB"), Component("QuACK-UCB"), Component("DP-UCB-INT")]
    store = filled(tmp_path, known(sweep=sweep, figures=tuple(figures), agents=agents, title=LONG))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = composed(store, **how)
        picture.draw_without_rendering()
    (legend,) = picture.legends
    below, above = legend.get_window_extent(), picture._suptitle.get_window_extent()
    wide, high = picture.get_size_inches() * picture.dpi
    inside = [axes.get_tightbbox() for axes in picture.axes]
    for box, axes in zip(inside, picture.axes, strict=True):
        assert below.y1 <= box.y0
        assert box.y1 <= above.y0
        assert axes.get_window_extent().height > 60
    for box in (below, above, *inside):
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= wide
        assert box.y1 <= high


def test_panels_of_the_same_quantities_share_their_axes(tmp_path):
    facets, other = Figure(y="regret", x="env.n_agents", by="env.max_hops"), Figure(y="regret", x="runs")
    one, two = composed(filled(tmp_path / "a", known(sweep=SWEPT, figures=(facets,)))).axes
    assert one.get_shared_y_axes().joined(one, two)
    assert one.get_shared_x_axes().joined(one, two)
    assert one.get_ylabel()
    assert not two.get_ylabel()
    axes = composed(filled(tmp_path / "b", known(sweep=SWEPT, figures=(facets, other)))).axes
    assert not axes[0].get_shared_y_axes().joined(axes[0], axes[2])
    assert all(each.get_ylabel() for each in axes)


def test_one_legend_for_all_panels_and_a_line_looks_the_same_in_each(tmp_path):
    whole = known(
        figures=(Figure(y="regret", lines=["A"]), Figure(y="regret", lines=["B"]), Figure(y="regret", x="runs"))
    )
    store = filled(tmp_path, whole)
    entries = keys(panels(configurations(store, whole), whole))
    assert list(entries) == ["A <b>", "B"]
    colours = [{line.get_color() for line in axes.get_lines()} for axes in composed(store).axes]
    a, b = (handle.get_color() for handle in entries.values())
    assert colours == [{a}, {b}, {a, b}]


def apart(env, agent, x):
    return np.full(len(x), 60.0 if "of_mine" in agent else np.nan)


def same(env, agent, x):
    return np.full(len(x), 70.0)


def test_a_bound_of_one_line_has_that_lines_colour_in_the_legend_and_one_of_several_has_none(tmp_path):
    whole = known(agents=[Component("UCB1"), Component("Multi-UCB", of_mine=1)])
    bounds = {"theorem 1": f"{__name__}:apart", "theorem 2": f"{__name__}:same"}
    lines = configurations(filled(tmp_path, whole), whole)
    entries = keys(panels(lines, whole, bounds.values(), Figure(y="regret", bounds=bounds)))
    (one,) = (handle for label, handle in entries.items() if label.startswith("theorem 1"))
    (both,) = (handle for label, handle in entries.items() if label.startswith("theorem 2"))
    assert one.get_color() == style(1)["color"]
    assert both.get_color() not in COLOURS


def stated(env, agent, x):
    return np.full(len(x), 1.0 * env["n_agents"] if agent == {"type": "coop-UCB", "sigma": 0.1} else np.nan)


def test_a_bound_gets_what_evaluate_was_given():
    env, figure = {"n_agents": 3, "horizon": 20}, Figure(y="regret", bounds={"b": f"{__name__}:stated"})
    for agent, params, bound in (("coop-UCB", {"sigma": 0.1}, 3.0), ("UCB1", {}, None)):
        (part,) = hb.evaluate("CoopNetwork-v0", agent, runs=2, env=env, agent_kwargs=params).parts
        (one,) = series(part.configurations, figure)
        assert one.bounds == {} if bound is None else (one.bounds["b"] == bound).all()


@given(st.lists(st.integers(0, 23), min_size=2, max_size=2, unique=True))
def test_two_dozen_lines_differ_in_more_than_colour(pair):
    one, two = map(style, pair)
    assert one != two
    assert one["color"] != two["color"] or (one["linestyle"] != two["linestyle"] and one["marker"] != two["marker"])
    assert {one["color"], two["color"]} <= set(COLOURS)


def test_points_over_words_stand_apart_and_are_not_joined(tmp_path):
    whole = known(sweep={"env.graph": ("star", "complete")}, figures=(Figure(y="regret", x="env.graph"),))
    (axes,) = composed(filled(tmp_path, whole)).axes
    assert all(line.get_linestyle() == "None" for line in axes.get_lines())
    centres = [bar.lines[0].get_xdata() for bar in axes.containers]
    assert np.all(centres[0] < centres[1])
    assert np.allclose([np.round(x) for x in centres], [[0, 1]] * 2)


def test_what_may_be_negative_is_not_cut_off(tmp_path):
    whole = known(agents=[Component("UCB1")], runs=3, metrics=("own_gain",), sweep={"env.n_agents": (4, 8)})
    (axes,) = composed(filled(tmp_path, whole, values=lambda cell: {"own_gain": [-3.0, -2.0, -1.0]})).axes
    assert axes.get_ylim()[0] < -2


@pytest.mark.parametrize("most", [33_000.0, 51_000.0, 90_000.0, 140_000.0, 300_000.0, 1_700_000.0, 20_000_000.0])
def test_a_logarithmic_axis_has_three_numbers_at_least_which_do_not_touch(tmp_path, most):
    whole = known(figures=(Figure(y="regret", x="runs", log="x"),), agents=[Component("UCB1")], runs=12)
    store = filled(tmp_path, whole, values=lambda cell: {"regret": np.geomspace(27_000.0, most, 12)})
    picture = composed(store, columns=1, width=3.3)
    picture.draw_without_rendering()
    (axes,) = picture.axes
    ends = axes.get_xlim()
    boxes = [
        label.get_window_extent()
        for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        if ends[0] <= tick <= ends[1]
    ]
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_the_same_rows_give_the_same_bytes(tmp_path):
    """The bytes are equal in another process with other hashes."""
    whole = known()
    here = pictures(configurations(filled(tmp_path, whole), whole), whole, tmp_path)
    assert [path.suffix[1:] for path in here] == list(FORMATS)
    code = (
        "import hashlib, sys; from pathlib import Path; from hushbandits.bench.runner.store import Store\n"
        "from hushbandits.bench.report.figures import pictures\n"
        "from hushbandits.bench.runner.configuration import configurations\n"
        "folder = Path(sys.argv[1]); store = Store(folder); out = folder / 'again'; out.mkdir()\n"
        "whole = store.experiments[0]\n"
        "[print(hashlib.sha256(p.read_bytes()).hexdigest()) for p in "
        "pictures(configurations(store, whole), whole, out)]"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [hashlib.sha256(path.read_bytes()).hexdigest() for path in here]
    for path in here[1:]:
        assert not re.search(rb"CreationDate|<dc:date>|matplotlib\.org|Producer", path.read_bytes())


def test_there_is_nothing_to_draw_without_runs(tmp_path):
    whole = known()
    lines = configurations(begun(tmp_path, whole), whole)
    assert pictures(lines, whole, tmp_path) == []
    assert inline(lines, whole) == {}
    with pytest.raises(ValueError, match="regret"):
        drawn(lines, whole, Figure(y="regret"))


def test_dollar_signs_are_formulas_in_a_figures_own_texts_alone(tmp_path):
    whole = known(title="costs $5 and $6", agents=[Component("UCB1", label="$x$")])
    lines = configurations(filled(tmp_path, whole), whole)
    picture = drawn(lines, whole, Figure(y="regret", xlabel="$t$"))
    (axes,) = picture.axes
    assert axes.xaxis.label.get_parse_math()
    assert not picture._suptitle.get_parse_math()
    assert not any(text.get_parse_math() for text in picture.legends[0].get_texts())
    assert picture.save(tmp_path / "one.pdf").read_bytes()[:5] == b"%PDF-"


def test_a_figure_for_a_paper_has_no_heading(tmp_path):
    picture = composed(filled(tmp_path, known(figures=(Figure(y="regret", title=None, width=3.4),))))
    assert picture._suptitle is None
    assert not picture.legends[0].get_title().get_text()
    assert picture.get_figwidth() == 3.4
