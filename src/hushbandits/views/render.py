"""Pictures of a view, as a text, an array or a window; what they show is its task's."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core.task import Task
from hushbandits.core.types import Array

__all__ = ["close", "picture", "show", "text"]

_SIZE = (7.2, 3.6)  # inches
_DPI = 100


def text(task: Task, title: str) -> str:
    """Return a few lines."""
    return "\n".join([title, *task.say()])


def picture(task: Task, title: str) -> Array:
    """Return ``(H, W, 3)`` uint8."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    _draw(task, title, figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def show(task: Task, title: str, window: Any = None) -> Any:
    """Draw into `window` (``None``: open one) and return it; a backend without windows draws unseen."""
    from matplotlib import pyplot as plt

    if window is None:
        window = plt.figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        if plt.get_backend().lower() not in ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"):
            plt.show(block=False)
    window.clear()
    _draw(task, title, window)
    window.canvas.draw_idle()
    window.canvas.flush_events()
    return window


def close(window: Any) -> None:
    """Close what `show` opened."""
    from matplotlib import pyplot as plt

    plt.close(window)


def _draw(task: Task, title: str, figure: Any) -> None:
    task.draw(figure)
    figure.suptitle(title, fontsize=11)
