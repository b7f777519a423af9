"""A folder that is run again: more runs, another declaration, and cells that cannot meet."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench_helpers import played, small, table

import hushbandits as hb
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Value
from hushbandits.bench.declare.spec import Figure, Use
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.run import run
from hushbandits.bench.show.report import write
from hushbandits.cli.main import main

FEW = Claim("Little regret.", Value("regret", of="UCB1"), below=1e9)


def test_a_folder_goes_on_to_more_runs_and_holds_what_one_call_would_have_made(tmp_path):
    at_once = played(small(runs=7), tmp_path / "once")
    played(small(runs=3), tmp_path / "more")
    more = run(small(runs=7), tmp_path / "more", progress=False)
    with more.store as store:
        assert more.played == 4 * len(small().cells())
        assert table(store) == at_once
    assert main(["check", str(tmp_path / "more")]) == 0


def test_a_shard_and_several_experiments_grow_too(tmp_path):
    two = [small(name="a", runs=2), small(name="b", runs=4, env=Use("CoopNetwork-v0", horizon=40))]
    run(two, tmp_path, progress=False).store.close()
    two[0] = replace(two[0], runs=5)
    for shard in ("1/2", "2/2"):
        again = run(two, tmp_path, progress=False, shard=shard)
        again.store.close()
    with hb.run(two, tmp_path, progress=False).store as store:
        done = store.done()
        assert {len(done[cell.key]) for cell in two[0].cells()} == {5}
        assert {len(done[cell.key]) for cell in two[1].cells()} == {4}


def test_fewer_runs_and_more_of_what_is_judged_are_refused(tmp_path):
    run(small(runs=3), tmp_path / "plain", progress=False).store.close()
    with pytest.raises(StoreError, match="small has runs 3 there, 2 here"):
        run(small(runs=2), tmp_path / "plain", progress=False)
    with pytest.raises(StoreError, match="small has runs 3 there, 4 here"):  # the claim would have been looked at
        run(small(runs=4, claims=(FEW,), sweep={}), tmp_path / "plain", progress=False)
    judged = small(runs=3, claims=(FEW,), sweep={})
    run(judged, tmp_path / "judged", progress=False).store.close()
    with pytest.raises(StoreError, match="small has runs 3 there, 4 here"):
        run(replace(judged, runs=4), tmp_path / "judged", progress=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ("regert",)}, "no metric is named 'regert'"),
        ({"figures": (Figure(y="agent_regert"),)}, "a figure shows 'agent_regert'"),
        ({"figures": (Figure(y="regret", x="env.life"),)}, "which is not swept"),
        ({"claims": (replace(FEW, effect=Value("regert", of="UCB1")),)}, "a claim is about 'regert'"),
    ],
    ids=["metric", "figure", "axis", "claim"],
)
def test_another_declaration_of_the_same_rows_is_checked_before_it_is_kept(tmp_path, changes, message):
    run(small(runs=2, sweep={}), tmp_path, progress=False).store.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(ValueError, match=message):
        run(small(runs=2, sweep={}, **changes), tmp_path, progress=False)
    assert (tmp_path / FILE).read_bytes() == before


TOML = """title = "{title}"
runs = 2
metrics = ["regret"]
env = {{ use = "CoopNetwork-v0", n_agents = 3, horizon = 20 }}
agents = ["Multi-UCB", "UCB1"]
"""


def test_a_new_title_is_on_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for title in ("As it was", "As it is"):
        (tmp_path / "mine.toml").write_text(TOML.format(title=title))
        assert main(["run", "mine.toml", "--jobs", "1"]) == 0
    page = (tmp_path / "runs" / "mine" / "report.html").read_text()
    assert "As it is" in page
    assert "As it was" not in page


#: Half of these graphs there are.
WIDE = small(runs=2, sweep={"env.n_agents": (3, 4), "env.graph": ("complete", "nowhere")}, agents=["UCB1", "Random"])


def test_cells_that_cannot_meet_are_skipped_when_that_is_asked_for(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere.*; --skip-invalid .*leaves out the cells that cannot meet"):
        run(WIDE, tmp_path, progress=False)
    assert not (tmp_path / FILE).exists()
    said = []
    outcome = run(WIDE, tmp_path, progress=False, skip_invalid=True, notify=said.append)
    with outcome.store as store:
        done = store.done()
        for cell in WIDE.cells():
            assert done[cell.key] == (set() if cell.point["env.graph"] == "nowhere" else {0, 1})
    with Store(tmp_path / FILE, readonly=True) as store:  # whoever looks later is told, and nothing is left to play
        page = write(store, tmp_path / "page.html").read_text()
    assert "8 of 8 runs" in page
    assert "goes on" not in page
    assert "Never played" in page
    assert (outcome.played, outcome.failures) == (8, [])
    assert len(said) == 4
    assert all(line.startswith("skipped: small, ") and "nowhere" in line for line in said)
    again = run(WIDE, tmp_path, progress=False, skip_invalid=True, notify=said.append)
    again.store.close()
    assert again.played == 0


def test_where_nothing_can_meet_nothing_is_skipped(tmp_path):
    alone = replace(WIDE, sweep={"env.graph": ("nowhere", "neither")})
    with pytest.raises(ValueError, match="nowhere") as told:
        run(alone, tmp_path, progress=False)
    assert "skip" not in str(told.value)
    with pytest.raises(ValueError, match="nowhere"):
        run(alone, tmp_path, progress=False, skip_invalid=True)


SWARM = """
import numpy as np
import hushbandits as hb

class Swarm(hb.Team):
    setting = "network"
    measures = {"swarmed": hb.Measure("share of runs that swarmed", "rate")}

    def act(self, obs):
        return np.zeros(obs.who.shape, int)

    def metrics(self, env):
        return {"swarmed": np.ones(env.runs)}
"""


@pytest.mark.parametrize("agents", [("UCB1", "swarm_a:Swarm"), ("swarm_b:Swarm", "UCB1")], ids=["second", "first"])
@pytest.mark.parametrize(
    "asked", [{"metrics": ("swarmed",)}, {"figures": (Figure(y="swarmed", x="runs"),)}], ids=["metric", "figure"]
)
def test_what_one_of_two_agents_lacks_is_said_to_be_lacking_there(tmp_path, monkeypatch, agents, asked):
    monkeypatch.chdir(tmp_path)
    for name in agents:
        if ":" in name:
            (tmp_path / f"{name.partition(':')[0]}.py").write_text(SWARM)
    one = small(runs=2, sweep={}, agents=agents, **asked)
    with pytest.raises(ValueError, match=r"'swarmed' must be .* of all lines: swarm_.:Swarm has it, UCB1 does not"):
        run(one, tmp_path / "o", progress=False)
