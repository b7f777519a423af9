"""He, Wang, Min & Gu 2022: FedLinUCB, with one active agent a round.

Sizes, constants and curves are those of the authors' code (contexts ``cube``, d = 15, K = 25, β = ½, λ = 1, α = 1), so
claims about them are readings; claims about other sizes and constants are our own.
"""

from hushbandits.bench.spec.claim import Claim, Ratio, Value
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.experiments import _paper as paper

CENTRAL, ALONE = Component("LinUCB", beta=0.5), Component("LinUCB-alone", beta=0.5)
FED, ASYNC = Component("FedLinUCB"), Component("Async-LinUCB")
EAGER, LAZY = (Component("FedLinUCB", label=f"FedLinUCB, α = {a:g}", alpha=a) for a in (0.25, 4.0))
OFTEN, OFTENER = (Component("Async-LinUCB", label=f"Async-LinUCB, γ = {g:g}", gamma=g) for g in (2.0, 1.25))

_declared = paper.declaring(
    "he2022", "He, Wang, Min & Gu 2022", runs=50, metrics=("regret", "messages"),
    quick={"env.horizon": 1000, "runs": 5},
)  # fmt: skip
_T = 30_000
#: Messages of FedLinUCB by the authors' arrays at some times.
_SHIPPED = {1000: 184, 3000: 252, 10_000: 329}

EXPERIMENTS = (
    _declared(
        "regret", "Regret and messages of 15 agents", "figure 1, from the released code",
        env=Component("FedLinear-v0", horizon=_T),
        agents=[CENTRAL, FED, ASYNC, ALONE, EAGER, LAZY, OFTEN, OFTENER],
        metrics=("regret", "messages", "uploads", "downloads"),
        figures=(Figure(y="regret", log="x"), Figure(y="messages", log="xy")),
        claims=[
            Claim("FedLinUCB's regret is at most twice that of LinUCB on all pulls.",
                  Ratio("regret", FED, CENTRAL), below=2, origin="reading"),
            Claim("FedLinUCB's regret is at most a fifth of that without messages.",
                  Ratio("regret", FED, ALONE), below=0.2, origin="reading"),
            *(
                Claim(f"FedLinUCB has sent about {number} messages in round {t:,}.",
                      Value("messages", FED, time=t), **paper.about(number), origin="reading")
                for t, number in _SHIPPED.items()
            ),
            Claim("FedLinUCB sends at most 2d(M + 1/α) log₂(1 + T/(λd)) messages.",
                  Value("messages", FED), below=5265, origin="own"),
            Claim("α = ¼ for 1: less regret.", Ratio("regret", EAGER, FED), **paper.LESS, origin="own"),
            Claim("α = ¼ for 1: more messages.", Ratio("messages", EAGER, FED), **paper.MORE, origin="own"),
            Claim("α = 4 for 1: more regret.", Ratio("regret", LAZY, FED), **paper.MORE, origin="own"),
            Claim("α = 4 for 1: fewer messages.", Ratio("messages", LAZY, FED), **paper.LESS, origin="own"),
            Claim("Async-LinUCB, γ = 2 for 6: less regret.", Ratio("regret", OFTEN, ASYNC), **paper.LESS, origin="own"),
            Claim("Async-LinUCB, γ = 2 for 6: more messages.",
                  Ratio("messages", OFTEN, ASYNC), **paper.MORE, origin="own"),
            Claim("Async-LinUCB, γ = 1.25 for 2: less regret.",
                  Ratio("regret", OFTENER, OFTEN), **paper.LESS, origin="own"),
            Claim("Async-LinUCB, γ = 1.25 for 2: more messages.",
                  Ratio("messages", OFTENER, OFTEN), **paper.MORE, origin="own"),
            Claim("Async-LinUCB uploads about 47 times.",
                  Value("uploads", ASYNC), **paper.about(47), origin="reading"),
            Claim("Each upload of Async-LinUCB brings about 14 downloads, to all other agents.",
                  Value("downloads", ASYNC), **paper.about(658), origin="reading"),
        ],
    ),
    _declared(
        "agents", "Regret and messages against the number of agents", "figure 1, from the released code",
        env=Component("FedLinear-v0", horizon=_T),
        agents=[FED, ASYNC],
        sweep={"env.n_agents": (5, 15, 30, 50)},
        figures=(Figure(y="regret"), Figure(y="messages")),
        claims=[
            Claim("FedLinUCB has less regret than Async-LinUCB with 15 agents or more.",
                  Ratio("regret", FED, ASYNC, at={"env.n_agents": [15, 30, 50]}), **paper.LESS, origin="reading"),
            Claim("FedLinUCB sends fewer messages than Async-LinUCB with 15 agents or more.",
                  Ratio("messages", FED, ASYNC, at={"env.n_agents": [15, 30, 50]}), **paper.LESS, origin="reading"),
            Claim("With 5 agents it sends more.",
                  Ratio("messages", FED, ASYNC, at={"env.n_agents": [5]}), **paper.MORE, origin="own"),
        ],
    ),
    _declared(
        "ranked", "Agents that act unequally often, agent m with a weight 1/m", "experiments", own=True,
        env=Component("FedLinear-v0", horizon=_T, activity="ranked"),
        agents=[FED, ASYNC, ALONE],
        figures=(Figure(y="regret", log="x"),),
        claims=[Claim("FedLinUCB's regret is at most a quarter of that without messages.",
                      Ratio("regret", FED, ALONE), below=0.25)],
    ),
)  # fmt: skip
