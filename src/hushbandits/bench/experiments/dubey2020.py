"""Dubey & Pentland 2020: private and Byzantine-proof cooperative decision-making."""

from __future__ import annotations

from hushbandits.bench.spec import Experiment, Figure, Use
from hushbandits.core.rewards import UniformMeans

EXPERIMENTS = (
    Experiment(
        name="dubey2020-fig1a",
        title="Private cooperation among 200 agents on random graphs",
        source="Dubey & Pentland 2020, figure 1a",
        # γ = ⌊diameter/2⌋; means and horizon are not stated in the paper.
        env=Use(
            "CoopNetwork-v0",
            n_agents=200,
            n_arms=5,
            graph="erdos-renyi",
            edge_probability=0.1,
            life="diameter/2",
            means=UniformMeans(0.0, 1.0),
            horizon=10_000,
        ),
        agents=[Use("Private-UCB", epsilon=1.0, v=1.1), Use("UCB1"), Use("Multi-UCB")],
        runs=100,
        metrics=("regret", "messages"),
        figures=(Figure(y="regret"),),
        quick={"runs": 10, "env.n_agents": 50, "env.edge_probability": 0.2, "env.horizon": 1000},
    ),
)
