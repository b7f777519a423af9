"""``hushbandits watch ID --agent NAME``: animate one run."""

import tempfile
from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Annotated

from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, writers
from rich.progress import track
from tyro.conf import Positional, arg

from hushbandits.adapters import render
from hushbandits.bench.evaluate import planned
from hushbandits.bench.runner.files import replacing
from hushbandits.bench.runner.options import RunOptions
from hushbandits.cli.console import Game, Players, make_console, parameters
from hushbandits.core import RLTask, integer, real, shown

_MOST = 300  # frames


def watch(
    env: Annotated[Positional[str], arg(metavar="ID")],
    agent: Annotated[str, arg(metavar="NAME|MODULE:CLASS")],
    out: Annotated[Path | None, arg(metavar="FILE.gif|mp4")] = None,
    rounds: int | None = None,
    frames: int = 60,
    fps: float = 8.0,
    overwrite: bool = False,
    game: Players = Game(),  # noqa: B008 - frozen
) -> int:
    """Show one run of an agent in a window, or write it as a GIF or film.

    A film (.mp4) needs ffmpeg. The run is run 0 of hb.evaluate with the same seed. A frame shows arms and messages,
    votes, or the sums that a server decoded. Examples:

      hushbandits watch CoopNetwork-v0 --agent Multi-UCB --set env.graph=grid --set env.horizon=500 --out grid.gif
      hushbandits watch DPMASE-v0 --agent DP-MASE --set env.n_agents=8 --set agent.epsilon=0.5 --out vote.gif
      hushbandits watch DistDP-v0 --agent Dist-DP-SE --wrappers Loss --rounds 80 --frames 41

    Parameters
    ----------
    env
        Id of an env; see hushbandits list envs.
    agent
        A registered or user-defined agent; see hushbandits list agents.
    out
        File to write; default: show a window.
    rounds
        Stop after this many rounds (blocks of users, in the feedback setting); default: at the end of the run.
    frames
        Maximum number of frames; frames are denser at the start of the run.
    fps
        Frames per second; the last frame stays longer.
    overwrite
        Replace the file if it exists.
    """
    integer("rounds", 1 if rounds is None else rounds, 1)
    integer("frames", frames, 2, _MOST)
    real("fps", fps, 0, 50, closed="high")
    _check(out, overwrite)
    _, (core, team) = planned(env, agent, 1, game.seed, *parameters(game, [agent])[0], RunOptions(checkpoints=()))
    core.task()  # prepares what the drawing needs, and raises if no arm is best

    def play() -> Iterator[RLTask]:
        return islice(render.watched(core, team, game.seed), None if rounds is None else rounds + 1)

    def title() -> str:
        return render.title(core, f"{env} · {agent}", over=not core.running[0])

    def draw(task: RLTask | None) -> None:
        if task is not None:  # else keep the last frame
            render.draw(task, title(), figure)

    drawn = frozenset(render.moments(sum(1 for _ in play()) - 1, frames))  # play once to count the frames
    tasks = (task for i, task in enumerate(play()) if i in drawn)
    still = round(2 * fps)  # the last frame stays for two seconds
    console = make_console(stderr=True)
    pictures = track(
        chain(tasks, repeat(None, still)), "drawing", len(drawn) + still, console=console, transient=True,
        disable=out is None or not console.is_terminal,
    )  # fmt: skip
    figure = plt.figure(figsize=render.SIZE, dpi=render.DPI, layout="constrained")
    film = FuncAnimation(figure, draw, pictures, lambda: (), interval=1000 / fps, repeat=False, cache_frame_data=False)
    if out is None:
        plt.show()
        return 0
    with tempfile.TemporaryDirectory() as folder, replacing(out, binary=True) as file:
        made = Path(folder) / f"made{out.suffix.lower()}"
        film.save(made, "pillow" if made.suffix == ".gif" else "ffmpeg")
        file.write(made.read_bytes())
    plt.close(figure)
    print(title().replace("\n", " · "))
    print(out)
    return 0


def _check(out: Path | None, overwrite: bool) -> None:
    """Raise ``ValueError`` if there is no display for a window, or if the file `out` cannot be written."""
    if out is None:
        if not render.has_windows():
            raise ValueError("there is no display: write a file with --out FILE.gif")
    elif out.suffix.lower() not in (".gif", ".mp4"):
        raise ValueError(f"out={shown(str(out))} must end with .gif or .mp4")
    elif out.suffix.lower() == ".mp4" and not writers.is_available("ffmpeg"):
        raise ValueError(f"out={shown(str(out))} needs ffmpeg on the PATH; a .gif needs no ffmpeg")
    elif not out.parent.is_dir():
        raise ValueError(f"out={shown(str(out))}: folder {out.parent} does not exist")
    elif out.exists() and not overwrite:
        raise ValueError(f"{out} exists already; replace it with --overwrite, or choose another --out")
