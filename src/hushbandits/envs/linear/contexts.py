"""Laws of contexts: how a run draws its parameter θ, and how every round draws the features of the arms."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from hushbandits.core import Array, Streams, count, jit, lean, reals, shown
from hushbandits.core.random.gauss import normal
from hushbandits.core.random.names import POOL, THETA


class ContextLaw(ABC):
    """A law of contexts: features x of K arms in R^d, and mean rewards ⟨x, θ⟩.

    A user-defined law is a dataclass that derives from it; its fields enter the seeds.

    Attributes
    ----------
    norm : float
        The largest norm of features that agents see.
    means : (float, float)
        The range of mean rewards.
    """

    norm: float = 1.0

    means = property(lambda self: (-self.norm, self.norm))

    def check(self, n_arms: int, n_features: int) -> None:  # noqa: B027
        """Raise ``ValueError`` if the law has no contexts of `n_arms` arms in R^`n_features`."""

    def draw_theta(self, rng: Streams, n_features: int) -> Array:
        """Return the parameter θ of each run, ``(R, d)``; by default uniform on the unit sphere."""
        return unit(normal(rng.uniforms(0, (n_features,), THETA)))

    def draw_pool(self, rng: Streams, n_features: int) -> Array:
        """Return the vectors from which a run draws its contexts, ``(R, N, d)``; by default none, ``(R, 0, d)``."""
        return np.empty((len(rng), 0, n_features))

    def samples(self, n_arms: int, n_features: int) -> int:
        """Return how many uniform samples the context of one agent in one round needs; by default one per number."""
        return n_arms * n_features

    @abstractmethod
    def draw(self, u: Array, pool: Array, x: Array) -> None:
        """Write one round's features to `x` ``(R, A, K, d)``, given uniform samples `u` ``(R, A, samples)``."""

    def seen(self, x: Array) -> Array:
        """Return what agents see of the features `x`, whose mean rewards are ⟨x, θ⟩; by default all."""
        return x


@dataclass(frozen=True)
class Cube(ContextLaw):
    """Features uniform on [−1, 1]^d/√d, and θ = (1, …, 1)/√d (the experiments of He et al. 2022)."""

    def draw_theta(self, rng: Streams, n_features: int) -> Array:
        """Return ``(1, …, 1)/√d`` for each run."""
        return np.full((len(rng), n_features), 1.0 / math.sqrt(n_features))

    def draw(self, u: Array, pool: Array, x: Array) -> None:
        np.multiply(2.0 * u.reshape(x.shape) - 1.0, 1.0 / math.sqrt(x.shape[3]), x)


@dataclass(frozen=True)
class SpherePlusOne(ContextLaw):
    """Features (u, 1) with u uniform on the unit sphere of R^(d − 1) (the experiments of Zhou & Chowdhury 2024).

    Arm j < d − 1, counted from 0, is ``e_j + e_d`` and arm d − 1 is ``e_d``.  The parameter is θ = (v/2, ½) with v
    uniform on the unit sphere, so mean rewards lie in [0, 1].  Agents see x/‖x‖, but means use x: arm d − 1, whose norm
    is 1 where all others have √2, does not fit the agents' model.
    """

    means = (0.0, 1.0)

    def check(self, n_arms: int, n_features: int) -> None:
        """Raise ``ValueError`` unless d ≥ 2 and there are d arms or more."""
        if not 2 <= n_features <= n_arms:
            raise ValueError(f"n_features={n_features} must be in 2..{n_arms}, the number of arms, for {self}")

    def draw_theta(self, rng: Streams, n_features: int) -> Array:
        """Return ``(v/2, ½)`` for each run, v uniform on the unit sphere."""
        v = unit(normal(rng.uniforms(0, (n_features - 1,), THETA)))
        return np.concatenate([v / 2, np.full((len(rng), 1), 0.5)], 1)

    def samples(self, n_arms: int, n_features: int) -> int:
        return n_arms * (n_features - 1)

    def draw(self, u: Array, pool: Array, x: Array) -> None:
        d = x.shape[3]
        x[:, :, :d] = np.eye(d)
        x[:, :, d:, :-1] = unit(normal(u.reshape(*x.shape[:3], d - 1)[:, :, d:]))
        x[..., -1] = 1.0

    def seen(self, x: Array) -> Array:
        """Return ``x/‖x‖``."""
        return unit(x)


@dataclass(frozen=True)
class Pool(ContextLaw):
    """K different vectors of a run's pool in every round (the experiments of Li & Wang 2022).

    Coordinate i of d, counted from 0, is N(0, (d − i)/d), and vectors are normalised.  θ is uniform on the unit sphere.

    Parameters
    ----------
    size : int
        N, the vectors of a pool.
    """

    size: int = 1000

    def check(self, n_arms: int, n_features: int) -> None:
        """Raise ``ValueError`` unless the pool has as many vectors as there are arms."""
        if count("size", self.size, 1) < n_arms:
            raise ValueError(f"n_arms={n_arms} must be at most {self.size}, the vectors of {self}")

    def draw_pool(self, rng: Streams, n_features: int) -> Array:
        """Return the unit vectors of each run's pool, ``(R, N, d)``."""
        u = rng.uniforms(0, (self.size, n_features), POOL)
        return unit(normal(u) * np.sqrt(np.arange(n_features, 0, -1) / n_features))

    def samples(self, n_arms: int, n_features: int) -> int:
        return n_arms

    def draw(self, u: Array, pool: Array, x: Array) -> None:
        _pick(u, pool, x)


