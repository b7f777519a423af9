"""Zhou & Chowdhury 2024: Private-FedLinUCB, with the constants of the released code (σ, λ, β; δ = .1, B = 25).

Sizes are ours (M = K = 20, d = 5, where the paper has 100, 100 and 10), and every run draws its own contexts and θ, so
claims about the paper's rates are readings, and all others are our own.
"""

from hushbandits.bench.spec.claim import Claim, Ratio, Slope, line
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.core import Params
from hushbandits.core.random.rewards import Gaussian
from hushbandits.experiments import _paper as paper

_WORLD: Params = {
    "contexts": "sphere+1", "rewards": Gaussian(0.5), "activity": "all", "n_arms": 20, "n_features": 5, "delta": 0.1,
}  # fmt: skip
_SIZES: Params = {**_WORLD, "n_agents": 20, "sigma": "zhou2024"}
#: A σ that hardly matters, and that makes λ = √M, as without privacy: 1/(√κ(√(κ + ln(1/α)) + √d)) at κ = 9.
_QUIET = 0.056
FROZEN = Component("Private-FedLinUCB", label="frozen")
WITHIN = Component("Private-FedLinUCB", label="as released", acts="within")
NARROW = Component("Private-FedLinUCB", label="frozen, a tenth of β", width=0.1)

_declared = paper.declaring(
    "zhou2024", "Zhou & Chowdhury 2024", runs=50, metrics=("regret",), quick={"env.horizon": 200, "runs": 5}
)

EXPERIMENTS = (
    _declared(
        "epsilon", "Regret against ε, local noise", "theorem 4.1",
        env=Component("PrivateFedLinear-v0", **_SIZES, horizon=10_000),
        agents=[FROZEN, WITHIN],
        sweep={"env.epsilon": (0.2, 1.0, 5.0)},
        figures=(Figure(y="regret", log="xy"),),
        claims=[
            Claim("The regret as released grows as ε^−½.",
                  Slope("regret", WITHIN, along="env.epsilon"), above=-0.6, below=-0.4, origin="reading"),
            Claim("Agents that act on synchronised sums alone match the regret as released.",
                  Ratio("regret", FROZEN, WITHIN), **paper.MATCHES, origin="own"),
        ],
    ),
    _declared(
        "horizon", "Regret against the horizon, local noise", "theorem 4.1",
        env=Component("PrivateFedLinear-v0", **_SIZES, epsilon=1.0),
        agents=[FROZEN],
        sweep={"env.horizon": (2500, 10_000, 40_000)},
        figures=(Figure(y="regret", log="xy"),),
        claims=[
            Claim("The regret grows as √T.",
                  Slope("regret", FROZEN, along="env.horizon"), above=0.4, below=0.6, origin="reading"),
        ],
        quick={"runs": 5, "env.horizon": (100, 200, 400)},
    ),
    _declared(
        "batch", "Regret against the size of batches, local noise", "experiments", own=True,
        env=Component("PrivateFedLinear-v0", **_SIZES, epsilon=1.0, horizon=10_000),
        agents=[FROZEN],
        sweep={"env.batch": (5, 25, 125)},
        figures=(Figure(y="regret", log="x"),),
        claims=[
            Claim("Batches of 5 rounds: more regret than batches of 25.",
                  Ratio("regret", line(FROZEN, batch=5), line(FROZEN, batch=25)), **paper.MORE),
            Claim("Batches of 125 rounds: less regret than batches of 25.",
                  Ratio("regret", line(FROZEN, batch=125), line(FROZEN, batch=25)), **paper.LESS),
        ],
    ),
    _declared(
        "agents", "Regret against the number of agents, with local noise and hardly any", "theorem 4.1",
        env=Component("PrivateFedLinear-v0", **_WORLD, epsilon=1.0, horizon=10_000),
        agents=[FROZEN],
        sweep={"env.n_agents": (5, 20, 80), "env.sigma": ("zhou2024", _QUIET)},
        figures=(Figure(y="regret", log="xy"),),
        claims=[
            Claim("With local noise the regret grows as M^¾.",
                  Slope("regret", line(FROZEN, sigma="zhou2024"), along="env.n_agents"),
                  above=0.65, below=0.85, origin="reading"),
            Claim("With hardly any noise it grows as √M.",
                  Slope("regret", line(FROZEN, sigma=_QUIET), along="env.n_agents"),
                  above=0.4, below=0.6, origin="reading"),
        ],
        quick={"runs": 5, "env.horizon": 200, "env.n_agents": (2, 4, 8)},
    ),
    _declared(
        "width", "Regret against the width of confidence ellipsoids, local noise", "experiments", own=True,
        env=Component("PrivateFedLinear-v0", **_SIZES, epsilon=1.0, horizon=10_000),
        agents=[FROZEN, NARROW],
        figures=(Figure(y="regret", log="x"),),
        claims=[Claim("Width, not noise, rules: a tenth of β has much less regret.",
                      Ratio("regret", NARROW, FROZEN), **paper.MUCH_LESS)],
    ),
)  # fmt: skip
