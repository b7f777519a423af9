"""Probability that an observer of c players' votes names a good arm: the table of docs/exploration.md.

Run: ``python -m benchmarks observer``.
"""

from hushbandits.core import Streams
from hushbandits.core.rollout import rollout
from hushbandits.envs.exploration.observer import watch
from hushbandits.registry import assemble, make_team

LINES = (
    ("DecentralizedExploration-v0", "Decentralized-SER3", {}),
    ("DecentralizedExploration-v0", "Decentralized-UGapEc", {}),
    *(("CorruptedElimination-v0", "Corrupted-Elimination", {"xi": xi}) for xi in (0.0, 0.05, 0.1)),
)


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
