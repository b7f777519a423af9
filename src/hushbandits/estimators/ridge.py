"""Ridge regression of many learners at once, kept up to date pull by pull."""

import math
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, jit
from hushbandits.core.utils.jit import inlined


class RidgeArrays(NamedTuple):
    """The arrays of a `Ridge`, as compiled code takes them."""

    inverse: Array
    moment: Array
    theta: Array
    volume: Array
    pulls: Array


class Radius(NamedTuple):
    """The radius of a confidence ellipsoid, ``β + σ√(2 ln(1/δ) + d ln(1 + n/(dλ)))`` for n pulls in V.

    Parameters
    ----------
    beta : float
        β.
    sigma : float
        σ; 0: the radius is β.
    tail : float
        2 ln(1/δ).
    ridge : float
        λ.
    """

    beta: float
    sigma: float
    tail: float
    ridge: float


class Ridge:
    """The ridge regressions of R × M learners in R^d.

    Inverses change by rank one with every pull (Sherman & Morrison 1950), and are computed anew by `refresh`.  After
    30,000 pulls in R^15 without `refresh`, ‖V V⁻¹ − I‖ (Frobenius) is at most 3·10⁻¹³, and ln det V is off by at most
    2·10⁻¹², for the contexts ``cube`` and for unit vectors with λ = 1.

    Parameters
    ----------
    runs, learners, d : int
        R, M and d.
    ridge : float
        λ of V = λI + Σ x xᵀ.

    Attributes
    ----------
    inverse : (R, M, d, d)
        V⁻¹.
    moment : (R, M, d)
        b = Σ r x.
    theta : (R, M, d)
        V⁻¹ b.
    volume : (R, M)
        ln |det V|.
    pulls : (R, M) int
        Pulls in V.
    arrays : RidgeArrays
        All of them.
    """

    def __init__(self, runs: int, learners: int, d: int, ridge: float):
        self.ridge = ridge
        self.inverse = np.tile(np.eye(d) / ridge, (runs, learners, 1, 1))
        self.moment, self.theta = np.zeros((2, runs, learners, d))
        self.volume = np.full((runs, learners), d * math.log(ridge))
        self.pulls = np.zeros((runs, learners), np.int64)
        self.arrays = RidgeArrays(self.inverse, self.moment, self.theta, self.volume, self.pulls)

    def restart(self, rows: slice | Array) -> None:
        """Empty the regressions of the runs `rows`."""
        d = self.moment.shape[2]
        self.inverse[rows], self.volume[rows] = np.eye(d) / self.ridge, d * math.log(self.ridge)
        self.moment[rows] = self.theta[rows] = self.pulls[rows] = 0

    def refresh(self, run: Array, learner: Array, gram: Array, moment: Array, pulls: Array) -> None:
        """Set the regressions of n learners to λI + `gram`, ``(n, d, d)``, `moment` ``(n, d)`` and `pulls` ``(n,)``."""
        _refresh_all(run, learner, gram, moment, pulls, self.ridge, self.arrays)

    def predict(self, features: Array) -> tuple[Array, Array]:
        """Return ``x·θ̂`` and ``‖x‖`` in the norm of V⁻¹, each ``(R, M, K)``, of `features` ``(R, M, K, d)``."""
        square = np.einsum("rmkd,rmkd->rmk", features @ self.inverse, features)
        return np.einsum("rmkd,rmd->rmk", features, self.theta), np.sqrt(np.maximum(square, 0.0))

    def add(self, who: Array, x: Array, reward: Array) -> None:
        """Add a pull of each learner `who` ``(R, A)``, with features `x` ``(R, A, d)`` and its `reward` ``(R, A)``."""
        _add_all(who, x, reward, self.arrays)

    def choose(self, who: Array, features: Array, radius: Radius) -> Array:
        """Return the arms ``(R, A)`` with the largest ``x·θ̂ + β ‖x‖`` in the norm of V⁻¹, the first on ties.

        Parameters
        ----------
        who : (R, A) int
            The learners that act.
        features : (R, A, K, d)
        radius : Radius
            β.
        """
        arm = np.empty(who.shape, np.int64)
        _choose_all(who, features, radius, self.arrays, arm)
        return arm


def picked(features: Array, arm: Array) -> Array:
    """Return the features of the arms `arm` ``(R, A)``, ``(R, A, d)``."""
    runs, agents = arm.shape
    return features[np.arange(runs)[:, None], np.arange(agents), arm]


