"""``hushbandits watch ID --agent NAME``: one run as moving pictures."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.runner.errors import StoreError
from hushbandits.cli.console import Several, bad_input_is_a_sentence, noted, of_env_and_agent
from hushbandits.core.ground.validate import integer, real, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hushbandits.bench.runner.progress import Bar
    from hushbandits.core.env import Env
    from hushbandits.core.ground.types import Array, Seeds
    from hushbandits.core.task import Task
    from hushbandits.core.team import Team

__all__ = ["watch"]

_MOST = 300  # frames of a file
_LAST = 3.0  # seconds that the last frame stays
_COLOURS = 256


def watch(
    env: Annotated[Positional[str], arg(metavar="ID")],
    agent: Annotated[str, arg(metavar="NAME|MODULE:CLASS")],
    out: Annotated[Path | None, arg(name="output", metavar="FILE.gif|mp4", aliases=("--out",))] = None,
    seed: int = 0,
    rounds: int | None = None,
    every: int | None = None,
    frames: int = 60,
    fps: float = 8.0,
    set: Annotated[Several, arg(metavar="KEY=VALUE")] = (),
    wrappers: Annotated[Several, arg(metavar="NAME|MODULE:CLASS")] = (),
    overwrite: bool = False,
) -> int:
    """Watch an agent play one run: in a window, or as a GIF where there is no display or --out names a file.

    A file that ends with .mp4 is a film; that needs ffmpeg on the path.

    It is run 0 of hb.evaluate under the same seed. A frame shows the env's own picture: who pulls which arm and what
    is told, who has voted what, or what a server has decoded. Examples:

      hushbandits watch CoopNetwork-v0 --agent Multi-UCB --set env.graph=grid --set env.horizon=500 --out grid.gif
      hushbandits watch DPMASE-v0 --agent DP-MASE --set env.n_agents=8 --set agent.epsilon=0.5 --out vote.gif
      hushbandits watch DistDP-v0 --agent Dist-DP-SE --wrappers Loss --rounds 80 --every 2

    Parameters
    ----------
    env
        An environment; see hushbandits list envs.
    agent
        Who plays, all seats: a registered agent, or your own; see hushbandits list agents.
    out
        A file that does not exist yet; default: a window, or without a display ID-NAME.gif here.
    seed
        Seeds the run.
    rounds
        Stop after so many rounds (blocks of users, in the feedback setting); default: to the end of the run.
    every
        A frame every so many rounds; default: --frames of them, the first ones denser.
    frames
        At most so many, spread over the run.
    fps
        Frames per second; the last one stays a while.
    set
        A parameter of the env or of the agent, such as env.n_agents=8 or agent.epsilon=0.5 (repeatable).
    wrappers
        On messages' way, outermost first (repeatable).
    overwrite
        Replace the file if it exists.
    """
    with bad_input_is_a_sentence():
        integer("rounds", 1 if rounds is None else rounds, 1)
        integer("every", 1 if every is None else every, 1)
        integer("frames", frames, 2, _MOST)
        real("fps", fps, 0, 50, closed="high")
        path = _free(_default(env, agent) if out is None else out, overwrite)
        in_a_window = out is None and _has_display(path)
        core, team, seeds = _game(env, agent, seed, set, wrappers)
    name = f"{env} · {agent}"
    if in_a_window:
        return _in_a_window(core, team, seeds, name, _Pace(rounds, every, frames, fps))
    last = _into_a_file(path, core, team, seeds, name, _Pace(rounds, every, frames, fps))
    print(last)
    print(path)
    return 0


def _has_display(path: Path) -> bool:
    """Whether a window can be opened; else say at once where the pictures go."""
    from hushbandits.views.render import has_windows

    if not (there := has_windows()):
        print(f"hushbandits: there is no display; the pictures go to {path} (--out names another)", file=sys.stderr)
    return there


@dataclass(frozen=True)
class _Pace:
    """Which rounds are drawn, and how fast they are shown."""

    most: int | None
    every: int | None
    frames: int
    fps: float

    def drawn(self, played: int) -> list[int]:
        """Rounds that are drawn of those played."""
        from hushbandits.views.watch import moments

        if self.every is None:
            return moments(played, self.frames)
        if played > (_MOST - 2) * self.every:
            raise ValueError(
                f"every={self.every} of {played:,} rounds is more than {_MOST} frames: "
                f"every={-(-played // (_MOST - 2))} or more, or fewer rounds"
            )
        return sorted({*range(0, played, self.every), played})

    def durations(self, frames: int) -> list[int]:
        """Milliseconds of each frame; a GIF counts in tens of them."""
        one = 10 * max(2, round(100 / self.fps))
        return [*[one] * (frames - 1), max(one, round(1000 * _LAST))]


def _default(env: str, agent: str) -> Path:
    """The file of an env and an agent, by names that any system takes."""
    return Path(re.sub(r"[^A-Za-z0-9._-]+", "-", f"{env}-{agent}").strip("-.") + ".gif")


def _free(path: Path, overwrite: bool) -> Path:
    """Return `path` if pictures may be written there."""
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise ValueError(f"out={shown(str(path))} must end with .gif or .mp4")
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError(f"out={shown(str(path))} needs ffmpeg on the path, which makes the film; a .gif needs nothing")
    if not path.parent.is_dir():
        raise ValueError(f"out={shown(str(path))}: there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"out={shown(str(path))} is a folder")
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists already; --overwrite replaces it, --out names another file")
    return path


def _game(env: str, agent: str, seed: int, set: Sequence[str], wrappers: Sequence[str]) -> tuple[Env, Team, Seeds]:
    """Build who plays where, with the seeds of run 0 of `evaluate`."""
    from hushbandits.bench.declare.world import seeds, world
    from hushbandits.bench.runner.batch import prepare

    params, given = of_env_and_agent(set)
    integer("seed", seed, 0, float("inf"))
    with noted():
        core, team = prepare(env, agent, 1, params, given, wrappers)
        core.task()  # what a picture needs is there, and a game that cannot be won says so
    return core, team, seeds(seed, world(env, params), 0, 1)


def _chosen(core: Env, team: Team, seeds: Seeds, pace: _Pace, bar: Bar) -> tuple[list[int], Iterator[Task]]:
    """Which rounds are drawn, and the task at each of them; the run is played twice, first to see how long it is."""
    from hushbandits.views.watch import watched

    def play() -> Iterator[Task]:
        return islice(_quiet(watched(core, team, seeds)), None if pace.most is None else pace.most + 1)

    with bad_input_is_a_sentence():
        bar.at("playing")
        drawn = pace.drawn(sum(1 for _ in play()) - 1)
    wanted = frozenset(drawn)
    return drawn, (task for i, task in enumerate(play()) if i in wanted)


def _quiet(rounds: Iterator[Task]) -> Iterator[Task]:
    """The same rounds; what their start warns of was told before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        first = next(rounds)
    yield first
    yield from rounds


