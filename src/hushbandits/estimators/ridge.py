"""Ridge regression of many learners at once, kept up to date pull by pull."""

from __future__ import annotations

import numpy as np

from hushbandits.core import Array, jit


class Ridge:
    """The ridge regressions of R × M learners in R^d.

    Inverses change by rank one with every pull (Sherman & Morrison 1950), and are computed anew by `refresh`.

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
        ln det V.
    pulls : (R, M) int
        Pulls in V.
    """

    def __init__(self, runs: int, learners: int, d: int, ridge: float):
        self.ridge = ridge
        self.inverse = np.tile(np.eye(d) / ridge, (runs, learners, 1, 1))
        self.moment, self.theta = np.zeros((2, runs, learners, d))
        self.volume = np.full((runs, learners), d * np.log(ridge))
        self.pulls = np.zeros((runs, learners), np.int64)

    def refresh(self, run: Array, learner: Array, gram: Array, moment: Array, pulls: Array) -> None:
        """Set the regressions of n learners to λI + `gram`, ``(n, d, d)``, `moment` ``(n, d)`` and `pulls` ``(n,)``."""
        v = gram + self.ridge * np.eye(gram.shape[-1])
        self.inverse[run, learner] = inverse = np.linalg.inv(v)
        self.volume[run, learner] = np.linalg.slogdet(v)[1]
        self.moment[run, learner], self.pulls[run, learner] = moment, pulls
        self.theta[run, learner] = (inverse @ moment[..., None])[..., 0]

    def restart(self, rows: Array) -> None:
        """Empty the regressions of the runs `rows`."""
        d = self.moment.shape[2]
        self.inverse[rows], self.volume[rows] = np.eye(d) / self.ridge, d * np.log(self.ridge)
        self.moment[rows] = self.theta[rows] = self.pulls[rows] = 0

    def predict(self, features: Array) -> tuple[Array, Array]:
        """Return ``x·θ̂`` and ``‖x‖`` in the norm of V⁻¹, each ``(R, M, K)``, of `features` ``(R, M, K, d)``."""
        square = np.einsum("rmkd,rmde,rmke->rmk", features, self.inverse, features, optimize=True)
        return np.einsum("rmkd,rmd->rmk", features, self.theta), np.sqrt(np.maximum(square, 0.0))

    def add(self, who: Array, x: Array, reward: Array) -> None:
        """Add a pull of each learner `who` ``(R, A)``, with features `x` ``(R, A, d)`` and its `reward` ``(R, A)``."""
        _add(who, x, reward, self.inverse, self.moment, self.theta, self.volume, self.pulls)

    def choose(self, who: Array, features: Array, width: Array) -> Array:
        """Return the arms ``(R, A)`` with the largest ``x·θ̂ + β ‖x‖`` in the norm of V⁻¹, the first on ties.

        Parameters
        ----------
        who : (R, A) int
            The learners that act.
        features : (R, A, K, d)
        width : (R, A)
            β.
        """
        arm = np.empty(who.shape, np.int64)
        _choose(who, features, width, self.inverse, self.theta, arm)
        return arm


class Sums:
    """Sums of features and rewards that R × M learners have not uploaded yet.

    Parameters
    ----------
    runs, learners, d : int
        R, M and d.

    Attributes
    ----------
    gram, moment, pulls : (R, M, d, d), (R, M, d) and (R, M) arrays
        Σ x xᵀ, Σ r x, and their number.
    """

    def __init__(self, runs: int, learners: int, d: int):
        self.gram, self.moment = np.zeros((runs, learners, d, d)), np.zeros((runs, learners, d))
        self.pulls = np.zeros((runs, learners), np.int64)

    def add(self, who: Array, x: Array, reward: Array) -> None:
        """Add a pull of each learner `who` ``(R, A)``."""
        _sum(who, x, reward, self.gram, self.moment, self.pulls)

    def take(self, who: Array, sent: Array) -> dict[str, Array]:
        """Return the message of the learners `who` with ``sent``, and empty the sums of those who send."""
        run = np.arange(len(who))[:, None]
        message = {name: getattr(self, name)[run, who] for name in ("gram", "moment", "pulls")}
        r, a = sent.nonzero()
        for name in message:
            getattr(self, name)[r, who[r, a]] = 0
        return {**message, "sent": sent}


@jit
def _sum(who, x, reward, gram, moment, pulls):  # type: ignore[no-untyped-def]
    for r in range(who.shape[0]):
        for a in range(who.shape[1]):
            m = who[r, a]
            pulls[r, m] += 1
            for i in range(x.shape[2]):
                moment[r, m, i] += reward[r, a] * x[r, a, i]
                for j in range(x.shape[2]):
                    gram[r, m, i, j] += x[r, a, i] * x[r, a, j]


@jit
def _add(who, x, reward, inverse, moment, theta, volume, pulls):  # type: ignore[no-untyped-def]
    d = x.shape[2]
    image = np.empty(d)
    for r in range(who.shape[0]):
        for a in range(who.shape[1]):
            m = who[r, a]
            v = inverse[r, m]
            norm = 1.0
            for i in range(d):
                image[i] = 0.0
                for j in range(d):
                    image[i] += v[i, j] * x[r, a, j]
                norm += image[i] * x[r, a, i]
            for i in range(d):
                moment[r, m, i] += reward[r, a] * x[r, a, i]
                for j in range(d):
                    v[i, j] -= image[i] * image[j] / norm
            for i in range(d):
                theta[r, m, i] = 0.0
                for j in range(d):
                    theta[r, m, i] += v[i, j] * moment[r, m, j]
            volume[r, m] += np.log(norm)
            pulls[r, m] += 1


@jit
def _choose(who, features, width, inverse, theta, arm):  # type: ignore[no-untyped-def]
    arms, d = features.shape[2:]
    for r in range(who.shape[0]):
        for a in range(who.shape[1]):
            v, guess = inverse[r, who[r, a]], theta[r, who[r, a]]
            top = -np.inf
            arm[r, a] = 0
            for k in range(arms):
                x = features[r, a, k]
                mean, square = 0.0, 0.0
                for i in range(d):
                    row = 0.0
                    for j in range(d):
                        row += v[i, j] * x[j]
                    square += row * x[i]
                    mean += guess[i] * x[i]
                index = mean + width[r, a] * np.sqrt(max(square, 0.0))
                if index > top:
                    top, arm[r, a] = index, k
