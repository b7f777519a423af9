"""HushBench: frozen tasks, scores, manifests that anybody can check, and the page that is made of them."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import hushbandits as hb
from benchmarks import board as reference
from hushbandits.bench.board import manifest as manifests
from hushbandits.bench.board.manifest import Refuted, read
from hushbandits.bench.board.page import HEADS, rows, write
from hushbandits.bench.board.pictures import pareto
from hushbandits.bench.board.play import meet
from hushbandits.bench.board.scores import scaled
from hushbandits.bench.board.tasks import absent, anchors, chosen, entry, settings, tasks
from hushbandits.cli.main import main

ROOT = Path(__file__).parents[2]
SHIPPED = {path.stem: path for path in sorted(reference.FOLDER.glob("*.json"))}
SERVER = re.search(r"```python\n(# own_server.py\n.*?)```", (ROOT / "docs/board.md").read_text(), re.S)[1]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder; what is imported from it is gone afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


# -- tasks ----------------------------------------------------------------------------------------------------------


def test_sixteen_tasks_over_three_settings_each_with_its_reason():
    assert settings() == ["exploration", "network", "feedback"]
    assert [len(chosen([s])) for s in settings()] == [5, 6, 5]
    for task in tasks().values():
        core = hb.make_core(task.env.name, **task.env.params)
        assert core.setting == task.setting
        assert task.metric != "rounds" or core.horizon == task.env.params["horizon"]
        assert task.why.endswith(".")
        assert 40 < len(task.why) < 120
    assert {task.level for task in tasks().values()} == {"small", "moderate", "hard"}


def test_each_env_of_a_home_meets_the_agent_that_lives_there():
    plain = tasks()["users-plain"]
    for name, home in plain.homes.items():
        (cell,) = plain.experiment(entry(name, {})).cells()
        assert (cell.env.name, cell.env.params) == (home, plain.env.params)
        (same,) = plain.experiment(entry("Random", {})).cells()
        assert cell.world == same.world  # the same arms and rewards


def test_a_wrong_end_costs_all_rounds():
    task = tasks()["vote-plain"]
    values = {"rounds": np.array([7.0, 7.0, 40_000.0]), "correct": np.array([1.0, 0.0, 0.0])}
    assert task.costs(values).tolist() == [7.0, 40_000.0, 40_000.0]


# -- scores ---------------------------------------------------------------------------------------------------------


def test_random_is_nought_and_the_best_is_one_in_every_task():
    for name, ends in anchors()["tasks"].items():
        costs = {end: read(SHIPPED[_file(ends[end]["agent"])]).costs()[name] for end in ("random", "best")}
        for end, score in (("random", 0.0), ("best", 1.0)):
            assert costs[end].mean() == pytest.approx(ends[end]["mean"], rel=1e-12)
            its = scaled(costs[end], ends["random"]["mean"], ends["best"]["mean"])
            assert its.mean() == pytest.approx(score, abs=1e-9)
        assert ends["best"]["mean"] < ends["random"]["mean"]


def _file(label):
    return reference.folder(Path(), entry(*_named(label))).name


def _named(label):
    name, _, given = label.partition(" ")
    return name, {key: float(value) for key, value in (pair.split("=") for pair in given.split())}


def test_nobody_on_the_board_costs_less_than_the_best():
    for path in SHIPPED.values():
        for name, cost in read(path).costs().items():
            assert cost.mean() >= anchors()["tasks"][name]["best"]["mean"] * (1 - 1e-12)


# -- manifests ------------------------------------------------------------------------------------------------------


@pytest.fixture
def changed(tmp_path):
    """Return a function that writes a manifest of an agent that ships, with something else in it."""

    def write(change, name="Commit-Blocks"):
        said = json.loads(SHIPPED[name].read_text(encoding="utf8"))
        change(said)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(said))
        return path

    return write


def halved(said):
    said["tasks"]["users-plain"]["values"]["regret"][7] /= 2


def consistently(said):
    """All sums are made anew, as somebody would do who knows how."""
    halved(said)
    said["tasks"]["users-plain"]["cost"] = float(np.mean(said["tasks"]["users-plain"]["values"]["regret"]))
    data = manifests._standing(manifests._checked(said)).to_dict()
    said["scores"] = data["scores"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (halved, "cost of users-plain says"),
        (lambda said: said["scores"]["feedback"].update(iqm=0.99), "the score in feedback says 0.99, its rows give"),
        (lambda said: said["scores"]["feedback"].update(interval=[0.9, 1.0]), "the interval in feedback says"),
        (lambda said: said["tasks"]["users-plain"].update(cost=1.0), "cost of users-plain says 1.0, its rows give"),
        (lambda said: said["tasks"]["users-plain"].update(epsilon=0.1), "epsilon of users-plain says 0.1"),
    ],
)
def test_one_altered_number_is_refused_and_named(changed, change, says, capsys):
    path = changed(change)
    assert main(["bench", "--verify", str(path), "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_rows_that_were_changed_with_their_sums_are_found_by_playing(changed, capsys):
    path = changed(consistently)
    read(path)  # its sums are whole
    assert main(["bench", "--verify", str(path), "--jobs", "1", "--shard", "1/1"]) == 1
    assert "regret of run 7 of users-plain says" in capsys.readouterr().err


def test_an_untouched_manifest_stands(capsys):
    assert main(["bench", "--verify", str(SHIPPED["Commit-Blocks"]), "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"part \d/8 of its runs, played again, gave the same 30 numbers", said), said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda said: said.pop("seed"), "the field 'seed' is missing"),
        (lambda said: said.update(seed=1), "seed=1: not 'hushbench-v1', 0"),
        (lambda said: said.update(more=1), "there is no field 'more'"),
        (lambda said: said.update(command="\x1b[2J"), "command='\\x1b[2J' must be a text"),
        (lambda said: said.update(command="x" * 401), "must be a text of at most 400 letters"),
        (lambda said: said.update(versions=[]), "versions=[] must be a table of texts"),
        (lambda said: said["agent"].update(policy="evil:Class"), "policy='evil:Class'"),
        (lambda said: said["agent"].update(label="ES-DistDP"), "label='ES-DistDP'"),
        (lambda said: said["tasks"].pop("users-small"), "users-small was not played; a manifest needs all tasks"),
        (lambda said: said["tasks"].update({"users-smal": {}}), "there is no field 'users-smal'; did you mean"),
        (lambda said: said["tasks"]["users-small"]["values"]["regret"].pop(), "regret must list 24 numbers"),
        (lambda said: said["tasks"]["users-small"]["values"]["regret"].append("x"), "regret must list 24 numbers"),
        (lambda said: said["tasks"]["users-small"]["values"].update(regret=["x"] * 24), "regret of run 0='x' must be"),
        (lambda said: said["tasks"].clear(), "tasks: none was played"),
        (
            lambda said: said["tasks"]["users-small"]["values"].update(regret=[10**400] * 24),
            "must be a number up to 1e+",
        ),
        (lambda said: said["scores"]["feedback"].update(iqm=10**400), "int too large to convert to float"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(changed, change, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        read(changed(change))


def test_a_large_file_is_not_read(tmp_path):
    path = tmp_path / "large.json"
    path.write_text(" " * (manifests.LARGEST + 1))
    with pytest.raises(ValueError, match="has more than 1,048,576 bytes: no manifest has"):
        read(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="lists and tables in each other"):
        read(path)


def test_nothing_that_a_manifest_names_is_imported(changed, here, capsys):
    (here / "evil.py").write_text("raise SystemExit('imported')\n")
    path = changed(lambda said: said["agent"].update(use="evil:Agent", label="Agent"), "Gap-Vote")
    read(path)
    assert main(["bench", "--board", str(path), "--out", "board.html"]) == 0
    assert main(["bench", "--verify", str(path), "--jobs", "1"]) == 2
    assert "names 'evil:Agent', which does not ship: name it yourself" in capsys.readouterr().err
    assert "evil" not in sys.modules
    assert rows("exploration", [read(path)])[0][-1] == "not said"


# -- from an agent to the board -------------------------------------------------------------------------------------


def test_the_committed_manifests_are_of_who_ships_and_of_their_own_rows():
    assert set(SHIPPED) == {reference.folder(Path(), use).name for use in reference.entries()}
    for path in SHIPPED.values():
        found = read(path)  # which holds its sums against its rows
        assert (found.source, found.agent.on) == ("", None)
        assert {*found.values, *found.refused} == {t.name for t in chosen([*found.standings])}


def test_every_agent_that_ships_has_a_manifest_or_a_reason():
    played = {read(path).agent.name for path in SHIPPED.values()}
    assert played | set(absent()) == set(hb.list_agents())
    assert not played & set(absent())
    for name, (why, shown) in absent().items():
        assert f"hushbandits bench --agents {name}" in shown
        if "pairs" not in why:  # the others are slow
            assert "--shard 1/24" in shown
            continue
        with pytest.raises(ValueError, match=r"none of the tasks: .* plays pairs: n_arms=5 must be a square"):
            meet(entry(name, {}), chosen(["network"]))


def test_an_agent_of_ones_own_from_code_to_page(here, capsys):
    (here / "own_server.py").write_text(SERVER)
    asked = ["bench", "--agents", "own_server:Server", "--jobs", "1", "--tasks"]
    assert main([*asked, "users-small"]) == 0  # the first task of the folder's
    assert "users-small" in capsys.readouterr().out
    assert main([*asked, "feedback", "--submit", "mine.json"]) == 0
    mine = read(here / "mine.json")
    assert set(mine.values) == {t.name for t in chosen(["feedback"])}
    assert len(mine.source) == 12
    before = (here / "mine.json").read_text()
    assert main([*asked, "feedback", "--submit", "mine.json"]) == 0  # nothing is left to play
    assert (here / "mine.json").read_text() == before
    verify = ["bench", "--verify", "mine.json", "--agents", "own_server:Server", "--jobs", "1"]
    assert main(verify) == 0
    (here / "own_server.py").write_text(SERVER.replace("5000", "5001"))
    capsys.readouterr()
    assert main(verify) == 1
    assert "other code, or edited" in capsys.readouterr().err
    assert main(["bench", "--board", "mine.json", "--out", "board.html"]) == 0
    assert '<td class="t" data-h="agent">Server</td>' in (here / "board.html").read_text()


def test_a_shard_and_its_fellow_are_the_whole_and_half_a_folder_goes_on(here, capsys):
    (here / "own_server.py").write_text(SERVER)
    asked = ["bench", "--agents", "own_server:Server", "--jobs", "1", "--tasks", "users-small"]
    for i in (1, 2):
        assert main([*asked, "--shard", f"{i}/2", "--out", f"part{i}"]) == 0
    parts = [f"part{i}/Server-users-small" for i in (1, 2)]
    assert main(["merge", *parts, "--out", "joined/Server-users-small"]) == 0
    tables = []
    for out in ("joined", "alone"):
        capsys.readouterr()
        assert main([*asked, "--out", out]) == 0
        tables.append(capsys.readouterr().out)
    capsys.readouterr()
    assert main([*asked, "--out", "part1"]) == 0  # the half that is missing
    assert tables == [capsys.readouterr().out] * 2
    assert re.search(r"users-small +24 ", tables[0])


def test_the_plug_in_stands_on_the_board_without_a_word_in_the_package(here):
    """By its class's name; twenty-four runs of one small task, and the rest of the setting is not played."""
    shutil.copy(ROOT / "examples/plugin/src/tidal/agent.py", here / "own_tides.py")
    asked = ["bench", "--agents", "own_tides:TidalUCB", "--jobs", "1", "--tasks", "net-small", "--out", "runs/tides"]
    assert main(asked) == 0


