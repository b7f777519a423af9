"""Who keeps up with the tides?"""

from hushbandits import Claim, Component, Experiment, Figure, Ratio

FORGETS, ALONE = Component("Tidal-UCB"), Component("Alone", policy="Half-Greedy")

EXPERIMENTS = [
    Experiment(
        name="tidal-regret",
        title="Who keeps up with the tides?",
        env=Component("Tides-v0", n_agents=4, horizon=2000),
        agents=[FORGETS, Component("Multi-UCB"), ALONE],
        runs=20,
        figures=[Figure(y="regret")],
        claims=[Claim("Who shares has less regret than who guesses alone.", Ratio("regret", FORGETS, ALONE), below=1)],
        quick={"runs": 4, "env.horizon": 600},
    )
]
