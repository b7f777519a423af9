"""Scores of agents in the training ids: a table of docs/to-beat.md.

Run: ``python -m benchmarks scores`` (about a minute); a rate of 0 or 1 gets Clopper-Pearson's interval.
"""

import hushbandits as hb
from hushbandits.bench.stats import mean_interval, share_interval

#: For each id: its agents and their metrics.
SCORES = {
    "CoopNetwork-Train-v0": (
        ("Random", "UCB1", "Multi-UCB", "QuACK-UCB", "coop-UCB", "QuACK-TS", "Dec-TS", "Index-TS"),
        ("regret",),
    ),
    "DPMASE-Train-v0": (("Random", "DP-MASE", "Central", "Gap-Vote"), ("correct", "rounds")),
    "DistDP-Train-v0": (("Random", "Dist-DP-SE", "Commit-Blocks"), ("regret",)),
}


def interval(metric, values):
    """Return a metric's mean and its interval, in words."""
    rate = metric == "correct"
    low, high = share_interval(int(values.sum()), len(values)) if rate else mean_interval(values)
    return f"{metric} {values.mean():.3g} [{low:.3g}, {high:.3g}]"


def main() -> None:
    for id, (agents, metrics) in SCORES.items():
        for agent in agents:
            results = hb.evaluate(id, agent, runs=200, seed=0)
            cells = [interval(metric, results.final(metric)) for metric in metrics]
            print(f"| {id} | {agent} | {' | '.join(cells)} |")
