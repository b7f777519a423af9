"""``hushbandits watch``: a GIF of one run, whole or not at all."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import matplotlib
import numpy as np
import pytest
from children import started
from matplotlib import pyplot as plt
from PIL import Image

import hushbandits as hb
from hushbandits.cli.main import main
from hushbandits.views import render

SMALL = ["--set", "env.n_agents=4", "--set", "env.horizon=40"]
GAME = ["watch", "CoopNetwork-v0", "--agent", "Multi-UCB", *SMALL]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    return tmp_path


def plain(monkeypatch):
    """Frames that are quick to draw: their titles are asked for all the same."""
    titles = []

    def picture(task, title):
        titles.append(title)
        return np.full((4, 6, 3), len(titles) * 7 % 256, np.uint8)

    monkeypatch.setattr(render, "picture", picture)
    return titles


def test_a_gif_of_the_run_that_evaluate_plays(here, capsys):
    assert main([*GAME, "--out", "a.gif", "--frames", "4", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    with Image.open(here / "a.gif") as gif:
        assert (gif.n_frames, gif.size, gif.format) == (4, (720, 360), "GIF")
        durations = []
        for i in range(4):
            gif.seek(i)
            durations.append(gif.info["duration"])
        assert durations == [120, 120, 120, 3000]
        assert gif.info["loop"] == 0
    results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=1, seed=3, env={"n_agents": 4, "horizon": 40})
    regret = results.final("regret")[0]
    assert f"rounds 40 of 40 · regret {regret:.3g} · messages" in said
    assert said.endswith("over\na.gif\n")
    assert main([*GAME, "--out", "b.gif", "--frames", "4", "--seed", "3"]) == 0
    assert (here / "a.gif").read_bytes() == (here / "b.gif").read_bytes()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg here")
def test_a_film_that_ffmpeg_makes(here, capsys):
    assert main([*GAME, "--out", "a.mp4", "--frames", "4"]) == 0
    assert capsys.readouterr().out.endswith("over\na.mp4\n")
    assert os.listdir(here) == ["a.mp4"]
    seen = subprocess.run(["ffmpeg", "-i", "a.mp4", "-f", "framecrc", "-"], capture_output=True, text=True, check=True)
    assert "720x360" in seen.stderr
    assert len([line for line in seen.stdout.splitlines() if line[0] != "#"]) == 3 + 25


FFMPEG = """#!{python}
import pathlib, sys
if "fail" in pathlib.Path("how").read_text():
    sys.exit("no such\\ncodec")
words = sys.argv[1:]
frames = pathlib.Path(words[words.index("-i") + 1]).read_bytes()
told = [words[words.index("-s") + 1], words[words.index("-r") + 1], str(len(frames))]
pathlib.Path(words[-1]).write_text(" ".join(told))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands for ffmpeg")
def test_what_ffmpeg_is_given_and_what_it_says(here, monkeypatch, capsys):
    plain(monkeypatch)
    (here / "bin").mkdir()
    player = here / "bin" / "ffmpeg"
    player.write_text(FFMPEG.format(python=sys.executable))
    player.chmod(0o755)
    monkeypatch.setenv("PATH", str(here / "bin"))
    (here / "how").write_text("well")
    assert main([*GAME, "--out", "a.mp4", "--frames", "4"]) == 0
    assert (here / "a.mp4").read_text() == f"6x4 1000/120 {(4 + 24) * 4 * 6 * 3}"
    capsys.readouterr()
    (here / "how").write_text("fail")
    assert main([*GAME, "--out", "b.mp4", "--frames", "4"]) == 2
    assert capsys.readouterr().err == "hushbandits: cannot write to b.mp4: ffmpeg failed: no such codec\n"
    assert sorted(os.listdir(here)) == ["a.mp4", "bin", "how"]


def drawn(titles):
    return [int(re.search(r"(?:rounds|users) ([\d,]+)", title)[1].replace(",", "")) for title in titles]


@pytest.mark.parametrize(
    ("more", "rounds"),
    [
        (["--every", "15"], [0, 15, 30, 40]),
        (["--rounds", "4"], [0, 1, 2, 3, 4]),
        (["--rounds", "20", "--every", "10"], [0, 10, 20]),
        (["--rounds", "1000", "--frames", "2"], [0, 40]),
    ],
)
def test_which_rounds_are_drawn(monkeypatch, more, rounds):
    titles = plain(monkeypatch)
    assert main([*GAME, *more, "--out", "a.gif"]) == 0
    assert drawn(titles) == rounds


