"""Three small experiments, of exploration, networks and feedback, in under a minute."""

from hushbandits.bench.spec.experiment import Component, Experiment, Figure

#: Results of 20 runs from seed 0; ``tests/bench/test_quickstart.py`` counts them again.
_EXPLORATION = (
    "In these 20 runs (seed 0) privacy at ε = 0.25 costs next to nothing: 39,341 rounds on average against 39,116 "
    "without. At ε = 0.05 it takes 2.2 times as many. At ε = 0.1 there are two modes: 19 runs stop after 43,744 "
    "to 46,854 rounds, 1 after 193,194. An agent judges arms only at the end of an epoch, and the second "
    "best arm falls once five of the 64 have voted it out. After a first epoch of 702 pulls an arm must look 0.245 "
    "worse to fall, and it is 0.2 worse: a vote is a chance event. In 19 runs five agents cast it; in 1 only four, "
    "and the others had to go through a second epoch of 2,485 pulls."
)
_NETWORK = (
    "In these 20 runs (seed 0) sharing pays: after 3,000 rounds Multi-UCB has 60 % of the regret of UCB1, whose "
    "agents keep their rewards to themselves, and QuACK-UCB 47 %. Hiding is a gamble: Private-UCB has less "
    "regret than Multi-UCB in 15 runs, and in 5 more than 2,300; 2,400 is the regret of agents that never play the "
    "best arm. Its agents learn from their own published rewards only; those of the paper's Private-UCB-exact learn "
    "from all rewards, and guarantee nothing about a run. On average Private-UCB has 423 less, with an interval of "
    "−830 to 33. It hides little, as the table below says: a run's messages spend ε = 77.9 on one reward (14.1 with "
    "δ > 0)."
)
_FEEDBACK = (
    "In these 20 runs (seed 0) noise that users add costs more than the noise of a trusted server, and most where ε is "
    "small: after 100,000 users Dist-DP-SE has 1.9 times the regret of DP-SE at ε = 0.1, 1.5 times at ε = 1. "
    "All lines begin at about the same height, because no arm is dropped before its block of users is full, and "
    "noisier blocks must be longer. In return, the server of Dist-DP-SE sees sums of blocks only, "
    "while that of DP-SE sees every reward."
)

EXPERIMENTS = (
    Experiment(
        name="quickstart-exploration",
        title="Private exploration: what does privacy cost 64 agents?",
        source="after Rio et al. 2023, figure 1",
        env=Component("DPMASE-v0", problem="P1", n_agents=64, permute_arms=True),
        agents=[
            *(Component("DP-MASE", epsilon=epsilon) for epsilon in (0.05, 0.1, 0.25)),
            Component("DP-MASE", label="DP-MASE without privacy (ε = 10⁶)", epsilon=1e6),  # negligible noise
        ],
        runs=20,
        metrics=("rounds", "messages", "correct"),
        figures=(Figure(y="rounds", x="runs", log="x", reading=_EXPLORATION),),
    ),
    Experiment(
        name="quickstart-network",
        title="Cooperation on a 4 × 4 grid: what is sharing worth, and what does hiding it cost?",
        source="after Dubey & Pentland 2020 and Howson et al. 2024",
        env=Component("CoopNetwork-v0", graph="grid", n_agents=16, horizon=3000, permute_arms=True),
        agents=[
            Component("QuACK-UCB"),
            Component("Multi-UCB"),
            Component("Private-UCB", epsilon=1.0),
            Component("UCB1"),
        ],
        runs=20,
        metrics=("regret", "messages"),
        figures=(Figure(y="regret", log="", reading=_NETWORK),),
    ),
    Experiment(
        name="quickstart-feedback",
        title="Privatized feedback: noise added by users against noise added by the server",
        source="after Chowdhury & Zhou 2023, figure 1",
        env=Component("DistDP-v0", horizon=100_000, permute_arms=True),
        agents=[
            *(Component("Dist-DP-SE", epsilon=epsilon) for epsilon in (0.1, 1.0)),
            *(Component("DP-SE", on="CentralDP-v0", epsilon=epsilon) for epsilon in (0.1, 1.0)),
        ],
        runs=20,
        metrics=("regret", "bits_per_user"),
        figures=(Figure(y="regret", per_time=True, since=1000, reading=_FEEDBACK),),
    ),
)
