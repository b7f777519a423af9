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
    runs, n, k = ballots.shape
    named, most = np.empty((runs, n)), np.zeros((runs, n))
    votes = np.empty(n, np.int64)
    for r in range(runs):
        all_right = good[r].sum()
        top = alike = 0
        for m in range(n):
            votes[m] = right = 0
            for arm in range(k):
                votes[m] += ballots[r, m, arm]
                right += good[r, arm] and not ballots[r, m, arm]
            named[r, m] = right / (k - votes[m]) if votes[m] < k else all_right / k
            alike = alike + 1 if votes[m] == top else 1 if votes[m] > top else alike
            top = max(top, votes[m])
        for m in range(n):
            if votes[m] == top:
                most[r, m] = named[r, m] * (1 / alike)
            if not weights[m] > 0:
                named[r, m] = 0.0
    return named, most
