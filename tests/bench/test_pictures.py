"""Pictures: shared axes, one legend, marks that can be told apart, and the same bytes from the same rows."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import filled, known
from matplotlib.figure import Figure as Canvas

from hushbandits.bench.declare.spec import Figure, Use
from hushbandits.bench.judge.line import lines
from hushbandits.bench.judge.stats import mean_interval
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.show.ink import LIGHT, SHAPES, style
from hushbandits.bench.show.panels import draw, panels
from hushbandits.bench.show.plots import FORMATS, _columns, _edges, _grid, inline, legend, pictures
from hushbandits.bench.show.series import series

SWEPT = {"env.n_agents": (4, 8), "env.life": (1, 2)}


def grid(store, experiment):
    shown = panels(lines(store, experiment), experiment)
    canvas = Canvas()
    _edges(_grid(canvas, shown), shown, _columns(len(shown)))
    return shown, canvas.axes


def test_panels_of_one_quantity_share_its_axis(tmp_path):
    figures = (
        Figure(y="regret", x="env.n_agents", by="env.life"),
        Figure(y="regret", x="env.n_agents", at={"env.life": 1}, log="xy"),
        Figure(y="regret"),
        Figure(y="regret", per_time=True),
        Figure(y="regret", x="runs"),
    )
    with filled(tmp_path, known(sweep=SWEPT, figures=figures)) as store:
        _, axes = grid(store, store.experiments[0])
        drawn = inline(store, store.experiments[0])
    one, two, logs, time, averaged, law = axes
    assert one.get_shared_y_axes().joined(one, two)
    assert one.get_shared_x_axes().joined(one, two)
    assert one.get_ylim() == two.get_ylim()
    # the same quantity on another scale, another quantity, another meaning of y: axes of their own
    for other in (logs, averaged, law):
        assert not one.get_shared_y_axes().joined(one, other)
    assert one.get_shared_y_axes().joined(one, time)
    assert not one.get_shared_x_axes().joined(one, time)
    assert time.get_shared_x_axes().joined(time, averaged)
    assert [list(pages) for pages in drawn.drawings] == [["wide", "narrow"]] * 6


def test_one_legend_for_all_panels_and_a_line_looks_the_same_in_each(tmp_path):
    figures = (Figure(y="regret", lines=["A"]), Figure(y="regret", lines=["B"]), Figure(y="regret", x="runs"))
    whole = known(figures=figures)
    with filled(tmp_path, whole) as store:
        shown, axes = grid(store, whole)
        keys = legend(shown)
    assert [key.label for key in keys] == ["A <b>", "B"]
    colours = [[line.get_color() for line in panel.get_lines() if len(line.get_xdata()) > 1] for panel in axes]
    a, b = (LIGHT[key.style.colour] for key in keys)
    assert colours == [[a], [b], [a, b]]
    assert not any(panel.get_legend() for panel in axes)


@given(st.lists(st.integers(0, 23), min_size=2, max_size=2, unique=True))
def test_two_dozen_lines_differ_in_more_than_colour(pair):
    one, two = map(style, pair)
    assert one != two
    assert one.colour != two.colour or (one.dashes != two.dashes and one.mark != two.mark)
    assert {one.mark, two.mark} <= set(SHAPES)


def places(axes):
    return [line.get_xdata().tolist() for line in axes.get_lines() if line.get_linestyle() != "None"]


def test_joined_points_stand_where_they_are(tmp_path):
    whole = known(sweep={"env.n_agents": (4, 8)}, figures=(Figure(y="regret", x="env.n_agents", log="x"),))
    with filled(tmp_path, whole) as store:
        (panel,) = panels(lines(store, whole), whole)
        (axes,) = Canvas().subplots(1, 1, squeeze=False)[0]
        draw(axes, panel, {"A <b>": 0, "B": 1})
    assert [x for x in places(axes) if len(x) > 1] == [[4, 8]] * 2
    assert all(set(line.get_xdata()) <= {4, 8} for line in axes.get_lines())
    assert panel.caption == "line: mean; band: 95 % interval (Student); ○ median; dots: runs; 12 runs"


def test_points_over_words_stand_apart_and_are_not_joined(tmp_path):
    whole = known(sweep={"env.graph": ("star", "complete")}, figures=(Figure(y="regret", x="env.graph"),))
    with filled(tmp_path, whole) as store:
        (panel,) = panels(lines(store, whole), whole)
        (axes,) = Canvas().subplots(1, 1, squeeze=False)[0]
        draw(axes, panel, {"A <b>": 0, "B": 1})
    assert places(axes) == []
    centres = [bar.lines[0].get_xdata() for bar in axes.containers]
    assert np.all(centres[0] < centres[1])
    assert np.allclose([np.round(x) for x in centres], [[0, 1]] * 2)
    assert panel.caption == "mark: mean; bar: 95 % interval (Student); ○ median; dots: runs; 12 runs"


@pytest.mark.parametrize(
    ("metric", "values", "cut"),
    [
        ("regret", [0.0, 0.5, 30.25], True),  # of the vocabulary
        ("messages", [0.0, 0.0, 9.0], True),
        ("own_count", [0.0, 1.0, 40.0], False),
        ("own_gain", [0.0, 0.5, 30.25], False),  # nobody said that it cannot be negative
        ("own_gain", [-1.0, 2.0, 3.0], False),
    ],
)
def test_an_interval_of_what_cannot_be_negative_ends_at_0(tmp_path, metric, values, cut):
    whole = known(agents=[Use("UCB1")], runs=3, metrics=(metric,), sweep={"env.n_agents": (4,)})
    x = np.array(values)
    with Store(tmp_path / FILE, [whole], 0) as store:
        store.add(whole.cells()[0], range(3), {metric: x}, {}, np.empty(0))
        (line,) = series(lines(store, whole), Figure(y=metric, x="env.n_agents"))
    low, high = mean_interval(x)
    assert low < 0
    assert (line.low[0], line.high[0]) == ((0.0 if cut else low), high)


def test_what_may_be_negative_is_not_cut_off(tmp_path):
    whole = known(agents=[Use("UCB1")], runs=3, metrics=("own_gain",), sweep={"env.n_agents": (4, 8)})
    with Store(tmp_path / FILE, [whole], 0) as store:
        for cell in whole.cells():
            store.add(cell, range(3), {"own_gain": np.array([-3.0, -2.0, -1.0])}, {}, np.empty(0))
        _, (axes,) = grid(store, whole)
    assert axes.get_ylim()[0] < -2


def test_the_same_rows_give_the_same_bytes(tmp_path):
    """In another process too, whose hashes differ, later."""
    whole = known()
    with filled(tmp_path, whole) as store:
        here = pictures(store, whole, tmp_path)
    assert [path.suffix[1:] for path in here] == list(FORMATS)
    code = (
        "import hashlib, sys; from pathlib import Path; from hushbandits.bench.play.store import Store\n"
        "from hushbandits.bench.show.plots import pictures\n"
        "folder = Path(sys.argv[1]); store = Store(folder / 'results.sqlite', readonly=True); out = folder / 'again'\n"
        "out.mkdir(); [print(hashlib.sha256(p.read_bytes()).hexdigest()) for p in "
        "pictures(store, store.experiments[0], out)]"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [hashlib.sha256(path.read_bytes()).hexdigest() for path in here]
    for path in here[1:]:
        assert not re.search(rb"CreationDate|<dc:date>|matplotlib\.org|Producer", path.read_bytes())
    assert here[2].read_bytes()[:5] == b"%PDF-"


def test_there_is_nothing_to_draw_without_runs(tmp_path):
    whole = known()
    with Store(tmp_path / FILE, [whole], 0) as store:
        assert pictures(store, whole, tmp_path) == []
        assert inline(store, whole) is None


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
def test_any_number_of_panels_is_drawn(tmp_path, n):
    figures = tuple(Figure(y="regret", title=f"panel {i}") for i in range(n))
    whole = replace(known(), figures=figures)
    with filled(tmp_path, whole) as store:
        _, axes = grid(store, whole)
    assert [a.get_title() for a in axes] == [f"panel {i}" for i in range(n)]
