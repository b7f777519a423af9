"""Rio, Barlier, Colin & Soare 2023: best-arm identification with private communications."""

from __future__ import annotations

from hushbandits.bench.spec import Experiment, Figure, Use

AGENTS = (64, 128, 256, 512, 1024)

EXPERIMENTS = (
    Experiment(
        name="rio2023-fig1",
        title="DP-MASE on problem 1: rounds against the number of agents",
        source="Rio et al. 2023, figure 1",
        env=Use("DPMASE-v0", problem="P1", permute_arms=True),
        agents=[Use("DP-MASE", epsilon=epsilon, beta=0.5, delta=0.05) for epsilon in (0.05, 0.1, 0.25)],
        sweep={"env.n_agents": AGENTS},
        runs=10,
        metrics=("rounds", "messages", "correct"),
        figures=(Figure(y="rounds", x="env.n_agents", log="xy"),),
        quick={"env.n_agents": (64, 128, 256)},
    ),
)
