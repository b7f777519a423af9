"""Chawla et al. 2020: GosInE, in which neighbours recommend good arms.

The instance has the paper's form and was drawn once, by us: two best arms, the rest .85·U[0, 1].  Graphs other than
the complete one, and their sizes, are ours.  Arms are shuffled in every run, so that no list favours the best arm.
"""

from hushbandits.bench.spec.claim import Claim, Ratio, Value, line
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.experiments import _paper as paper

SYNC, ASYNC = Component("GosInE"), Component("GosInE-async")
ALONE = Component("GosInE", label="UCB alone", shares=False)
AGENTS = 15
MEANS = (
    0.95, 0.85, 0.8355, 0.8111, 0.81, 0.8047, 0.7637, 0.7563, 0.7494, 0.7344, 0.7228, 0.7185, 0.7022, 0.6406, 0.614,
    0.6115, 0.6037, 0.5813, 0.566, 0.4969, 0.4719, 0.4447, 0.4409, 0.4372, 0.4317, 0.4198, 0.4119, 0.3981, 0.3798,
    0.3625, 0.3585, 0.3572, 0.352, 0.2835, 0.1965, 0.1289, 0.1167, 0.078, 0.0588, 0.032,
)  # fmt: skip
_ENV = Component("CoopNetwork-v0", n_agents=AGENTS, means=MEANS, horizon=64_000)  # 40³

_declared = paper.declaring(
    "chawla2020", "Chawla et al. 2020",
    metrics=("regret", "recommendations"),
    runs=100,
    quick={"env.horizon": 8000, "runs": 10},
)  # fmt: skip


EXPERIMENTS = (
    _declared(
        "fig1", "GosInE against UCB alone on the complete graph, 15 agents, 40 arms", "section 6",
        env=_ENV.having(graph="complete"), agents=[SYNC, ASYNC, ALONE],
        figures=(Figure(y="regret"),),
        claims=[
            *(Claim(f"{use.called}'s regret is less than that of UCB without communication.",
                    Ratio("regret", use, ALONE), **paper.LESS) for use in (SYNC, ASYNC)),
            *(Claim(f"{use.called}'s regret is below that of UCB alone by a factor of the order of N = 15, 7.5 to 30.",
                    Ratio("regret", use, ALONE), above=1 / 30, below=1 / 7.5) for use in (SYNC, ASYNC)),
            Claim("Each agent asks for one name per phase: 15·40 in 40³ rounds.", Value("recommendations", SYNC),
                  above=599, below=601),
        ],
    ),
    _declared(
        "graphs", "GosInE on three graphs of 15 agents", "abstract", own=True,
        env=_ENV, agents=[SYNC],
        sweep={"env.graph": ("complete", "cycle", "star")},
        paired=("graph",),
        figures=(Figure(y="regret"),),
        claims=[
            Claim(f"The graph has a second-order effect: on a {graph} the regret is little more than on the complete "
                  f"graph.", Ratio("regret", line(SYNC, graph=graph), line(SYNC, graph="complete")), **paper.LITTLE)
            for graph in ("cycle", "star")
        ],
    ),
)  # fmt: skip
