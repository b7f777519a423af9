"""Shi & Shen 2021: Fed1-UCB, whose regret does not grow with the number of clients.

Each arm has a large factor at one client and a small one at all others: no client can learn the model alone.
Fed2-UCB, whose clients are admitted one after another, is missing here.
"""

from hushbandits.bench.spec.claim import Claim, Ratio, line
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.experiments import _paper as paper

FED1 = Component("Fed1-UCB")
#: Ten arms; the best leads by .02.
MEANS = (0.7, 0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.765, 0.77, 0.79)

_declared = paper.declaring("shi2021", "Shi & Shen 2021", runs=100, quick={"env.horizon": 100_000, "runs": 10})

EXPERIMENTS = (
    _declared(
        "fed1", "Fed1-UCB with 1, 5 and 10 clients in the exact model", "experiments",
        env=Component("FederatedNetwork-v0", means=MEANS, factors="specialists", spread=0, horizon=1_000_000),
        agents=[FED1],
        sweep={"env.n_agents": (1, 5, 10)},
        paired=("n_agents",),
        metrics=("total_regret", "regret", "uploads"),
        figures=(Figure(y="regret", by="env.n_agents"),),
        claims=[
            Claim(f"The order of the regret does not depend on the number of clients: with {m}, costs of communication "
                  f"included, it is level with that of one client.",
                  Ratio("total_regret", line(FED1, n_agents=m), line(FED1, n_agents=1)), **paper.LITTLE)
            for m in (5, 10)
        ],
    ),
)  # fmt: skip
