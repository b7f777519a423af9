"""Cooperation over a graph as a reinforcement-learning task, and its picture: agents' arms, reports on edges."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import networkx as nx
import numpy as np

from hushbandits.core import Array, Observation, Stacked, World
from hushbandits.envs.network.graphs import adjacency
from hushbandits.envs.network.learners import Learners
from hushbandits.envs.render import Picture, caption, colours
from hushbandits.envs.rounds.task import ArmTask

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EDGE, _BYZANTINE, _NO_ARM = "#c9ced6", "#c0143c", "#6b7280"
_FEW = 64  # agents up to which the text lists each
_DOTS = 200  # crossed edges up to which each has a dot
_UNIT = 80.0  # points of a graph's radius


def byzantine(core: World) -> Array:
    """Return which agents are Byzantine in the first run, ``(M,)`` bool."""
    marked = [wrapper.byzantine[0] for wrapper in core.wrappers if hasattr(wrapper, "byzantine")]
    return np.any([np.zeros(core.n_agents, bool), *marked], axis=0)


def arriving(core: World) -> tuple[Array, Array]:
    """Return the number of messages per edge in the last round, ``(M, M)``, and their most frequent arm (−1: none)."""
    via, to, _, _, said = core.crossings().T
    votes = np.zeros((core.n_agents, core.n_agents, core.n_arms + 1), np.int64)
    np.add.at(votes, (via, to, said), 1)  # without an arm: the last place
    named = votes[..., :-1]
    return votes.sum(2), np.where(named.any(2), named.argmax(2), -1)


class NetworkTask(Picture, ArmTask):
    """An `ArmTask` with a picture of the graph: a marker per agent in the colour of its arm, and a bar per arm.

    Examples
    --------
    >>> import hushbandits as hb
    >>> task = NetworkTask(hb.make_batched("CoopNetwork-v0", n_agents=4))
    >>> task.action_space, task.observation_space.shape
    (Discrete(10), (43,))
    """

    #: Plays rounds in compiled code; ``None`` before the first round of an episode, False where rounds need phases.
    _learners: Learners | Literal[False] | None = None
    _code: Callable[..., None] | None = None

    def begin(self, obs: Observation, rows: Array | None = None) -> None:
        super().begin(obs, rows)
        if self._learners:
            self._code = self._learners.play_round
        self._learners = None

    def step(self, action: Stacked) -> Array:
        if self._learners is None:
            self._learners = (type(self) is NetworkTask and Learners.of(self, self._code)) or False
        core = self.core
        if self._learners is False or core._phase != "pull":
            return super().step(action)
        reward = self._learners.play(core._check_action(self.arms(self.decode(action))))
        self.obs = Observation(core.t, core.running, core.active_agents)
        return self._charged(reward) if self._costs else reward

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_learners": None, "_code": None}

    def _on(self) -> Array:
        """Return how many agents pulled each arm in the last round, ``(K,)``."""
        k = self.core.n_arms
        return np.zeros(k, np.int64) if self.arm is None else np.bincount(self.arm[0], minlength=k)

    def say(self) -> list[str]:
        core: World = self.core
        if self.arm is None:
            return [f"{core.n_agents} agents, nothing pulled yet"]
        names, bad, few = core.arms.names, byzantine(core), core.n_agents <= _FEW
        lines = [f"agents per arm {self.listed(self._on())}, best arm {names[self.best]}"]
        if few:
            last = zip(self.arm[0], bad, strict=True)
            lines.append(f"last arms {' '.join(f'{names[k]}!' if b else names[k] for k, b in last)}")
        if bad.any():
            lines.append(f"byzantine{' (!)' if few else ''} {int(bad.sum())} of {core.n_agents} agents")
        crossed, edges, regret = arriving(core)[0], int(core.adjacency[0].sum()) // 2, core.metrics()["agent_regret"][0]
        return [
            *lines,
            f"sent in this round: {int(crossed.sum())} reports over {edges} edges, at most {crossed.max()} over one",
            f"regret per agent {regret.mean():.1f}, most agent_{regret.argmax()}",
        ]

    def draw(self, figure: "Figure") -> None:
        core: World = self.core
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        bad, shades = byzantine(core), colours(core)
        dots = self._graph(left, bad, shades)
        noun, _ = core.arms.words
        self.bars(right, self._on(), shades, f"agents on each {noun}")
        right.scatter(np.zeros(core.n_arms), np.arange(core.n_arms), marker="s", s=20, c=shades, zorder=4)
        self.rows(right, [self.best])
        caption(
            figure,
            f"disc: an agent, in the colour of its arm{', darker is better' * (core.n_arms > 10)}",
            "white: no pull yet" if self.arm is None else "",
            "square: byzantine" if bad.any() else "",
            dots,
            "thicker edge: more messages crossed it",
            f"★ the best {noun}",
        )

    def _graph(self, axes: "Axes", bad: Array, shades: list[tuple[float, ...]]) -> str:
        """Draw the graph; return the caption of the dots that show messages on edges, ``""`` without dots."""
        from matplotlib.collections import LineCollection

        core: World = self.core
        matrix = core.adjacency[0]
        place = _layout(matrix.tobytes(), len(matrix))
        crossed, named_arm = arriving(core)
        ends = np.argwhere(np.triu(matrix))
        busy = (crossed + crossed.T)[ends[:, 0], ends[:, 1]]
        widths = (0.6 + 1.8 * busy / max(1, busy.max(initial=0))) * min(1.0, 300 / max(1, len(ends)))
        axes.add_collection(LineCollection(place[ends], colors=_EDGE, linewidths=widths, zorder=1))  # type: ignore[arg-type]
        apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
        np.fill_diagonal(apart, 1.0)
        wide = float(np.clip(0.65 * _UNIT * np.quantile(apart.min(1), 0.25), 3.0, 18.0))  # most discs do not overlap
        fill = [(1.0, 1.0, 1.0, 1.0)] * core.n_agents if self.arm is None else [shades[k] for k in self.arm[0]]
        for mask, marker, edge, width in ((~bad, "o", "black", min(0.6, wide / 15)), (bad, "s", _BYZANTINE, 2.0)):
            axes.scatter(
                place[mask, 0], place[mask, 1], s=wide**2, c=np.array(fill)[mask], marker=marker, edgecolors=edge,
                linewidths=width, zorder=3,
            )  # fmt: skip
        for m, (x, y) in enumerate(place if wide >= 9 else ()):
            ink = "black" if np.dot(fill[m][:3], (0.299, 0.587, 0.114)) > 0.5 else "white"
            axes.text(x, y, str(m), ha="center", va="center_baseline", color=ink, fontsize=0.45 * wide, zorder=4)
        axes.set(xlim=(-1.2, 1.2), ylim=(-1.15, 1.15), aspect="equal")
        axes.set_axis_off()
        via, to = np.nonzero(crossed)
        if not 0 < len(via) <= _DOTS:
            return ""
        where = place[via] + 0.36 * (place[to] - place[via])  # nearer to the sender: two directions, two dots
        area = (wide / 3.5) ** 2 * (0.5 + crossed[via, to] / crossed.max())
        hues = [_NO_ARM if k < 0 else shades[k] for k in named_arm[via, to]]
        axes.scatter(where[:, 0], where[:, 1], s=area, c=hues, edgecolors="white", linewidths=0.3, zorder=2)
        if (named_arm < 0).all():
            return "dot: messages sent along an edge"
        return "dot: reports sent along an edge, in the colour of the arm that most name"


@lru_cache(maxsize=8)
def _layout(matrix: bytes, m: int) -> Array:
    """Return positions in [−1, 1], ``(M, 2)``: grids as a grid, other regular graphs as a ring, others by forces."""
    ways, side = np.frombuffer(matrix, bool).reshape(m, m), math.isqrt(m)
    graph = nx.from_numpy_array(ways)
    if side**2 == m and np.array_equal(ways, adjacency("grid", m)):
        found = {i: (i % side, -(i // side)) for i in range(m)}
    elif len(set(ways.sum(1))) == 1:
        found = nx.circular_layout(graph)
    else:
        found = nx.kamada_kawai_layout(graph) if m <= 2 * _FEW else nx.spring_layout(graph, seed=0)
    place = np.array([found[i] for i in range(m)], float)
    place -= (place.max(0) + place.min(0)) / 2
    return place / max(1e-9, np.abs(place).max())
