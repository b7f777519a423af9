"""Pictures and the page, opened in a real browser where there is one."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Ratio
from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.bench.judge.stats import mean_interval, median_interval, quantile_band, share_interval
from hushbandits.bench.play.run import open_folder
from hushbandits.bench.show.plots import CSS, png, svg
from hushbandits.bench.show.report import write
from hushbandits.bench.show.series import caption, figures, series
from hushbandits.bench.show.tables import interval, lines, number

RUNS = 12
TIMES = np.array([1.0, 10.0, 100.0])


def twice(env, agent, x):
    return 2 * x


def hundreds(env, agent, x):
    return 100 * env["n_agents"] + x if env["n_agents"] > 4 else np.nan


def known(**changes):
    """An experiment and a way to fill a folder with rows made up for it."""
    fields = {
        "name": "known",
        "title": "Rows <made up> & shown",
        "env": Use("CoopNetwork-v0", horizon=100),
        "agents": [Use("Multi-UCB", label="A <b>"), Use("UCB1", label="B")],
        "runs": RUNS,
        "metrics": ("regret",),
    }
    return Experiment(**{**fields, **changes})


def rows(cell):
    rng = np.random.default_rng(int(cell.key[:8], 16))
    return rng.normal(50, 5, RUNS) + (20 if cell.line == "B" else 0)


def filled(folder, *experiments, metric="regret"):
    store = open_folder(experiments, folder)
    store.begin_session("2020-01-01T00:00:00+00:00", {"hushbandits": "0", "sources": "abc", "machine": "x"})
    for whole in experiments:
        for cell in whole.cells():
            x = rows(cell) if metric == "regret" else (rows(cell) > 50).astype(float)
            store.add(cell, range(RUNS), {metric: x}, {metric: x[:, None] * TIMES / 100}, TIMES)
    return store


def test_a_curve_is_mean_and_interval(tmp_path):
    whole = known()
    with filled(tmp_path, whole) as store:
        first, _ = series(store, whole, Figure(y="regret"))
        late, _ = series(store, whole, Figure(y="regret", per_time=True, since=10))
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
    with filled(tmp_path, whole) as store:
        a, _ = series(store, whole, figure)
        b, _ = series(store, whole, Figure(y="regret", x="env.n_agents", center="median"))
    x = rows(whole.cells()[0])
    assert (a.center[0], a.other[0]) == (np.median(x), x.mean())
    assert (a.low[0], a.high[0]) == tuple(map(float, quantile_band(x)))
    assert (b.low[0], b.high[0]) == median_interval(x)
    assert caption(figure, RUNS) == ("line: median; band: 2.5 % to 97.5 % of the runs; ○ mean; dots: runs; 12 runs")
    assert "95 % interval (order statistics)" in caption(Figure(y="regret", center="median"), RUNS)
    assert "Clopper–Pearson" in caption(Figure(y="correct", x="env.n_agents"), RUNS)


def test_rates_have_exact_bands(tmp_path):
    agents = [Use("DP-MASE", label="B", beta=0.05)]
    whole = known(env=Use("DPMASE-v0"), agents=agents, metrics=(), sweep={"env.n_agents": (4, 8)})
    with filled(tmp_path, whole, metric="correct") as store:
        (one,) = series(store, whole, Figure(y="correct", x="env.n_agents"))
    share = int((rows(whole.cells()[0]) > 50).sum())
    assert (one.low[0], one.high[0]) == share_interval(share, RUNS)


def test_other_swept_parameters_make_lines(tmp_path):
    whole = known(sweep={"env.n_agents": (4, 8), "env.life": (1, 2)})
    with filled(tmp_path, whole) as store:
        found = series(store, whole, Figure(y="regret", x="env.n_agents"))
    assert [s.label for s in found] == ["A <b>, γ = 1", "B, γ = 1", "A <b>, γ = 2", "B, γ = 2"]
    assert all(s.x.tolist() == [4, 8] for s in found)


def test_one_panel_per_value_of_a_parameter(tmp_path):
    swept = {"env.n_agents": (4, 8), "env.life": (1, 2)}
    whole = known(sweep=swept, figures=(Figure(y="regret", by="env.life"), Figure(y="regret", at={"env.life": 2})))
    with filled(tmp_path, whole) as store:
        one, two, picked = figures(store, whole)
        labels = [[s.label for s in series(store, whole, f)] for f in (one, two, picked)]
        lines = series(store, whole, two)
        assert len(svg(store, whole)) == 3
    assert (one.title, two.title, picked.title) == ("γ = 1", "γ = 2", "")
    assert labels == [["A <b>, agents = 4", "B, agents = 4", "A <b>, agents = 8", "B, agents = 8"]] * 3
    (cell,) = [c for c in whole.cells() if c.line == "B" and c.point == {"env.n_agents": 8, "env.life": 2}]
    assert lines[3].center[-1] == pytest.approx(rows(cell).mean())


def test_the_law_over_runs_is_an_ecdf(tmp_path):
    whole = known()
    with filled(tmp_path, whole) as store:
        first, _ = series(store, whole, Figure(y="regret", x="runs"))
    assert first.x.tolist() == sorted(rows(whole.cells()[0]))
    assert first.center[-1] == 1
    assert first.median == np.median(rows(whole.cells()[0]))


def test_theory_is_drawn_dashed(tmp_path):
    bound = {"theorem 1": f"{__name__}:twice"}
    whole = known(figures=(Figure(y="regret", bounds=bound),))
    with filled(tmp_path, whole) as store:
        first, _ = series(store, whole, whole.figures[0], bound.values())
        (picture,) = svg(store, whole, bound.values())
        (averaged, _) = series(store, whole, Figure(y="regret", bounds=bound, per_time=True), bound.values())
    assert first.bounds["theorem 1"].tolist() == [2, 20, 200]
    assert averaged.bounds["theorem 1"].tolist() == [2, 2, 2]
    assert "theorem 1" in picture
    assert "stroke-dasharray" in picture


def test_along_a_sweep_theory_is_asked_cell_by_cell(tmp_path):
    bound = {"theorem 2": f"{__name__}:hundreds"}
    whole = known(sweep={"env.n_agents": (4, 8, 16)})
    with filled(tmp_path, whole) as store:
        first, _ = series(store, whole, Figure(y="regret", x="env.n_agents", bounds=bound), bound.values())
    np.testing.assert_array_equal(first.bounds["theorem 2"], [np.nan, 808, 1616])


def test_a_figure_may_pick_lines_by_how_their_labels_begin(tmp_path):
    whole = known(sweep={"env.n_agents": (4, 8)})
    with filled(tmp_path, whole) as store:
        found = series(store, whole, Figure(y="regret", lines=["B"]))
    assert [s.label for s in found] == ["B, agents = 4", "B, agents = 8"]


@pytest.mark.parametrize("sweep", [{}, {"env.n_agents": (4, 8)}])
def test_an_experiment_without_figures_gets_one(tmp_path, sweep):
    whole = known(sweep=sweep)
    with filled(tmp_path, whole) as store:
        (figure,) = figures(store, whole)
    assert (figure.y, figure.x) == ("regret", "env.n_agents" if sweep else "time")


def test_pictures_follow_the_pages_colours_and_do_not_share_ids(tmp_path):
    one = known(figures=(Figure(y="regret"), Figure(y="regret", x="runs")))
    two = known(name="other", figures=(Figure(y="regret"),))
    with filled(tmp_path, one, two) as store:
        pictures = [*svg(store, one), *svg(store, two)]
        assert png(store, one, tmp_path / "one.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(pictures) == 3
    ids = [set(re.findall(r'id="([^"]+)"', p)) for p in pictures]
    assert not ids[0] & ids[1]
    assert not ids[0] & ids[2]
    for picture in pictures:
        assert not re.search(r"#[0-9a-f]{6}\b", picture), "a colour that would not follow the page"
        used = set(re.findall(r"var\((--\w+)\)", picture))
        assert {"--ink", "--line0"} <= used
        for theme in CSS.values():
            assert used <= set(re.findall(r"(--\w+):", theme))
        referred = set(re.findall(r"url\(#([^)]+)\)", picture)) | set(re.findall(r'href="#([^"]+)"', picture))
        assert referred <= set(re.findall(r'id="([^"]+)"', picture))


def test_the_table_is_the_statistics_page(tmp_path):
    whole = known()
    with filled(tmp_path, whole) as store:
        first, _ = lines(store, whole)
    x = rows(whole.cells()[0])
    assert (first.mean, first.median, first.runs) == (pytest.approx(x.mean()), pytest.approx(np.median(x)), RUNS)
    assert first.mean_interval == mean_interval(x)
    assert first.median_interval == median_interval(x)


def test_numbers_are_short_and_honest():
    assert [number(x) for x in (0.0, 12345.6, 0.00012345, float("nan"), -1.5)] == [
        "0",
        "12,346",
        "0.0001234",
        "–",
        "-1.5",
    ]
    assert interval((float("-inf"), float("inf"))) == "(too few runs)"


class _Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.outside = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and value and not value.startswith(("#", "data:")):
                self.outside.append(value)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def page(tmp_path):
    claims = [
        Claim("B pays <more>.", Ratio("regret", of="B", over="A <b>", statistic="median"), above=1),
        Claim("B pays less.", Ratio("regret", of="B", over="A <b>", statistic="median"), below=1),
    ]  # fmt: skip
    one = known(claims=claims, sweep={"env.n_agents": (4, 8)})
    with filled(tmp_path, one, known(name="other")) as store:
        store.fail(one.cells()[0], [3], "Traceback: ZeroDivisionError <oh>")
        return write(store, tmp_path / "report.html")


def test_the_page_is_whole_and_needs_nothing_from_outside(page):
    text = page.read_text()
    reader = _Reader()
    reader.feed(text)
    assert not reader.open
    assert not reader.outside
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert "A <b>" not in text
    assert "A &lt;b&gt;" in text
    assert "ZeroDivisionError &lt;oh&gt;" in text
    assert '<td class="t holds">holds</td>' in text
    assert '<td class="t not">does not hold</td>' in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def _browser():
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


PROBE = """
<script>
window.problems = [];
window.addEventListener("error", function (e) { window.problems.push(e.message); });
</script>
"""
ASK = """
<script>
window.addEventListener("load", function () {
  var head = document.querySelectorAll("#known h3 + .scroll table")[1].tHead.rows[0];
  var index = Array.from(head.cells).findIndex(function (c) { return c.textContent === "mean"; });
  var column = function () {
    return Array.from(head.closest("table").tBodies[0].rows).map(function (r) { return +r.cells[index].dataset.v; });
  };
  head.cells[index].querySelector("button").click(); var up = column();
  head.cells[index].querySelector("button").click(); var down = column();
  var pictures = Array.from(document.querySelectorAll("figure svg")).map(function (s) {
    return s.getBoundingClientRect().width;
  });
  document.body.innerHTML = "<pre id=answer>" + JSON.stringify({
    problems: window.problems, up: up, down: down, pictures: pictures,
    ink: getComputedStyle(document.documentElement).getPropertyValue("--ink").trim(),
    wide: Array.from(document.querySelectorAll("body *")).filter(function (e) {
      return e.scrollWidth > e.clientWidth + 3 && !e.closest(".scroll");
    }).map(function (e) { return e.tagName + " " + e.className + " " + e.scrollWidth + " of " + e.clientWidth; }),
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth
  }) + "</pre>";
});
</script>
"""


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (500, True)])
def test_the_page_works_in_a_browser(page, tmp_path, width, dark):
    browser = _browser()
    if browser is None:
        pytest.skip("NO BROWSER: install chromium to open the report in one (apt-get install chromium)")
    text = page.read_text()
    probed = tmp_path / "probed.html"
    probed.write_text(text.replace("<title>", PROBE + "<title>", 1).replace("</body>", ASK + "</body>"))
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},1000", "--enable-logging=stderr", "--v=0",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", probed.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ":CONSOLE" not in done.stderr, done.stderr
    answer = json.loads(re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.S)[1])
    assert answer["problems"] == []
    assert answer["up"] == sorted(answer["up"])
    assert answer["down"] == answer["up"][::-1]
    assert len(set(answer["up"])) == 4
    assert len(answer["pictures"]) == 2
    assert all(200 < w <= width for w in answer["pictures"])
    assert answer["overflow"] <= 0, answer["wide"]
    theme = re.search(r"--ink: (#\w+)", CSS["dark" if dark else "light"])[1]
    assert answer["ink"] == theme
