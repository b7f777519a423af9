"""``hushbandits reproduce``: the papers' claims judged, and the page of verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from bench_helpers import experiment

import hushbandits as hb
from benchmarks import archive
from hushbandits.bench import reproduce as reproducing
from hushbandits.bench.runner.batch import Batch
from hushbandits.bench.runner.check import check, check_claims, check_declared
from hushbandits.bench.spec.catalog import modules, reasons
from hushbandits.bench.spec.claim import Claim, Ratio
from hushbandits.bench.spec.experiment import Component
from hushbandits.bench.stats.verdicts import Finding, Verdict
from hushbandits.cli.main import main


@pytest.fixture
def papers(monkeypatch, here):
    """Two papers with small experiments; the second paper has two, which share their cells, and a claim on a curve."""
    catalog = {}
    for name, below, times in (("alpha1999", 1, [None]), ("beta2001", 0.5, [None, 50])):
        shown = []
        for i, time in enumerate(times):
            effect = Ratio("regret", of="A", over="B", at={"env.n_agents": 4}, time=time)
            one, sweep = Claim(f"Sharing pays in {name}.", effect, below=below), {"env.n_agents": (4,)}
            shown.append(experiment(one, name=f"{name}-fig{i + 1}", sweep=sweep, runs=8, quick={"runs": 6 - i}))
        catalog[name] = f"{name}: a paper.", tuple(shown)
    for module in ("hushbandits.bench.spec.catalog", "hushbandits.bench.reproduce"):
        monkeypatch.setattr(f"{module}.modules", lambda: catalog)
    return here


def test_reproduce_says_and_writes_every_verdict(papers, capsys):
    assert main(["reproduce", "--jobs", "1", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "Sharing pays in alpha1999." in out
    assert "claimed < 0.5" in out
    page = (papers / "docs/reproduction.md").read_text()
    assert page.index("alpha1999: a paper.") < page.index("beta2001: a paper.")
    assert "`hushbandits reproduce beta2001 --seed 0 --quick` · quick scale" in page
    assert page.count("|  | figure 1 |") == 3
    assert (papers / "runs/alpha1999-fig1-quick/report.html").exists()


def test_a_full_verdict_outlives_a_quick_one(papers, capsys):
    assert main(["reproduce", "alpha1999", "--jobs", "1"]) == 0
    before = (papers / "docs/reproduction.md").read_text()
    assert "full scale" in before
    assert main(["reproduce", "--jobs", "1", "--quick"]) == 0
    page = (papers / "docs/reproduction.md").read_text()
    assert "keeps its full-scale verdicts of alpha1999" in capsys.readouterr().err
    assert "`hushbandits reproduce alpha1999 --seed 0` · full scale" in page
    assert "`hushbandits reproduce beta2001 --seed 0 --quick` · quick scale" in page
    assert main(["reproduce", "beta2001", "--jobs", "1"]) == 0
    page = (papers / "docs/reproduction.md").read_text()
    assert "quick scale" not in page
    assert page.count("full scale") == 2


def test_claims_are_counted_by_whose_they_are_and_the_headline_has_the_papers(papers):
    (whole,) = reproducing.modules()["alpha1999"][1]
    finding = Finding("N = 3", 0.5, (0.4, 0.6), 30, "t")
    verdicts = [
        Verdict(replace(whole.claims[0], sentence=f"{origin} {said}", origin=origin), whole, said, (finding,))
        for origin, said in (("paper", "holds"), ("paper", "undecided"), ("reading", "holds"), ("own", "does not hold"))
    ]
    found = [reproducing.Reproduction("alpha1999", whole, verdicts, [])]
    page = papers / "page.md"
    reproducing.write(page, found, {"alpha1999": "x"}, False)
    text = page.read_text()
    assert "| alpha1999 | full | 1 hold, 1 undecided | 1 hold | 1 do not hold |" in text
    assert "Of 2 claims of the papers: 1 hold, 1 undecided." in text
    assert "of 2 claims of the papers: 1 hold, 1 undecided" in reproducing.said(found)[-1]
    (row,) = [line for line in text.splitlines() if "own does not hold" in line]
    assert "| own |" in row


@pytest.mark.parametrize("turn", [1, -1])  # the second needs fewer runs than the first has, or more
def test_runs_that_two_experiments_of_a_paper_share_are_played_once(papers, monkeypatch, turn):
    title, shown = reproducing.modules()["beta2001"]
    monkeypatch.setitem(reproducing.modules(), "beta2001", (title, shown[::turn]))
    played, play = [], Batch.play

    def counted(batch, watch=None):
        if type(batch) is Batch:  # not a probe
            played.extend((batch.key, number) for number in batch.runs)
        return play(batch, watch)

    monkeypatch.setattr(Batch, "play", counted)
    assert main(["reproduce", "beta2001", "--jobs", "1", "--quick"]) == 0
    assert len(played) == len(set(played)) == 2 * 6
    second = shown[::turn][1].quickly()
    hb.run(second, papers / "alone")
    copied, alone = (sorted(p.name for p in papers.glob(f"{f}/rows/*")) for f in (f"runs/{second.name}-quick", "alone"))
    assert copied == alone  # the names have the contents' digests
    cost = reproducing.expected(["beta2001"], papers / "new", 0, True, hb.RunOptions(jobs=1))
    assert cost.summed("all").runs == 2 * 6


def test_a_failing_run_is_shown_and_ends_with_1(papers, capsys, monkeypatch):
    title, (whole,) = reproducing.modules()["alpha1999"]
    joined = whole.joined_by([Component("own_agents_that_fail:Breaks")])
    monkeypatch.setitem(reproducing.modules(), "alpha1999", (title, (joined,)))
    assert main(["reproduce", "alpha1999", "--jobs", "1", "--quick"]) == 1
    assert "boom" in capsys.readouterr().err
    assert "Sharing pays in alpha1999." in (papers / "docs/reproduction.md").read_text()


@pytest.mark.parametrize("scale", [["beta2001"], pytest.param(["zhu2023", "--quick"], marks=pytest.mark.weekly)])
def test_archived_rows_give_the_page_and_what_was_altered_is_named(papers, monkeypatch, capsys, scale):
    monkeypatch.setitem(reproducing.modules(), "zhu2023", modules()["zhu2023"])
    command, file = ["reproduce", *scale, "--page"], Path("rows", f"{scale[0]}.parquet")
    assert main([*command, "played.md", "--jobs", "1"]) == 0
    archive.main("rows", *scale)
    assert main([*command, "judged.md", "--from", "rows"]) == 0
    assert Path("judged.md").read_bytes() == Path("played.md").read_bytes()
    table, content = pq.read_table(file), file.read_bytes()
    archive.main("rows", *scale)
    assert file.read_bytes() == content

    def refused(rows, *flags):
        file.write_bytes(content) if rows is None else pq.write_table(rows, file)
        capsys.readouterr()
        assert main([*command, "refused.md", "--from", str(file), *flags]) == 2
        return capsys.readouterr().err

    i, values = len(table) // 2, table["value"].to_numpy().copy()
    values[i] += 1
    altered = refused(table.set_column(5, "value", pa.array(values)))
    assert f"{table['metric'][i]} of" in altered
    assert table["cell"][i].as_py()[:16] in altered
    assert "SHA256SUMS" in refused(table)  # in other bytes
    assert "runs of" in refused(table.filter(pc.not_equal(table["run"], 2)))
    assert "seed=0" in refused(None, "--seed", "1")
    if "--quick" not in scale:  # the digest of the release counts, not the one beside the file
        monkeypatch.setattr("hushbandits.bench.runner.archive.ROOT", papers)
        (papers / "data").mkdir()
        (papers / "data/SHA256SUMS").write_text(f"{'0' * 64}  {file.name}\n")
        assert "SHA256SUMS" in refused(None)
    assert not Path("refused.md").exists()


def whole_papers():
    return [whole for name in reproducing.papers() for whole in reproducing.modules()[name][1]]


def test_what_makes_claims_is_declared_as_a_whole():
    for whole in whole_papers():
        check_declared(whole)
        check_claims(whole)


@pytest.mark.weekly
def test_what_makes_claims_can_be_played_as_declared():
    for whole in whole_papers():
        check([whole.overriding({"runs": 1})])


def test_what_does_not_hold_has_a_reason_and_each_reason_a_claim():
    page = (Path(__file__).parents[2] / "docs/reproduction.md").read_text(encoding="utf-8")
    for paper, scale, text in reproducing._MARK.findall(page):
        why = reasons(paper)
        failed = [cells[0] for verdict, cells in reproducing.rows(text) if verdict == "does not hold"]
        assert [claim for claim in failed if not any(part in claim for part in why)] == [], paper
        claims = [claim.sentence for e in modules()[paper][1] for claim in e.claims]
        assert [part for part in why if not any(part in claim for claim in claims)] == [], paper
        assert [part for part, reason in why.items() if scale == "full" and f"- *{part}*: {reason}" not in text] == []
