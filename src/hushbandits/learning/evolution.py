"""Evolution strategies: a policy of few numbers that scores choices one by one, trained by what whole episodes earn."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hushbandits.baselines.sb3_choices import CHOICES
from hushbandits.baselines.sb3_file import Learned, expected, heads_of
from hushbandits.baselines.sb3_model import Whole
from hushbandits.baselines.sb3_network import Network
from hushbandits.core.ground.names import words
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import integer, nearest, real, shown
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.learning.models import leg_seed
from hushbandits.learning.score import Score, earned
from hushbandits.views.learners import Rows

__all__ = ["Evolution"]

#: Where a search begins, a rule for each setting: a Thompson index, a vote by the gap, a block for each arm and then
#: for those that are close, the longer the surer.  From zeros a server asks one user at a time, and every candidate
#: earns the same.
_STARTS = {
    "network": {"mean": 4.0, "prior": 4.0, "late_spread": 1.0, "lot": 0.4, "late_lot": 0.4},
    "exploration": {"vote": -1.0, "score": 1.0, "likely": 0.7, "worst": 0.5, "few": -3.0},
    "feedback": {
        "gap": -4.0, "untried": 4.0, "size": 9.0, "size2": -8.0, "rest": 8.0, "rest2": -8.0, "sure": 25.0,
        "gap_rest": -4.0, "few": 3.0,
    },
}  # fmt: skip


class Evolution:
    """CMA-ES (Hansen & Ostermeier 2001) over a policy's numbers, all of whose candidates meet the same episodes.

    What goes on after an interruption asks for the same candidates again, and is told what they earned from the
    checkpoint: so it ends as it would have, to the bit, and no state of the library is stored.

    Parameters
    ----------
    rows : Rows
        R runs, in which a candidate plays an episode.
    hyper : mapping
        ``sigma``, the first step's size; ``population``, candidates of a generation (default: the library's);
        ``net_arch``, widths of hidden layers (default: none, a score is linear).
    seed : int
    """

    masked = deterministic = True

    def __init__(self, rows: Rows, hyper: Params, seed: int):
        self._rows, self._seed = rows, seed
        kind, heads = heads_of(rows.task.action_space)
        setting = rows.core.setting
        if setting not in CHOICES or kind != "Discrete":
            raise ValueError(f"es scores one choice at a time, and here actions are {rows.task.action_space}")
        known = ("sigma", "population", "net_arch")
        if strange := [name for name in hyper if name not in known]:
            raise TypeError(f"es takes no parameter {strange[0]!r}{nearest(strange[0], known)}")
        layers = hyper.get("net_arch", [])
        if not isinstance(layers, list) or len(layers) > 4:
            raise ValueError(f"algo.net_arch={shown(layers)} must be a list of at most 4 widths, such as [8]")
        widths = tuple(integer("algo.net_arch", width, 1, 256) for width in layers)
        self._net: Whole = {"lstm": 0, "layers": list(widths), "activation": "tanh", "features": list(CHOICES[setting])}
        self._shapes = expected(len(CHOICES[setting]), 0, widths, 1)
        del self._shapes["head.bias"]  # it moves all scores alike
        self._policy = Learned(
            "es", kind, heads, widths, "tanh", 0, True, True, {}, setting, features=CHOICES[setting]
        )  # fmt: skip
        self._told: list[list[float]] = []  # what each generation earned
        self.steps = 0
        self._search = self._begin(setting, real("algo.sigma", hyper.get("sigma", 0.3), 0), hyper.get("population"))

    def _begin(self, setting: str, sigma: float, population: object) -> Any:
        try:
            import cma
        except ImportError as error:
            raise ImportError(f"--algo es needs cma: pip install 'hushbandits[es]' ({error})") from None
        luck = np.random.RandomState(self._seed % 2**32)  # the library's own, apart from the global one
        sizes = {name: math.prod(shape) for name, shape in self._shapes.items()}
        first = {name: luck.randn(size) / math.sqrt(self._shapes[name][-1]) for name, size in sizes.items()}
        if not self._policy.layers:
            first["head.weight"] = np.array([_STARTS[setting].get(name, 0.0) for name in CHOICES[setting]])
        options = {"seed": self._seed % 2**31 + 1, "randn": luck.randn, "verbose": -9}
        if population is not None:
            options["popsize"] = integer("algo.population", population, 4, 4096)
        return cma.CMAEvolutionStrategy(np.concatenate(list(first.values())), sigma, options)

    def _weights(self, numbers: Array) -> dict[str, Array]:
        ends = np.cumsum([math.prod(shape) for shape in self._shapes.values()])
        parts = zip(self._shapes.items(), np.split(numbers, ends[:-1]), strict=True)
        return {**{name: part.reshape(shape) for (name, shape), part in parts}, "head.bias": np.zeros(1)}

    def network(self) -> tuple[dict[str, Array], Whole]:
        """Return the mean of the search, as it is stored, and what network it is."""
        mean = self._search.mean
        return {name: part.astype(np.float32) for name, part in self._weights(mean).items()}, self._net

    def learn(self, end: int, of: int, seed: int, notify: Callable[[int], None]) -> None:
        """Go on until `end` steps of single agents are done; a generation's seed follows from its number alone."""
        search = self._search
        while self.steps < end:
            asked, episodes, found = search.ask(), leg_seed(self._seed, len(self._told)), []
            for numbers in asked:
                found.append(-self._earn(numbers, episodes))
                notify(self.steps)
            search.tell(asked, found)
            self._told.append(found)

    def _earn(self, numbers: Array, seed: int) -> float:
        player = Network(replace(self._policy, weights=self._weights(numbers)))
        player.reset(run_seeds(seed, self._rows.runs), "agent/es")

        def choose() -> Array:
            self.steps += self._rows.runs * self._rows.n_agents
            return player.act(self._rows.task)

        return float(earned(self._rows, seed, choose).mean())

    def checkpoint(self) -> bytes:
        """Return what it needs to go on, as JSON."""
        return json.dumps({"steps": self.steps, "told": self._told}).encode()

    def log(self, found: Score) -> None:
        """Its curve is in ``policy.json`` alone."""

    def close(self) -> None:
        """Nothing is open."""

    def restore(self, content: bytes) -> None:
        """Go where a checkpoint was written.

        ``ValueError``: the content is damaged.
        """
        try:
            told = json.loads(content)
            for found in told["told"]:
                self._search.tell(self._search.ask(), [float(x) for x in found])
                self._told.append(found)
            self.steps = int(told["steps"])
        except Exception as error:  # damage takes many forms
            raise ValueError(f"the checkpoint cannot be read: {words(error)}") from None
