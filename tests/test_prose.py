"""What a page says can be followed: commands are commands, links lead somewhere, numbers stand beside their command.

Code blocks of the pages run in `test_docs.py` and `test_readme.py`; this is about what stands between them.
"""

import inspect
import re
import unicodedata
from itertools import pairwise
from math import ceil, log2
from pathlib import Path

import pages
import pytest
from commands import PROJECT, ROOT, is_command, is_option

import hushbandits as hb
from hushbandits.audits import drawn, network, one_run, suite, votes
from hushbandits.audits.suite import Budget
from hushbandits.baselines import dubey2020_heavy
from hushbandits.bench.declare import words
from hushbandits.bench.declare.catalog import find
from hushbandits.bench.judge.intervals import fewest_runs
from hushbandits.bench.play import clusters, lock, meetings, plan, player
from hushbandits.bench.play.observe import observe
from hushbandits.bench.show import ink
from hushbandits.cli.audit import audit
from hushbandits.core.ground import limits
from hushbandits.envs.network import graphs
from hushbandits.privacy import shuffling
from hushbandits.routines.best_arm import ROUTINES
from hushbandits.wrappers.distributed_dp import DiscreteLaplace

PACKAGE = Path(hb.__file__).parent
PAGES = [*pages.ROOTS, *pages.SITE]
WRITTEN = [page for page in PAGES if page.name != "reproduction.md"]  # by hand
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.S | re.M)
each = pytest.mark.parametrize("page", PAGES, ids=pages.title)
#: A cell of a table of results.
NUMBER = re.compile(r"[−-]?\d*[.,]?\d[\d.,]* ?(k|M|\(.*\)|\[.*\]|± [\d.,]+)?$")
#: What a run or a benchmark says, in prose: an interval, an error.
MEASURED = re.compile(r"\d \[[\d.,]+, [\d.,]+\]|\d ± [\d.]")
SAYS = (
    "observe(",
    "hushbandits run ",
    "hushbandits reproduce ",
    "hushbandits audit",
    "python -m benchmarks",
    "hushbandits evaluate",
    "hb.evaluate",
)


PROGRAMS = ("hushbandits ", "pytest ", "ruff ", "nox ", "pre-commit ", "python ", "pip ")
#: A path of the repository, or a file at its root.
PATH = re.compile(r"(?:tests|src|docs|\.ci)/[\w./-]+|[\w.]+\.(?:toml|cff|md)")


def unfenced(text):
    """Return a page without its code blocks."""
    return FENCE.sub("", text)


def tokens(text):
    """Return what stands in backticks in the prose and tables of a page."""
    return [" ".join(token.split()) for token in re.findall(r"`([^`]+)`", unfenced(text))]


def misnamed(text):
    """Return the commands, options and names of `hb` in backticks that are none."""
    for token in tokens(text):
        if name := re.match(r"(?:hb|hushbandits)\.(\w+)", token):
            known = hasattr(hb, name[1])
        elif token.startswith(PROGRAMS):
            known = is_command(re.sub(r"-<\w+>", "", token))
        else:
            known = not token.startswith("--") or is_option(token)
        if not known:
            yield token


@each
def test_commands_options_and_public_names_in_a_sentence_exist(page):
    assert list(misnamed(page.read_text())) == []


def lines_of_commands(text):
    """The commands in a page's blocks, without what a listing says beside them."""
    for _, language, block in FENCE.findall(text):
        if language in ("bash", "sh", ""):
            for line in block.splitlines():
                command = re.split(r"\s{2,}(?=\S)", line.strip())[0]  # what stands beside it is said of it
                if language in ("bash", "sh") or command.startswith("hushbandits "):
                    yield command


@each
def test_commands_in_blocks_are_commands(page):
    assert [line for line in lines_of_commands(page.read_text()) if not is_command(line)] == []


@pytest.mark.parametrize("page", pages.ROOTS, ids=pages.title)
def test_paths_in_a_sentence_exist(page):
    assert [token for token in tokens(page.read_text()) if PATH.fullmatch(token) and not (ROOT / token).exists()] == []


def anchors(page):
    """The anchors of a page's headings, as they are made from their words."""
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.M):
        kept = [c for c in heading.lower() if c in "-_ " or unicodedata.category(c)[0] in "LN"]
        yield "".join(kept).replace(" ", "-")


def dead(page, text):
    """Relative links that lead nowhere."""
    for link in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", unfenced(text))):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in anchors(target))):
            yield link


@each
def test_links_lead_somewhere(page):
    assert list(dead(page, page.read_text())) == []


def sections(text):
    """A page's parts: by headings, and by paragraphs that begin with a bold word or a list's bold item."""
    return re.split(r"^(?=#|\*\*|- \*)", FENCE.sub("`block`", text), flags=re.M)


def has_results(section):
    """Whether it has numbers of runs: a table that mostly holds numbers, or intervals in prose."""
    rows = [row.strip().strip("|").split("|")[1:] for row in re.findall(r"^ *\|.*\|$", section, re.M)]
    cells = [cell.strip() for row in rows[2:] for cell in row]
    mostly = sum(map(bool, map(NUMBER.match, cells))) > len(cells) / 2
    return mostly or bool(MEASURED.search(section))


