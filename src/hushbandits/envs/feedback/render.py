"""Pictures of the feedback setting: users per arm and their decoded mean rewards."""

from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core import Array, World
from hushbandits.envs.render import BEST, IN, Picture, caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOW, _HIGH = -0.05, 1.05  # rewards lie in [0, 1]; decoded means may not


class BlockPicture(Picture):
    """Picture of the number of users per arm, and of decoded means beside true means."""

    def _decoded(self) -> tuple[Array, Array]:
        """Return each arm's number of users and decoded mean reward over all servers, ``(K,)``; NaN without users."""
        users, total = self.pulls[0].sum(0), self.sums[0].sum(0)
        return users, np.where(users > 0, total / np.maximum(users, 1), np.nan)

    def say(self) -> list[str]:
        users, mean = self._decoded()
        heard = np.flatnonzero(users > 0)
        found = " ".join(f"{k}:{mean[k]:.3f}" for k in heard[np.argsort(-mean[heard], kind="stable")][:20])
        many = " (the largest 20)" if len(heard) > 20 else ""
        return [
            f"users heard per arm {self.listed(users)}",
            f"decoded means{many} {found or 'none yet'}, best arm {self.best}",
        ]

    def draw(self, figure: "Figure") -> None:
        core: World = self.core
        left, right = figure.subplots(1, 2, sharey=True)
        users, mean = self._decoded()
        arms = np.arange(len(users))
        colour = np.where(arms == self.best, BEST, IN)
        self.bars(left, users, colour, "users heard per arm")
        self.rows(left, [self.best])
        asked = np.zeros(0) if self.arm is None else np.unique(self.arm[0][core.served[0] < core.horizon])
        left.scatter(np.zeros(len(asked)), asked, marker=">", s=24, color="black", clip_on=False, zorder=5)
        size = min(150.0, 1500 / len(arms))
        right.scatter(core.means[0], arms, marker="|", s=size, color="black", zorder=2)
        below, above = mean < _LOW, mean > _HIGH
        for some, marker in ((~(below | above), "o"), (below, "<"), (above, ">")):
            x = mean[some] if marker == "o" else np.clip(mean[some], 0.0, 1.0)
            right.scatter(x, arms[some], marker=marker, s=size / 4, color=colour[some], zorder=3)
        right.set_xlim(_LOW, _HIGH)
        right.tick_params(labelsize=8)
        right.set_title("mean reward per arm", fontsize=9)
        caption(
            figure,
            "orange, ★: the best arm",
            "black triangle: the arm of a block just heard" if len(asked) else "",
            "right, line: true mean",
            "dot: decoded",
            "triangle: decoded, beyond [0, 1]" if (below | above).any() else "",
        )
