"""Pictures of any size: nothing overlaps, nothing leaves the page, and no axis cuts anybody's data."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from made_up import known
from matplotlib.figure import Figure as Canvas

from hushbandits.bench.declare.catalog import find
from hushbandits.bench.declare.spec import Figure, Use
from hushbandits.bench.judge.line import lines
from hushbandits.bench.judge.stats import mean_interval
from hushbandits.bench.play.check import check
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.show.panels import panels
from hushbandits.bench.show.picture import Picture
from hushbandits.bench.show.plots import _grid, compose

SIZES = [(3.4, 2.6), (5.0, 3.0), (12.0, 2.6), (12.0, 8.0)]


def boxes(picture):
    """What stands on a page, by what it is: boxes in inches."""
    picture.draw_without_rendering()
    renderer, dpi = picture.canvas.get_renderer(), picture.dpi
    found = {}

    def add(name, artist):
        if artist.get_visible() and getattr(artist, "get_text", lambda: "x")():
            found[name] = artist.get_window_extent(renderer).extents / dpi

    for i, text in enumerate(picture.texts):
        add(f"text {i} {text.get_text()!r}", text)
    for i, line in enumerate(picture.lines):
        add(f"key {i}", line)
    for i, axes in enumerate(picture.axes):
        found[f"axes {i}"] = axes.patch.get_window_extent(renderer).extents / dpi
        for side, title in (("left", axes._left_title), ("center", axes.title), ("right", axes._right_title)):
            add(f"title {i} {side}", title)
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            add(f"{name} label {i}", axis.label)
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high and tick.label1.get_visible():
                    add(f"{name} tick {i} {tick.label1.get_text()!r}", tick.label1)
    return found


def crowded(picture):
    """Pairs that overlap, and what leaves the page: by more than half a point."""
    wide, high = picture.get_size_inches()
    placed = boxes(picture)
    slack = 0.5 / 72
    off = [name for name, (a, b, c, d) in placed.items() if min(a, b) < -slack or c > wide + slack or d > high + slack]
    pairs = []
    for (one, p), (two, q) in combinations(placed.items(), 2):
        deep = np.minimum(p[2:], q[2:]) - np.maximum(p[:2], q[:2])
        if (deep > slack).all():
            pairs.append((one, two, deep.round(3).tolist()))
    return off + pairs


def made_up(folder, whole, runs=3):
    """A folder with rows of every metric that the experiment's figures show; nothing is built for it."""
    names, times = {f.y for f in whole.figures}, np.array([1e3, 1e4, 1e5])
    store = Store(folder / FILE, [whole], 0)
    for i, cell in enumerate(whole.cells()):
        x = np.array([1.0, 1.4, 2.0]) * (10 + i)
        store.add(cell, range(runs), dict.fromkeys(names, x), {n: x[:, None] * times / 1e3 for n in names}, times)
    return store


