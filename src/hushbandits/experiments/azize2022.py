"""Azize & Basu 2022: AdaP, optimistic policies under global privacy, with episodes of doubling length per arm.

The paper's third line, DP-UCB with a tree of sums, is missing here.  The grid of ε in figure 3 is ours: the text gives
none.
"""

from hushbandits.bench.spec.claim import Claim, Ratio, Slope, Value, line
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.experiments import _paper as paper

UCB, KLUCB = Component("AdaP-UCB"), Component("AdaP-KLUCB")
DPSE = Component("DP-SE", confidence="1/T")
MEANS = (0.75, 0.625, 0.5, 0.375, 0.25)
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
#: `azize2022_theory.regret_bound` of figure 2.
BOUND = 13_448

_declared = paper.declaring(
    "azize2022", "Azize & Basu 2022",
    metrics=("regret", "epsilon"),
    runs=300,  # the paper's 20 leave claims undecided
    quick={"env.horizon": 100_000, "runs": 20},
)  # fmt: skip


def _env(*means: float) -> Component:
    return Component("CentralDP-v0", means=means, rewards="bernoulli", horizon=10_000_000, permute_arms=False)


EXPERIMENTS = (
    _declared(
        "fig2", "AdaP-KLUCB and AdaP-UCB against DP-SE, ε = 1", "figure 2",
        env=_env(*MEANS), agents=[KLUCB, UCB, DPSE],
        figures=(Figure(y="regret"),),
        claims=[
            Claim("AdaP-KLUCB has the lowest regret: less than AdaP-UCB's.", Ratio("regret", KLUCB, UCB), **paper.LESS),
            Claim("AdaP-UCB has the second lowest regret: less than DP-SE's.", Ratio("regret", UCB, DPSE),
                  **paper.LESS),
            *(Claim(f"{use.name}'s regret is 10 times lower than DP-SE's (within 15 %).", Ratio("regret", use, DPSE),
                    **paper.about(0.1)) for use in (KLUCB, UCB)),
            Claim("AdaP-UCB's mean regret stays below the theorem's bound.", Value("regret", UCB), below=BOUND,
                  source="Azize & Basu 2022, regret bound of AdaP-UCB"),
        ],
    ),
    _declared(
        "fig3", "AdaP-KLUCB's regret against ε", "figure 3",
        env=_env(0.8, 0.1, 0.1, 0.1, 0.1), agents=[KLUCB],
        sweep={"env.epsilon": EPSILONS},
        paired=("epsilon",),
        figures=(Figure(y="regret", x="env.epsilon"),),
        claims=[
            Claim("AdaP-KLUCB's regret falls as ε grows to .3.",
                  Slope("regret", KLUCB, along="env.epsilon", at={"env.epsilon": [e for e in EPSILONS if e <= 0.3]}),
                  below=0),
            Claim("Beyond ε = .3 AdaP-KLUCB's regret is unchanged (ε = 1).",
                  Ratio("regret", line(KLUCB, epsilon=1.0), line(KLUCB, epsilon=0.3)), **paper.MATCHES),
            Claim("AdaP-KLUCB's regret at ε = 10 is much less than at ε = 1.",
                  Ratio("regret", line(KLUCB, epsilon=10.0), line(KLUCB, epsilon=1.0)), **paper.MUCH_LESS,
                  origin="own"),
        ],
    ),
)  # fmt: skip