def parts(section):
    """A section's tables, each with what leads to it and the paragraph after it; without tables, the section."""
    after = [m.end() for m in re.finditer(r"(?:^ *\|.*\|\n)+", section, re.M)]
    for start, end in pairwise([0, *after]):
        tail = section[end:].strip("\n").partition("\n\n")[0]
        yield section[start:end] + "\n\n" + tail
    if not after:
        yield section


def unsaid(text):
    """The tables and sections with numbers of runs and without the command that they come from."""
    found = [part for section in sections(text) for part in parts(section) if has_results(part)]
    return [" ".join(part.split())[:60] for part in found if not any(t.startswith(SAYS) for t in tokens(part))]


@pytest.mark.parametrize("page", WRITTEN, ids=pages.title)
def test_numbers_of_runs_stand_beside_their_command(page):
    assert unsaid(page.read_text()) == []


# -- numbers that the code has --------------------------------------------------------------------------------------

PYTHONS = re.findall(r"3\.(\d+)", PROJECT["project"]["requires-python"])
PYTHONS = [PYTHONS[0], int(PYTHONS[1]) - 1]  # below the second
BROKEN = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/oracles").glob("*mutants.py"))
MUTANTS = re.findall(r"^@refuted_by\(.*\)\nclass", BROKEN, re.M)
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def runs_of(name):
    return find(name)[0].runs


def players():
    return hb.make_core("DecentralizedExploration-v0").n_agents


def default(function, name):
    return inspect.signature(function).parameters[name].default


