"""Looks: claims judged in stages that were declared, so that more runs after a look make no verdict milder."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from bench_helpers import known, played, small, table
from scipy import stats as scipy_stats

import hushbandits as hb
from hushbandits.bench import reproduce as reproducing
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Ratio, Slope, Value
from hushbandits.bench.declare.spec import Use
from hushbandits.bench.judge import stages
from hushbandits.bench.judge.line import Held, lines
from hushbandits.bench.judge.stages import Stages
from hushbandits.bench.judge.verdicts import ALPHA, judge
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.merge import merge
from hushbandits.bench.play.run import open_folder
from hushbandits.bench.run import run
from hushbandits.bench.show.ours import PAGE
from hushbandits.bench.show.report import write
from hushbandits.cli.main import main

LOOKS = 48, 100, 300
ABOVE = Claim("A has regret.", Value("regret", of="A"), above=0)


def looked(*claims, looks=LOOKS, **more):
    return known(*claims, **{"sweep": {"env.n_agents": (4,)}, "runs": looks[-1], "looks": looks, **more})


def put(store, values, runs=None):
    """Rows of all cells: those of line A are `values`, of line B 5 apiece."""
    runs = list(range(len(values)) if runs is None else runs)
    for cell in store.experiments[0].cells():
        x = values[runs] if cell.line == "A" else np.full(len(runs), 5.0)
        store.add(cell, runs, {"regret": x}, {}, np.empty(0))


def judged(folder, whole, values, runs=None):
    with open_folder([whole], folder) as store:
        put(store, values, runs)
        return judge(lines(store, whole), whole), Stages()(store)[whole.name]


def noisy(mean, n=300, spread=1.0, seed=0):
    """Runs of exactly this mean, whatever their number is: x, −x, x, −x around it."""
    x = np.random.default_rng(seed).normal(0, spread, n // 2)
    return mean + np.stack([x, -x], 1).ravel()


# -- what is promised -----------------------------------------------------------------------------------------------


def ratio(rng, n):
    """The truth is at the boundary: means 1 over 2."""
    return {"A": rng.normal(1, 0.5, n), "B": rng.normal(2, 0.5, n)}


def rate(rng, n):
    return {"A": (rng.random(n) < 0.5).astype(float), "B": np.zeros(n)}


BOUNDARY = {
    "ratio of means": (ratio, 500, Claim("Half.", Ratio("regret", of="A", over="B"), above=0.5)),
    "rate": (rate, 1500, Claim("Half.", Value("correct", of="A"), above=0.5)),
}


def held(stage, values):
    """The lines of an experiment, each with its first runs of `values`."""
    ends = {line: dict.fromkeys(("regret", "correct"), x[: stage.runs]) for line, x in values.items()}
    return [Held(cell, cell.line, world=0, finals=ends[cell.line]) for cell in stage.cells()]


def decided(stages, families, draw):
    """How often one of these experiments decides its claim, judged in turn on the same runs."""
    rng = np.random.default_rng(9)
    drawn = (draw(rng, LOOKS[-1]) for _ in range(families))
    return sum(any(judge(held(stage, x), stage)[0].decided for stage in stages) for x in drawn)


@pytest.mark.parametrize("kind", BOUNDARY)
def test_a_claim_at_its_boundary_errs_in_its_share_with_looks_and_in_more_without(kind):
    draw, families, claim = BOUNDARY[kind]
    with_looks = decided([looked(claim)], families, draw)
    # Judged, given more runs since it came out undecided, and judged again as if for the first time.
    as_it_was = decided([known(claim, sweep={"env.n_agents": (4,)}, runs=n) for n in LOOKS], families, draw)

    def beyond(wrong):
        return scipy_stats.binomtest(wrong, families, ALPHA, alternative="greater").pvalue

    assert beyond(with_looks) > 1e-3, with_looks / families
    assert beyond(as_it_was) < 1e-4, f"the test has no power: {as_it_was / families}"


# -- the rules of judging ---------------------------------------------------------------------------------------------


def test_each_look_has_its_share_of_the_error(tmp_path):
    values = noisy(5.0)
    (verdict,), _ = judged(tmp_path / "looks", looked(ABOVE), values)
    assert (verdict.look, verdict.error) == (48, ALPHA / 3)
    (once,), _ = judged(tmp_path / "once", looked(ABOVE, looks=(48,)), values[:48])
    assert once.look == 48
    width, narrow = (v.findings[0].interval[1] - v.findings[0].interval[0] for v in (verdict, once))
    assert width > narrow
    assert verdict.findings[0].runs == 48
    assert verdict.stage == "look 1 of 3, level 1 − 0.017"


def test_of_points_and_of_a_paper_the_shares_multiply(tmp_path, monkeypatch):
    whole = looked(Claim("A.", Value("regret", of="A"), above=0), sweep={"env.n_agents": (4, 8)})
    levels = []
    real = stages.judge_one.__globals__["procedure"]

    def spy(effect, measure):
        how = real(effect, measure)
        return replace(how, interval=lambda s, w, level: (levels.append(level), how.interval(s, w, level))[1])

    monkeypatch.setitem(stages.judge_one.__globals__, "procedure", spy)
    with open_folder([whole], tmp_path) as store:
        put(store, noisy(5.0, 48))
        (verdict,) = judge(lines(store, whole), whole, 7)
    assert verdict.verdict == "holds"
    assert levels == pytest.approx([1 - ALPHA / 21, 1 - ALPHA / 42] * 2)


@pytest.mark.parametrize(
    ("values", "asked", "found"),
    [
        # The first 48 runs say yes, all that follow say no.
        (np.r_[noisy(5.0, 48), noisy(-50.0, 252)], 48, {n: (48, "holds") for n in (48, 60, 100, 299, 300)}),
        # The first 48 runs leave it open.
        (
            np.r_[noisy(0.0, 48), noisy(4.0, 252)],
            100,
            {48: (48, "undecided"), 99: (48, "undecided"), 100: (100, "holds"), 300: (100, "holds")},
        ),
    ],
)
def test_the_first_look_that_decides_is_the_verdict_for_ever(tmp_path, values, asked, found):
    for n, told in found.items():
        (verdict,), more = judged(tmp_path / str(n), looked(ABOVE), values[:n])
        assert ((verdict.look, verdict.verdict), more) == (told, asked), n


def test_a_look_that_a_run_is_missing_from_decides_nothing(tmp_path):
    values = noisy(5.0)
    runs = [r for r in range(300) if r != 17]
    (verdict,), asked = judged(tmp_path, looked(ABOVE), values, runs)
    assert (verdict.verdict, verdict.look, asked) == ("undecided", 0, 48)
    assert verdict.stage.startswith("before look 1 of 3")


def test_claims_are_decided_each_at_its_own_look_and_it_goes_on_for_the_last(tmp_path):
    later = Claim("Later.", Value("regret", of="A"), above=4.9)
    verdicts, asked = judged(tmp_path, looked(ABOVE, later), np.concatenate([noisy(4.9, 48), noisy(6, 252)]))
    assert [(v.verdict, v.look) for v in verdicts] == [("holds", 48), ("holds", 100)]
    assert asked == 100


def test_a_claim_that_a_variation_took_the_points_from_holds_nobody_up(tmp_path):
    gone = Claim("At 16.", Value("regret", of="A", at={"env.n_agents": [16]}), above=0)
    flat = Claim("Grows.", Slope("regret", of="A", along="env.n_agents"), above=0)
    at = {"sweep": {"env.n_agents": (4, 16)}}
    whole = looked(ABOVE, gone, flat, **at).overriding({"env.n_agents": (4,)})
    verdicts, asked = judged(tmp_path / "some", whole, noisy(5.0))
    assert [v.verdict for v in verdicts] == ["holds", "undecided", "undecided"]
    assert asked == 48
    _, asked = judged(tmp_path / "none", looked(gone, **at).overriding({"env.n_agents": (4,)}), noisy(5.0))
    assert asked == 300  # nothing can be decided: what was asked for is played


# -- playing ----------------------------------------------------------------------------------------------------------

NET = Use("CoopNetwork-v0", horizon=30, means=(0.9, 0.1), n_agents=3)
SURE = Claim("UCB1 has regret.", Value("regret", of="UCB1"), above=0)
AT = 35, 140, 160


def net(claim, **more):
    fields = {"env": NET, "agents": ["UCB1", "Multi-UCB"], "sweep": {}, "runs": 160, "claims": (claim,)}
    return small(**{**fields, **more})


def between(errors=3.5, runs=AT[1]):
    """A claim that the first look leaves open and the second decides: its end lies 3.5 standard errors off by then."""
    x = hb.evaluate("CoopNetwork-v0", "UCB1", runs=runs, env=NET.params).final("regret")
    return Claim("Between.", Value("regret", of="UCB1"), above=float(x.mean() - errors * x.std() / math.sqrt(runs)))


def never():
    """A claim that no look decides: the last one's mean is its end."""
    return between(0.0, AT[-1])