def generated(n, lines, words):
    label = "A rather long name of an agent that nobody would shorten, number"
    return known(
        title=" ".join(["What a title says that has no end to speak of,"] * words),
        agents=[Use("UCB1", label=f"{label} {i}" if words > 1 else f"L{i}") for i in range(lines)],
        runs=3,
        sweep={"env.n_agents": (4, 8, 16, 32, 64), "env.graph": ("star", "complete", "a-graph-of-a-long-name")},
        figures=tuple(
            Figure(
                y="regret", log=("", "x", "xy")[i % 3], title="Panel " * (i * words),
                **(
                    {"x": "env.n_agents", "at": {"env.graph": "star"}},
                    {"x": "env.graph", "at": {"env.n_agents": 8}},
                    {"x": "runs", "at": {"env.n_agents": 4, "env.graph": "star"}},
                )[(i // 2) % 3],
            )
            for i in range(n)
        ),
    )  # fmt: skip


@pytest.fixture(
    scope="module",
    params=[(1, 1, 1), (1, 12, 4), (2, 3, 1), (3, 2, 2), (4, 8, 1), (6, 5, 3)],
    ids=lambda p: f"{p[0]} panels, {p[1]} lines",
)
def picture(request, tmp_path_factory):
    whole = generated(*request.param)
    with made_up(tmp_path_factory.mktemp("generated"), whole) as store:
        return Picture.of(compose(whole, panels(lines(store, whole), whole)))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_nothing_overlaps_at_any_size(picture, size):
    picture.set_size_inches(size)
    assert crowded(picture) == []


SHIPPED = [
    "rio2023-fig1",
    "dubey2020-fig1b",
    "howson2024-fig7",
    "howson2024-messages",
    "chowdhury2023-fig1",
    "feraud2019-fig2a",
]


@pytest.fixture(scope="module", params=SHIPPED)
def shipped(request, tmp_path_factory):
    whole = replace(find(request.param)[0], runs=3, looks=(), claims=())
    with made_up(tmp_path_factory.mktemp("shipped"), whole) as store:
        yield Picture.of(compose(whole, panels(lines(store, whole), whole)))


@pytest.mark.parametrize("size", [None, (3.4, 2.6), (6.0, 6.0), (12.0, 8.0)], ids=str)
def test_nothing_overlaps_in_a_papers_figures(shipped, size):
    if size is not None:
        shipped.set_size_inches(size)
    assert crowded(shipped) == []


def cut(axes):
    """Lines of some axes that are not wholly on them."""
    low, high = np.sort(axes.get_ylim())
    left, right = np.sort(axes.get_xlim())
    seen = []
    for line in axes.get_lines():
        x, y = (np.asarray(v, float)[np.isfinite(np.asarray(v, float))] for v in line.get_data())
        seen.append(bool(len(x) and (left <= x.min() and x.max() <= right and low <= y.min() and y.max() <= high)))
    return seen.count(False)


#: What differs from panel to panel, while x and y stay the same quantities on the same scales.
PANELS = {
    "the second is higher": [{"at": {"env.n_agents": 4}}, {"at": {"env.n_agents": 64}}],
    "the first is higher": [{"at": {"env.n_agents": 64}}, {"at": {"env.n_agents": 4}}],
    "one is negative": [{"lines": ("A",)}, {"lines": ("B",)}],
    "one begins later": [{"since": 1e4}, {}],
    "along a sweep": [{"x": "env.n_agents", "lines": ("A",)}, {"x": "env.n_agents", "lines": ("B",)}],
    "laws": [{"x": "runs", "lines": ("A",)}, {"x": "runs", "lines": ("B",)}],
}


@pytest.mark.parametrize(
    ("differing", "log"),
    # A law begins at a share of 0, which has no place on a logarithmic scale.
    [(PANELS[name], log) for name in PANELS for log in ("", "x", "y") if (name, log) != ("laws", "y")],
    ids=lambda value: repr(value) if isinstance(value, str) else str(len(str(value))),
)
def test_a_shared_axis_has_room_for_the_data_of_all_its_panels(tmp_path, differing, log):
    figures = tuple(Figure(y="gain", log=log, **given) for given in differing)
    whole = known(sweep={"env.n_agents": (4, 16, 64)}, runs=3, figures=figures, metrics=("gain",))
    times = np.array([1e3, 1e4, 1e5])
    with Store(tmp_path / FILE, [whole], 0) as store:
        for cell in whole.cells():
            sign = -1 if cell.line == "B" and not log else 1
            x = sign * np.array([1.0, 1.4, 2.0]) * cell.point["env.n_agents"] ** 2
            store.add(cell, range(3), {"gain": x}, {"gain": x[:, None] * times / 1e5}, times)
        canvas = Canvas()
        _grid(canvas, panels(lines(store, whole), whole))
    assert [cut(axes) for axes in canvas.axes] == [0, 0]


def test_points_stand_at_their_own_words_where_a_line_lacks_some(tmp_path):
    whole = known(runs=3, sweep={"env.graph": ("star", "complete")}, figures=(Figure(y="regret", x="env.graph"),))
    with Store(tmp_path / FILE, [whole], 0) as store:
        for cell in whole.cells():
            if (cell.line, cell.point["env.graph"]) != ("B", "star"):
                store.add(cell, range(3), {"regret": np.array([1.0, 2.0, 3.0])}, {}, np.empty(0))
        canvas = Canvas()
        _grid(canvas, panels(lines(store, whole), whole))
    centres = [np.round(bar.lines[0].get_xdata()).tolist() for bar in canvas.axes[0].containers]
    assert centres == [[0, 1], [1]]


def spent(folder, log="", **sweep):
    """Rows of an experiment whose ε, as it was spent, is three times what was given; once none holds."""
    swept = {"agent.v": (1.5, 2.5, 4.0), **sweep}
    whole = known(runs=3, sweep=swept, figures=(Figure(y="regret", x="epsilon", log=log),))
    with Store(folder / FILE, [whole], 0) as store:
        for cell in whole.cells():
            v = cell.point["agent.v"]
            epsilon = np.array([2.0, 3.0, 4.0]) * v if (cell.line, v) != ("B", 4.0) else np.full(3, np.inf)
            store.add(cell, range(3), {"regret": np.array([9.0, 10.0, 11.0]) / v, "epsilon": epsilon}, {}, np.empty(0))
    return Store(folder / FILE, readonly=True)


def test_a_figure_over_a_metric_is_the_front_along_the_sweep(tmp_path):
    with spent(tmp_path) as store:
        (panel,) = panels(lines(store, store.experiments[0]), store.experiments[0])
        picture = Picture.of(compose(store.experiments[0], [panel]))
    one, two = panel.lines
    assert (one.label, two.label) == ("A <b>", "B")
    np.testing.assert_allclose(one.x, [4.5, 7.5, 12])
    np.testing.assert_allclose(one.center, [10 / 1.5, 4, 2.5])
    low, high = mean_interval(np.array([2.0, 3.0, 4.0]) * 1.5)
    np.testing.assert_allclose((one.left[0], one.right[0]), (max(0, low), high))
    np.testing.assert_array_equal(np.isnan(two.x), [False, False, True])  # no ε holds there
    assert panel.caption == ("points: mean of both axes along the sweep; bars: 95 % interval (Student); 3 runs")
    assert picture.axes[0].get_xlabel() == panel.over.label != ""
    for size in ((3.4, 2.6), (12, 8)):
        picture.set_size_inches(size)
        assert crowded(picture) == []


def test_what_else_is_swept_makes_lines_of_a_front(tmp_path):
    with spent(tmp_path, **{"env.n_agents": (4, 8)}) as store:
        whole = store.experiments[0]
        (panel,) = panels(lines(store, whole), whole)
        picked = panels(lines(store, whole), whole, wanted=replace(whole.figures[0], at={"agent.v": 2.5}))
    assert [line.label for line in panel.lines] == [f"{a}, agents = {n}" for n in (4, 8) for a in ("A <b>", "B")]
    assert [line.label for line in picked[0].lines] == ["A <b>", "B"]  # along what is left of the sweep


def test_what_is_no_metric_is_refused_before_a_run():
    check([known(figures=(Figure(y="regret", x="messages"),))])
