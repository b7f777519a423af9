"""``hushbandits watch``: an animation of one run, complete or not written at all."""

import os
import re
import shutil
import subprocess

import matplotlib
import pytest
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation
from PIL import Image

import hushbandits as hb
from hushbandits.adapters import render
from hushbandits.cli.main import main

GAME = ["watch", "CoopNetwork-v0", "--agent", "Multi-UCB", "--set", "env.n_agents=4", "--set", "env.horizon=40"]


@pytest.fixture(autouse=True)
def unseen(here):
    matplotlib.use("agg")


@pytest.fixture
def titles(monkeypatch):
    """Return the titles of the frames, with the drawing made fast."""
    found = []

    def draw(task, title, figure):
        figure.clear()
        figure.text(0.5, 0.5, title)
        found.append(title)

    monkeypatch.setattr(render, "draw", draw)
    return found


@pytest.mark.weekly
def test_a_gif_of_the_run_that_evaluate_plays(here, capsys):
    assert main([*GAME, "--out", "a.gif", "--frames", "2", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    with Image.open(here / "a.gif") as gif:
        assert (gif.n_frames, gif.size, gif.format) == (2, (720, 360), "GIF")
        durations = []
        for i in range(2):
            gif.seek(i)
            durations.append(gif.info["duration"])
    assert durations[0] == 120
    assert durations[1] > 1500
    regret = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=1, seed=3, env={"n_agents": 4, "horizon": 40})
    assert f"rounds 40 of 40 · regret {regret.final('regret')[0]:.3g} · messages" in said
    assert said.endswith("over\na.gif\n")
    assert main([*GAME, "--out", "b.gif", "--frames", "2", "--seed", "3"]) == 0
    assert (here / "a.gif").read_bytes() == (here / "b.gif").read_bytes()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="there is no ffmpeg here")
def test_a_film_that_ffmpeg_makes(here, titles):
    assert main([*GAME, "--out", "a.mp4", "--frames", "4"]) == 0
    assert os.listdir(here) == ["a.mp4"]
    seen = subprocess.run(["ffmpeg", "-i", "a.mp4", "-f", "framecrc", "-"], capture_output=True, text=True, check=True)
    assert "720x360" in seen.stderr
    assert len([line for line in seen.stdout.splitlines() if line[0] != "#"]) == 4 + 16


@pytest.mark.parametrize(
    ("more", "rounds"),
    [
        (["--rounds", "4"], [0, 1, 2, 3, 4]),
        (["--rounds", "1000", "--frames", "2"], [0, 40]),
        (["--frames", "3"], [0, 14, 40]),  # the first ones denser
    ],
)
def test_which_rounds_are_drawn(titles, more, rounds):
    assert main([*GAME, *more, "--out", "a.gif"]) == 0
    assert [int(re.search(r"rounds (\d+)", title)[1]) for title in titles] == rounds


@pytest.mark.parametrize(
    ("env_id", "agent", "set", "end"),
    [
        ("DPMASE-v0", "Central", ["env.means=[0.9, 0.1]"], "over: correct"),
        ("DistDP-v0", "Dist-DP-SE", ["env.horizon=300", "agent.epsilon=1.0"], "over"),
        ("DuelingNetwork-v0", "Random", ["env.horizon=20", "env.n_agents=2"], "over"),
    ],
)
def test_every_setting_to_its_end(titles, capsys, env_id, agent, set, end):
    more = [word for one in set for word in ("--set", one)]
    assert main(["watch", env_id, "--agent", agent, *more, "--frames", "5", "--out", "a.gif"]) == 0
    assert titles[0].startswith(f"{env_id} · {agent}\n")
    assert titles[-1].endswith(f" · {end}")
    assert not any("over" in title for title in titles[:-1])
    assert capsys.readouterr().out.splitlines()[0].endswith(f" · {end}")


def test_a_window_where_there_is_one(monkeypatch, here, titles):
    made = []

    class Window(FuncAnimation):
        def __init__(self, figure, draw, frames, *args, **kwargs):
            super().__init__(figure, draw, frames, *args, **kwargs)
            made.append((self, figure, kwargs["interval"]))

    def loop():
        ((animation, figure, _),) = made
        figure.canvas.draw()  # which starts it
        ((turn, args, kwargs),) = animation.event_source.callbacks
        while turn(*args, **kwargs):
            pass

    monkeypatch.setattr("hushbandits.cli.watch.FuncAnimation", Window)
    monkeypatch.setattr(render, "has_windows", lambda: True)
    monkeypatch.setattr(plt, "show", loop)
    assert main([*GAME, "--frames", "3", "--fps", "4"]) == 0
    assert (len(titles), made[0][2]) == (3, 250)
    assert not os.listdir(here)


def test_a_file_is_written_whole_and_replaced_only_if_asked_to(monkeypatch, here, titles, capsys):
    (here / "a.gif").write_bytes(b"old")
    game = [*GAME, "--frames", "2", "--out", "a.gif"]
    assert main(game) == 2
    assert "a.gif exists already" in capsys.readouterr().err
    with monkeypatch.context() as full:
        for error, code in ((OSError(28, "No space left on device"), 2), (KeyboardInterrupt(), 130)):

            def stop(*_, error=error, **__):
                raise error

            full.setattr(Image.Image, "save", stop)
            assert main([*game, "--overwrite"]) == code
            assert capsys.readouterr().err.count("\n") == 1
            assert (os.listdir(here), (here / "a.gif").read_bytes()) == (["a.gif"], b"old")
    assert main([*game, "--overwrite"]) == 0
    assert (here / "a.gif").read_bytes() != b"old"
