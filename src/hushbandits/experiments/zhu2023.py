"""Zhu et al. 2023: resilient UCB with one lying agent.

The authors' code leaves the attack ambiguous: both readings are here (`hushbandits.wrappers.false_means.FalseMeans`).
With f as large as the network no neighbour is trusted, and the agents are UCB1.
"""

from hushbandits.bench.spec.claim import Claim, Ratio
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.experiments import _paper as paper

RESILIENT, UCB1 = Component("Resilient-UCB"), Component("Resilient-UCB", label="UCB1", f=10)
ATTACKS = {attack: (Component("FalseMeans", attack=attack, fraction=0.1),) for attack in ("zero", "swap")}

_declared = paper.declaring("zhu2023", "Zhu et al. 2023", runs=50, quick={"env.horizon": 2000, "runs": 10})


def _claims(attack: str) -> list[Claim]:
    resilient, alone = f"{RESILIENT.name} · {attack}", f"UCB1 · {attack}"
    stated = {"zero": "which says 0 of every arm", "swap": "which says that the second arm is best"}[attack]
    return [
        Claim(f"Beside an agent {stated}, an honest agent's regret is less than UCB1's.",
              Ratio("honest_regret", resilient, alone), **paper.LESS),
        Claim(f"Beside an agent {stated}, the largest regret of an honest agent is less than the largest with UCB1.",
              Ratio("honest_most", resilient, alone), **paper.LESS, origin="reading"),
    ]  # fmt: skip


EXPERIMENTS = (
    _declared(
        "regret",
        "An honest agent's regret beside one Byzantine agent of ten",
        "experiments",
        env=Component("CoopNetwork-v0", n_agents=10, means=(0.5, 0.45, 0.4, 0.3), graph="complete", horizon=10_000),
        wrappers=ATTACKS,
        agents=[RESILIENT, UCB1],
        metrics=("honest_regret", "honest_most"),
        figures=(Figure(y="honest_regret"),),
        claims=[claim for reading in ATTACKS for claim in _claims(reading)],
    ),
)
