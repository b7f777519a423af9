"""Chowdhury & Zhou 2023: distributed differential privacy in multi-armed bandits."""

from __future__ import annotations

from hushbandits.bench.spec import Experiment, Figure, Use
from hushbandits.core.rewards import UniformMeans

EPSILONS = (0.1, 0.5, 1.0)

EXPERIMENTS = (
    Experiment(
        name="chowdhury2023-fig1",
        title="Dist-DP-SE against DP-SE on easy instances",
        source="Chowdhury & Zhou 2023, figure 1",
        env=Use("DistDP-v0", n_arms=10, means=UniformMeans(0.25, 0.75), horizon=1_000_000),
        # ε belongs to the agent here, so that every ε meets the same 20 instances.
        agents=[
            *(Use("Dist-DP-SE", epsilon=epsilon) for epsilon in EPSILONS),
            *(Use("DP-SE", on="CentralDP-v0", epsilon=epsilon) for epsilon in EPSILONS),
        ],
        runs=20,
        metrics=("regret", "bits_per_user"),
        figures=(Figure(y="regret", per_time=True, since=1000),),
        quick={"env.horizon": 100_000},
    ),
)
