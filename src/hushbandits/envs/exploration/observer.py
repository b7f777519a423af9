"""The accuracy of an adversary who observes the votes of some agents; (ε, η)-privacy bounds this accuracy.

The observer knows the algorithm and sees the votes of the agents that it watches.  It names an arm with the fewest
votes against it, ties at random.  Féraud et al. 2019 (theorem 1) and Rio et al. 2023 (proposition 5.1) claim a bound on
its accuracy.  Both proofs bound the accuracy from below, but privacy needs a bound from above.  The measured accuracy
may thus exceed the claimed bound, and does.
"""

import numpy as np

from hushbandits.core import Array, jit


def naming_accuracy(ballots: Array, good: Array) -> Array:
    """Return the probability that an observer of the votes `ballots` of c agents names an arm in `good`.

    Parameters
    ----------
    ballots : (…, c, K) bool
        Arms that each of the c watched agents has voted out, as the observer saw it.
    good : (…, K) bool
        Arms that count as correct (the ε-optimal ones).

    Returns
    -------
    (…) float
        The share of good arms among those with the fewest votes.
    """
    votes = ballots.sum(-2)
    fewest = votes == votes.min(-1, keepdims=True)
    return (fewest & good).sum(-1) / fewest.sum(-1)


@jit
def named_rows(ballots, good, weights):
    """Return each agent's `naming_accuracy`, and its part of the mean accuracy of the agents with the most votes.

    The first is 0 for agents of weight 0, who never act.  The second is divided by the number of agents with the most
    votes, and 0 for all others.

    Parameters
    ----------
    ballots : (R, N, K) bool
    good : (R, K) bool
    weights : (N,) float
    """
    k, named, most = ballots.shape[2], np.empty(ballots.shape[:2]), np.empty(ballots.shape[:2])
    for r in range(len(ballots)):
        top = alike = 0.0
        for m in range(weights.size):
            right, most[r, m] = 0, ballots[r, m].sum()  # the number of votes, for now
            for arm in range(k):
                right += good[r, arm] and not ballots[r, m, arm]
            named[r, m] = right / (k - most[r, m]) if most[r, m] < k else good[r].sum() / k
            alike = alike + 1.0 if most[r, m] == top else 1.0 if most[r, m] > top else alike
            top = max(top, most[r, m])
        for m in range(weights.size):
            most[r, m] = named[r, m] * (1.0 / alike) if most[r, m] == top else 0.0
            named[r, m] *= weights[m] > 0
    return named, most