def runs_of(store):
    return {len(r) for r in store.done().values()}


def test_it_stops_where_all_is_decided_and_the_rows_are_those_of_a_plain_run(tmp_path):
    outcome = run(net(SURE, looks=AT), tmp_path / "looks", progress=False)
    with outcome.store as store:
        assert outcome.played == 2 * 35
        stopped = list(store.rows())
    with run(net(SURE), tmp_path / "plain", progress=False).store as store:
        assert stopped == [row for row in store.rows() if row["run"] < 35]
    again = run(net(SURE, looks=AT), tmp_path / "looks", progress=False)
    with again.store:
        assert again.played == 0


@pytest.mark.parametrize(("jobs", "batch"), [(1, 25), (2, 7)])
def test_what_stays_open_is_played_to_the_end_and_each_run_once(tmp_path, jobs, batch):
    outcome = run(net(never(), looks=AT), tmp_path / "looks", progress=False, jobs=jobs, batch=batch)
    with outcome.store as store:
        assert (outcome.played, runs_of(store)) == (320, {160})
        assert len(store.sessions()) == 1
        staged = table(store)
    assert staged == played(net(never()), tmp_path / "plain")


def test_an_interrupted_folder_goes_on_at_its_look(tmp_path, monkeypatch):
    whole = net(between(), looks=AT)
    with run(whole, tmp_path / "whole", progress=False).store as store:
        assert runs_of(store) == {140}
        undisturbed = table(store)
        (verdict,) = judge(lines(store, whole), whole)
        assert (verdict.verdict, verdict.look) == ("holds", 140)
    with open_folder([whole], tmp_path / "cut") as store:  # 37 runs of one cell, 3 of the other
        with run(whole, tmp_path / "source", progress=False).store as source:
            for cell, n in zip(whole.cells(), (37, 3), strict=True):
                for r, (ends, curves) in source.values(cell.key, range(n)).items():
                    times = np.array([t for t, _ in curves["regret"]])
                    values = {m: np.array([[v for _, v in pairs]]) for m, pairs in curves.items()}
                    store.add(cell, [r], {m: np.array([v]) for m, v in ends.items()}, values, times)
        assert Stages()(store) == {"small": 35}
    assert played(whole, tmp_path / "cut") == undisturbed


