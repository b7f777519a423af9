"""The coordinator of private exploration, which counts votes and publishes the global set of arms."""

from collections.abc import Mapping

import numpy as np

from hushbandits.core import Array, Guarantee, Metric, Streams
from hushbandits.core.guarantee import hides
from hushbandits.core.random.names import RECOMMENDATION
from hushbandits.envs.exploration.ballot import VoteState, judged
from hushbandits.envs.exploration.observer import named_rows


def recommend(book: VoteState, rng: Streams) -> Array:
    """Return an arm of 𝒦 (of all arms if 𝒦 is empty) with the fewest votes, ``(R,)``; ties are broken at random."""
    out = np.empty(len(rng), np.int64)
    for r, u in enumerate(rng.uniforms(0, (), RECOMMENDATION)):
        left = np.flatnonzero(book.active[r] | ~book.active[r].any())
        fewest = left[book.votes[r, left] == book.votes[r, left].min()]
        out[r] = fewest[int(u * len(fewest))]
    return out


#: The metrics of a vote.
MEASURES: Mapping[str, Metric] = {
    "rounds": Metric("rounds until the stop", "count"),
    "messages": Metric("messages sent", "count"),
    "correct": Metric("share of runs that are correct", "rate"),
    "inconclusive": Metric("share of runs that are inconclusive", "rate"),
    "arms": Metric("arms left", "count"),
    "named": Metric("how often an observer of one agent names the best arm", "share"),
    "named_most": Metric("how often an observer of the agent that voted most names the best arm", "share"),
    "regret": Metric("pseudo-regret of all agents", "amount"),
}


def measured(book: VoteState, right: Array, everyone: bool, rows: Array) -> dict[str, Array]:
    """Return the metrics of a vote in the runs `rows`; `right` marks the correct arms of all runs, ``(R, K)``."""
    seen = book.counted[rows] * (book.vote_cost > 0)  # free votes are not sent
    correct, inconclusive, left = judged(book, right, everyone, rows)
    named, most = named_rows(seen, right[rows], book.weights)
    return {
        "rounds": book.rounds[rows],
        "messages": book.messages[rows],
        "correct": correct,
        "inconclusive": inconclusive,
        "arms": left,
        "named": named.sum(1) / np.count_nonzero(book.weights),
        "named_most": most.sum(1),
    }


#: An assumption of (ε, η)-privacy.
FROM_BELOW = "as claimed by the paper, whose proof bounds accuracy from below; measured accuracy exceeds the bound"


def claimed(termination: str, vote_cost: int, eta: float, tolerance: float) -> tuple[Guarantee, ...]:
    """Return Féraud et al.'s claim of (ε, η)-privacy; no claim if the coordinator ends runs or votes cost 0."""
    if termination == "coordinator" or vote_cost == 0:
        return ()
    return hides(
        f"arm selection at confidence 1 − η = {1 - eta:g}",
        f"none: (ε, η)-privacy bounds how often an observer names an ε-optimal arm (ε = {tolerance:g}, η = {eta:g})",
        "an observer of one player's messages who knows the algorithm",
        (FROM_BELOW, "no differential privacy"),
        "Féraud et al. 2019, theorem 1",
        ("runs, which refute it",),
    )
