"""Own code and data: what was edited is not mixed with what was played before."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from bench_helpers import played, small

import hushbandits as hb
from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.own import own_sources
from hushbandits.bench.play.store import FILE
from hushbandits.bench.run import run
from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS
from hushbandits.core.ground.spec import Spec

BOLD = """
from {helper} import ARM
class Bold:
    blind = True
    def __init__(self, m, rng): pass
    def act(self, t): return ARM
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of one's own with a helper beside it, under names that no other test has imported."""
    monkeypatch.chdir(tmp_path)
    name = "bold_" + tmp_path.name.replace("-", "_")
    (tmp_path / f"{name}_arm.py").write_text("ARM = 1\n")
    (tmp_path / f"{name}.py").write_text(BOLD.format(helper=f"{name}_arm"))
    yield name
    for module in (name, f"{name}_arm"):
        sys.modules.pop(module, None)


def half(folder):
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        for rows in ("runs", "finals", "curves", "sums"):
            db.execute(f"DELETE FROM {rows} WHERE run = 1")


@pytest.mark.parametrize("edited", ["", "_arm"])
def test_own_code_that_was_edited_is_not_mixed(tmp_path, own, edited):
    experiment = small(agents=[Use("UCB1"), Use(f"{own}:Bold")], runs=2, sweep={})
    played(experiment, tmp_path / "o")
    half(tmp_path / "o")
    file = tmp_path / f"{own}{edited}.py"
    file.write_text(file.read_text() + "# edited\n")
    with run(experiment, tmp_path / "fresh", progress=False).store as store:
        assert own in str(store.sessions()[0][1]["own"])
    with pytest.raises(StoreError, match=f"'{own}:Bold' changed since rows of .* were made with it; choose another"):
        run(experiment, tmp_path / "o", progress=False)
    accepted = run(experiment, tmp_path / "o", progress=False, accept_edits=True)
    with accepted.store as store:
        assert accepted.played == 2
        assert len(store.sessions()) == 2
    half(tmp_path / "o")
    played(experiment, tmp_path / "o")  # accepted once is accepted


def test_a_failed_agent_may_be_mended(tmp_path, own):
    experiment = small(agents=[Use("UCB1"), Use(f"{own}:Bold")], runs=2, sweep={})
    file = tmp_path / f"{own}.py"
    good = file.read_text()
    file.write_text(good.replace("return ARM", "raise RuntimeError"))
    with run(experiment, tmp_path / "o", progress=False).store as store:
        assert len(store.failures()) == 1
    file.write_text(good)
    sys.modules.pop(own)  # another day: what was loaded is forgotten
    again = run(experiment, tmp_path / "o", progress=False)
    again.store.close()
    assert (again.failures, again.played) == ([], 2)


def test_what_is_complete_is_shown_whatever_was_edited_and_says_so(tmp_path, own):
    experiment = small(agents=[Use(f"{own}:Bold")], runs=2, sweep={})
    first = played(experiment, tmp_path / "o")
    (tmp_path / f"{own}.py").write_text("nothing = 0")
    with pytest.warns(UserWarning, match=f"nothing was played, and '{own}:Bold' changed since rows of .*--out") as told:
        assert played(experiment, tmp_path / "o") == first
    assert len(told) == 1
    assert played(experiment, tmp_path / "o", accept_edits=True) == first  # knowingly: without a word


def test_a_run_that_is_refused_leaves_the_declaration_as_it_was(tmp_path, own):
    experiment = small(agents=[Use(f"{own}:Bold")], runs=2, sweep={})
    first = played(experiment, tmp_path / "o")
    file = tmp_path / f"{own}.py"
    good = file.read_text()
    file.write_text(good + "# edited\n")
    with pytest.raises(StoreError, match=f"'{own}:Bold' changed since"):
        run(replace(experiment, runs=4, title="Other"), tmp_path / "o", progress=False)
    file.write_text(good)
    assert played(experiment, tmp_path / "o") == first


def test_a_data_file_that_was_edited_is_not_mixed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 5} qid:1 1:{i % 7}.5 2:{i}" for i in range(40)]
    (tmp_path / "rows.txt").write_text("\n".join(rows))
    env = Use("LTR-v0", path="rows.txt", n_arms=3, horizon=2000)
    experiment = Experiment(name="ltr", title="x", env=env, agents=[Use("Dist-DP-SE", epsilon=1.0)], runs=2)
    played(experiment, tmp_path / "o")
    half(tmp_path / "o")
    (tmp_path / "rows.txt").write_text("\n".join(rows[1:]))
    with pytest.raises(StoreError, match=r"'rows\.txt' changed since rows of .*o were made with it"):
        run(experiment, tmp_path / "o", progress=False)
    (tmp_path / "rows.txt").write_text("\n".join(rows))
    played(experiment, tmp_path / "o")


def test_registered_envs_agents_and_wrappers_of_ones_own_count(monkeypatch):
    monkeypatch.setitem(AGENTS.entries, "OwnTeam", Spec(type("OwnTeam", (hb.Team,), {"__module__": __name__})))
    monkeypatch.setitem(WRAPPERS.entries, "OwnWrapper", Spec("bench_helpers:Nothing"))
    monkeypatch.setitem(ENVS.entries, "OwnEnv-v0", Spec("damage:Nothing", wrappers=("OwnWrapper",)))
    for uses, names in (
        ({"agents": [Use("OwnTeam")]}, {"OwnTeam"}),
        ({"wrappers": [Use("OwnWrapper")]}, {"OwnWrapper"}),
        ({"wrappers": {"a": [], "b": [Use("OwnWrapper")]}}, {"OwnWrapper"}),
        ({"env": Use("OwnEnv-v0")}, {"OwnEnv-v0", "OwnWrapper"}),
        ({"agents": [Use("UCB1", on="OwnEnv-v0")]}, {"OwnEnv-v0", "OwnWrapper"}),
        ({"agents": [Use("UCB1"), Use("json:loads"), Use("no.where:X"), Use("1/2:Y")]}, set()),
    ):
        found = own_sources([small(**{"agents": [Use("UCB1")], "sweep": {}, **uses})])
        assert found.keys() == names
        assert all(len(digest) == 12 for digest in found.values())


def test_a_package_counts_with_all_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "own_pack" / "deep"
    folder.mkdir(parents=True)
    for path in (folder.parent / "__init__.py", folder / "__init__.py", folder / "a.py", folder / "b.py"):
        path.touch()
    experiment = small(agents=[Use("own_pack.deep.a:X")], sweep={})
    before = own_sources([experiment])
    (folder / "b.py").write_text("edited = 1")
    assert before.keys() == own_sources([experiment]).keys() == {"own_pack.deep.a:X"}
    assert before != own_sources([experiment])
    assert "own_pack" not in sys.modules