def test_a_policy_that_was_trained_is_named_by_its_folder(here, capsys):
    folder = Path(hb.__file__).parent / "data/policies/ppo-distdp"
    for name in ("mine", "theirs"):
        shutil.copytree(folder, here / name)
    said = json.loads(SHIPPED["PPO-DistDP"].read_text(encoding="utf8"))
    said |= {"agent": {"use": "sb3:mine", "label": "sb3:mine"}, "source": manifests.source(entry("sb3:mine", {}))}
    (here / "mine.json").write_text(json.dumps(said))
    verify = ["bench", "--verify", "mine.json", "--jobs", "1", "--shard", "1/24", "--agents"]
    assert main([*verify, "sb3:theirs"]) == 0  # the same policy, wherever it lies
    (here / "theirs/policy.json").write_text((folder / "policy.json").read_text() + " ")
    assert main([*verify, "sb3:theirs"]) == 1
    assert main([*verify, "PPO-DistDP"]) == 2
    assert "mine.json is of 'sb3:mine', not of 'PPO-DistDP'" in capsys.readouterr().err


def test_an_agent_that_fails_is_told_and_what_was_played_is_kept(here, capsys):
    (here / "own_bad.py").write_text(
        "class Bad:\n    blind = True\n    def __init__(self, m, rng): ...\n    def act(self, t):\n        return 0\n"
    )
    assert main(["bench", "--agents", "own_bad:Bad", "--tasks", "vote-small", "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert "act must return 3 bools as arms, not 0; all other runs are kept, and --tasks leaves out what Bad" in said
    assert said.count("\n") == 1


# -- the page -------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_says_epsilon_beside_every_score(tmp_path):
    found = [read(SHIPPED[name]) for name in ("DP-MASE", "DP-MASE_epsilon_1", "Gap-Vote")]
    write(found, tmp_path / "board.html")
    text = (tmp_path / "board.html").read_text()
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert text.count("<svg") == text.count("</svg>") > 10
    for piece in ('name="viewport"', "prefers-color-scheme: dark", "no bound", "Performance profiles", "ε, one reward"):
        assert piece in text
    for name, told in absent().items():
        for said in (name, *told):
            assert f">{said}</td>" in text
    write(found, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == text
    board = {row[0]: dict(zip(HEADS, row, strict=True)) for row in rows("exploration", found)}
    assert board["DP-MASE"]["ε, whole run"] == "no bound"
    assert board["Gap-Vote"]["ε, one reward"] == "–"
    with pytest.raises(ValueError, match="board: no manifest was given"):
        write([], tmp_path / "none.html")


def test_the_front_is_what_nothing_beats():
    rng = np.random.default_rng(0)
    points = [(float(x), float(y)) for x, y in rng.integers(0, 6, (30, 2))]
    naive = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] >= p[1] for q in points)}
    assert set(pareto(points)) == naive


def test_a_refuted_manifest_is_no_bad_input():
    assert issubclass(Refuted, ValueError)
