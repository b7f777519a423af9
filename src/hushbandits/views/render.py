"""Pictures of a view: one per setting, as a text, an array or a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.core.types import Array
from hushbandits.views import render_network

if TYPE_CHECKING:
    from hushbandits.views.parallel import ParallelView

__all__ = ["close", "picture", "show", "text"]

_SIZE = (7.2, 3.6)  # inches
_DPI = 100
_IN, _OUT, _BEST = "#2a6fbb", "#c9ced6", "#e07b39"


def text(env: ParallelView) -> str:
    """Return a few lines."""
    lines = {"exploration": _say_exploration, "network": render_network.say, "feedback": _say_feedback}
    return "\n".join([_title(env), *lines[env.core.setting](env)])


def picture(env: ParallelView) -> Array:
    """Return ``(H, W, 3)`` uint8."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    _draw(env, figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def show(env: ParallelView, window: Any = None) -> Any:
    """Draw into `window` (``None``: open one) and return it; a backend without windows draws unseen."""
    from matplotlib import pyplot as plt

    if window is None:
        window = plt.figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        if plt.get_backend().lower() not in ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"):
            plt.show(block=False)
    window.clear()
    _draw(env, window)
    window.canvas.draw_idle()
    window.canvas.flush_events()
    return window


def close(window: Any) -> None:
    """Close what `show` opened."""
    from matplotlib import pyplot as plt

    plt.close(window)


def _draw(env: ParallelView, figure: Any) -> None:
    draw = {"exploration": _draw_exploration, "network": render_network.draw, "feedback": _draw_feedback}
    draw[env.core.setting](env, figure)
    figure.suptitle(_title(env), fontsize=11)


def _title(env: ParallelView) -> str:
    core = env.core
    facts = [env.metadata["name"].removeprefix("hushbandits/"), f"{core.clock} {int(core.t[0]):,} of {core.horizon:,}"]
    metrics = env.metrics()
    facts += [f"{name} {metrics[name]:,.0f}" for name in ("messages", "regret", "bits") if name in metrics]
    return " · ".join(facts if env.agents else [*facts, "over"])


def _names(core: Any) -> list[str]:
    return [f"{k}\n{mean:.3g}" for k, mean in enumerate(core.means[0])]


# -- exploration ------------------------------------------------------------------------------------------------


def _say_exploration(env: ParallelView) -> list[str]:
    core: Any = env.core
    active = core._active[0]
    votes = " ".join(f"{k}:{v}" for k, v in enumerate(core.votes[0]))
    return [
        f"global set {{{', '.join(map(str, np.flatnonzero(active)))}}}, an arm leaves at {core.votes_needed} votes",
        f"votes per arm {votes}",
        f"agent_{core.upcoming[0]} acts next; {int(core.pool[0].sum())} of {core.n_agents} agents still act",
    ]


def _draw_exploration(env: ParallelView, figure: Any) -> None:
    core: Any = env.core
    axes = figure.add_subplot()
    active = core._active[0]
    arms = np.arange(core.n_arms)
    axes.bar(arms, core.votes[0], color=np.where(active, _IN, _OUT), zorder=2)
    axes.axhline(core.votes_needed, color="black", linewidth=0.8, linestyle="--", zorder=3)
    # An arm without votes has no bar: its place in the global set is shown on the axis.
    axes.scatter(arms, np.zeros(core.n_arms), marker="s", s=40, color=np.where(active, _IN, _OUT), zorder=4)
    axes.set_xticks(arms, _names(core))
    axes.set_ylim(0, max(core.votes_needed, core.votes[0].max()) * 1.08)
    axes.set_xlabel("arm and its mean; blue: still in the global set")
    axes.set_ylabel("votes against it")


# -- feedback ---------------------------------------------------------------------------------------------------


def _decoded(env: ParallelView) -> tuple[Array, Array]:
    """Users per arm, and the decoded mean (NaN where there were none), over all servers: each ``(K,)``."""
    users, total = env.lens.pulls[0].sum(0), env.lens.sums[0].sum(0)
    return users, np.where(users > 0, total / np.maximum(users, 1), np.nan)


def _say_feedback(env: ParallelView) -> list[str]:
    core: Any = env.core
    users, mean = _decoded(env)
    found = " ".join(f"{k}:{m:.3f}" for k, m in enumerate(mean) if users[k])
    return [
        f"users heard per arm {' '.join(f'{k}:{int(n)}' for k, n in enumerate(users))}",
        f"decoded means {found or 'none yet'}, best arm {int(core.means[0].argmax())}",
    ]


def _draw_feedback(env: ParallelView, figure: Any) -> None:
    core: Any = env.core
    left, right = figure.subplots(1, 2)
    users, mean = _decoded(env)
    truth = core.means[0]
    arms = np.arange(len(truth))
    best = truth.argmax()
    left.bar(arms, users, color=np.where(arms == best, _BEST, _IN))
    left.set_ylabel("users heard")
    left.set_xlabel("arm; orange: the best")
    right.scatter(arms, truth, marker="_", s=160, color="black", zorder=2)
    right.scatter(arms, mean, s=24, color=np.where(arms == best, _BEST, _IN), zorder=3)
    right.set_ylabel("mean reward")
    right.set_xlabel("arm; dot: decoded, bar: true")
    for axes in (left, right):
        axes.set_xticks(arms)
