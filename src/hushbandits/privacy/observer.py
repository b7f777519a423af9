"""What an observer of some agents' votes can name: the adversary of (ε, η)-privacy, as a measurement.

It knows the algorithm and sees the votes that the agents it watches have sent.  Votes are against arms, so it names
an arm with the fewest of them, ties at random.  Féraud et al. 2019 (theorem 1) and Rio et al. 2023 (proposition 5.1)
claim a bound on how often it is right; both proofs bound that from below where privacy needs it from above, so what
is measured may exceed the bound, and does.
"""

from __future__ import annotations

from hushbandits.core.types import Array

__all__ = ["best_placed", "naming_accuracy"]


def naming_accuracy(ballots: Array, good: Array) -> Array:
    """Probability that the observer names a good arm.

    Parameters
    ----------
    ballots : (…, c, K) bool
        Arms that each of the c watched agents has voted out, as the observer saw it.
    good : (…, K) bool
        Arms that count as right (the ε-optimal ones).

    Returns
    -------
    (…) float
        The share of good arms among those with the fewest votes.

    Examples
    --------
    >>> import numpy as np
    >>> good = np.array([True, False, False])
    >>> float(naming_accuracy(np.array([[False, True, False]]), good))
    0.5
    """
    votes = ballots.sum(-2)
    fewest = votes == votes.min(-1, keepdims=True)
    accuracy: Array = (fewest & good).sum(-1) / fewest.sum(-1)
    return accuracy


def best_placed(ballots: Array) -> Array:
    """``(R, N)`` weights of the agents that told the most: equal over those with the most votes, 0 elsewhere.

    Parameters
    ----------
    ballots : (R, N, K) bool

    Examples
    --------
    >>> import numpy as np
    >>> best_placed(np.array([[[True, False], [False, False]]])).tolist()
    [[1.0, 0.0]]
    """
    told = ballots.sum(-1)
    most = told == told.max(-1, keepdims=True)
    weights: Array = most / most.sum(-1, keepdims=True)
    return weights