def _into_a_file(path: Path, core: Env, team: Team, seeds: Seeds, name: str, pace: _Pace) -> str:
    """Write the pictures, whole or not at all; return what the last frame says."""
    import numpy as np

    from hushbandits.bench.runner.progress import Bar
    from hushbandits.core.ground.files import replacing
    from hushbandits.views import render

    title = ""

    def pictures(tasks: Iterator[Task]) -> Iterator[Array]:
        nonlocal title
        for task in tasks:
            title = render.title(core, name, over=not core.live[0])
            yield np.ascontiguousarray(render.picture(task, title))
            bar.advance(1)

    with Bar(_MOST, unit="frames") as bar:
        drawn, tasks = _chosen(core, team, seeds, pace, bar)
        bar.of(len(drawn))
        bar.at(f"drawing {path.name}")
        write = _film if path.suffix.lower() == ".mp4" else _gif
        try:
            with replacing(path, binary=True, device=True) as file:
                write(file, pictures(tasks), pace.durations(len(drawn)))
        except OSError as error:
            raise StoreError(f"cannot write to {path}: {(error.strerror or str(error)).lower()}") from None
    return title.replace("\n", " · ")


def _gif(file: IO[bytes], pictures: Iterator[Array], durations: list[int]) -> None:
    from PIL import Image

    first, *rest = (Image.fromarray(picture).quantize(_COLOURS) for picture in pictures)
    first.save(file, format="GIF", save_all=True, append_images=rest, duration=durations, loop=0)


def _film(file: IO[bytes], pictures: Iterator[Array], durations: list[int]) -> None:
    """H.264 in MP4, which every player knows; all frames last as long, so that the last one is there many times."""
    with tempfile.TemporaryDirectory() as folder:
        raw, film = Path(folder) / "frames", Path(folder) / "film.mp4"
        with raw.open("wb") as frames:
            for picture in pictures:
                frames.write(picture.tobytes())
            for _ in range(durations[-1] // durations[0] - 1):
                frames.write(picture.tobytes())
        high, wide, _ = picture.shape
        command = ["ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{wide}x{high}"]
        command += ["-r", f"1000/{durations[0]}", "-i", str(raw)]
        command += ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
        done = subprocess.run([*command, str(film)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"ffmpeg failed: {' '.join(done.stderr.split())}")
        file.write(film.read_bytes())


def _in_a_window(core: Env, team: Team, seeds: Seeds, name: str, pace: _Pace) -> int:
    """Show frame by frame, until the window is closed."""
    from matplotlib import pyplot as plt

    from hushbandits.bench.runner.progress import Bar
    from hushbandits.views import render

    with Bar(1, unit="runs") as bar:
        _, tasks = _chosen(core, team, seeds, pace, bar)
    window: Figure | None = None
    for task in tasks:
        window = render.show(task, render.title(core, name, over=not core.live[0]), window)
        plt.pause(1 / pace.fps)
        if not plt.fignum_exists(window.number):
            return 0
    plt.show(block=True)
    return 0
