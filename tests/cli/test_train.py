"""``hushbandits train``: input, output, interruption and resumption."""

import shlex
import signal
import subprocess
import sys

import pytest
from children import started

from hushbandits.baselines.learned import read
from hushbandits.cli.main import main

SMALL = (
    "train CoopNetwork-v0 --steps 60 --evaluations 2 --held-out 2 --runs 2 --set env.n_agents=3 "
    "--set algo.n_steps=5 --set env.horizon=10 --set algo.net_arch=[8]"
)


pytestmark = pytest.mark.usefixtures("here")


def asked(line, capsys):
    code = main(shlex.split(line))
    return code, capsys.readouterr()


def test_a_policy_is_trained_shown_and_played(here, capsys):
    wrapped = "--wrappers Huber --set Huber.rate=0.2 --set task.agent_id=true"
    code, said = asked(f"{SMALL} {wrapped} --out ppo", capsys)
    assert code == 0
    assert "uniform play" in said.out
    assert "play it as sb3:ppo" in said.out
    assert "60 steps: return" in said.err
    shown = read("ppo").card
    assert shown["wrappers"] == [{"type": "Huber", "rate": 0.2}]
    assert shown["options"] == {"agent_id": True}
    assert [point["steps"] for point in shown["training"]["curve"]] == [0, 30, 60]
    code, said = asked(f"{SMALL} {wrapped} --out ppo", capsys)
    assert code == 2
    assert "--resume" in said.err
    # the recorded command makes the same policy
    code, _ = asked(shown["training"]["command"].removeprefix("hushbandits ") + " --out again", capsys)
    assert code == 0
    assert (here / "again" / "card.json").read_text() == (here / "ppo" / "card.json").read_text()
    (here / "mine.toml").write_text(
        'runs = 2\nmetrics = ["regret"]\nenv = { type = "CoopNetwork-v0", horizon = 10, n_agents = 3 }\n'
        'wrappers = [{ type = "Huber" }]\nagents = [{ type = "UCB1" }, { type = "sb3:ppo", two_phase = true }]\n'
    )
    code, said = asked("run mine.toml --agents sb3:again --out out --jobs 1", capsys)
    assert code == 0, said.err
    assert "ppo" in said.out
    assert "again" in said.out


@pytest.mark.parametrize("missing", ["torch", pytest.param("sb3_contrib", marks=pytest.mark.weekly)])
def test_a_missing_extra_is_one_line(missing):
    code = f"""
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == {missing!r}:
            raise ModuleNotFoundError("No module named " + name)
sys.meta_path.insert(0, Missing())
from hushbandits.cli.main import main
"""
    code += f"sys.exit(main({shlex.split(SMALL)!r} + ['--out', 'a', '--algo', 'maskable-ppo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'hushbandits[sb3]'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("ctrl_c")
def test_stopped_it_leaves_a_policy_and_goes_on(here, capsys):
    line = SMALL.replace("--steps 60 --evaluations 2", "--steps 600 --evaluations 20")
    command = [sys.executable, "-m", "hushbandits", *shlex.split(line), "--out"]
    with started([*command, "a"], stderr=subprocess.PIPE, text=True) as process:
        while not process.stderr.readline().startswith("120 steps"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert "--resume" in process.stderr.read()
        assert process.wait(60) == 130
    assert read("a").card["training"]["steps"] >= 120
    assert not read("a").card["training"]["complete"]
    code, said = asked(f"{line} --out a --resume", capsys)
    assert code == 0, said.err
    assert read("a").card["training"]["complete"]
