"""Drawings of an env as text, picture or window, and a generator that plays a run round by round."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, Env, RLTask, Seeds, Team
from hushbandits.core.rollout import begin
from hushbandits.core.team import check_compatible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Of a picture, in inches.
SIZE = (7.2, 3.6)
DPI = 100
_FACTS = 3  # metrics that a title has room for


def title(env: Env, name: str, over: bool = False) -> str:
    """Return two lines: `name`, and the time, metrics and (if `over`) outcome of the env's first run."""
    of = "" if env.horizon is None else f" of {env.horizon:,}"
    facts = [f"{env.time_unit} {int(env.t[0]):,}{of}"]
    metrics = {key: float(value[0]) for key, value in env.metrics().items() if value.ndim == 1}
    facts += [f"{key} {_short(metrics[key])}" for key in env.logged_metrics if key in metrics][:_FACTS]
    if over:
        verdicts = [key for key in metrics if key in env.metrics_spec and env.metrics_spec[key].rate]
        verdict = [key for key in verdicts if metrics[key]] or [f"not {key}" for key in verdicts[:1]]
        # What was cut short has no verdict.
        facts.append(f"over: {', '.join(verdict)}" if verdict and not env.running[0] else "over")
    return f"{name}\n{' · '.join(facts)}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:,.3g}"


def frame(task: RLTask, title: str, mode: str) -> str | Array:
    """Return a text (if `mode` is ``ansi``) or an ``(H, W, 3)`` uint8 picture of the task, headed by `title`."""
    return "\n".join([title.replace("\n", " · "), *task.say()]) if mode == "ansi" else picture(task, title)


def picture(task: RLTask, title: str) -> Array:
    """Return an ``(H, W, 3)`` uint8 picture of the task, headed by `title`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    draw(task, title, figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def has_windows() -> bool:
    """Return whether Matplotlib can open a window."""
    from matplotlib import pyplot as plt

    return plt.get_backend().lower() not in ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template")


def show(task: RLTask, title: str, window: "Figure | None" = None) -> "Figure":
    """Draw the task, headed by `title`, in `window`, or in a new window if `window` is ``None``; return the window."""
    from matplotlib import pyplot as plt

    if window is None:
        window = plt.figure(figsize=SIZE, dpi=DPI, layout="constrained")
        if has_windows():
            plt.show(block=False)
    draw(task, title, window)
    window.canvas.draw_idle()
    window.canvas.flush_events()
    return window


def draw(task: RLTask, title: str, figure: "Figure") -> None:
    """Clear `figure`, and draw the task, headed by `title`, in `figure`."""
    figure.clear()
    task.draw(figure)
    figure.suptitle(title, fontsize=10)


def watched(env: Env, team: Team, seed: int | Seeds = 0) -> Iterator[RLTask]:
    """Play one run of `team` phase by phase; yield the env's RL task at the start and after every round.

    The task only observes: the run is the one that `hushbandits.rollout` plays.  The core has one run.
    """
    if env.runs != 1:
        raise ValueError(f"runs={env.runs} must be 1: only one run can be shown")
    check_compatible(env, team)
    task = env.task()
    which = list(env.actions).index("arm") if "arm" in env.actions else None
    obs = begin(env, team, seed)
    task.begin(obs)
    yield task
    while obs.running.any():
        action = team.act(obs)
        if which is not None:
            task.arm = np.array(action[which] if isinstance(action, tuple) else action, np.int64)
        task.obs = obs = env.pull(action)
        task.pulled(obs)
        task.obs = obs = env.communicate(team.compose(obs.reward))  # type: ignore[arg-type]  # None: withheld
        assert obs.inbox is not None
        team.receive(obs.inbox)
        task.heard(obs)
        yield task


def moments(rounds: int, frames: int) -> list[int]:
    """Return at most `frames` of the rounds 0 to `rounds`, with both ends; the selection is densest at the start."""
    if rounds < frames:
        return list(range(rounds + 1))
    found: list[int] = np.unique(np.rint(rounds * np.linspace(0, 1, frames) ** 1.5).astype(int)).tolist()
    return found
