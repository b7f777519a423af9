"""HushBench: frozen tasks, scores, verifiable submissions, and their leaderboard."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hushbandits as hb
from benchmarks import board as reference
from hushbandits.cli.main import main
from hushbench.leaderboard import HEADS, row, write
from hushbench.play import admit, fresh, play
from hushbench.submission import HEADER, digest, read
from hushbench.tasks import anchors, chosen, entry, scaled, settings, tasks

ROOT = Path(__file__).parents[2]
#: Changes of a submission, and the words of their refusals.
ALTERED = tomllib.loads(Path(__file__).with_name("altered.toml").read_text())
SERVER = re.search(r"```python\n(# own_server.py\n.*?)```", (ROOT / "docs/board.md").read_text(), re.S)[1]


# -- tasks ----------------------------------------------------------------------------------------------------------


def test_twenty_tasks_over_four_settings_each_with_its_reason():
    assert settings() == ["exploration", "network", "feedback", "linear"]
    assert [len(chosen([s])) for s in settings()] == [5, 6, 5, 4]
    for task in tasks().values():
        core = hb.make_batched(task.env.name, **task.env.params)
        assert core.setting == task.setting
        assert task.metric != "rounds" or core.horizon == task.env.params["horizon"]
        assert task.why.endswith(".")
        assert 40 < len(task.why) < 120
    assert {task.level for task in tasks().values()} == {"small", "moderate", "hard"}


def test_each_env_of_a_home_fits_the_agent_that_lives_there():
    plain = tasks()["users-plain"]
    for name, home in plain.homes.items():
        (cell,) = plain.experiment(entry(name, {})).cells()
        assert (cell.env.name, cell.env.params) == (home, plain.env.params)
        (same,) = plain.experiment(entry("Random", {})).cells()
        assert cell.world == same.world  # the same arms and rewards


def test_an_agent_for_which_several_arms_are_correct_is_refused():
    rows = admit(entry("Decentralized-Naive", {"epsilon": 0.35}), chosen(["exploration"]))
    assert [name for name, row in rows.items() if "refused" not in row] == ["vote-plain", "vote-lost"]


# -- scores ---------------------------------------------------------------------------------------------------------


def test_the_frozen_ends_are_nought_and_one_in_every_task():
    assert anchors()["tasks"].keys() == tasks().keys()
    for ends in anchors()["tasks"].values():
        random, best = (ends[end]["mean"] for end in ("random", "best"))
        assert best < random
        assert scaled(np.array([random, best]), random, best).tolist() == [0.0, 1.0]
        assert ends["random"]["agent"] == "Random"
        assert {ends[end]["agent"].partition(" ")[0] for end in ends} <= set(hb.list_agents())


@pytest.mark.parametrize("name", [name for name, task in tasks().items() if task.level == "small"])
@pytest.mark.parametrize("end", ["random", "best"])
def test_who_is_a_frozen_end_costs_as_much_today(name, end, tmp_path):
    """The anchors come from other random numbers: the means may differ by seven standard errors."""
    said, task = anchors()["tasks"][name][end], tasks()[name]
    played = play(entry(said["agent"], {}), [task], tmp_path, hb.RunOptions(1), 0)
    cost = task.costs(played[name][1])
    (low, high), (low_now, high_now) = said["interval"], hb.stats.mean_interval(cost)
    assert abs(cost.mean() - said["mean"]) < 7 / 2 * np.hypot((high - low) / 2, (high_now - low_now) / 2)


# -- submissions ------------------------------------------------------------------------------------------------------


@pytest.fixture
def changed(submitted, tmp_path):
    """Return a function that writes a submission of a built-in agent with something changed."""

    def write(change, name="Commit-Blocks"):
        said = json.loads(submitted(name).read_text(encoding="utf8"))
        change(said)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(said))
        return path

    return write


def values(said, task="users-plain"):
    return said["tasks"][task]["values"]


def evil(setting):
    command = f"hushbandits bench --agents evil:Agent --tasks {setting}"
    return {"agent": {"type": "evil:Agent", "label": "Agent"}, "source": "0" * 16, "command": command}


def halved(said):
    values(said)["regret"][7] /= 2


@pytest.mark.parametrize(("change", "says"), ALTERED["numbers"].items())
def test_one_altered_number_is_refused_and_named(changed, change, says, capsys):
    path = changed(lambda said: eval(change))
    read(path)  # it is valid by itself
    assert main(["bench", "--verify", str(path), "--jobs", "1", "--shard", "1/1"]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert said.count("changed.json: ") == 1


@pytest.mark.parametrize(("metric", "value"), [("correct", 0.5), ("correct", 2), ("rounds", 0), ("rounds", 201)])
def test_votes_and_rounds_outside_their_range_are_refused(metric, value, changed):
    path = changed(lambda said: values(said, "vote-small")[metric].__setitem__(0, value), "Gap-Vote")
    with pytest.raises(ValueError, match=f"vote-small: {metric}={value}"):
        read(path)


def test_an_epsilon_that_nobody_spent_is_refused(changed, capsys):
    path = changed(
        lambda said: [row["values"].update(epsilon=[0.01] * 24) for row in said["tasks"].values()], "Gap-Vote"
    )
    assert main(["bench", "--verify", str(path), "--jobs", "1"]) == 1
    assert "the metrics ['epsilon']" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Commit-Blocks", "MaskablePPO-DPMASE", "FedLinUCB"])
def test_an_untouched_submission_stands_whichever_part_is_drawn(name, submitted, capsys):
    assert main(["bench", "--verify", str(submitted(name)), "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"[1-9]\d* runs, part \d/\d, gave the same numbers", said), said


def test_a_part_without_runs_verifies_nothing(submitted, capsys):
    path = str(submitted("MaskablePPO-DPMASE"))
    assert main(["bench", "--verify", path, "--jobs", "1", "--shard", "24/24"]) == 2
    assert "shard='24/24'" in capsys.readouterr().err


@pytest.mark.parametrize(("change", "says"), ALTERED["files"].items())
def test_a_file_that_is_none_is_refused(changed, change, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        read(changed(lambda said: eval(change)))


def test_nothing_that_a_submission_names_is_imported(changed, here, capsys):
    (here / "evil.py").write_text("raise SystemExit('imported')\n")
    path = changed(lambda said: said.update(evil("exploration")), "Gap-Vote")
    read(path)
    assert main(["bench", "--board", str(path), "--out", "board.html"]) == 0
    assert main(["bench", "--verify", str(path), "--jobs", "1"]) == 2
    assert "'evil:Agent'" in capsys.readouterr().err
    assert "evil" not in sys.modules


def test_private_sums_are_verified_by_regret_and_epsilon(tmp_path):
    """Short versions of both tasks: played again, and on fresh seeds."""
    agent, short = entry("Private-FedLinUCB", {}), []
    for task in (tasks()["linear-silos"], tasks()["linear-shuffled"]):
        env = hb.Component(task.env.name, **task.env.params | {"n_agents": 3, "horizon": 50})
        short.append(replace(task, env=env, runs=2))
    played, again = (play(agent, short, tmp_path / name, hb.RunOptions(1), 5) for name in ("rows", "again"))
    for task in short:
        (runs, said), (_, here) = played[task.name], again[task.name]
        task.check(said)
        assert runs.tolist() == [0, 1]
        assert {name: row.tolist() for name, row in said.items()} == {name: row.tolist() for name, row in here.items()}
        assert 0 < said["epsilon"].max() <= admit(agent, short)[task.name]["epsilon"] == 1.0
        assert fresh(agent, short, 2, hb.RunOptions(1))[task.name].keys() == said.keys()


# -- from an agent to the leaderboard -------------------------------------------------------------------------------


def test_every_agent_that_ships_is_let_in_or_has_a_reason():
    uses = reference.entries()
    assert len({reference.folder(Path(), use).name for use in uses}) == len(uses)  # a file for each
    assert {use.name for use in uses} | set(reference.absent()) == set(hb.list_agents())
    for use in uses:
        admit(use, chosen(()))  # raises if it can play none of the tasks
    for name, (why, shown) in reference.absent().items():
        assert f"hushbandits bench --agents {name}" in shown
        if "plays" not in why:  # the others are slow
            assert "--shard" in shown
            continue
        reason = r"none of the tasks: .*(plays pairs: n_arms=5 must be|must equal (n_agents=1|own_feedback='true'))"
        with pytest.raises(ValueError, match=reason):
            admit(entry(name, {}), chosen([shown.rpartition(" ")[2]]))


def test_an_agent_of_ones_own_from_code_to_page(here, hidden, capsys):
    (here / "own_server.py").write_text(SERVER)
    asked = ["bench", "--agents", "own_server:Server", "--jobs", "1", "--tasks"]
    assert main([*asked, "users-small"]) == 0  # the folder's first task
    assert "users-small" in capsys.readouterr().out
    assert main([*asked, "users-small", "--submit", "mine.json", *hidden]) == 2
    assert "users-plain" in capsys.readouterr().err
    assert main([*asked, "feedback", "--submit", "mine.json"]) == 2
    submit = ["feedback", "--submit", "mine.json", *hidden]
    head = capsys.readouterr().err
    assert main([*asked, *submit]) == 0
    mine = read(here / "mine.json")
    assert set(mine.values) == {t.name for t in chosen(["feedback"])}
    assert re.fullmatch("[0-9a-f]{16}", mine.data["source"])
    assert digest({field: mine.data[field] for field in HEADER}) in head
    before = (here / "mine.json").read_text()
    assert main([*asked, *submit]) == 0  # nothing is left to play
    assert (here / "mine.json").read_text() == before
    verify = ["bench", "--verify", "mine.json", "--agents", "own_server:Server", "--jobs", "1"]
    assert main(verify) == 0
    (here / "own_server.py").write_text(SERVER.replace("5000", "5001"))
    capsys.readouterr()
    assert main(verify) == 1
    assert " differs" in capsys.readouterr().err
    assert main(["bench", "--board", "mine.json", "--out", "board.html"]) == 0
    assert "<td>Server</td>" in (here / "board.html").read_text()


def test_a_shard_and_its_fellow_are_the_whole_and_half_a_folder_goes_on(here, capsys):
    (here / "own_server.py").write_text(SERVER)
    asked = ["bench", "--agents", "own_server:Server", "--jobs", "1", "--tasks", "users-small"]
    for i in (1, 2):
        assert main([*asked, "--shard", f"{i}/2", "--out", f"part{i}"]) == 0
    for i in (1, 2):
        shutil.copytree(f"part{i}/Server-users-small", "joined/Server-users-small", dirs_exist_ok=True)
    tables = []
    for out in ("joined", "alone"):
        capsys.readouterr()
        assert main([*asked, "--out", out]) == 0
        tables.append(capsys.readouterr().out)
    capsys.readouterr()
    assert main([*asked, "--out", "part1"]) == 0  # the missing half
    assert tables == [capsys.readouterr().out] * 2
    assert re.search(r"users-small +24 ", tables[0])


def test_a_policy_that_was_trained_is_named_by_its_folder(here, hidden, capsys):
    folder = Path(hb.__file__).parent / "data/policies/maskableppo-dpmase"
    for name in ("mine", "theirs"):
        shutil.copytree(folder, here / name)
    asked = ["bench", "--agents", "sb3:mine", "--tasks", "exploration", "--jobs", "1"]
    assert main([*asked, "--submit", "mine.json", *hidden]) == 0
    verify = ["bench", "--verify", "mine.json", "--jobs", "1", "--shard", "1/15", "--agents"]
    assert main([*verify, "sb3:theirs"]) == 0  # the same policy, from another folder
    (here / "theirs/card.json").write_text((folder / "card.json").read_text() + " ")
    assert main([*verify, "sb3:theirs"]) == 1
    assert main([*verify, "MaskablePPO-DPMASE"]) == 1  # the built-in policy, which has no digest
    assert capsys.readouterr().err.count(" differs") == 2


def test_an_agent_that_fails_is_shown_and_what_was_played_is_kept(here, capsys):
    assert main(["bench", "--agents", "own_agents_that_fail:Still", "--tasks", "vote-small", "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert "act must return 3 bools as arms, not 0; complete batches are saved" in said
    assert said.count("\n") == 1


def test_the_command_is_listed_and_imported_only_when_it_is_named():
    code = "import sys; from hushbandits.cli.main import main; main(sys.argv[1:]); print('hushbench' in sys.modules)"
    for words, imported in ((["--help"], "False"), (["list", "UCB1"], "False"), (["bench"], "True")):
        said = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True).stdout
        assert said.splitlines()[-1] == imported
        assert "\n  bench " in said or words != ["--help"]


# -- the page -------------------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_says_epsilon_beside_every_score(submitted, tmp_path):
    found = [read(submitted(name)) for name in ("DP-MASE", "DP-MASE epsilon=1", "Gap-Vote")]
    write(found, tmp_path / "board.html")
    text = (tmp_path / "board.html").read_text()
    assert "http" not in text
    assert (text.count("<svg"), text.count("<polyline")) == (1, 6)  # a profile and its key of each agent
    for piece in ('name="viewport"', "prefers-color-scheme: dark", "no bound", "Performance profiles", "ε, one reward"):
        assert piece in text
    write(found, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == text
    private, free = (dict(zip(HEADS, row("exploration", found[i]), strict=True)) for i in (0, 2))
    assert private["ε, whole run"] == "no bound"
    assert free["ε, one reward"] == "–"
    with pytest.raises(ValueError, match="no submission"):
        write([], tmp_path / "none.html")


def test_what_a_submission_says_is_escaped_on_the_page(changed, tmp_path):
    path = changed(lambda said: said.update(evil("feedback"), beacon={"value": "0" * 64, "source": "<script>"}))
    write([read(path)], tmp_path / "board.html")
    text = (tmp_path / "board.html").read_text()
    assert "beacon of &lt;script&gt;" in text