#: Page, what it says, and what the code says in the place of each {}.
FACTS = [
    ("README.md", "Python 3.{} to 3.{}", PYTHONS),
    ("README.md", "runs {} small experiments", [WORDS[len(find("quickstart"))]]),
    ("README.md", "{} runs: sharing rewards", [runs_of("quickstart-network")]),
    ("papers.md", "`Decentralized` over {} routines", [WORDS[len(ROUTINES)]]),
    ("CONTRIBUTING.md", "Python 3.{} to 3.{}", PYTHONS),
    ("exploration.md", "no wrong arm in {} runs", [runs_of("rio2023-failure")]),
    ("exploration.md", "`hushbandits reproduce feraud2019` ({} runs;", [runs_of("feraud2019-fig1a")]),
    ("exploration.md", "N = {}, {} runs, c random", [players(), default(observe, "runs")]),
    ("feedback.md", "{} runs, ± half a 95 % interval", [runs_of("chowdhury2023-fig1")]),
    ("feedback.md", "{} the experiments'", [default(DiscreteLaplace, "confidence")]),
    ("feedback.md", "(below `min_cohort`, or {} for split-and-mix)", [shuffling.SMALLEST]),
    ("network.md", "exact up to {} agents", [graphs._SMALL]),
    ("network.md", "searched for among up to {} agents", [dubey2020_heavy.LARGEST]),
    ("network.md", "M = 200, K = 5, random graphs (p = .1), {} runs", [runs_of("dubey2020-fig1a")]),
    ("network.md", "({} runs, `hushbandits run dubey2020-overestimate`", [runs_of("dubey2020-overestimate")]),
    ("network.md", "by a constant; {} runs, `hushbandits run dubey2020-outliers`", [runs_of("dubey2020-outliers")]),
    ("network.md", "n = 10⁴ rounds, {} runs. `hushbandits run howson2024-fig2`", [runs_of("howson2024-fig2")]),
    ("privacy-audits.md", "ε ∈ {{.{}, .{}, {}, {}, {}, {}}}", [f"{e:g}".removeprefix("0.") for e in suite.GRID]),
    ("privacy-audits.md", "block sizes {}, {}, {}, {} and all", suite._SIZES),
    ("privacy-audits.md", "{} blocks each in random orders", [WORDS[drawn._AGAIN]]),
    ("privacy-audits.md", "stretch of {} blocks", [drawn._STRETCH]),
    ("privacy-audits.md", "up to n = {:,}", [drawn._LARGE[-1]]),
    ("privacy-audits.md", "at {} distances from the rule's threshold", [WORDS[len(votes._SHORT)]]),
    ("privacy-audits.md", "runs of {} and of {} rounds", network.ROUNDS),
    ("privacy-audits.md", "{:,} rewards are canaries", [one_run._EACH * Budget().samples]),
    ("privacy-audits.md", "every size from 2 to {}", [Budget().largest]),
    ("privacy-audits.md", "{:,} blocks a run, {} runs of two servers",
     [drawn._AGAIN * (Budget().largest - 1), Budget().runs // 2]),
    ("privacy-audits.md", "`--level` ({})", [{1e-6: "10⁻⁶"}[default(audit, "level")]]),
    ("privacy-audits.md", "has {} broken mechanisms", [len(MUTANTS) + 1]),  # one by a longer run
    ("threats.md", "refused beyond {} GiB", [f"{limits._DEFAULT:g}"]),
    ("threats.md", "numbers beyond ±{}", [f"{limits.LARGEST_NUMBER:.0e}".replace("+", "")]),
    ("guarantees.md", "more than {} GiB", [f"{limits._DEFAULT:g}"]),
    ("guarantees.md", "first {} cells", [meetings.MOST]),
    ("harness.md", "{} lines differ in more", [len(ink.LIGHT) * len(ink._DASHES)]),
    ("guarantees.md", "{} minutes at most", [WORDS[int(lock.PATIENCE / 60)]]),
    ("harness.md", "or {} jobs of Slurm", [clusters._SLURM_JOBS]),
    ("harness.md", "chunks of about {} seconds", [f"{plan.CHUNK:g}"]),
    ("harness.md", "with {} workers that died", [WORDS[player.TRIES]]),
    ("statistics.md", "needs {} runs for one claim, {} for 10, {} for 20, {} for 60, {} for 100",
     [fewest_runs(1 - 0.05 / m) for m in (1, 10, 20, 60, 100)]),
    ("statistics.md", "a median {}, {}, {}, {}, {},", [ceil(1 + log2(m / 0.05)) for m in (1, 10, 20, 60, 100)]),
    ("statistics.md", "`MUCH_LESS`: ratio below {}", [str(words.MUCH_LESS["below"])[1:]]),
    ("statistics.md", "`MUCH_MORE`: above {}", [words.MUCH_MORE["above"]]),
    ("statistics.md", "`CLEARLY_MORE`: above {}", [words.CLEARLY_MORE["above"]]),
    ("statistics.md", "`LITTLE`: ratio in (1/{}, {})", [1 / words.LITTLE["above"], words.LITTLE["below"]]),
    ("statistics.md", "`MATCHES`: ratio in (1/{0}, {0})", [words.MATCHES["below"]]),
    ("statistics.md", "`NO_WORSE`: ratio below {}", [words.NO_WORSE["below"]]),
    ("statistics.md", "`LINEARLY`: slope in ({}, {})", [str(words.LINEARLY["above"])[1:], words.LINEARLY["below"]]),
    ("statistics.md", "`about(800)`: in ({}, {})", [round(end) for end in words.about(800).values()]),
]  # fmt: skip


@pytest.mark.parametrize(("page", "sentence", "values"), FACTS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_number_is_the_codes(page, sentence, values):
    file = ROOT / page if page.isupper() or (ROOT / page).exists() else ROOT / "docs" / page
    assert sentence.format(*values) in " ".join(file.read_text().split())


def test_no_fact_is_free_of_numbers():
    assert [sentence for _, sentence, _ in FACTS if "{" not in sentence] == []


def test_every_environment_variable_is_on_a_page():
    texts = [path.read_text() for path in PACKAGE.rglob("*.py")]
    read = {name for text in texts for name in re.findall(r'"(HUSHBANDITS_[A-Z]+)"', text)}
    assert len(read) > 2
    assert [name for name in sorted(read) if not any(name in page.read_text() for page in WRITTEN)] == []


def test_the_house_has_these_rooms():
    """Folders in the drawings of the house are folders of the package."""
    page = (ROOT / "docs/design.md").read_text()
    drawings = [block for _, language, block in FENCE.findall(page) if not language]
    drawn_rooms = re.findall(r"(?<=[\n ])(\w+)/(?= )", "".join(drawings))
    assert len(drawn_rooms) > 8
    assert [room for room in drawn_rooms if not any(PACKAGE.rglob(room))] == []


# -- what is wrong is found -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "hushbandits rum quickstart", "hushbandits run rio2023-fig99", "hushbandits run quickstart --jibs 2",
        "hushbandits run quickstart --agents Multi-UBC", "hushbandits run quickstart --set env.n_agnets=3",
        "hushbandits merge runs/first", "hushbandits audit DistPD-v0", "hushbandits reproduce rio2024",
        "python -m benchmarks netwrok", "python -m benchmarks network goss", "python -m benchmarks --compair",
        "python benchmarks/netwrok.py", "pytest -m slwo", "pytest tests/privcay",
        'pip install "hushbandits[daks]"', 'pip install "hushbandit[dask]"', "nox -s tests-3.9", "rufff check .",
    ],
)  # fmt: skip
def test_no_such_command(line):
    assert not is_command(line)


def test_dead_links_and_numbers_without_a_command_are_found():
    page = ROOT / "docs/network.md"
    wrong = ["nowhere.md", "harness.md#no-such-heading", "#no-such-heading"]
    right = ["statistics.md#words-in-numbers", "#the-graph", "https://semver.org"]
    assert list(dead(page, " ".join(f"[a]({link})" for link in [*right, *wrong]))) == wrong
    text = page.read_text()
    for command in ("dubey2020-fig1b", "dubey2020-fig1c", "dubey2020-overestimate"):
        (missed,) = unsaid(text.replace(f"hushbandits run {command}", "it"))
        assert missed


@pytest.mark.parametrize("wrong", ["`hb.open_rum`", "`--jibs 2`", "`hushbandits rum quickstart`", "`nox -s tsets`"])
def test_a_misspelt_name_in_a_sentence_is_found(wrong):
    assert [f"`{token}`" for token in misnamed(f"Call {wrong}.")] == [wrong]
