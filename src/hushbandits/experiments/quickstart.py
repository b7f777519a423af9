"""Three small experiments, one per setting, in under a minute."""

from __future__ import annotations

from hushbandits.bench.declare.spec import Experiment, Figure, Use

EXPERIMENTS = (
    Experiment(
        name="quickstart-exploration",
        title="Private exploration: what does privacy cost 64 agents?",
        source="after Rio et al. 2023, figure 1",
        env=Use("DPMASE-v0", problem="P1", n_agents=64, permute_arms=True),
        agents=[Use("DP-MASE", epsilon=epsilon) for epsilon in (0.05, 0.1, 0.25)],
        runs=20,
        metrics=("rounds", "messages", "correct"),
        figures=(Figure(y="rounds", x="runs", log="x"),),
    ),
    Experiment(
        name="quickstart-network",
        title="Cooperation on a 4 × 4 grid: what is sharing worth, and what does hiding it cost?",
        source="after Dubey & Pentland 2020 and Howson et al. 2024",
        env=Use("CoopNetwork-v0", graph="grid", n_agents=16, horizon=3000, permute_arms=True),
        agents=[Use("QuACK-UCB"), Use("Multi-UCB"), Use("Private-UCB", epsilon=1.0), Use("UCB1")],
        runs=20,
        metrics=("regret", "messages"),
        figures=(Figure(y="regret", log=""),),
    ),
    Experiment(
        name="quickstart-feedback",
        title="Privatized feedback: noise added by users against noise added by the server",
        source="after Chowdhury & Zhou 2023, figure 1",
        env=Use("DistDP-v0", horizon=100_000),
        agents=[
            *(Use("Dist-DP-SE", epsilon=epsilon) for epsilon in (0.1, 1.0)),
            *(Use("DP-SE", on="CentralDP-v0", epsilon=epsilon) for epsilon in (0.1, 1.0)),
        ],
        runs=20,
        metrics=("regret", "bits_per_user"),
        figures=(Figure(y="regret", per_time=True, since=1000),),
    ),
)
