"""Pictures of a view, as a text, an array or a window; what they show is its task's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.core.types import Array

if TYPE_CHECKING:
    from hushbandits.views.parallel import ParallelView

__all__ = ["close", "picture", "show", "text"]

_SIZE = (7.2, 3.6)  # inches
_DPI = 100


def text(env: ParallelView) -> str:
    """Return a few lines."""
    return "\n".join([_title(env), *env.task.say()])


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
    env.task.draw(figure)
    figure.suptitle(_title(env), fontsize=11)


def _title(env: ParallelView) -> str:
    core = env.core
    facts = [env.metadata["name"].removeprefix("hushbandits/"), f"{core.clock} {int(core.t[0]):,} of {core.horizon:,}"]
    metrics = env.metrics()
    facts += [f"{name} {metrics[name]:,.0f}" for name in ("messages", "regret", "bits") if name in metrics]
    return " · ".join(facts if env.agents else [*facts, "over"])
