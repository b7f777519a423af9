"""Probability that an observer of c players' votes names a good arm: the table of docs/exploration.md.

Run: ``python -m benchmarks observer``.
"""

import numpy as np

from hushbandits.core import Streams
from hushbandits.core.rollout import rollout
from hushbandits.envs.exploration.observer import naming_accuracy
from hushbandits.registry import assemble, make_team

LINES = (
    ("DecentralizedExploration-v0", "Decentralized-SER3", {}),
    ("DecentralizedExploration-v0", "Decentralized-UGapEc", {}),
    *(("CorruptedElimination-v0", "Corrupted-Elimination", {"xi": xi}) for xi in (0.0, 0.05, 0.1)),
)


def watch(ballots, good, c, rng, groups=64):
    """Return `naming_accuracy` averaged over random groups of c agents, and for the c agents with the most votes.

    Parameters
    ----------
    ballots : (R, N, K) bool
    good : (R, K) bool
    c : int
        How many of the N agents are watched.
    rng : Generator
        Draws the random groups.
    groups : int
        How many of them per run.

    Returns
    -------
    mean, most : (R,) float
        The accuracy over random groups, and of the c agents with the most votes.
    """
    runs, n, _ = ballots.shape
    picked = rng.permuted(np.tile(np.arange(n), (groups, 1)), axis=1)[:, :c]
    mean = naming_accuracy(ballots[:, picked], good[:, None]).mean(1)
    order = np.argsort(-ballots.sum(-1), axis=1, kind="stable")[:, :c]
    most = naming_accuracy(ballots[np.arange(runs)[:, None], order], good)
    return mean, most


def observe(env_id, agent, watched=(1, 2, 4, 8), *, runs=100, seed=0, **params):
    """Play an exploration agent to its end; an observer who knows the algorithm then names an arm.

    For each c in `watched`: how often that arm is within the env's precision of the best, for c random agents and for
    the c whose votes reveal most.  The runs are those of `hushbandits.evaluate`.
    """
    team = make_team(agent, **params)
    core = assemble(env_id, team, runs=runs, env={})
    rollout(core, team, seed)
    rng = Streams(core.seeds)
    shown = {c: watch(core.book.counted, core.right, c, rng.generator(0, c, "observer")) for c in watched}
    return {c: (float(mean.mean()), float(most.mean())) for c, (mean, most) in shown.items()}


def main():
    for env_id, agent, params in LINES:
        found = observe(env_id, agent, **params)
        print(agent, params, *(f"c = {c}: {mean:.2f} ({most:.2f})" for c, (mean, most) in found.items()))
