"""Demirel, Yıldırım & Tekin 2022: Fed-MoM-UCB with clients who fabricate samples.

Claims about numbers come from the arrays beside the authors' code.  These draw Byzantine clients with replacement, so
that fewer than ⌊λM⌋ lie, as many as here.  The authors compare with Fed2-UCB, which is missing here; Fed1-UCB, which
averages in the same way, replaces it.
"""

from hushbandits.bench.spec.claim import Claim, Ratio, Value
from hushbandits.bench.spec.experiment import Component, Figure
from hushbandits.core import Params
from hushbandits.experiments import _paper as paper

_ENV = Component(
    "FederatedNetwork-v0", n_arms=10, means=(0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.95), spread=0.01,
)  # fmt: skip
ARRAYS = "the authors' arrays"

_declared = paper.declaring(
    "demirel2022", "Demirel, Yıldırım & Tekin 2022",
    metrics=("total_regret", "regret", "honest_regret", "uploads"), runs=100,
    figures=(Figure(y="regret"),),
    quick={"env.horizon": 2000, "runs": 5},
)  # fmt: skip


def _liars(reading: str, fraction: float) -> tuple[Component, ...]:
    return (Component("FalseMeans", attack=reading, fraction=fraction),)


def _matches(number: int, use: Component) -> Claim:
    return Claim(f"The total regret of {use.called} is about {number:,}.", Value("total_regret", use),
                 **paper.about(number), source=ARRAYS)  # fmt: skip


LINEAR, DOUBLING = (
    Component("Fed-MoM-UCB", label=f"Fed-MoM, {growth}", growth=growth, beta=0.1886)
    for growth in ("linear", "doubling")
)
AVERAGE = Component("Fed1-UCB", label="average", pulls=10)
#: Number of clients at which one of 1000 runs fails.
ENOUGH: Params = {"failure": 0.001, "cost": 0.1}
HIDDEN = {
    share: Component("Fed-MoM-UCB", label=f"Fed-MoM, λ = {share}", fraction=share, **ENOUGH) for share in (0.2, 0.25)
}  # fmt: skip
MAPPED = {
    mapping: Component("Fed-MoM-UCB", label=f"Fed-MoM, {mapping}", mapping=mapping, fraction=0.1, beta=0.11, **ENOUGH)
    for mapping in ("geometric", "harmonic", "polynomial")
}

EXPERIMENTS = (
    _declared(
        "attack", "Medians of means and a plain average, one client in five a liar", "experiments",
        env=_ENV.having(n_agents=89, horizon=50_000, margin=0.1886),
        wrappers=_liars("invert", 0.2),
        agents=[LINEAR, DOUBLING, AVERAGE],
        claims=[
            _matches(126_728, LINEAR),
            _matches(21_992, DOUBLING),
            Claim("Phases that double cost far less than phases of one length.",
                  Ratio("total_regret", DOUBLING, LINEAR), **paper.MUCH_LESS, source=ARRAYS),
            Claim("A median costs far less than an average does.", Ratio("total_regret", LINEAR, AVERAGE),
                  **paper.MUCH_LESS, origin="reading"),  # of another average
        ],
    ),
    *(
        _declared(
            f"hiding-{round(100 * share)}", f"Liars who hide good arms, λ = {share}", "experiments",
            env=_ENV.having(horizon=100_000, margin=0.189), wrappers=_liars("hide", share),
            agents=[use], claims=[_matches(number, use)],
        )
        for (share, use), number in zip(HIDDEN.items(), (26_262, 39_014), strict=True)
    ),
    _declared(
        "mappings", "Three ways to size the groups, one client in ten a liar", "experiments",
        env=_ENV.having(horizon=50_000, margin=0.11), wrappers=_liars("invert", 0.1),
        agents=[*MAPPED.values()],
        claims=[
            *(_matches(number, use) for use, number in zip(MAPPED.values(), (20_728, 39_210, 70_079), strict=True)),
            *(Claim(f"{better.called} has less regret than {worse.called}.",
                    Ratio("total_regret", better, worse), **paper.LESS, source=ARRAYS)
              for better, worse in zip([*MAPPED.values()][:2], [*MAPPED.values()][1:], strict=True)),
        ],
    ),
)  # fmt: skip