def test_a_batch_that_fails_leaves_its_look_open_and_the_rest_goes_on(tmp_path, monkeypatch):
    (tmp_path / "frail_at_30.py").write_text(
        "import hushbandits as hb\n"
        "class Frail(hb.Team):\n"
        "    setting = 'network'\n"
        "    def act(self, obs):\n"
        "        raise RuntimeError('not today')\n"
    )
    monkeypatch.chdir(tmp_path)
    frail = net(SURE, looks=AT, agents=["UCB1", Use("frail_at_30:Frail")], name="frail")
    whole = net(between(), looks=AT)
    outcome = run([frail, whole], tmp_path / "out", progress=False)
    with outcome.store as store:
        assert outcome.failures
        assert Stages()(store) == {"frail": 35, "small": 140}
        assert runs_of(store) == {0, 140}
        (verdict,) = judge(lines(store, frail), frail)  # of the line that failed it says nothing
        assert (verdict.verdict, verdict.look) == ("holds", 35)


def test_experiments_that_share_cells_are_each_judged_on_their_own_looks(tmp_path):
    more = net(never(), name="more", looks=())
    with run([net(SURE, looks=AT), more], tmp_path, progress=False).store as store:
        assert runs_of(store) == {160}
        assert Stages()(store) == {"small": 35, "more": 160}
        assert judge(lines(store, store.experiments[0]), store.experiments[0])[0].look == 35


def test_other_looks_are_another_run(tmp_path):
    run(net(SURE, looks=AT), tmp_path, progress=False).store.close()
    for other in ((), (40, 160)):
        with pytest.raises(StoreError, match=r"small has looks \[35,140,160\] there, .* here; choose another --out"):
            run(net(SURE, looks=other), tmp_path, progress=False)
    with pytest.raises(StoreError, match="small has runs 160 there, 200 here"):
        run(net(SURE, runs=200, looks=(35, 200)), tmp_path, progress=False)


@pytest.mark.parametrize("field", [{"luck": "other"}, {"paired": ("n_agents",)}])
def test_other_seeds_are_another_run(tmp_path, field):
    run(net(SURE), tmp_path, progress=False).store.close()
    with pytest.raises(StoreError, match=f"small has {next(iter(field))} none there"):
        run(net(SURE, **field), tmp_path, progress=False)


def test_shards_play_to_the_last_look_and_the_whole_is_judged_in_order(tmp_path):
    whole = net(SURE, looks=AT)
    for i in (1, 2):
        run(whole, tmp_path / str(i), shard=f"{i}/2", progress=False).store.close()
    with merge([tmp_path / "1", tmp_path / "2"], tmp_path / "both") as store:
        assert runs_of(store) == {160}
        (verdict,) = judge(lines(store, whole), whole)
        assert verdict.look == 35


