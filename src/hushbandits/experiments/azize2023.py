"""Azize, Jourdan, Al Marjani & Basu 2023: AdaP-TT, private best-arm identification by top two sampling.

AdaP-TT has the empirical threshold of the authors' experiments.  The grid of ε is ours: .01 … 100; comments in the
released code give 10⁻⁵ to 10⁵.
"""

from hushbandits.bench.spec.claim import Claim, Effect, Ratio, Value
from hushbandits.bench.spec.experiment import Component, Experiment, Figure
from hushbandits.experiments import _paper as paper

TOP_TWO, DPSE = Component("AdaP-TT"), Component("DP-SE-alone")
EPSILONS = (0.01, 0.1, 1.0, 10.0, 100.0)
#: The instances of the released code.
INSTANCES = {
    "mu1": (0.0, 0.25, 0.5, 0.75, 1.0),
    "mu2": (0.5, 0.9, 0.9, 0.9, 0.95),
    "mu3": (0.75, 0.7, 0.7, 0.7, 0.7),
    "mu4": (0.75, 0.625, 0.5, 0.375, 0.25),
    "mu5": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "mu6": (0.75, 0.71875, 0.625, 0.46875, 0.25),
}

_declared = paper.declaring(
    "azize2023", "Azize et al. 2023",
    sweep={"agent.epsilon": EPSILONS},
    agents=[TOP_TWO, DPSE],
    metrics=("rounds", "correct"),
    figures=(Figure(y="rounds", x="agent.epsilon"),),
    runs=100,
    quick={"runs": 3},
)  # fmt: skip


def _across(of: float, over: float) -> Effect:
    return Ratio("rounds", {"agent": TOP_TWO, "agent.epsilon": of}, {"agent": TOP_TWO, "agent.epsilon": over})


def _instance(name: str, means: tuple[float, ...]) -> Experiment:
    claims = [
        Claim(f"On {name} AdaP-TT needs fewer samples than DP-SE, whatever ε.", Ratio("rounds", TOP_TWO, DPSE),
              **paper.LESS),
        Claim(f"On {name} AdaP-TT at δ = .01 is right with probability .99, though nothing proves it: above .9.",
              Value("correct", TOP_TWO), above=0.9, origin="own"),
    ]  # fmt: skip
    if name == "mu1":
        claims += [
            Claim("Two regimes: for small ε the samples fall as ε grows; at .01 there are much more than at .1.",
                  _across(0.01, 0.1), **paper.MUCH_MORE),
            Claim("Two regimes: for large ε privacy costs nothing more; the samples at 10 are the same as at 100.",
                  _across(10.0, 100.0), **paper.MATCHES),
        ]  # fmt: skip
    return _declared(
        name, f"Samples until AdaP-TT stops, against ε: arms {', '.join(f'{mean:g}' for mean in means)}",
        "experiments", env=Component("DPMASE-v0", means=means, rewards="bernoulli"), claims=claims,
    )  # fmt: skip


EXPERIMENTS = tuple(_instance(name, means) for name, means in INSTANCES.items())
