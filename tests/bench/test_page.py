"""The page is self-contained, and works in a real browser, on a desktop and on a phone."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from bench_helpers import RUNS, begun, filled, known
from kinds import weekly_but

from hushbandits.bench.report.page import UNTOLD, guarantees, write
from hushbandits.bench.report.series import figures, series
from hushbandits.bench.run import run
from hushbandits.bench.runner.configuration import configurations
from hushbandits.bench.runner.store import Store
from hushbandits.bench.spec.claim import Claim, Ratio
from hushbandits.bench.spec.experiment import Component, Experiment, Figure


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
    ]
    one = known(claims=claims, sweep={"env.n_agents": (4, 8)})
    store = filled(tmp_path, one, known(name="other"))
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
    assert '<td class="t holds" data-h="verdict">holds</td>' in text
    assert '<td class="t not" data-h="verdict">does not hold</td>' in text
    assert "1 hold, 1 do not hold" in text


def _browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("NO BROWSER: install chromium to open the report in one (apt-get install chromium)")
    return found


def opened(page, tmp_path, width, dark, ask):
    """Return the result of a script in the page: in a frame, since a window cannot be as narrow as a phone."""
    probed = tmp_path / "probed.html"
    answer = (
        "<script>addEventListener('load', function () {"
        f"parent.postMessage(JSON.stringify(Object.assign({{problems: problems}}, ({ask})())), '*'); }});</script>"
    )
    watch = "<script>problems = []; addEventListener('error', function (e) { problems.push(e.message); });</script>"
    text = page.read_text()
    probed.write_text(text.replace("<title>", watch + "<title>", 1).replace("</body>", answer + "</body>"))
    frame = tmp_path / "frame.html"
    frame.write_text(
        "<!doctype html><pre id=answer></pre><script>addEventListener('message', function (e) {"
        "document.getElementById('answer').textContent = e.data; });</script>"
        f'<iframe src="probed.html" style="border: 0; width: {width}px; height: 900px"></iframe>'
    )
    command = [
        _browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
        f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,1000", "--enable-logging=stderr", "--v=0",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--virtual-time-budget=5000", "--dump-dom",
        frame.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ":CONSOLE" not in done.stderr, done.stderr
    shown = re.search(r'<pre id="answer">(.+?)</pre>', done.stdout, re.S)
    assert shown is not None, done.stdout[-2000:]
    return json.loads(html.unescape(shown[1]))


SORTED = """function () {
  var head = document.querySelectorAll("#known h3 + .scroll table")[1].tHead.rows[0];
  var index = Array.from(head.cells).findIndex(function (c) { return c.textContent === "mean"; });
  var column = function () {
    return Array.from(head.closest("table").tBodies[0].rows).map(function (r) { return +r.cells[index].dataset.v; });
  };
  head.cells[index].querySelector("button").click(); var up = column();
  head.cells[index].querySelector("button").click();
  return {up: up, down: column(), turned: getComputedStyle(document.querySelector("figure svg")).filter};
}"""


@pytest.mark.parametrize("dark", [pytest.param(False, marks=pytest.mark.weekly), True])
def test_tables_are_sorted_by_a_click_and_the_dark_has_its_colours(page, tmp_path, dark):
    answer = opened(page, tmp_path, 390 if dark else 1280, dark, SORTED)
    assert answer["problems"] == []
    assert answer["up"] == sorted(answer["up"])
    assert answer["down"] == answer["up"][::-1]
    assert len(set(answer["up"])) == 4
    assert (answer["turned"] != "none") == dark


MEASURED = """function () {
  document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  var seen = function (e) { return e.getClientRects().length > 0; };
  var all = function (what) { return Array.from(document.querySelectorAll(what)).filter(seen); };
  var out = function (e) { var r = e.getBoundingClientRect(); return r.right > innerWidth + 1 || r.left < -1; };
  return {
    width: document.documentElement.scrollWidth, inner: innerWidth,
    outside: all("td, dd, p, li, figcaption, figure svg, figure svg text").filter(out).map(
      function (e) { return e.tagName + " " + e.textContent.slice(0, 40); }),
    cells: all("td").length, sideways: all(".scroll").filter(
      function (e) { return e.scrollWidth > e.clientWidth + 1; }).length,
    pictures: all("figure svg").map(function (s) { return s.getBoundingClientRect().width; }),
    letters: Math.min.apply(null, all("figure svg text").map(function (t) {
      return parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a; }).filter(function (x) { return x > 0; }))
  };
}"""


@pytest.mark.parametrize(
    ("width", "letters"), weekly_but([(390, 11), (1280, 11)], (390, 11), (320, 9), (768, 9), (1280, 11))
)
def test_nothing_runs_out_of_the_page(page, tmp_path, width, letters):
    """On a phone every number is visible without horizontal scrolling, and axes are readable."""
    answer = opened(page, tmp_path, width, False, MEASURED)
    assert answer["problems"] == []
    assert answer["inner"] == width
    assert answer["width"] <= width, answer["outside"]
    assert len(answer["pictures"]) == 2
    assert answer["letters"] >= letters
    if width < 700:
        assert answer["outside"] == []
        assert answer["sideways"] == 0
        assert answer["cells"] > 60


# -- guarantees ------------------------------------------------------------------------------------------------------


def test_every_line_of_a_figure_has_its_guarantee(tmp_path):
    """For any number of cells, a line with one guarantee along its figure has one row."""
    experiment = Experiment(
        name="shown", title="Told", env=Component("DistDP-v0"), runs=1, metrics=("regret",),
        agents=[Component("Dist-DP-SE"), Component("DP-SE", on="CentralDP-v0", label="central")],
        sweep={"agent.epsilon": (0.5, 1.0, 2.0), "env.horizon": (20, 30, 40, 50)},
        figures=(Figure(y="regret", x="env.horizon"),),
    )  # fmt: skip
    store = run(experiment, tmp_path / "o").store
    lines = configurations(store, experiment)
    (figure,) = figures(lines, experiment)
    drawn = [line.label for line in series(lines, figure)]
    shown = guarantees(store, experiment, [figure.x])
    assert len(experiment.cells()) == 24
    assert sorted({name for name, *_ in shown}) == sorted(drawn)
    promised = {name: row[3] for name, *row in reversed(shown)}
    assert promised["Dist-DP-SE, ε = 0.5"] == "ε = 0.5"
    assert promised["central, ε = 2"] == "ε = 2"


def test_of_what_was_not_noted_the_page_says_so(tmp_path):
    experiment = known(sweep={"env.n_agents": (4, 8)})
    store = filled(tmp_path, experiment)
    assert guarantees(store, experiment, ["env.n_agents"]) == [("A <b>", *UNTOLD[0]), ("B", *UNTOLD[0])]
    assert UNTOLD[0][0] in write(store, tmp_path / "report.html").read_text()


def test_a_reading_stands_once_below_the_picture(tmp_path):
    text = "Both grow, A <slower>."
    whole = known(figures=(Figure(y="regret", reading=text), Figure(y="regret", log="", reading=text)))
    assert Experiment.from_dict(whole.to_dict()) == whole
    page = write(filled(tmp_path, whole), tmp_path / "report.html").read_text()
    assert page.count("Both grow, A &lt;slower&gt;.</figcaption>") == 1


EVIL = "</script><img src=x onerror=alert(1)>&\"'{{ 7*7 }}"


def test_texts_of_a_folder_are_shown_and_not_obeyed(tmp_path):
    whole = known(
        title=EVIL, source=EVIL, agents=[Component("UCB1", label=EVIL), Component("Multi-UCB")], metrics=(EVIL,),
        figures=(Figure(y=EVIL, title=EVIL, xlabel=EVIL, reading=EVIL),),
        claims=[Claim(EVIL, Ratio(EVIL, of=EVIL, over="Multi-UCB"), above=1)],
    )  # fmt: skip
    x = np.arange(1.0, RUNS + 1)
    store = filled(tmp_path, whole, values=lambda cell: ({EVIL: x}, {EVIL: x[:, None] * [1, 2]}, [1, 2]))
    store.fail(whole.cells()[0], [0], EVIL)
    store.note("2021", {"hushbandits": EVIL, EVIL: EVIL, "command": EVIL})
    page = write(Store(tmp_path), tmp_path / "report.html").read_text()
    assert "onerror" in page
    assert "<img" not in page
    assert "{{ 7*7 }}" in page
    assert page.count("</script>") == 1
    reader = _Reader()
    reader.feed(page)
    assert not reader.open


def test_a_page_draws_no_more_lines_than_can_be_distinguished(tmp_path):
    whole = known(agents=[Component("UCB1", label=f"line {i}") for i in range(40)])
    page = write(filled(tmp_path, whole), tmp_path / "report.html").read_text()
    assert "28 more lines not drawn" in page


def test_a_page_without_runs_says_so(tmp_path):
    page = write(begun(tmp_path, known()), tmp_path / "report.html").read_text()
    assert "No runs yet." in page
    assert "<figure>" not in page
    assert f"0 of {2 * RUNS} runs" in page
