"""Rio, Barlier, Colin & Soare 2023: best-arm identification with private communications."""

import itertools
from dataclasses import replace

import numpy as np

from hushbandits.agents import rio2023_theory as theory
from hushbandits.bench.spec.claim import Claim, Ratio, Slope, Value, line
from hushbandits.bench.spec.experiment import Component, Experiment, Figure
from hushbandits.best_arm.elimination import confidence_under_loss
from hushbandits.core import Array, Params
from hushbandits.envs.exploration.problems import PROBLEMS, agent_weights, vote_threshold
from hushbandits.experiments import _paper as paper

AGENTS = (64, 128, 256, 512, 1024)
EPSILONS, XIS, BETAS, ETAS = (0.05, 0.1, 0.25), (0, 0.05, 0.1), (0.3, 0.5, 0.8), (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
CORRUPTED = "CorruptedElimination-v0"


def arm_gaps(env: Params) -> list[float]:
    """Return the gaps of the arms of an env's problem."""
    means = PROBLEMS[env.get("problem", "P1")].means
    return [max(means) - m for m in means]


def vote_rounds(local: int, env: Params, delta: float, beta: float, x: Array) -> Array:
    """Return the bound on the rounds of N agents who vote after `local` rounds of their own each, for each N in `x`.

    It holds with probability 1 − `delta`, for a vote that is wrong with probability `beta`.
    """
    m, p = vote_threshold(delta, beta), env.get("agent_distribution", "uniform")
    return np.array([theory.mase_rounds(local, agent_weights(p, int(n)).tolist(), m, delta) for n in x])


def proposition_4_3(env: Params, agent: Params, x: Array) -> Array:
    """Return proposition 4.3's bound on the rounds of DP-MASE with N agents, for each N in `x`.

    It is NaN for agents without `epsilon`.
    """
    if "epsilon" not in agent:
        return np.full(len(x), np.nan)
    beta, delta = agent.get("beta", 0.5), agent.get("delta", 0.05)
    return vote_rounds(theory.dp_local_samples(arm_gaps(env), agent["epsilon"], beta), env, delta, beta, x)


def proposition_5_3(env: Params, agent: Params, x: Array) -> Array:
    """Return proposition 5.3's bound on the rounds of Corrupted Elimination with N agents, for each N in `x`.

    It is NaN for agents without `eta`.
    """
    if "eta" not in agent:
        return np.full(len(x), np.nan)
    gaps = arm_gaps(env)
    eta_xi = confidence_under_loss(agent["eta"], agent.get("xi", 0.0), len(gaps))
    local, m = theory.elimination_local_samples(gaps, eta_xi), vote_threshold(agent.get("delta", 0.05), eta_xi)
    return np.array([theory.corrupted_rounds(local, int(n), m) for n in x])


DP_BOUND = {"proposition 4.3": f"{__name__}:proposition_4_3"}
LOSS_BOUND = {"proposition 5.3": f"{__name__}:proposition_5_3"}


def dp_mase(epsilon: float, beta: float = 0.5, label: str = "DP-MASE ε = {epsilon:g}") -> Component:
    """Return the component DP-MASE at `epsilon`, `beta` and δ = .05."""
    return Component("DP-MASE", label=label.format(epsilon=epsilon, beta=beta), epsilon=epsilon, beta=beta, delta=0.05)


def corrupted(xi: float, eta: float = 0.9) -> Component:
    """Return the component Corrupted Elimination at ξ = `xi`, η = `eta` and δ = .05."""
    return Component("Corrupted-Elimination", label=f"Corrupted ξ = {xi:g}", on=CORRUPTED, eta=eta, delta=0.05, xi=xi)


DP_LINES = [dp_mase(epsilon) for epsilon in EPSILONS]
CORRUPTED_LINES = [corrupted(xi) for xi in XIS]
METHODS = [*DP_LINES, *CORRUPTED_LINES]
BETA_LINES = [dp_mase(0.5, beta, "DP-MASE β = {beta:g}") for beta in BETAS]
BASELINES = CENTRAL, INDEPENDENT = Component("Central", delta=0.05), Component("Independent", delta=0.05)


def _epsilon_claims() -> list[Claim]:
    """Return the claims on the cost of ε: by means at every N, as in the figure, and by medians for N ≥ 256."""
    own: Params = {"statistic": "median", "at": {"env.n_agents": [n for n in AGENTS if n >= 256]}}
    small, large = DP_LINES[:2], DP_LINES[1:]
    cost, stable = "There is a significant increase from ε = .1 to .05", "From ε = .25 to .1 they are relatively stable"
    return [
        Claim(f"{cost} (means, every N).", Ratio("rounds", *small), **paper.CLEARLY_MORE),
        Claim(f"{stable} (means, every N).", Ratio("rounds", *large), **paper.LITTLE),
        Claim(f"{cost} (medians, N ≥ 256).", Ratio("rounds", *small, **own), **paper.CLEARLY_MORE, origin="reading"),
        Claim(f"{stable} (medians, N ≥ 256).", Ratio("rounds", *large, **own), **paper.LITTLE, origin="reading"),
    ]


def _figure_1_claims() -> list[Claim]:
    claims = [
        Claim(f"Sample complexity grows with the number of agents. ({use.called})",
              Slope("rounds", use, along="env.n_agents"), above=0,
              origin="own" if use is INDEPENDENT else "paper")
        for use in (*METHODS, INDEPENDENT)  # the paper says it of its two methods
    ]  # fmt: skip
    for use in METHODS:
        claims += [
            Claim(f"{use.label} needs fewer rounds than Independent at every N.", Ratio("rounds", use, INDEPENDENT),
                  **paper.LESS),
            Claim(f"{use.label} scales better with N than Independent.",
                  Slope("rounds", use, INDEPENDENT, along="env.n_agents"), below=0),
            Claim(f"Central is much faster than {use.label} at every N.", Ratio("rounds", CENTRAL, use),
                  **paper.MUCH_LESS),
        ]  # fmt: skip
    return [
        *claims,
        *_epsilon_claims(),
        *(Claim(f"ξ = {high:g} is faster than ξ = {low:g}.", Ratio("rounds", corrupted(high), corrupted(low)),
                **paper.LESS) for low, high in itertools.pairwise(XIS)),
    ]  # fmt: skip


PANEL = Figure(y="rounds", x="env.n_agents", log="xy")
PANELS = tuple(
    replace(PANEL, title=title, lines=(first, "Central", "Independent"), bounds=bounds)
    for title, first, bounds in (("DP-MASE", "DP-MASE", DP_BOUND), ("Corrupted Elimination", "Corrupted", LOSS_BOUND))
)


P1, P2 = (Component("DPMASE-v0", problem=problem, permute_arms=True) for problem in ("P1", "P2"))
_declared = paper.declaring(
    "rio2023", "Rio et al. 2023",
    env=P1,
    sweep={"env.n_agents": AGENTS},
    runs=64,  # the paper's 10 give no interval at the level of all claims together
    metrics=("rounds", "messages", "correct"),
    figures=(PANEL,),
    quick={"runs": 8, "env.n_agents": (64, 128, 256)},
)  # fmt: skip


def _eta_sweep(name: str, problem: str) -> Experiment:
    agent = Component("Corrupted-Elimination", delta=0.05, xi=0)
    return _declared(
        name, f"The threshold effect on problem {problem[1:]}: rounds against η at ξ = 0", "figure 2",
        env=Component(CORRUPTED, problem=problem, permute_arms=True, n_agents=256),
        agents=[agent],
        sweep={"agent.eta": ETAS},
        figures=(Figure(y="rounds", x="agent.eta", log="y"),),
        quick={"runs": 8, "env.n_agents": 64},
        claims=[Claim(f"At ξ = 0 rounds grow with η (problem {problem[1:]}).",
                      Slope("rounds", agent, along="agent.eta"), above=0)],
    )  # fmt: skip


def _beta_claims() -> list[Claim]:
    return [
        Claim(f"Rounds grow as β falls: {one.label} against {other.label}.", Ratio("rounds", one, other), **paper.MORE)
        for one, other in itertools.pairwise(BETA_LINES)
    ]


def _distribution_claims() -> list[Claim]:
    claims = []
    for use in (dp_mase(0.1), corrupted(0.05)):
        power, uniform = (line(use, agent_distribution=p) for p in ("power", "uniform"))
        claims += [
            Claim(f"{use.label} is much faster when P(n) ∝ n^(−0.8) than when P is uniform.",
                  Ratio("rounds", power, uniform), **paper.MUCH_LESS),
            Claim(f"{use.label} loses no accuracy there: still at most δ of the runs return a wrong arm.",
                  Value("correct", of=power), above=0.95),
        ]  # fmt: skip
    return claims


EXPERIMENTS = (
    _declared(
        "fig1", "Problem 1: rounds against the number of agents", "figure 1",
        agents=[*METHODS, *BASELINES], figures=PANELS, claims=_figure_1_claims(),
    ),
    _eta_sweep("fig2", "P1"),
    _eta_sweep("fig2-p2", "P2"),
    _declared(
        "fig3", "Problem 2: rounds against the number of agents", "figure 3",
        env=P2, agents=[*METHODS, *BASELINES], figures=PANELS, claims=_figure_1_claims(),
    ),
    _declared("fig4", "Problem 1 without the baselines", "figure 4 (top)", agents=METHODS, figures=PANELS),
    _declared(
        "fig4-p2", "Problem 2 without the baselines", "figure 4 (bottom)", env=P2, agents=METHODS, figures=PANELS,
    ),
    _declared(
        "fig5", "Local accuracy on problem 1: DP-MASE at ε = .5", "figure 5 (left)",
        agents=BETA_LINES, claims=_beta_claims(),
    ),
    _declared(
        "fig5-p2", "Local accuracy on problem 2: DP-MASE at ε = .5", "figure 5 (right)",
        env=P2, agents=BETA_LINES, claims=_beta_claims(),
    ),
    _declared(
        "fig6", "Who acts how often: uniform agents against P(n) ∝ n^(−0.8), on problem 1", "figure 6",
        agents=[dp_mase(0.1), corrupted(0.05)],
        sweep={"env.agent_distribution": ("uniform", "power"), "env.n_agents": AGENTS},
        runs=250,  # enough to separate a share of .95 from 1 at the level of all claims together
        claims=_distribution_claims(),
    ),
    _declared(
        "failure", "How often the wrong arm is returned, at δ = .05", "propositions 4.2 and 5.2",
        env=P1.having(n_agents=64),
        agents=[dp_mase(0.1), *CORRUPTED_LINES],
        sweep={},
        runs=1000,
        metrics=("correct", "inconclusive", "rounds"),
        figures=(Figure(y="rounds", x="runs", log="x"),),
        claims=[
            Claim(f"{use.label} returns a wrong arm in at most δ of the runs.", Value("correct", use), above=0.95)
            for use in (dp_mase(0.1), *CORRUPTED_LINES)
        ],
        quick={"runs": 40},
    ),
    _declared(
        "privacy", "What an observer of one agent's votes can name, where .1 is allowed", "proposition 5.1",
        env=Component(CORRUPTED, problem="P1", permute_arms=True, n_agents=64),
        agents=CORRUPTED_LINES,
        sweep={},
        runs=200,
        metrics=("named", "named_most", "rounds"),
        figures=(Figure(y="named", x="runs", log=""), Figure(y="named_most", x="runs", log="")),
        claims=[
            Claim(f"{use.label}: an observer of one agent names the best arm with probability at most 1 − η.",
                  Value("named", use), below=0.1)
            for use in CORRUPTED_LINES
        ],
        quick={"runs": 40},
    ),
)  # fmt: skip