def test_a_stage_reads_no_claim_that_is_decided(tmp_path, monkeypatch):
    whole = net(SURE, looks=AT, claims=(SURE, between()))
    asked = []
    real = stages.judge_one

    def spy(store, experiment, claim, *rest):
        asked.append(claim.sentence)
        return real(store, experiment, claim, *rest)

    monkeypatch.setattr(stages, "judge_one", spy)
    run(whole, tmp_path, progress=False).store.close()
    assert asked == [SURE.sentence, "Between.", "Between."]


# -- what is said -----------------------------------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A paper of one experiment, whose claim the second look decides."""
    whole = net(between(), name="alpha1999-fig1", source="Somebody 1999")
    catalog = {"alpha1999": ("alpha1999: a paper.", (whole,))}
    for module in ("hushbandits.bench.declare.catalog", "hushbandits.bench.reproduce"):
        monkeypatch.setattr(f"{module}.modules", lambda: catalog)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_with_an_option_any_experiment_stops_early_and_everything_says_so(mine, capsys):
    assert main(["run", "alpha1999-fig1", "--looks", "35,140", "--jobs", "1"]) == 0
    assert "judged at 35, 140 or 160 runs: 1 of 1 claims decided (1 at 140)" in capsys.readouterr().err
    folder = "runs/alpha1999-fig1"
    assert main(["check", folder]) == 0
    told = capsys.readouterr().out
    assert "2 cells, 280 of 280 runs\n" in told
    assert "judged at 35, 140 or 160 runs: 1 of 1 claims decided (1 at 140)" in told
    assert main(["report", folder]) == 0
    page = (mine / folder / PAGE).read_text()
    assert "look 2 of 3, level 1 − 0.017" in page
    assert "level 1 − 0.05/(1 · 3)" in page
    assert "280 of 280 runs" in page
    assert "Some runs are missing" not in page
    capsys.readouterr()
    assert main(["export", folder]) == 0
    assert capsys.readouterr().out.count(",139,regret,,") == 2
    assert "35, 140 or 160 runs" in repr(hb.open_run(folder))


def test_reproduce_with_looks_says_the_look(mine, capsys):
    assert main(["reproduce", "--looks", "35,140", "--jobs", "1"]) == 0
    assert "look 2 of 3, level 1 − 0.017" in capsys.readouterr().out
    page = (mine / "docs/reproduction.md").read_text()
    assert "`hushbandits reproduce alpha1999 --seed 0 --looks 35,140`" in page
    assert "look 2 of 3, level 1 − 0.017 | skewed t | 140 |" in page


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--runs", "300"], "runs=300: the claims of alpha1999-fig1 are judged once, at 160 runs"),
        (["--looks", "2"], "begin too early: with 2 looks and 1 claim judged together, 'Between.' needs 26 runs"),
        (["--looks", "30,25"], "must be increasing"),
        (["--looks", "x"], "looks='x'"),
        (["--looks", ""], "looks=''"),
        (["--set", "looks=[30, 39]"], "must end with runs=160"),
    ],
)
def test_more_runs_than_are_declared_need_a_look_that_is(mine, capsys, given, says):
    assert main(["run", "alpha1999-fig1", *given]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
    assert not (mine / "runs").exists()


@pytest.mark.parametrize("given", [["--looks", "40"], ["--looks", "170"], ["--set", "looks=[40, 170]"]])
def test_more_runs_with_looks_are_played(mine, given):
    assert main(["run", "alpha1999-fig1", "--runs", "170", *given, "--jobs", "1"]) == 0


def test_quick_and_looks_go_together(mine, capsys):
    (whole,) = reproducing.modules()["alpha1999"][1]
    quick = replace(whole, quick={"runs": 30})
    reproducing.modules()["alpha1999"] = ("alpha1999: a paper.", (quick,))
    assert main(["reproduce", "--quick", "--jobs", "1"]) == 0
    assert "look" not in capsys.readouterr().out
    assert main(["run", "alpha1999-fig1", "--quick", "--looks", "26", "--jobs", "1", "--out", "there"]) == 0
    assert "judged at 26 or 30 runs" in capsys.readouterr().err


def test_a_page_of_a_folder_that_was_cut_short_says_that_runs_are_missing(tmp_path):
    with open_folder([looked(ABOVE)], tmp_path) as store:
        put(store, noisy(5.0), range(30))
        page = write(store, tmp_path / PAGE).read_text()
    assert "before look 1 of 3" in page
    assert "60 of 96 runs" in page
    assert "Some runs are missing" in page
