"""Wang, Hu, Chen & Wang 2020: DisLinUCB, with all agents active in every round.

The paper has no experiments: every claim is our own, on the contexts of He et al. 2022 (β = ½, λ = 1).
"""

from hushbandits.bench.spec.claim import Claim, Ratio, Slope, Value
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.experiments import _paper as paper

_T, _M, _D = 2000, 15, 15
#: T ln(MT)/(dM)
_THRESHOLD = 91.6
CENTRAL, ALONE = Component("LinUCB", beta=0.5), Component("LinUCB-alone", beta=0.5)
DIS, BATCH = Component("DisLinUCB"), Component("Batch-LinUCB", batch=25)
SOONER, LATER = (
    Component("DisLinUCB", label=f"DisLinUCB, D × {by:g}", threshold=by * _THRESHOLD) for by in (0.1, 10.0)
)

_declared = paper.declaring(
    "wang2020", "Wang, Hu, Chen & Wang 2020", runs=50, metrics=("regret", "messages", "syncs"),
    quick={"env.horizon": 200, "runs": 5},
)  # fmt: skip

EXPERIMENTS = (
    _declared(
        "syncs", "Synchronisations by an event, and at fixed times", "algorithm 1", own=True,
        env=Component("FedLinear-All-v0", n_agents=_M, n_features=_D, horizon=_T),
        agents=[CENTRAL, DIS, BATCH, SOONER, LATER, ALONE],
        figures=(Figure(y="regret", log="x"), Figure(y="messages")),
        claims=[
            Claim("DisLinUCB synchronises at most 2√(TG/D) times, G = d ln(1 + MT/(dλ)).",
                  Value("syncs", DIS), below=100),
            Claim("DisLinUCB matches the regret of synchronisation every 25 rounds.",
                  Ratio("regret", DIS, BATCH), **paper.MATCHES),
            Claim("It does so with an eighth of the messages.", Ratio("messages", DIS, BATCH), below=0.15),
            Claim("A tenth of D: less regret.", Ratio("regret", SOONER, DIS), **paper.LESS),
            Claim("A tenth of D: more messages.", Ratio("messages", SOONER, DIS), **paper.MORE),
            Claim("Ten times D: more regret.", Ratio("regret", LATER, DIS), **paper.MORE),
            Claim("Ten times D: fewer messages.", Ratio("messages", LATER, DIS), **paper.LESS),
        ],
    ),
    _declared(
        "agents", "Regret of all agents against their number", "theorem 1", own=True,
        env=Component("FedLinear-All-v0", n_features=_D, horizon=_T),
        agents=[CENTRAL, ALONE],
        sweep={"env.n_agents": (1, 5, 15, 30)},
        figures=(Figure(y="regret", log="xy"),),
        claims=[
            Claim("With full sharing, regret grows no faster than M^0.45.",
                  Slope("regret", CENTRAL, along="env.n_agents"), below=0.45),
            Claim("Without messages it grows linearly.",
                  Slope("regret", ALONE, along="env.n_agents"), **paper.LINEARLY),
        ],
    ),
)  # fmt: skip
