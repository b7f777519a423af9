"""Evolution strategies, which train a small policy by the returns of whole episodes."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np

from hushbandits.adapters.learners import Rows
from hushbandits.baselines.learned import Learned, Network, heads_of
from hushbandits.baselines.sb3_choices import CHOICES, choices, described_as, rule
from hushbandits.core import Array, Streams, extra, integer, real, spawn_seeds
from hushbandits.core.random.names import TRAINED, agent
from hushbandits.learning.models import mixed, widths_of
from hushbandits.learning.record import Score, earned


class Evolution:
    """CMA-ES (Hansen & Ostermeier 2001) on a policy's weights; the candidates of a generation play the same episodes.

    Parameters
    ----------
    rows : Rows
        R runs; a candidate plays one episode in each.
    seed : int
    sigma : float
        Initial step size.
    population : int, optional
        Candidates per generation; default: the library's.
    net_arch : sequence of int
        Widths of hidden layers; default: none, so that scores are linear.
    """

    checkpoint = "checkpoint.npz"
    by_choice = True

    def __init__(
        self, rows: Rows, seed: int, *, sigma: float = 0.3, population: int | None = None, net_arch: Sequence[int] = ()
    ):
        with extra("es"):
            import cma

        self._rows, self._seed, self.steps, self._generation = rows, seed, 0, 0
        setting, space = described_as(rows.task), rows.task.action_space
        if setting not in CHOICES or heads_of(space) != (choices(rows.task),):
            raise ValueError(f"--algo es needs a Discrete action space, one action per choice, not {space}")
        widths = [len(CHOICES[setting]), *widths_of(net_arch)]
        self._shapes: dict[str, tuple[int, ...]] = {}
        for i, (before, width) in enumerate(pairwise(widths)):
            self._shapes |= {f"layer{i}.weight": (width, before), f"layer{i}.bias": (width,)}
        # no bias: it would shift all scores alike
        self._shapes["head.weight"] = (rule(setting).size // len(CHOICES[setting]), widths[-1])
        self._rng = np.random.RandomState(seed % 2**32)  # the library's own, apart from the global one
        first = [self._rng.randn(math.prod(shape)) / math.sqrt(shape[-1]) for shape in self._shapes.values()]
        if len(widths) == 1:
            # from zero weights a server asks one user at a time, and every candidate has the same return
            first = [rule(setting).reshape(-1)]
        options = {"seed": seed % 2**31 + 1, "randn": self._rng.randn, "verbose": -9}
        if population is not None:
            options["popsize"] = integer("algo.population", population, 4)
        self._search = cma.CMAEvolutionStrategy(np.concatenate(first), real("algo.sigma", sigma, 0), options)

    def network(self) -> tuple[dict[str, Array], str]:
        """Return the weights at the mean of the search distribution, and the name of the activation."""
        return self._weights(self._search.mean), "tanh"

    def _weights(self, numbers: Array) -> dict[str, Array]:
        ends = np.cumsum([math.prod(shape) for shape in self._shapes.values()])
        parts = zip(self._shapes.items(), np.split(numbers, ends[:-1]), strict=True)
        weights = {name: part.reshape(shape) for (name, shape), part in parts}
        return {**weights, "head.bias": np.zeros(len(weights["head.weight"]))}

    def learn(self, steps: int, updated: Callable[[], None], notify: Callable[[int], None]) -> None:
        """Train until `steps` steps of single agents are done; call `updated` before each generation and at the end.

        The seed of a generation depends only on its number.
        """
        search = self._search
        while self.steps < steps:
            updated()
            asked, episodes, found = search.ask(), mixed(self._seed, self._generation), []
            for numbers in asked:
                found.append(-self._earn(numbers, episodes))
                notify(self.steps)
            search.tell(asked, found)
            self._generation += 1
        updated()

    def _earn(self, numbers: Array, seed: int) -> float:
        player = Network(Learned("es", self._weights(numbers), "tanh", deterministic=True, masked=True, by_choice=True))
        player.reset(Streams(spawn_seeds(seed, self._rows.runs)).below(agent(TRAINED)))

        def choose() -> Array:
            self.steps += self._rows.runs * self._rows.n_agents
            return player.act(self._rows.task)

        return float(earned(self._rows, seed, choose).mean())

    def save(self, file: IO[bytes]) -> None:
        """Write the state of the search as plain arrays."""
        search = self._search
        np.savez(
            file, mean=search.mean, sigma=search.sigma, covariance=search.sm.covariance_matrix, path=search.pc,
            sigma_path=search.adapt_sigma.ps, generation=self._generation,
        )  # fmt: skip

    def restore(self, path: Path, steps: int) -> None:
        """Continue the search from the checkpoint `path`, with other candidates than an uninterrupted search."""
        search, self.steps = self._search, steps
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stated:
            search.mean, search.sigma = stated["mean"], float(stated["sigma"])
            self._generation = int(stated["generation"])
            search.pc, search.adapt_sigma.ps = stated["path"], stated["sigma_path"]
            search.sm.C[:] = stated["covariance"]
        search.sm.update_now(-1)  # update the axes
        self._rng.seed([self._seed % 2**32, self._generation])

    def log(self, found: Score) -> None:
        """Do nothing, because ``card.json`` has the held-out results already."""