def test_by_default_at_most_sixty_frames_the_first_ones_denser(monkeypatch, here):
    titles = plain(monkeypatch)
    assert main(["watch", "CoopNetwork-v0", "--agent", "Random", "--set", "env.horizon=300", "--out", "a.gif"]) == 0
    rounds = drawn(titles)
    assert 40 < len(rounds) <= 60
    assert (rounds[0], rounds[-1]) == (0, 300)
    assert rounds[1] - rounds[0] < rounds[-1] - rounds[-2]


@pytest.mark.parametrize(
    ("env_id", "agent", "set", "end"),
    [
        ("DPMASE-v0", "Central", ["env.means=[0.9, 0.1]"], "over: correct"),
        ("DistDP-v0", "Dist-DP-SE", ["env.horizon=300", "agent.epsilon=1.0"], "over"),
        ("DuelingNetwork-v0", "Random", ["env.horizon=20", "env.n_agents=2"], "over"),
    ],
)
def test_every_setting_to_its_end(monkeypatch, capsys, env_id, agent, set, end):
    titles = plain(monkeypatch)
    more = [word for one in set for word in ("--set", one)]
    assert main(["watch", env_id, "--agent", agent, *more, "--frames", "5", "--out", "a.gif"]) == 0
    assert titles[0].startswith(f"{env_id} · {agent}\n")
    assert titles[-1].endswith(f" · {end}")
    assert not any("over" in title for title in titles[:-1])
    assert capsys.readouterr().out.splitlines()[0].endswith(f" · {end}")


def test_without_a_display_the_file_has_a_name_of_its_own(monkeypatch, here, capsys):
    plain(monkeypatch)
    assert main([*GAME, "--wrappers", "Loss"]) == 0
    assert os.listdir(here) == ["CoopNetwork-v0-Multi-UCB.gif"]
    said = capsys.readouterr()
    assert "no display" in said.err
    assert said.out.splitlines()[-1] == "CoopNetwork-v0-Multi-UCB.gif"
    assert main(GAME) == 2
    assert "CoopNetwork-v0-Multi-UCB.gif exists already; --overwrite replaces it" in capsys.readouterr().err
    before = (here / "CoopNetwork-v0-Multi-UCB.gif").read_bytes()
    assert main([*GAME, "--overwrite", "--frames", "2"]) == 0
    assert (here / "CoopNetwork-v0-Multi-UCB.gif").read_bytes() != before


def test_a_window_where_there_is_one(monkeypatch, here):
    shown, paused = [], []
    monkeypatch.setattr(render, "has_windows", lambda: True)
    monkeypatch.setattr(render, "show", lambda task, title, window: shown.append(title) or plt.figure(num=7))
    monkeypatch.setattr(plt, "show", lambda block: paused.append(block))
    monkeypatch.setattr(plt, "pause", paused.append)
    assert main([*GAME, "--frames", "3", "--fps", "4"]) == 0
    assert drawn(shown) == [0, 14, 40]
    assert paused == [0.25, 0.25, 0.25, True]
    monkeypatch.setattr(plt, "pause", lambda _: plt.close(7))  # somebody closes it
    shown.clear()
    assert main([*GAME, "--frames", "3"]) == 0
    assert len(shown) == 1
    assert not os.listdir(here)


def test_a_disk_that_takes_nothing_is_one_sentence(monkeypatch, here, capsys):
    plain(monkeypatch)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    assert main([*GAME, "--out", "a.gif"]) == 2
    assert capsys.readouterr().err == "hushbandits: cannot write to a.gif: no space left on device\n"
    assert not os.listdir(here)


def test_ctrl_c_leaves_no_half_file_and_the_old_one_whole(here, ctrl_c):
    (here / "a.gif").write_bytes(b"old")
    command = [sys.executable, "-m", "hushbandits.cli", *GAME, "--out", "a.gif", "--overwrite"]
    with started(command, cwd=here, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 300
        while len(os.listdir(here)) < 2:  # until the part is there
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "stopped" in err
    assert "Traceback" not in err
    assert os.listdir(here) == ["a.gif"]
    assert (here / "a.gif").read_bytes() == b"old"


def test_a_game_that_cannot_be_won_says_so_in_a_line(monkeypatch, capsys):
    plain(monkeypatch)
    args = ["--set", "env.n_agents=4", "--set", "env.horizon=30", "--frames", "2", "--out", "a.gif"]
    assert main(["watch", "DPMASE-v0", "--agent", "Random", *args]) == 0
    err = capsys.readouterr().err
    assert err.startswith("hushbandits: no arm can ever be voted out: votes_needed=5")
    assert err.count("\n") == 1