@dataclass(frozen=True)
class FeatureFile(Pool):
    """K different rows of a file in every round, with θ uniform on the unit sphere.

    Parameters
    ----------
    path : str
        A ``.npy`` file, or a text file with one vector per line (``.csv``: commas).
    """

    size: int = field(default=0, init=False)  # the rows of the file
    path: str = ""

    @cached_property
    def vectors(self) -> Array:
        """Return the vectors of the file, ``(N, d)``; raise ``ValueError`` if it holds none, or other than numbers."""
        text = partial(np.loadtxt, delimiter="," if self.path.endswith(".csv") else None, ndmin=2)
        try:
            with warnings.catch_warnings(action="ignore"):  # an empty file
                found = reals("vectors", (np.load if self.path.endswith(".npy") else text)(self.path))
        except (OSError, ValueError) as error:
            raise ValueError(f"contexts={self.path!r} must be a file with one vector per row: {error}") from None
        if found.ndim != 2 or not found.size:
            raise ValueError(f"contexts={self.path!r} must hold vectors in shape (N, d), not {found.shape}")
        for row in np.flatnonzero(~np.isfinite(found).all(1)).tolist():
            raise ValueError(f"contexts={self.path!r} must hold finite numbers, but row {row} is {shown(found[row])}")
        return found

    @cached_property
    def norm(self) -> float:  # type: ignore[override]
        """Return the largest norm of a vector."""
        return float(np.linalg.norm(self.vectors, axis=1).max())

    def check(self, n_arms: int, n_features: int) -> None:
        """Raise ``ValueError`` unless the file has enough vectors, and of `n_features` numbers each."""
        rows, d = self.vectors.shape
        if d != n_features or rows < n_arms:
            given = f"n_arms={n_arms} and n_features={n_features}"
            raise ValueError(f"contexts={self.path!r} holds {rows} vectors of {d} numbers, but {given}")

    def draw_pool(self, rng: Streams, n_features: int) -> Array:
        """Return the vectors of the file for each run, ``(R, N, d)``."""
        return np.tile(self.vectors, (len(rng), 1, 1))


#: The laws by name.
CONTEXTS: dict[str, Callable[[], ContextLaw]] = {"cube": Cube, "sphere+1": SpherePlusOne, "pool": Pool}


def make_contexts(contexts: object) -> ContextLaw:
    """Return the law that `contexts` names: one of `CONTEXTS`, a file, or a `ContextLaw`, which it returns unchanged.

    Examples
    --------
    >>> make_contexts("pool")
    Pool(size=1000)
    """
    if isinstance(contexts, ContextLaw):
        return contexts
    if isinstance(contexts, str) and contexts in CONTEXTS:
        return CONTEXTS[contexts]()
    if isinstance(contexts, (str, Path)) and Path(contexts).suffix in (".npy", ".csv", ".txt"):
        return FeatureFile(path=str(contexts))
    known = ", ".join(CONTEXTS)
    raise ValueError(f"contexts={shown(contexts)} must be one of {known}, a .npy, .csv or .txt file, or a ContextLaw")


def unit(x: Array) -> Array:
    """Return the vectors `x` divided by their norms."""
    if x.shape[-1] >= 8:  # from there on, NumPy adds up squares in eight parts
        return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))
    out = np.empty(x.shape)
    _scale(x.reshape(-1, x.shape[-1]), out.reshape(-1, x.shape[-1]))
    return out


@lean
def _scale(x, out):  # type: ignore[no-untyped-def]
    for n in range(len(x)):
        square = 0.0
        for i in range(x.shape[1]):
            square += x[n, i] * x[n, i]
        norm = math.sqrt(square)
        for i in range(x.shape[1]):
            out[n, i] = x[n, i] / norm


@jit
def _pick(u, pool, x):  # type: ignore[no-untyped-def]
    """Write K different vectors of each run's pool, drawn without replacement, to `x`."""
    size = pool.shape[1]
    order, other = np.arange(size), np.empty(x.shape[2], np.int64)
    for r in range(x.shape[0]):
        for a in range(x.shape[1]):
            for k in range(x.shape[2]):  # the first K places of a shuffle
                other[k] = k + np.int64(u[r, a, k] * (size - k))
                order[k], order[other[k]] = order[other[k]], order[k]
                x[r, a, k] = pool[r, order[k]]
            for k in range(x.shape[2] - 1, -1, -1):  # undone, so that a run alone equals its row
                order[k], order[other[k]] = order[other[k]], order[k]