@jit
def radius_of(radius, pulls, d):  # type: ignore[no-untyped-def]
    """Return a `Radius` for `pulls` pulls in R^d."""
    if radius.sigma == 0.0:
        return radius.beta
    return radius.beta + radius.sigma * math.sqrt(radius.tail + d * math.log(1.0 + pulls / (d * radius.ridge)))


@jit
def choose(features, inverse, theta, radius):  # type: ignore[no-untyped-def]
    """Return the arm with the largest ``x·θ̂ + radius·‖x‖`` of `features` ``(K, d)``, the first on ties."""
    arms, d = features.shape
    x, image, mean, square = np.empty((d, arms)), np.empty(arms), np.zeros(arms), np.zeros(arms)
    for k in range(arms):
        for i in range(d):
            x[i, k] = features[k, i]
    for i in range(d):  # sums of all arms grow side by side: this form is vectorised
        image[:] = 0.0
        for j in range(d):
            for k in range(arms):
                image[k] += inverse[j, i] * x[j, k]
        for k in range(arms):
            mean[k] += theta[i] * x[i, k]
            square[k] += image[k] * x[i, k]
    top, best = -np.inf, 0
    for k in range(arms):
        index = mean[k] + radius * math.sqrt(max(square[k], 0.0))
        if index > top:
            top, best = index, k
    return best


@inlined
def _product(matrix, x, out):  # type: ignore[no-untyped-def]
    """Write ``matrixᵀ x`` to `out`, row by row: in this form it is vectorised."""
    out[:] = 0.0
    for j in range(x.size):
        for i in range(out.size):
            out[i] += matrix[j, i] * x[j]


@jit
def add(arrays, r, m, x, reward):  # type: ignore[no-untyped-def]
    """Add a pull with features `x` and its `reward` to the regression of learner m in run r."""
    inverse, moment, theta = arrays.inverse[r, m], arrays.moment[r, m], arrays.theta[r, m]
    d = x.size
    image = np.empty(d)
    _product(inverse, x, image)
    norm = 1.0
    for i in range(d):
        norm += image[i] * x[i]
        moment[i] += reward * x[i]
    for j in range(d):
        factor = image[j] / norm
        for i in range(d):
            inverse[j, i] -= image[i] * factor
    _product(inverse, moment, theta)
    arrays.volume[r, m] += math.log(abs(norm))  # noise in V may turn its sign
    arrays.pulls[r, m] += 1


@jit
def sum_up(gram, moment, pulls, r, m, x, reward):  # type: ignore[no-untyped-def]
    """Add a pull with features `x` and its `reward` to the sums of learner m in run r."""
    pulls[r, m] += 1
    for i in range(x.size):
        moment[r, m, i] += reward * x[i]
        for j in range(x.size):
            gram[r, m, i, j] += x[i] * x[j]


@jit
def refresh(arrays, r, m, gram, moment, pulls, ridge):  # type: ignore[no-untyped-def]
    """Set the regression of learner m in run r to λI + `gram`, `moment` and `pulls`."""
    v = gram + ridge * np.eye(moment.size)
    arrays.volume[r, m] = np.linalg.slogdet(v)[1]
    arrays.inverse[r, m] = np.linalg.inv(v)
    arrays.moment[r, m], arrays.pulls[r, m] = moment, pulls
    _product(arrays.inverse[r, m], moment, arrays.theta[r, m])


@jit
def _refresh_all(run, learner, gram, moment, pulls, ridge, arrays):  # type: ignore[no-untyped-def]
    for n in range(len(run)):
        refresh(arrays, run[n], learner[n], gram[n], moment[n], pulls[n], ridge)


@jit
def _choose_all(who, features, radius, arrays, arm):  # type: ignore[no-untyped-def]
    for r in range(who.shape[0]):
        for a in range(who.shape[1]):
            m = who[r, a]
            width = radius_of(radius, arrays.pulls[r, m], features.shape[3])
            arm[r, a] = choose(features[r, a], arrays.inverse[r, m], arrays.theta[r, m], width)


@jit
def _add_all(who, x, reward, arrays):  # type: ignore[no-untyped-def]
    for r in range(who.shape[0]):
        for a in range(who.shape[1]):
            add(arrays, r, who[r, a], x[r, a], reward[r, a])
